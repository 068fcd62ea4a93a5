package broker

import (
	"maps"
	"regexp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
	"github.com/fakekafka/fakekafka/transactions"
)

// The requests of transactional producers (KIP-98, KIP-890), and those about them. The rules are in package transactions.
//
//	AddPartitionsToTxn 24 (v0-5; v4+ between brokers) · AddOffsetsToTxn 25 (v0-4) · EndTxn 26 (v0-5) · WriteTxnMarkers 27 (v1-2) ·
//	TxnOffsetCommit 28 (v0-5) · DescribeTransactions 65 (v0) · ListTransactions 66 (v0-2)

// txnStep runs a step of the shard of a transactional id, on the loop.
func (r *request) txnStep(id string, step func(tc *txnCoordinator, sh *txnShard) (int16, transactions.Effects)) (wire.Code, error) {
	return onLoop(r.cluster, func() wire.Code {
		tc := r.cluster.txns
		sh, code := tc.shardOn(r.node.id, id)
		if sh == nil {
			if id == "" {
				return wire.InvalidRequest
			}
			return code
		}
		c, fx := step(tc, sh)
		tc.apply(r.cluster.clock.Now(), sh, fx)
		return wire.Code(c)
	})
}

// fencedBefore answers PRODUCER_FENCED under its old name to clients of before that version.
func fencedBefore(code wire.Code, version, since int16) wire.Code {
	if code == wire.ProducerFenced && version < since {
		return wire.InvalidProducerEpoch
	}
	return code
}

func (r *request) addPartitionsToTxn() (answer, error) {
	req := r.body.(*kmsg.AddPartitionsToTxnRequest)
	if r.version >= 4 {
		return r.addPartitionsBatch(req)
	}
	resp := req.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
	m := r.cluster.meta.Load()
	var wanted []transactions.TopicPartition
	refused := map[transactions.TopicPartition]wire.Code{}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			tp := transactions.TopicPartition{Topic: t.Topic, Partition: p}
			wanted = append(wanted, tp)
			if isInternal(t.Topic) { // no client may write to it
				refused[tp] = wire.TopicAuthorizationFailed
			} else if m.partition(t.Topic, p) == nil {
				refused[tp] = wire.UnknownTopicOrPartition
			}
		}
	}
	code := wire.OperationNotAttempted
	if len(refused) == 0 {
		var err error
		code, err = r.txnStep(req.TransactionalID, func(_ *txnCoordinator, sh *txnShard) (int16, transactions.Effects) {
			return sh.AddPartitions(r.cluster.clock.Now(), req.TransactionalID, transactions.Producer{ID: req.ProducerID, Epoch: req.ProducerEpoch}, wanted, 0)
		})
		if err != nil {
			return nil, err
		}
		code = fencedBefore(code, r.version, 2)
	}
	txn := addedToTransaction(kmsg.AddPartitionsToTxnRequestTransaction{Topics: batchTopics(req.Topics)}, len(refused) > 0, func(topic string, p int32) wire.Code {
		if own, ok := refused[transactions.TopicPartition{Topic: topic, Partition: p}]; ok {
			return own
		}
		return code
	})
	for _, t := range txn.Topics {
		rt := kmsg.NewAddPartitionsToTxnResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, p.ErrorCode
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp, nil
}

// batchTopics are the topics of a request below v4 as a transaction of a batch has them.
func batchTopics(topics []kmsg.AddPartitionsToTxnRequestTopic) []kmsg.AddPartitionsToTxnRequestTransactionTopic {
	list := make([]kmsg.AddPartitionsToTxnRequestTransactionTopic, len(topics))
	for i, t := range topics {
		list[i].Topic, list[i].Partitions = t.Topic, t.Partitions
	}
	return list
}

// mostRepeated is how many topics and partitions may be looked at once more because a batch names a transactional id several times: a request of a few MB could ask
// for an answer of many GB, which a real broker fails at.
const mostRepeated = 1 << 20

// addPartitionsBatch is the form that brokers use among themselves: several transactions, to be added to or only asked about. Of entries with the same transactional id
// each has its own producer and question, but all are about the partitions of the last; an answer with one code for all shows the topics of the first.
func (r *request) addPartitionsBatch(req *kmsg.AddPartitionsToTxnRequest) (answer, error) {
	first, last := map[string]int{}, map[string]int{}
	for i, txn := range req.Transactions {
		if _, again := first[txn.TransactionalID]; !again {
			first[txn.TransactionalID] = i
		}
		last[txn.TransactionalID] = i
	}
	partitions := func(i int) (n int64) {
		for _, t := range req.Transactions[i].Topics {
			n += 1 + int64(len(t.Partitions))
		}
		return n
	}
	sizes, repeated := map[string]int64{}, int64(0)
	for id := range first {
		sizes[id] = max(partitions(first[id]), partitions(last[id]))
	}
	for i, txn := range req.Transactions {
		if i != first[txn.TransactionalID] {
			repeated += sizes[txn.TransactionalID]
		}
	}
	if repeated > mostRepeated {
		return errorResponse(req, wire.UnknownServerError), nil
	}
	return onLoop(r.cluster, func() answer {
		resp := req.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
		for _, txn := range req.Transactions {
			txn.Topics = req.Transactions[last[txn.TransactionalID]].Topics
			code, each := r.addOrVerify(txn)
			if !each {
				txn.Topics = req.Transactions[first[txn.TransactionalID]].Topics
			}
			resp.Transactions = append(resp.Transactions, addedToTransaction(txn, each, code))
		}
		return resp
	})
}

// addedToTransaction gives every partition of a transaction of a batch its code. Where each was judged for itself, each is
// answered once; where the transaction has one code, the topics are answered as they stand in the request.
func addedToTransaction(txn kmsg.AddPartitionsToTxnRequestTransaction, each bool, code func(topic string, p int32) wire.Code) kmsg.AddPartitionsToTxnResponseTransaction {
	rt := kmsg.NewAddPartitionsToTxnResponseTransaction()
	rt.TransactionalID = txn.TransactionalID
	var named mentions
	for i, t := range txn.Topics {
		if !each {
			rt.Topics = append(rt.Topics, kmsg.NewAddPartitionsToTxnResponseTransactionTopic())
			rt.Topics[i].Topic = t.Topic
		}
		for _, p := range t.Partitions {
			at := i
			if each {
				place, _, first := named.place(t.Topic, p)
				if !first {
					continue
				}
				if at = place; at == len(rt.Topics) {
					rt.Topics = append(rt.Topics, kmsg.NewAddPartitionsToTxnResponseTransactionTopic())
					rt.Topics[at].Topic = t.Topic
				}
			}
			po := kmsg.NewAddPartitionsToTxnResponseTransactionTopicPartition()
			po.Partition, po.ErrorCode = p, int16(code(t.Topic, p))
			rt.Topics[at].Partitions = append(rt.Topics[at].Partitions, po)
		}
	}
	return rt
}

// addOrVerify handles one transaction of a batch; it answers each partition's code, and whether each was judged for itself. On the loop.
func (r *request) addOrVerify(txn kmsg.AddPartitionsToTxnRequestTransaction) (code func(topic string, p int32) wire.Code, each bool) {
	m := r.cluster.meta.Load()
	var wanted []transactions.TopicPartition
	unknown := false
	for _, t := range txn.Topics {
		for _, p := range t.Partitions {
			wanted = append(wanted, transactions.TopicPartition{Topic: t.Topic, Partition: p})
			unknown = unknown || m.partition(t.Topic, p) == nil
		}
	}
	if unknown {
		return func(topic string, p int32) wire.Code {
			if m.partition(topic, p) == nil {
				return wire.UnknownTopicOrPartition
			}
			return wire.OperationNotAttempted
		}, true
	}
	tc := r.cluster.txns
	sh, one := tc.shardOn(r.node.id, txn.TransactionalID)
	producer := transactions.Producer{ID: txn.ProducerID, Epoch: txn.ProducerEpoch}
	switch {
	case txn.TransactionalID == "":
		one = wire.InvalidRequest
	case sh == nil:
	case txn.VerifyOnly:
		return func(topic string, p int32) wire.Code {
			return wire.Code(sh.VerifyPartition(txn.TransactionalID, producer, transactions.TopicPartition{Topic: topic, Partition: p}))
		}, true
	default:
		now := r.cluster.clock.Now()
		c, fx := sh.AddPartitions(now, txn.TransactionalID, producer, wanted, 2)
		tc.apply(now, sh, fx)
		one = wire.Code(c)
	}
	return func(string, int32) wire.Code { return one }, txn.VerifyOnly
}

func (r *request) addOffsetsToTxn() (answer, error) {
	req := r.body.(*kmsg.AddOffsetsToTxnRequest)
	resp := req.ResponseKind().(*kmsg.AddOffsetsToTxnResponse)
	code, err := r.txnStep(req.TransactionalID, func(tc *txnCoordinator, sh *txnShard) (int16, transactions.Effects) {
		return sh.AddPartitions(r.cluster.clock.Now(), req.TransactionalID, transactions.Producer{ID: req.ProducerID, Epoch: req.ProducerEpoch},
			[]transactions.TopicPartition{r.cluster.offsetsPartition(req.Group)}, 0)
	})
	resp.ErrorCode = int16(fencedBefore(code, r.version, 2))
	return resp, err
}

// offsetsPartition is the partition of __consumer_offsets that holds a group. On the loop.
func (c *Cluster) offsetsPartition(group string) transactions.TopicPartition {
	c.createInternal(offsetsTopic)
	n := len(c.meta.Load().topics[offsetsTopic].partitions)
	return transactions.TopicPartition{Topic: offsetsTopic, Partition: groupPartition(group, n)}
}

func (r *request) endTxn() (answer, error) {
	req := r.body.(*kmsg.EndTxnRequest)
	resp := req.ResponseKind().(*kmsg.EndTxnResponse)
	next := transactions.Producer{ID: -1, Epoch: -1}
	code, err := r.txnStep(req.TransactionalID, func(_ *txnCoordinator, sh *txnShard) (code int16, fx transactions.Effects) {
		next, code, fx = sh.EndTxn(r.cluster.clock.Now(), req.TransactionalID, transactions.Producer{ID: req.ProducerID, Epoch: req.ProducerEpoch}, req.Commit, r.version)
		return code, fx
	})
	resp.ErrorCode = int16(fencedBefore(code, r.version, 2))
	resp.ProducerID, resp.ProducerEpoch = next.ID, next.Epoch
	return resp, err
}

// writeTxnMarkers is for coordinators, but any client may send it. It doesn't touch the coordinator's state.
func (r *request) writeTxnMarkers() (answer, error) {
	req := r.body.(*kmsg.WriteTxnMarkersRequest)
	return onLoop(r.cluster, func() answer {
		now, m := r.cluster.clock.Now(), r.cluster.meta.Load()
		written := newWrittenMarkers(req)
		for _, w := range req.Markers {
			marker := partitionlog.Marker{ProducerID: w.ProducerID, ProducerEpoch: w.ProducerEpoch, Commit: w.Committed, CoordinatorEpoch: w.CoordinatorEpoch}
			if r.version >= 2 {
				marker.TransactionVersion = int16(w.TransactionVersion)
			}
			var named mentions
			for _, t := range w.Topics {
				for _, index := range t.Partitions {
					if _, _, first := named.place(t.Topic, index); !first {
						continue
					}
					code := wire.UnknownTopicOrPartition
					if p := m.partition(t.Topic, index); p != nil {
						if w.ProducerID == -1 || w.ProducerEpoch == -1 { // a batch of nobody can't be built
							return errorResponse(req, wire.UnknownServerError)
						}
						code = wire.NotLeaderOrFollower
						if p.state.Load().leader == r.node.id {
							_, code = r.cluster.appendMarker(now, p, marker)
						}
					}
					written.set(w.ProducerID, t.Topic, index, code)
				}
			}
		}
		return written.resp
	})
}

// writtenMarkers is the answer of WriteTxnMarkers: one entry for each producer id that named partitions, and in it each partition once, with the code of the last marker.
type writtenMarkers struct {
	resp  *kmsg.WriteTxnMarkersResponse
	at    map[int64]int
	named map[int64]*mentions
}

func newWrittenMarkers(req *kmsg.WriteTxnMarkersRequest) writtenMarkers {
	return writtenMarkers{resp: req.ResponseKind().(*kmsg.WriteTxnMarkersResponse), at: map[int64]int{}, named: map[int64]*mentions{}}
}

// of is the producer id's entry.
func (w *writtenMarkers) of(producerID int64) *kmsg.WriteTxnMarkersResponseMarker {
	i, known := w.at[producerID]
	if !known {
		i = len(w.resp.Markers)
		w.at[producerID], w.named[producerID] = i, &mentions{}
		rm := kmsg.NewWriteTxnMarkersResponseMarker()
		rm.ProducerID = producerID
		w.resp.Markers = append(w.resp.Markers, rm)
	}
	return &w.resp.Markers[i]
}

func (w *writtenMarkers) set(producerID int64, topic string, partition int32, code wire.Code) {
	rm := w.of(producerID)
	ti, pi, first := w.named[producerID].place(topic, partition)
	if ti == len(rm.Topics) {
		rt := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
		rt.Topic = topic
		rm.Topics = append(rm.Topics, rt)
	}
	rt := &rm.Topics[ti]
	if first {
		rp := kmsg.NewWriteTxnMarkersResponseMarkerTopicPartition()
		rp.Partition = partition
		rt.Partitions = append(rt.Partitions, rp)
	}
	rt.Partitions[pi].ErrorCode = int16(code)
}

func (r *request) txnOffsetCommit() (answer, error) {
	return r.toGroup(r.body.(*kmsg.TxnOffsetCommitRequest).Group)
}

// verifyOffsets is what the group coordinator asks before it takes a producer's offsets: that its partition is in the producer's transaction, or is put there
// (v5). On the loop.
func (c *Cluster) verifyOffsets(req *kmsg.TxnOffsetCommitRequest) wire.Code {
	if req.Version < 5 && !c.settings(c.nodes[0].id).Bool("transaction.partition.verification.enable") {
		return wire.None
	}
	tp := c.offsetsPartition(req.Group)
	if p := c.meta.Load().partition(tp.Topic, tp.Partition); p != nil {
		p.mu.Lock()
		stale, open := p.log.ProducerState(req.ProducerID, req.ProducerEpoch)
		p.mu.Unlock()
		if stale {
			return wire.InvalidProducerEpoch
		}
		if open { // whatever the transactional id
			return wire.None
		}
	}
	code := c.txns.askTransaction(req.TransactionalID, transactions.Producer{ID: req.ProducerID, Epoch: req.ProducerEpoch}, []transactions.TopicPartition{tp}, req.Version >= 5)[0]
	switch code {
	case wire.ProducerFenced:
		return wire.InvalidProducerEpoch
	case wire.TransactionAbortable:
		if req.Version < 4 {
			return wire.InvalidTxnState
		}
	case wire.NotCoordinator, wire.CoordinatorNotAvailable:
		return wire.CoordinatorNotAvailable
	case wire.CoordinatorLoadInProgress:
		if req.Version < 2 {
			return wire.CoordinatorNotAvailable
		}
		return wire.CoordinatorLoadInProgress
	}
	return code
}

func (r *request) describeTransactions() (answer, error) {
	req := r.body.(*kmsg.DescribeTransactionsRequest)
	return onLoop(r.cluster, func() answer {
		resp := req.ResponseKind().(*kmsg.DescribeTransactionsResponse)
		for _, id := range req.TransactionalIDs {
			s := kmsg.NewDescribeTransactionsResponseTransactionState()
			s.TransactionalID = id
			sh, code := r.cluster.txns.shardOn(r.node.id, id)
			if sh != nil {
				var d transactions.Description
				var c int16
				d, c = sh.Describe(id)
				code = wire.Code(c)
				if code == wire.None {
					s.State, s.TimeoutMillis, s.StartTimestamp = d.State.String(), d.TimeoutMs, d.StartTimestamp
					s.ProducerID, s.ProducerEpoch = d.Producer.ID, d.Producer.Epoch
					s.Topics = describedTopics(d.Partitions)
				}
			} else if id == "" {
				code = wire.InvalidRequest
			}
			s.ErrorCode = int16(code)
			resp.TransactionStates = append(resp.TransactionStates, s)
		}
		return resp
	})
}

func describedTopics(ps []transactions.TopicPartition) []kmsg.DescribeTransactionsResponseTransactionStateTopic {
	var topics []kmsg.DescribeTransactionsResponseTransactionStateTopic
	for _, p := range ps {
		if n := len(topics); n == 0 || topics[n-1].Topic != p.Topic {
			t := kmsg.NewDescribeTransactionsResponseTransactionStateTopic()
			t.Topic = p.Topic
			topics = append(topics, t)
		}
		t := &topics[len(topics)-1]
		t.Partitions = append(t.Partitions, p.Partition)
	}
	return topics
}

// listTransactions lists the transactional ids that this broker coordinates.
func (r *request) listTransactions() (answer, error) {
	req := r.body.(*kmsg.ListTransactionsRequest)
	resp := req.ResponseKind().(*kmsg.ListTransactionsResponse)
	var pattern *regexp.Regexp
	if p := req.TransactionalIDPattern; r.version >= 2 && p != nil && *p != "" {
		var err error
		if pattern, err = regexp.Compile(`^(?:` + *p + `)$`); err != nil {
			resp.ErrorCode = int16(wire.InvalidRegularExpression)
			return resp, nil
		}
	}
	known, unknown := map[string]bool{}, map[string]bool{}
	for _, name := range req.StateFilters {
		if transactions.KnownState(name) {
			known[name] = true
		} else {
			unknown[name] = true
		}
	}
	resp.UnknownStateFilters = append(resp.UnknownStateFilters, slices.Sorted(maps.Keys(unknown))...)
	if len(req.StateFilters) > 0 && len(known) == 0 {
		return resp, nil
	}
	return onLoop(r.cluster, func() answer {
		now := r.cluster.clock.NowMillis()
		r.cluster.txns.each(func(sh *txnShard) {
			if sh.node != r.node.id {
				return
			}
			for _, id := range sh.IDs() {
				d, _ := sh.Describe(id)
				switch {
				case len(known) > 0 && !known[d.State.String()],
					len(req.ProducerIDFilters) > 0 && !slices.Contains(req.ProducerIDFilters, d.Producer.ID),
					r.version >= 1 && req.DurationFilterMillis >= 0 && now-d.StartTimestamp <= req.DurationFilterMillis,
					pattern != nil && !pattern.MatchString(id):
					continue
				}
				s := kmsg.NewListTransactionsResponseTransactionState()
				s.TransactionalID, s.ProducerID, s.TransactionState = id, d.Producer.ID, d.State.String()
				resp.TransactionStates = append(resp.TransactionStates, s)
			}
		})
		return resp
	})
}

// mentions finds the places of an answer that has every topic and every partition once, however often a request names them.
type mentions struct {
	topics     map[string]int
	partitions map[topicPartition]int
	counts     []int // of partitions, by topic
}

// place gives where the topic stands in the answer, and where the partition in the topic; first is whether it wasn't named before.
func (m *mentions) place(topic string, partition int32) (at, i int, first bool) {
	if m.topics == nil {
		m.topics, m.partitions = map[string]int{}, map[topicPartition]int{}
	}
	at, known := m.topics[topic]
	if !known {
		at = len(m.counts)
		m.topics[topic] = at
		m.counts = append(m.counts, 0)
	}
	key := topicPartition{topic, partition}
	i, known = m.partitions[key]
	if !known {
		i = m.counts[at]
		m.partitions[key] = i
		m.counts[at]++
	}
	return at, i, !known
}
