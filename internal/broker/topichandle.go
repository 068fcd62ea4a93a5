package broker

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/config"
	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
)

// What a test does with topics directly, without a client.

// needTopic finds a topic, or says which there are.
func (c *Cluster) needTopic(name string) (*topic, error) {
	m := c.meta.Load()
	if t := m.topics[name]; t != nil {
		return t, nil
	}
	if len(m.names) == 0 {
		return nil, fmt.Errorf("there is no topic %q; there is none at all", LoggedName(name))
	}
	names, more := firstNames(m.names)
	if near := NearName(name, m.names); near != "" {
		more += fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, fmt.Errorf("there is no topic %q; there are %q%s", LoggedName(name), names, more)
}

func (c *Cluster) needPartition(name string, index int32) (*partition, error) {
	t, err := c.needTopic(name)
	if err != nil {
		return nil, err
	}
	p := t.partition(index)
	if p == nil {
		return nil, noPartition(t, index)
	}
	return p, nil
}

func noPartition(t *topic, index int32) error {
	counted := ""
	if int(index) == len(t.partitions) {
		counted = ", counted from 0"
	}
	return fmt.Errorf("topic %q has no partition %d; it has %d%s", t.name, index, len(t.partitions), counted)
}

// deletedMeanwhile is of a topic that was there when the call began.
func deletedMeanwhile(name string) error { return fmt.Errorf("topic %q was deleted meanwhile", name) }

// CheckPartition answers that a topic or its partition isn't there, with what there is.
func (c *Cluster) CheckPartition(topicName string, index int32) error {
	_, err := c.needPartition(topicName, index)
	return err
}

// Partitions is how many partitions a topic has.
func (c *Cluster) Partitions(name string) (int32, error) {
	t, err := c.needTopic(name)
	if err != nil {
		return 0, err
	}
	return int32(len(t.partitions)), nil
}

// TopicID is a topic's id, which it shares with no other topic, not even one of its name before or after it, and how many partitions it has.
func (c *Cluster) TopicID(name string) (id [16]byte, partitions int32, err error) {
	t, err := c.needTopic(name)
	if err != nil {
		return id, 0, err
	}
	return t.id, int32(len(t.partitions)), nil
}

// ProduceTo appends records to a partition, in one batch, as a producer's request would; it answers the first one's offset.
func (c *Cluster) ProduceTo(name string, index int32, recs []partitionlog.Record) (int64, error) {
	if err := c.CheckOpen(); err != nil {
		return 0, err
	}
	p, err := c.needPartition(name, index)
	if err != nil {
		return 0, err
	}
	made, now := c.clock.NowMillis(), c.clock.recordTime().UnixMilli()
	for i := range recs {
		if recs[i].Timestamp == 0 {
			recs[i].Timestamp = made
		}
	}
	scratch := c.codecs.Get().(*partitionlog.Codecs)
	defer c.codecs.Put(scratch)
	batch, err := partitionlog.BuildBatch(recs, partitionlog.BatchOptions{Codecs: scratch})
	if err != nil {
		return 0, err
	}
	res, refused := p.append(now, batch, partitionlog.AppendOptions{Origin: partitionlog.OriginClient, Codecs: scratch})
	if refused != nil {
		return 0, fmt.Errorf("%s-%d refused the records: %s", name, index, refused.Reason)
	}
	return res.BaseOffset, nil
}

// ReadLog decodes the records of a partition from an offset on; markers of transactions are left out. hidden says why a read committed consumer doesn't
// see a record; "" where it does.
func (c *Cluster) ReadLog(name string, index int32, from int64) (recs []partitionlog.Record, hidden func(partitionlog.Record) string, err error) {
	p, err := c.needPartition(name, index)
	if err != nil {
		return nil, nil, err
	}
	p.mu.Lock()
	start := max(from, p.log.LogStart())
	var batches []partitionlog.Batch
	for b := range p.log.Batches(start) {
		batches = append(batches, b)
	}
	hidden = hiddenRecords(p.log, start)
	p.mu.Unlock() // batches don't change once they are kept
	scratch := c.codecs.Get().(*partitionlog.Codecs)
	defer c.codecs.Put(scratch)
	for _, b := range batches {
		n := len(recs)
		if recs, err = partitionlog.DecodeBatch(recs, b, scratch); err != nil {
			return nil, nil, fmt.Errorf("%s-%d: the batch at offset %d can't be read: %w", name, index, b.BaseOffset(), err)
		}
		kept := recs[:n]
		for _, r := range recs[n:] {
			if r.Offset >= start && !r.Control {
				kept = append(kept, r)
			}
		}
		recs = kept
	}
	return recs, hidden, nil
}

// Why a record that is of a transaction itself is hidden.
const (
	Aborted           = "aborted"
	InOpenTransaction = "in an open transaction"
)

// hiddenRecords is hidden of ReadLog.
func hiddenRecords(l *partitionlog.Log, from int64) func(partitionlog.Record) string {
	high, stable, open := l.HighWatermark(), l.LastStable(), l.OpenTransactions()
	aborted := map[int64][]partitionlog.AbortedTxn{} // by producer, in the order of their markers
	for _, t := range l.AbortedTransactions(from, l.End()) {
		aborted[t.ProducerID] = append(aborted[t.ProducerID], t)
	}
	return func(r partitionlog.Record) string {
		if r.Transactional {
			ts := aborted[r.ProducerID]
			i, _ := slices.BinarySearchFunc(ts, r.Offset, func(t partitionlog.AbortedTxn, offset int64) int { return cmp.Compare(t.LastOffset, offset) })
			if i < len(ts) && ts[i].FirstOffset <= r.Offset {
				return Aborted
			}
		}
		switch {
		case r.Offset < stable:
			return ""
		case r.Offset >= high:
			return "not confirmed by enough replicas"
		case r.Transactional && slices.ContainsFunc(open, func(t partitionlog.OpenTransaction) bool {
			return t.ProducerID == r.ProducerID && t.FirstOffset <= r.Offset
		}):
			return InOpenTransaction
		}
		return "behind an open transaction"
	}
}

// DeleteRecordsTo moves the log start of a partition to an offset, as the DeleteRecords request does; -1 is the log's end.
func (c *Cluster) DeleteRecordsTo(name string, index int32, offset int64) error {
	p, err := c.needPartition(name, index)
	if err != nil {
		return err
	}
	var end int64
	code := p.update(func(l *partitionlog.Log) wire.Code {
		end = l.End()
		_, code := l.DeleteRecords(offset)
		return wire.Code(code)
	})
	switch code {
	case wire.None:
		return nil
	case wire.UnknownTopicOrPartition:
		return deletedMeanwhile(name)
	default:
		return fmt.Errorf("%s-%d can't be deleted up to offset %d; it ends at %d", name, index, offset, end)
	}
}

// CompactTopic runs the log cleaner on all partitions of a topic, due or not. The active segment is rolled first, so that all that was
// produced so far takes part.
func (c *Cluster) CompactTopic(name string) error {
	t, err := c.needTopic(name)
	if err != nil {
		return err
	}
	if !t.configs.CleanupPolicyCompact {
		return fmt.Errorf("topic %q is not compacted: its cleanup.policy doesn't contain compact", name)
	}
	now := c.clock.Now()
	for _, p := range t.partitions {
		code := p.update(func(l *partitionlog.Log) wire.Code {
			l.Roll(now.UnixMilli())
			return wire.None
		})
		if code != wire.None {
			return deletedMeanwhile(name)
		}
		if _, err := p.compact(now); err != nil {
			return err
		}
	}
	return nil
}

// ApplyTopicRetention removes what is past its retention now, as the brokers' check does every log.retention.check.interval.ms. It
// answers how many segments went.
func (c *Cluster) ApplyTopicRetention(name string) (segments int, err error) {
	t, err := c.needTopic(name)
	if err != nil {
		return 0, err
	}
	for _, p := range t.partitions {
		segments += p.applyRetention(c.clock.Now()).Segments
	}
	return segments, nil
}

// maxPartitionsAtOnce bounds what a test creates in one call: more is a mistake, and takes gigabytes.
const maxPartitionsAtOnce = 1_000_000

// GrowTopic adds n partitions.
func (c *Cluster) GrowTopic(name string, n int) error {
	if n < 1 || n > maxPartitionsAtOnce {
		return fmt.Errorf("%d partitions to add: give a number from 1 to %d", n, maxPartitionsAtOnce)
	}
	return c.onTopics(func(m *metadata) error {
		t, err := c.needTopic(name)
		if err != nil {
			return err
		}
		assignments, refused := planGrowth(m, t, kmsg.CreatePartitionsRequestTopic{Topic: name, Count: int32(len(t.partitions) + n)}, math.MaxInt64)
		if refused != nil {
			return refused
		}
		c.addPartitions([]growth{{t, assignments}})
		return nil
	})
}

// CreateTopicNow creates a topic while the cluster runs.
func (c *Cluster) CreateTopicNow(s TopicSpec) error {
	return c.onTopics(func(*metadata) error { return c.createFirst([]TopicSpec{s}) })
}

// onTopics changes topics on the loop.
func (c *Cluster) onTopics(change func(m *metadata) error) (err error) {
	if !c.loop.do(func() { err = change(c.meta.Load()) }) {
		return errClosed
	}
	return err
}

// DeleteTopicNow deletes a topic.
func (c *Cluster) DeleteTopicNow(name string) error {
	return c.onTopics(func(*metadata) error {
		t, err := c.needTopic(name)
		if err != nil {
			return err
		}
		c.deleteTopics([]*topic{t})
		return nil
	})
}

// SetTopicConfig sets a config of a topic by Kafka's name; nil takes the topic's own value away.
func (c *Cluster) SetTopicConfig(name, key string, value *string) error {
	return c.onTopics(func(m *metadata) error {
		if _, err := c.needTopic(name); err != nil {
			return err
		}
		if err := config.CheckTopicSettingName(key); err != nil {
			return err
		}
		op := config.Set
		if value == nil {
			op = config.Delete
		}
		alter := []config.Alteration{{Type: config.TopicResource, Name: name, Settings: []config.AlterSetting{{Name: key, Op: op, Value: value}}}}
		exists := func(t string) bool { return m.topics[t] != nil }
		for _, res := range c.config.IncrementalAlter(c.nodes[0].id, alter, exists, false) {
			if res.Err != nil {
				return res.Err
			}
		}
		c.topicConfigsChanged([]string{name})
		return nil
	})
}

// Leader is the node that leads a partition, -1 for none.
func (c *Cluster) Leader(name string, index int32) (int32, error) {
	p, err := c.needPartition(name, index)
	if err != nil {
		return -1, err
	}
	return p.state.Load().leader, nil
}

// OffsetAt is the earliest offset with a timestamp at or after t; the log's end where there is none.
func (c *Cluster) OffsetAt(name string, index int32, t time.Time) (int64, error) {
	p, err := c.needPartition(name, index)
	if err != nil {
		return 0, err
	}
	scratch := c.codecs.Get().(*partitionlog.Codecs)
	defer c.codecs.Put(scratch)
	p.mu.Lock()
	defer p.mu.Unlock()
	res := p.log.ListOffsets(t.UnixMilli(), partitionlog.ListOptions{Codecs: scratch})
	if res.Offset < 0 {
		return p.log.End(), nil
	}
	return res.Offset, nil
}
