package main

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/partitionlog"
)

// logArea writes, reads and deletes records of topics with different settings, with many damaged batches and frames.
var logArea = area{
	name:  "log",
	parts: 2,
	topics: map[string]map[string]string{
		"t1":     oldRecords(),
		"t-gzip": oldRecords("compression.type", "gzip"),
		"t-none": oldRecords("compression.type", "uncompressed"),
		"t-comp": oldRecords("cleanup.policy", "compact", "min.cleanable.dirty.ratio", "1.0"),
		"t-seg":  oldRecords("segment.ms", "100", "max.message.bytes", "110"),
		"t-time": oldRecords("message.timestamp.type", "LogAppendTime"),
	},
	setup: func(g *gen) []kmsg.Request { return []kmsg.Request{initProducer(nil), initProducer(nil)} },
	spoil: 25,
	hurt:  25,
	kinds: []kind{
		on(6, (*gen).produce),
		on(4, (*gen).fetch),
		on(2, (*gen).listOffsets),
		on(1, (*gen).offsetForLeaderEpoch),
		on(2, (*gen).deleteRecords),
		on(1, (*gen).describeProducers),
	},
}

func initProducer(transaction *string) kmsg.Request {
	q := kmsg.NewPtrInitProducerIDRequest()
	q.Version, q.TransactionalID, q.TransactionTimeoutMillis = 4, transaction, 60000
	return q
}

// produce sends one batch, or seldom two, of no producer or an idempotent one.
func (g *gen) produce(q *kmsg.ProduceRequest) {
	q.Acks, q.TimeoutMillis = pick[int16](g.r, 1, -1, -1, -1), 5000
	if g.percent(3) {
		q.TransactionID = kmsg.StringPtr(g.transaction())
	}
	for range pick(g.r, 1, 1, 1, 1, 2) {
		t := kmsg.NewProduceRequestTopic()
		t.Topic = g.topic()
		t.TopicID = g.id(t.Topic)
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition = g.partition()
		p.Records = g.batch(t.Topic, p.Partition)
		t.Partitions = append(t.Partitions, p)
		q.Topics = append(q.Topics, t)
	}
}

// batch is a sound one in half the cases.
func (g *gen) batch(topic string, of int32) []byte {
	o := partitionlog.BatchOptions{Codec: pick(g.r, 0, 0, 0, 1, 2, 3, 4)}
	if g.percent(40) {
		p := g.producer("idempotent")
		o.Idempotent, o.ProducerID, o.ProducerEpoch, o.BaseSequence = true, p.id, p.epoch, g.around(p.next[partition{topic, of}])
		o.Transactional = g.percent(5)
	}
	b := batchOf(g.r, o)
	if g.percent(50) {
		b = damage(g.r, b)
	}
	return b
}

func (g *gen) fetch(q *kmsg.FetchRequest) {
	q.MaxBytes, q.SessionEpoch, q.IsolationLevel = pick[int32](g.r, 1<<20, 1<<20, 200), -1, int8(g.r.IntN(2))
	for range pick(g.r, 1, 1, 2) {
		t := kmsg.NewFetchRequestTopic()
		for t.Topic = g.topic(); strings.HasSuffix(t.Topic, "gzip"); { // the broker compresses there, with its own library
			t.Topic = g.topic()
		}
		t.TopicID = g.id(t.Topic)
		for range pick(g.r, 1, 1, 2) {
			t.Partitions = append(t.Partitions, g.fetchPartition())
		}
		q.Topics = append(q.Topics, t)
	}
}

func (g *gen) fetchPartition() kmsg.FetchRequestTopicPartition {
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition = g.partition()
	p.FetchOffset = pick(g.r, 0, 0, g.r.Int64N(6), g.r.Int64N(60))
	p.PartitionMaxBytes = pick[int32](g.r, 1<<20, 1<<20, 100, 0, -1)
	p.CurrentLeaderEpoch = pick[int32](g.r, -1, -1, -1, 0, 1)
	return p
}

func (g *gen) listOffsets(q *kmsg.ListOffsetsRequest) {
	q.ReplicaID, q.IsolationLevel = -1, int8(g.r.IntN(2))
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = g.topic()
	for range pick(g.r, 1, 1, 2) {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch = g.partition(), pick[int32](g.r, -1, -1, 0, 1)
		p.Timestamp = pick[int64](g.r, -1, -2, -3, -4, -5, -6, oldTime+g.r.Int64N(1100), 0)
		t.Partitions = append(t.Partitions, p)
	}
	q.Topics = append(q.Topics, t)
}

func (g *gen) offsetForLeaderEpoch(q *kmsg.OffsetForLeaderEpochRequest) {
	q.ReplicaID = -1
	t := kmsg.NewOffsetForLeaderEpochRequestTopic()
	t.Topic = g.topic()
	p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = g.partition(), pick[int32](g.r, -1, 0, 1), pick[int32](g.r, 0, 0, -1, 1)
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
}

func (g *gen) deleteRecords(q *kmsg.DeleteRecordsRequest) {
	q.TimeoutMillis = 5000
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic = g.topic()
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Partition, p.Offset = g.partition(), pick[int64](g.r, 0, 1, 2, 3, -1, -2, 1<<40)
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
}

func (g *gen) describeProducers(q *kmsg.DescribeProducersRequest) {
	t := kmsg.NewDescribeProducersRequestTopic()
	t.Topic, t.Partitions = g.topic(), []int32{g.partition(), g.partition()}
	q.Topics = append(q.Topics, t)
}
