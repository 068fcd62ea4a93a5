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
