package partitionlog

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDeleteRecords(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	produce(t, l, t0, testRecords(5, t0)...)
	for _, tt := range []struct {
		offset, low int64
		code        int16
	}{{3, 3, 0}, {1, 3, 0}, {6, -1, CodeOffsetOutOfRange}, {-2, -1, CodeOffsetOutOfRange}, {5, 5, 0}, {-1, 5, 0}} {
		low, code := l.DeleteRecords(tt.offset)
		require.Equal(t, tt.low, low, "offset %d", tt.offset)
		require.Equal(t, tt.code, code, "offset %d", tt.offset)
	}
	for _, tt := range []struct {
		del, compact bool
		code         int16
	}{{true, true, 0}, {false, true, CodePolicyViolation}, {false, false, 0}} {
		l := newTestLog(func(c *Config) { c.CleanupDelete, c.CleanupCompact = tt.del, tt.compact })
		_, code := l.DeleteRecords(-7)
		require.Equal(t, max(tt.code, CodeOffsetOutOfRange), code, "the policy is judged first")
	}
}

func TestRetentionBelowLogStart(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.SegmentBytes = 200; c.CleanupDelete = false })
	sized(t, l, 200, 200, 200)
	_, _ = l.DeleteRecords(1)
	require.Equal(t, int64(600), l.Size())
	require.Equal(t, Removed{Segments: 1, Bytes: 200}, l.ApplyRetention(t0), "whatever the policy")
	_, _ = l.DeleteRecords(3)
	require.Equal(t, Removed{Segments: 1, Bytes: 200}, l.ApplyRetention(t0), "the active segment stays")
	require.Equal(t, int64(200), l.Size())
	require.Equal(t, int64(3), l.LogStart())
}

func TestRetentionBySize(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.SegmentBytes = 70; c.RetentionBytes = 150 })
	sized(t, l, 70, 70, 70, 70)
	require.Equal(t, Removed{Segments: 1, Bytes: 70}, l.ApplyRetention(t0), "what stays is at or above the limit")
	require.Equal(t, int64(1), l.LogStart())
	require.Equal(t, Removed{}, l.ApplyRetention(t0))
	cfg := l.Config()
	cfg.RetentionBytes = 0
	l.SetConfig(cfg)
	require.Equal(t, 3, l.ApplyRetention(t0).Segments)
	require.Equal(t, int64(4), l.LogStart())
	require.Len(t, l.segments, 1)
	require.Equal(t, Removed{}, l.ApplyRetention(t0))
	require.Equal(t, CodeOffsetOutOfRange, fetch(l, 3).Code)
	require.Equal(t, int16(0), fetch(l, 4).Code)
	sized(t, l, 70)
	require.Equal(t, []int64{4}, baseOffsets(fetch(l, 4)))
}

func TestRetentionByTime(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.SegmentMs = 1000; c.RetentionMs = 5000 })
	produce(t, l, t0, at(t0, "a", ""))
	produce(t, l, t0, at(t0+2000, "b", ""))
	require.Equal(t, Removed{}, l.ApplyRetention(t0+5000))
	require.Equal(t, 1, l.ApplyRetention(t0+5001).Segments)
	require.Equal(t, int64(1), l.LogStart())
	require.Equal(t, 1, l.ApplyRetention(t0+7001).Segments, "the active one too")
	require.Equal(t, int64(2), l.LogStart())
	require.Equal(t, int64(2), l.End())

	produce(t, l, t0+9000, at(-1, "c", ""))
	require.Equal(t, Removed{}, l.ApplyRetention(t0+14000), "without timestamps its last change counts")
	require.Equal(t, 1, l.ApplyRetention(t0+14001).Segments)
}

func TestRetentionForgetsAbortedTransactions(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.SegmentBytes = 200 })
	for i := range int64(4) {
		mustTxn(t, l, transactional(t, 1, 7+i, 0, 0))
		end(t, l, 7+i, 0, false)
	}
	require.Len(t, l.aborted, 4)
	_, _ = l.DeleteRecords(4)
	l.ApplyRetention(t0)
	require.Len(t, l.aborted, 2)
	require.Len(t, l.Producers(), 4, "producers stay")
}

func TestDropOldest(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.SegmentBytes = 400 })
	sized(t, l, 200, 200, 200, 100, 100)
	require.Equal(t, Removed{Segments: 1, Bytes: 400}, l.DropOldest(t0, 1))
	require.Equal(t, int64(2), l.LogStart())
	require.Equal(t, Removed{Batches: 2, Bytes: 300}, l.DropOldest(t0, 201))
	require.Equal(t, int64(4), l.LogStart())
	require.Equal(t, int64(100), l.Size())
	require.Equal(t, []int64{4}, baseOffsets(fetch(l, 4)))
	require.Equal(t, Removed{}, l.DropOldest(t0, 1000), "the last batch stays")
	sized(t, l, 100, 150) // in a new segment: the old one has had its 400 bytes
	require.Equal(t, []int64{5, 6}, baseOffsets(fetch(l, 5)))
	require.Equal(t, Removed{Segments: 1, Batches: 1, Bytes: 200}, l.DropOldest(t0, 101))
	require.Equal(t, OffsetResult{0, t0, 6, 0}, list(l, t0))
	require.Equal(t, OffsetResult{0, t0, 6, 0}, list(l, TimestampMax))
}

func TestDropOldestOfManyBatches(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	for i := range int64(2000) {
		produce(t, l, t0, at(t0+i, "k", ""))
	}
	l.DropOldest(t0, l.Size()/2)
	require.Equal(t, int64(1000), l.LogStart())
	for _, offset := range []int64{1000, 1001, 1500, 1999} {
		require.Equal(t, offset, baseOffsets(fetch(l, offset))[0])
		require.Equal(t, offset, list(l, t0+offset).Offset)
	}
	require.Equal(t, int64(1999), list(l, TimestampMax).Offset)
	require.Equal(t, int64(1000), list(l, t0).Offset)
}

// As in Kafka, only what consumers may read yet is retired; what has to go for want of memory takes the high watermark along.
func TestRetentionBelowHighWatermark(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.SegmentBytes = 70; c.RetentionBytes = 0 })
	sized(t, l, 70, 70)
	l.HoldHighWatermark(true)
	sized(t, l, 70, 70)
	require.Equal(t, 2, l.ApplyRetention(t0).Segments)
	require.Equal(t, int64(2), l.LogStart())
	require.Equal(t, int64(2), l.HighWatermark())
	require.Equal(t, Removed{}, l.ApplyRetention(t0))

	require.Equal(t, 1, l.DropOldest(t0, 1).Segments)
	require.Equal(t, int64(3), l.LogStart())
	require.Equal(t, int64(3), l.HighWatermark())
	require.Equal(t, int64(3), l.LastStable())
	l.HoldHighWatermark(false)
	require.Equal(t, 1, l.ApplyRetention(t0).Segments)
	require.Equal(t, int64(4), l.LogStart())
}
