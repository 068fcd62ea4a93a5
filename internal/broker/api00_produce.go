package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
)

// Produce, v3-13. v5 log start offsets, v7 zstd, v8 record errors, v10 leader hints (KIP-951), v12 implicit add to the
// transaction, v13 topic ids.
//
// Kafka never answers null record data; here it is INVALID_RECORD, as empty data is.

// producing is one Produce under way.
type producing struct {
	r       *request
	req     *kmsg.ProduceRequest
	entries []produceEntry
}

// produceEntry is one partition of the request and its answer.
type produceEntry struct {
	topic   string
	id      [16]byte
	records []byte
	again   [][]byte  // the records of the same partition's later mentions in the request
	batch   []byte    // the one batch of records, once the entry has passed the checks that touch no log
	bad     wire.Code // of the last mention whose records are none: answered even where another one is appended
	on      *topic
	part    *partition
	resp    kmsg.ProduceResponseTopicPartition
	leader  int32 // of the hint, -1 without one

	verification partitionlog.Verification // the coordinator's word on a transactional batch
}

func (r *request) produce() (answer, error) {
	p := &producing{r: r, req: r.body.(*kmsg.ProduceRequest)}
	p.collect()
	if code, why := p.wholeRequest(); code != wire.None {
		for i := range p.entries {
			p.entries[i].refuse(code, -1)
			if code == wire.CorruptMessage {
				p.entries[i].resp.ErrorMessage = &why
			}
		}
	} else if !p.check() {
		if p.req.Acks == 0 {
			return nil, noAnswer("a Produce with acks=0 failed: %s", wire.UnknownServerError)
		}
		for i := range p.entries {
			p.entries[i].refuse(wire.UnknownServerError, -1)
		}
	} else if err := p.appendAll(); err != nil {
		return nil, err
	}
	if p.req.Acks == 0 {
		for i := range p.entries {
			if e := &p.entries[i]; e.resp.ErrorCode != 0 {
				return nil, noAnswer("a Produce with acks=0 failed: %s-%d %s", e.topic, e.resp.Partition, wire.Code(e.resp.ErrorCode))
			}
		}
		return nil, nil
	}
	return p.answer(), nil
}

// collect lists the request's partitions. One that is named twice is one entry, answered once.
func (p *producing) collect() {
	n := 0
	for i := range p.req.Topics {
		n += len(p.req.Topics[i].Partitions)
	}
	p.entries = make([]produceEntry, 0, n)
	type place struct {
		topic     string
		id        [16]byte
		partition int32
	}
	var at map[place]int
	if n > 1 {
		at = make(map[place]int, n)
	}
	for i := range p.req.Topics {
		t := &p.req.Topics[i]
		for j := range t.Partitions {
			part := &t.Partitions[j]
			if at != nil {
				k := place{t.Topic, t.TopicID, part.Partition}
				if first, named := at[k]; named {
					e := &p.entries[first]
					e.again = append(e.again, part.Records)
					continue
				}
				at[k] = len(p.entries)
			}
			e := produceEntry{topic: t.Topic, id: t.TopicID, records: part.Records, leader: -1}
			e.resp = kmsg.NewProduceResponseTopicPartition()
			e.resp.Partition = part.Partition
			e.resp.BaseOffset, e.resp.LogAppendTime, e.resp.LogStartOffset = -1, -1, -1
			p.entries = append(p.entries, e)
		}
	}
}

// mentions goes through the records of each mention of the partition in the request.
func (e *produceEntry) mentions(yield func(records []byte) bool) {
	if !yield(e.records) {
		return
	}
	for _, records := range e.again {
		if !yield(records) {
			return
		}
	}
}

// wholeRequest looks at the first batch of one partition after the other, before anything else, until one is transactional:
// without a transactional id that fails the whole request, as does a header on the way there that can't be read.
func (p *producing) wholeRequest() (code wire.Code, why string) {
	for i := range p.req.Topics {
		for j := range p.req.Topics[i].Partitions {
			records := p.req.Topics[i].Partitions[j].Records
			if code, reason := partitionlog.BrokenFirstHeader(records); code != partitionlog.CodeNone {
				return wire.Code(code), reason
			}
			if !partitionlog.FirstBatchTransactional(records) {
				continue
			}
			if p.req.TransactionID == nil {
				return wire.TransactionalIDAuthorizationFailed, ""
			}
			return wire.None, ""
		}
	}
	return wire.None, ""
}

// check finds each entry's partition and its batch, before anything is appended. It answers false when the request fails
// as a whole: an old version looks at the codec here, and Kafka has no error for a codec that doesn't exist, nor for a batch
// that ends before its producer's id.
func (p *producing) check() bool {
	m := p.r.cluster.meta.Load()
	for i := range p.entries {
		e := &p.entries[i]
		e.on = m.topics[e.topic]
		if p.r.version >= 13 {
			if e.on = m.ids[e.id]; e.on == nil {
				e.refuse(wire.UnknownTopicID, -1)
				continue
			}
		}
		if e.part = e.on.partition(e.resp.Partition); e.part == nil {
			e.refuse(wire.UnknownTopicOrPartition, -1)
			continue
		}
		// Of several mentions the last good one is appended, and the last bad one is the answer.
		for records := range e.mentions {
			switch batch, code := partitionlog.SplitProduce(records, p.r.version); code {
			case 0:
				e.batch = batch
			case partitionlog.CodeUnknownServerError:
				return false
			default:
				e.bad = wire.Code(code)
			}
		}
		if e.batch != nil && partitionlog.EndsBeforeProducer(e.batch) {
			return false
		}
	}
	return true
}

// checkAcks is asked only after the transaction coordinator, which by then has added the partitions.
func (p *producing) checkAcks() {
	if p.req.Acks >= -1 && p.req.Acks <= 1 {
		return
	}
	for i := range p.entries {
		if e := &p.entries[i]; e.batch != nil {
			e.batch = nil
			e.refuse(wire.InvalidRequiredAcks, -1)
		}
	}
}

// appendAll appends partition by partition, once the transaction coordinator has agreed where it has a say.
func (p *producing) appendAll() error {
	now := p.r.cluster.clock.recordTime().UnixMilli()
	if err := p.verifyTransactions(now); err != nil {
		return err
	}
	p.checkAcks()
	frame := cap(p.r.frame)
	batches, size := 0, 0
	for i := range p.entries {
		if b := p.entries[i].batch; b != nil {
			batches++
			size += len(b)
		}
	}
	o := partitionlog.AppendOptions{Origin: partitionlog.OriginClient, FrameSize: frame}
	o.Keep = batches > 1 && partitionlog.KeepFrame(frame, batches, size)
	o.Codecs = p.r.cluster.codecs.Get().(*partitionlog.Codecs)
	defer p.r.cluster.codecs.Put(o.Codecs)
	for i := range p.entries {
		e := &p.entries[i]
		if e.batch != nil {
			o.Verification = e.verification
			p.append(e, now, o)
		}
		if e.bad != wire.None {
			e.answerBad()
		}
	}
	return nil
}

// adminClientID is the client id that Kafka lets write to internal topics.
const adminClientID = "__admin_client"

// append appends one batch: the checks of the partition in Kafka's order, then those of its log.
func (p *producing) append(e *produceEntry, now int64, o partitionlog.AppendOptions) {
	r, part := p.r, e.part
	if e.on.internal && r.client != adminClientID {
		e.refuse(wire.InvalidTopicException, -1)
		return
	}
	s := part.state.Load()
	if !s.hosted(r.node.id) || s.leader != r.node.id {
		e.refuse(wire.NotLeaderOrFollower, -1)
		if r.version >= 10 {
			e.resp.CurrentLeader.LeaderID, e.resp.CurrentLeader.LeaderEpoch = s.leader, s.epoch
			e.leader = s.leader
		}
		return
	}
	if p.req.Acks == -1 && len(s.isr) < effectiveMinISR(e.on.configs.MinInsyncReplicas, len(s.replicas)) {
		part.mu.Lock()
		start := part.log.LogStart()
		part.mu.Unlock()
		e.refuse(wire.NotEnoughReplicas, start)
		return
	}
	res, err := part.append(now, e.batch, o)
	if err != nil {
		e.refuse(wire.Code(err.Code), err.LogStart)
		if err.Message != "" {
			e.resp.ErrorMessage = &err.Message
		}
		for i := range err.Records {
			bad := kmsg.NewProduceResponseTopicPartitionErrorRecord()
			bad.RelativeOffset, bad.ErrorMessage = err.Records[i].Index, &err.Records[i].Message
			e.resp.ErrorRecords = append(e.resp.ErrorRecords, bad)
		}
		r.cluster.log.Debug("batch refused", "client", r.client, "topic", part.topic, "partition", part.index,
			"code", wire.Code(err.Code).String(), "reason", err.Reason)
		return
	}
	// All replicas share the one log, so the batch is on all of the ISR now, and acks=-1 need not wait.
	e.resp.BaseOffset, e.resp.LogAppendTime, e.resp.LogStartOffset = res.BaseOffset, res.LogAppendTime, res.LogStart
}

func (e *produceEntry) refuse(code wire.Code, logStart int64) {
	e.resp.ErrorCode = int16(code)
	e.resp.LogStartOffset = logStart
}

// answerBad puts the answer for a mention without usable records over that of a mention that was appended.
func (e *produceEntry) answerBad() {
	partition := e.resp.Partition
	e.resp = kmsg.NewProduceResponseTopicPartition()
	e.resp.Partition, e.leader = partition, -1
	e.resp.BaseOffset, e.resp.LogAppendTime = -1, -1
	e.refuse(e.bad, -1)
}

func (p *producing) answer() answer {
	resp := p.req.ResponseKind().(*kmsg.ProduceResponse)
	var nodes hintedNodes
	type topicKey struct {
		name string
		id   [16]byte
	}
	var topics map[topicKey]int // where each topic is in the answer: one that comes back in the request is answered once
	if len(p.req.Topics) > 1 {
		topics = make(map[topicKey]int, len(p.req.Topics))
	}
	for i := range p.entries {
		e := &p.entries[i]
		at := len(resp.Topics) - 1
		if at < 0 || resp.Topics[at].Topic != e.topic || resp.Topics[at].TopicID != e.id {
			k, known := topicKey{e.topic, e.id}, false
			if at, known = topics[k]; !known {
				t := kmsg.NewProduceResponseTopic()
				t.Topic, t.TopicID = e.topic, e.id
				at = len(resp.Topics)
				resp.Topics = append(resp.Topics, t)
				if topics != nil {
					topics[k] = at
				}
			}
		}
		if e.resp.ErrorCode != 0 && e.part != nil && !e.part.deleted.Load() {
			p.r.cluster.refused.add(e.part.topic, p.r.client, wire.Code(e.resp.ErrorCode))
		}
		t := &resp.Topics[at]
		t.Partitions = append(t.Partitions, e.resp)
		if e.leader >= 0 {
			nodes.add(p.r.cluster.meta.Load(), e.leader)
		}
	}
	for _, n := range nodes {
		b := kmsg.NewProduceResponseBroker()
		b.NodeID, b.Host, b.Port = n.id, p.r.brokerHost(n), n.port
		if n.rack != "" {
			b.Rack = &n.rack
		}
		resp.Brokers = append(resp.Brokers, b)
	}
	return resp
}
