package broker

import (
	"fmt"
	"maps"
	"time"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
	"github.com/fakekafka/fakekafka/transactions"
)

// txnCoordinator drives the transaction shards: one for each partition of __transaction_state, on the node that leads it. It carries the outcome of a
// transaction to the partitions' logs and to the groups' pending offsets. Everything here runs on the control loop.
type txnCoordinator struct {
	c         *Cluster
	shards    map[int32]*txnShard
	producers map[string]string // by transactional id, the client that was given its epoch last, as LoggedName has it: for messages
}

type txnShard struct {
	*transactions.Shard
	log   *partition // its partition of __transaction_state
	node  int32      // the coordinator: leader of the partition
	epoch int32      // of that leader: the coordinator epoch of its markers
}

func newTxnCoordinator(c *Cluster) *txnCoordinator {
	return &txnCoordinator{c: c, shards: map[int32]*txnShard{}, producers: map[string]string{}}
}

func (tc *txnCoordinator) config() transactions.Config {
	v := tc.c.settings(tc.c.nodes[0].id)
	return transactions.Config{
		MaxTimeout: v.Duration("transaction.max.timeout.ms"),
		Expiration: v.Duration("transactional.id.expiration.ms"),
	}
}

// The settings that say how often the housekeeping is done.
const (
	txnTimeoutInterval = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
	txnExpiryInterval  = "transaction.remove.expired.transaction.cleanup.interval.ms"
)

// schedule begins the housekeeping at a cluster's start.
func (tc *txnCoordinator) schedule() {
	d := tc.c.derived(tc.c.nodes[0].id)
	tc.c.schedule("overdue transactions", d.txnTimeoutInterval, txnTimeoutInterval, func(now time.Time) {
		tc.each(func(sh *txnShard) { tc.apply(now, sh, sh.AbortTimedOut(now)) })
	}).idle = func(time.Time) bool { return !tc.used() }
	tc.c.schedule("unused transactional ids", d.txnExpiryInterval, txnExpiryInterval, func(now time.Time) {
		tc.each(func(sh *txnShard) { tc.apply(now, sh, sh.RemoveExpired(now)) })
		maps.DeleteFunc(tc.producers, func(id, _ string) bool { sh, _ := tc.shardOf(id); return sh != nil && !sh.Has(id) })
	})
}

// producerText says whose a transactional id is, for messages.
func (tc *txnCoordinator) producerText(id string) string {
	if client, ok := tc.producers[id]; ok {
		return fmt.Sprintf(" of client %q", client)
	}
	return ""
}

// used tells whether there are transactional ids.
func (tc *txnCoordinator) used() bool {
	for _, sh := range tc.shards {
		if len(sh.IDs()) > 0 {
			return true
		}
	}
	return false
}

func (tc *txnCoordinator) each(fn func(*txnShard)) {
	for _, p := range sortedKeys(tc.shards) {
		fn(tc.shards[p])
	}
}

// metadataChanged follows the leaders of __transaction_state, and writes the markers that waited for a leader or whose topic is gone.
func (tc *txnCoordinator) metadataChanged(now time.Time) {
	t := tc.c.meta.Load().topics[transactionsTopic]
	for index, sh := range tc.shards {
		if t.partition(index) != sh.log {
			delete(tc.shards, index)
		}
	}
	if t != nil {
		for _, p := range t.partitions {
			tc.follow(now, p)
		}
	}
	tc.each(func(sh *txnShard) {
		sh.SetReadOnly(sh.log.underMinISR())
		for _, m := range sh.Outstanding() {
			tc.writeMarkers(now, sh, m)
		}
	})
}

func (tc *txnCoordinator) follow(now time.Time, p *partition) {
	s := p.state.Load()
	sh := tc.shards[p.index]
	if sh != nil && sh.node == s.leader && sh.epoch == s.epoch {
		return
	}
	delete(tc.shards, p.index)
	if s.leader < 0 {
		return
	}
	sh = &txnShard{
		Shard: transactions.NewShard(tc.config(), func() int64 { return tc.c.nextProducerID.Add(1) }),
		log:   p, node: s.leader, epoch: s.epoch,
	}
	err := p.eachRecord(tc.c.loopCodecs(), func(r partitionlog.Record) error {
		return sh.Replay(transactions.Record{Key: r.Key, Value: r.Value})
	})
	if err != nil {
		tc.c.bug("the log of %s-%d can't be read back: %v", transactionsTopic, p.index, err)
	}
	tc.shards[p.index] = sh
	sh.SetReadOnly(p.underMinISR())
	tc.apply(now, sh, sh.Loaded())
}

// shardOf finds the shard of a transactional id, on whatever node. The code is NOT_COORDINATOR where there is none.
func (tc *txnCoordinator) shardOf(id string) (*txnShard, wire.Code) {
	t := tc.c.meta.Load().topics[transactionsTopic]
	if t == nil {
		return nil, wire.NotCoordinator
	}
	sh := tc.shards[groupPartition(id, len(t.partitions))]
	if sh == nil {
		return nil, wire.NotCoordinator
	}
	return sh, wire.None
}

// shardOn is shardOf for a client's request, which must reach the coordinator itself.
func (tc *txnCoordinator) shardOn(node int32, id string) (*txnShard, wire.Code) {
	sh, code := tc.shardOf(id)
	if sh != nil && sh.node != node {
		return nil, wire.NotCoordinator
	}
	return sh, code
}

// apply does what a step of a shard asks for: write, send markers, tell.
func (tc *txnCoordinator) apply(now time.Time, sh *txnShard, e transactions.Effects) {
	for _, r := range e.Records {
		batch, err := partitionlog.BuildBatch([]partitionlog.Record{{Timestamp: now.UnixMilli(), Key: r.Key, Value: r.Value}}, partitionlog.BatchOptions{Codecs: tc.c.loopCodecs()})
		if err == nil {
			err = sh.log.appendInternal(now, batch)
		}
		if err != nil {
			tc.c.bug("a record can't be written to %s-%d: %v", transactionsTopic, sh.log.index, err)
		}
	}
	for _, ev := range e.Events {
		tc.c.historyAdd(EventTransaction, "", ev.TransactionalID+" is "+ev.State.String()+": "+ev.Cause)
	}
	for _, m := range e.Markers {
		tc.writeMarkers(now, sh, m)
	}
}

// writeMarkers ends a transaction in those of its partitions that have a leader and enough in sync; the others wait for that. A partition that is gone needs none.
func (tc *txnCoordinator) writeMarkers(now time.Time, sh *txnShard, m transactions.Markers) {
	var written []transactions.TopicPartition
	refused := false
	for _, tp := range m.Partitions {
		p := tc.c.meta.Load().partition(tp.Topic, tp.Partition)
		if p != nil {
			if p.state.Load().leader < 0 || p.underMinISR() {
				continue
			}
			_, code := tc.c.appendMarker(now, p, partitionlog.Marker{
				ProducerID: m.ProducerID, ProducerEpoch: m.ProducerEpoch, Commit: m.Commit, CoordinatorEpoch: sh.epoch, TransactionVersion: m.TransactionVersion,
			})
			if code != wire.None {
				refused = true
				continue
			}
		}
		written = append(written, tp)
	}
	tc.apply(now, sh, sh.MarkersWritten(now, m.TransactionalID, written...))
	if refused {
		tc.apply(now, sh, sh.MarkersRefused(m.TransactionalID))
	}
}

// appendMarker writes a marker to a partition; one of __consumer_offsets carries the outcome to the groups' pending offsets. On the loop.
func (c *Cluster) appendMarker(now time.Time, p *partition, m partitionlog.Marker) (offset int64, code wire.Code) {
	if p.underMinISR() {
		return 0, wire.NotEnoughReplicas
	}
	code = p.update(func(l *partitionlog.Log) wire.Code {
		res, err := l.AppendMarker(now.UnixMilli(), m)
		if err != nil {
			return wire.Code(err.Code)
		}
		offset = res.BaseOffset
		return wire.None
	})
	if code != wire.None {
		return 0, code
	}
	if p.topic == offsetsTopic {
		if gs := c.groups.shards[p.index]; gs != nil {
			c.groups.apply(now, gs, gs.CompleteTransaction(now, m.ProducerID, m.Commit, offset))
		}
	}
	return offset, wire.None
}

// EventTransaction is a step of a transactional id.
const EventTransaction groups.EventKind = "transaction"

// askTransaction asks the coordinator on behalf of partitions: to confirm that they are in the producer's transaction, or (add) to put them in. The codes, one for
// each partition, are the coordinator's own. On the loop.
func (tc *txnCoordinator) askTransaction(id string, p transactions.Producer, tps []transactions.TopicPartition, add bool) []wire.Code {
	codes := make([]wire.Code, len(tps))
	sh, one := tc.shardOf(id)
	switch {
	case sh == nil:
	case add:
		now := tc.c.clock.Now()
		c, fx := sh.AddPartitions(now, id, p, tps, 2)
		tc.apply(now, sh, fx)
		one = wire.Code(c)
	default:
		for i, tp := range tps {
			codes[i] = wire.Code(sh.VerifyPartition(id, p, tp))
		}
		return codes
	}
	for i := range codes {
		codes[i] = one
	}
	return codes
}
