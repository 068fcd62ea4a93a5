package broker

import (
	"cmp"
	"slices"
	"time"

	"github.com/fakekafka/fakekafka/internal/config"
	"github.com/fakekafka/fakekafka/partitionlog"
)

func sortedKeys[V any](m map[string]V) []string { return sorted(m) }

func sortedIDs[V any](m map[int32]V) []int32 { return sorted(m) }

// sorted are a map's keys, ascending; nil for none.
func sorted[K cmp.Ordered, V any](m map[K]V) []K {
	if len(m) == 0 {
		return nil
	}
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// logConfig is what a partition's log must know of its topic's and its broker's settings.
func logConfig(t *config.Topic, d *derived) partitionlog.Config {
	c := partitionlog.Config{
		CleanupDelete:           t.CleanupPolicyDelete,
		CleanupCompact:          t.CleanupPolicyCompact,
		CompressionType:         t.CompressionType,
		GzipLevel:               int(t.CompressionGzipLevel),
		LZ4Level:                int(t.CompressionLz4Level),
		ZstdLevel:               int(t.CompressionZstdLevel),
		MaxMessageBytes:         int(t.MaxMessageBytes),
		TimestampType:           partitionlog.CreateTime,
		TimestampBeforeMaxMs:    t.MessageTimestampBeforeMaxMs,
		TimestampAfterMaxMs:     t.MessageTimestampAfterMaxMs,
		RetentionMs:             t.RetentionMs,
		RetentionBytes:          t.RetentionBytes,
		SegmentBytes:            int(t.SegmentBytes),
		SegmentMs:               t.SegmentMs,
		SegmentJitterMs:         t.SegmentJitterMs,
		IndexIntervalBytes:      int(t.IndexIntervalBytes),
		DeleteRetentionMs:       t.DeleteRetentionMs,
		MinCompactionLagMs:      t.MinCompactionLagMs,
		MaxCompactionLagMs:      t.MaxCompactionLagMs,
		MinCleanableDirtyRatio:  t.MinCleanableDirtyRatio,
		ProducerIDExpirationMs:  d.log.ProducerIDExpirationMs,
		TransactionVerification: d.log.TransactionVerification,
	}
	if t.LogAppendTime {
		c.TimestampType = partitionlog.LogAppendTime
	}
	return c
}

// afterReal runs fn on the control loop after d of real time, unless the cluster is closed before.
func (c *Cluster) afterReal(d time.Duration, fn func()) {
	c.spawn(func() {
		if sleepUnless(d, c.closing) {
			c.loop.post(fn)
		}
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
