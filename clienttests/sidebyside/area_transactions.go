package main

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/partitionlog"
)

// transactionsArea drives two transactional ids through every request of theirs, with epochs and ids that are now and then wrong.
var transactionsArea = area{
	name:   "transactions",
	parts:  2,
	topics: map[string]map[string]string{"t1": oldRecords("segment.ms", "9000000000000000"), "t2": oldRecords("segment.ms", "9000000000000000")}, // a marker of today would begin a segment
	spoil:  15,
	hurt:   4,
	kinds: []kind{
		on(5, (*gen).initProducerID),
		on(6, (*gen).addPartitionsToTxn),
		on(4, (*gen).addOffsetsToTxn),
		on(5, (*gen).txnOffsetCommit),
		on(8, (*gen).endTxn),
		on(8, (*gen).transactionalProduce),
		on(2, (*gen).describeTransactions),
		on(1, (*gen).listTransactions),
		on(2, (*gen).describeProducers),
		on(1, (*gen).writeTxnMarkers),
		on(3, (*gen).fetch),
		on(2, (*gen).listOffsets),
		on(3, (*gen).offsetFetch),
		on(1, (*gen).offsetCommit),
		on(1, (*gen).offsetDelete),
		on(1, (*gen).deleteRecords),
	},
}

// expiryArea is transactionsArea with transactions that run out of time in the pauses.
var expiryArea = area{
	name:   "expiry",
	parts:  transactionsArea.parts,
	topics: transactionsArea.topics,
	spoil:  5,
	pause:  1800 * time.Millisecond,
	needs:  map[string]int{"transaction.abort.timed.out.transaction.cleanup.interval.ms": 300},
	kinds:  transactionsArea.kinds,
}

func (g *gen) initProducerID(q *kmsg.InitProducerIDRequest) {
	name := g.transaction()
	q.TransactionalID, q.TransactionTimeoutMillis, q.ProducerID, q.ProducerEpoch = &name, 60000, -1, -1
	if g.short {
		q.TransactionTimeoutMillis = shortTimeout
	}
	if g.percent(30) {
		p := g.producer(name)
		q.ProducerID, q.ProducerEpoch = p.id, p.epoch
	}
	if g.percent(8) {
		q.TransactionalID = nil
	}
}

func (g *gen) addPartitionsToTxn(q *kmsg.AddPartitionsToTxnRequest) {
	name, topic, partitions := g.transaction(), g.topic(), []int32{g.partition()}
	p := g.producer(name)
	q.TransactionalID, q.ProducerID, q.ProducerEpoch = name, p.id, p.epoch
	q.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: topic, Partitions: partitions}}
	q.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{{TransactionalID: name, ProducerID: p.id, ProducerEpoch: p.epoch, VerifyOnly: g.percent(30),
		Topics: []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: topic, Partitions: partitions}}}}
}

func (g *gen) addOffsetsToTxn(q *kmsg.AddOffsetsToTxnRequest) {
	q.TransactionalID, q.Group = g.transaction(), g.group()
	p := g.producer(q.TransactionalID)
	q.ProducerID, q.ProducerEpoch = p.id, p.epoch
}

func (g *gen) txnOffsetCommit(q *kmsg.TxnOffsetCommitRequest) {
	q.TransactionalID, q.Group = g.transaction(), g.group()
	p := g.producer(q.TransactionalID)
	q.ProducerID, q.ProducerEpoch, q.Generation = p.id, p.epoch, -1
	if m := g.member(q.Group); g.percent(20) {
		q.MemberID, q.InstanceID, q.Generation = m.id, m.instance, g.around(m.epoch)
	}
	t := kmsg.NewTxnOffsetCommitRequestTopic()
	t.Topic = g.topic()
	of := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	of.Partition, of.Offset, of.LeaderEpoch = g.partition(), g.r.Int64N(20), -1
	t.Partitions = append(t.Partitions, of)
	q.Topics = append(q.Topics, t)
}

func (g *gen) endTxn(q *kmsg.EndTxnRequest) {
	q.TransactionalID, q.Commit = g.transaction(), g.percent(60)
	p := g.producer(q.TransactionalID)
	q.ProducerID, q.ProducerEpoch = p.id, p.epoch
}

func (g *gen) transactionalProduce(q *kmsg.ProduceRequest) {
	name := g.transaction()
	p := g.producer(name)
	q.Acks, q.TimeoutMillis, q.TransactionID = -1, 5000, &name
	t := kmsg.NewProduceRequestTopic()
	t.Topic = g.topic()
	t.TopicID = g.id(t.Topic)
	of := kmsg.NewProduceRequestTopicPartition()
	of.Partition = g.partition()
	of.Records = batchOf(g.r, partitionlog.BatchOptions{Transactional: !g.percent(8), Idempotent: true,
		ProducerID: p.id, ProducerEpoch: p.epoch, BaseSequence: g.around(p.next[partition{t.Topic, of.Partition}])})
	t.Partitions = append(t.Partitions, of)
	q.Topics = append(q.Topics, t)
}

func (g *gen) describeTransactions(q *kmsg.DescribeTransactionsRequest) {
	q.TransactionalIDs = []string{g.transaction(), g.transaction()}
}

func (g *gen) listTransactions(q *kmsg.ListTransactionsRequest) {
	q.DurationFilterMillis = -1
	if g.percent(50) {
		q.StateFilters = []string{pick(g.r, "Ongoing", "Empty", "CompleteCommit", "CompleteAbort", "bogus", "ongoing")}
	}
	if g.percent(30) {
		q.ProducerIDFilters = []int64{g.someProducer()}
	}
}

func (g *gen) writeTxnMarkers(q *kmsg.WriteTxnMarkersRequest) {
	p := g.producer(g.transaction())
	q.Markers = []kmsg.WriteTxnMarkersRequestMarker{{ProducerID: p.id, ProducerEpoch: p.epoch, Committed: g.percent(50), CoordinatorEpoch: pick[int32](g.r, 0, 0, 1, -1),
		Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: g.topic(), Partitions: []int32{g.partition()}}}}}
}
