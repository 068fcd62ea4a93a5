package partitionlog

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func compactedLog(change ...func(*Config)) *Log {
	return newTestLog(append([]func(*Config){func(c *Config) {
		c.CleanupCompact, c.CleanupDelete = true, false
		c.SegmentMs = 1000
	}}, change...)...)
}

func compact(t testing.TB, l *Log, now int64) CompactResult {
	t.Helper()
	r, err := l.Compact(now, nil)
	require.NoError(t, err)
	var size int64
	for _, s := range l.segments {
		size += int64(s.size())
	}
	require.Equal(t, size, l.Size())
	return r
}

// contents lists "offset:key=value" of every record, and "offset:-" for an empty batch.
func contents(t testing.TB, l *Log) []string {
	t.Helper()
	out := []string{}
	for b := range l.Batches(0) {
		records, err := DecodeBatch(nil, b, nil)
		require.NoError(t, err)
		require.Equal(t, b.crc(), b.crcField())
		if len(records) == 0 {
			require.Len(t, b, headerSize)
			out = append(out, fmt.Sprintf("%d:-", b.BaseOffset()))
		}
		for _, r := range records {
			value := "null"
			if r.Control {
				value = "marker"
			} else if r.Value != nil {
				value = string(r.Value)
			}
			out = append(out, fmt.Sprintf("%d:%s=%s", r.Offset, r.Key, value))
		}
	}
	return out
}

func TestCompaction(t *testing.T) {
	t.Parallel()
	for codec := range codecNames {
		l := compactedLog()
		add := func(records ...Record) {
			_, err := l.Append(t0, mustBatch(t, records, BatchOptions{Codec: codec}), AppendOptions{})
			require.Nil(t, err)
		}
		add(at(t0, "a", "1"), at(t0, "b", "1"), at(t0, "c", "1"))
		add(at(t0, "d", "1"))
		add(at(t0+2000, "a", "2"), at(t0+2000, "d", "2"))
		add(at(t0+4000, "b", "2"))
		c := l.Cleanable(t0)
		require.Equal(t, Cleanable{1, true}, c)
		r := compact(t, l, t0)
		require.Equal(t, 2, r.RecordsRemoved)
		require.Equal(t, 1, r.BatchesRemoved)
		require.Equal(t, []string{"1:b=1", "2:c=1", "4:a=2", "5:d=2", "6:b=2"}, contents(t, l), "the active segment is never cleaned")
		got, _ := batchesOf(fetch(l, 0))
		require.Equal(t, int32(2), got[0].lastOffsetDelta())
		require.Equal(t, int64(0), got[0].BaseOffset())
		require.Equal(t, 2, got[0].RecordCount())
		require.Equal(t, []int64{4}, baseOffsets(fetch(l, 3))[:1], "a removed offset: the next batch")
		require.Zero(t, l.LogStart())
		require.Equal(t, int64(7), l.End())
		require.Equal(t, Cleanable{}, l.Cleanable(t0), "clean")
		if codec == CodecNone {
			require.Equal(t, 79, len(got[0]))
		}
	}
}

func TestCompactionNeedsThePolicy(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	_, err := l.Compact(t0, nil)
	require.Error(t, err)
	require.Equal(t, Cleanable{}, l.Cleanable(t0))
}

func TestCompactionDropsRecordsWithoutKey(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.SegmentMs = 1000 })
	produce(t, l, t0, Record{Timestamp: t0}, at(t0, "a", "1"))
	produce(t, l, t0, at(t0+2000, "b", "1"))
	cfg := l.Config()
	cfg.CleanupCompact = true
	l.SetConfig(cfg)
	compact(t, l, t0)
	require.Equal(t, []string{"1:a=1", "2:b=1"}, contents(t, l))
}

func TestTombstones(t *testing.T) {
	t.Parallel()
	l := compactedLog(func(c *Config) { c.DeleteRetentionMs = 500 })
	produce(t, l, t0, at(t0, "a", "1"))
	produce(t, l, t0, at(t0, "a", ""), at(t0+3, "b", "1"))
	produce(t, l, t0, at(t0+2000, "c", "1"))
	compact(t, l, t0+10)
	require.Equal(t, []string{"1:a=null", "2:b=1", "3:c=1"}, contents(t, l))
	got, _ := batchesOf(fetch(l, 0))
	horizon, ok := got[0].deleteHorizon()
	require.True(t, ok)
	require.Equal(t, t0+510, horizon)
	records, err := DecodeBatch(nil, got[0], nil)
	require.NoError(t, err)
	require.Equal(t, []int64{t0, t0 + 3}, []int64{records[0].Timestamp, records[1].Timestamp}, "timestamps stay")
	require.Equal(t, t0+3, got[0].MaxTimestamp())

	produce(t, l, t0, at(t0+4000, "d", "1"))
	compact(t, l, t0+509)
	require.Equal(t, []string{"1:a=null", "2:b=1", "3:c=1", "4:d=1"}, contents(t, l))
	produce(t, l, t0, at(t0+6000, "e", "1"))
	compact(t, l, t0+510)
	require.Equal(t, []string{"2:b=1", "3:c=1", "4:d=1", "5:e=1"}, contents(t, l), "gone after the horizon")
	got, _ = batchesOf(fetch(l, 0))
	horizon, _ = got[0].deleteHorizon()
	require.Equal(t, t0+510, horizon, "an existing horizon stays")
}

func TestCompactionKeepsLastBatchOfProducer(t *testing.T) {
	t.Parallel()
	l := compactedLog(func(c *Config) { c.ProducerIDExpirationMs = 10000 })
	_, err := l.Append(t0, mustBatch(t, []Record{at(t0, "a", "1")}, BatchOptions{Idempotent: true, ProducerID: 8000}), AppendOptions{})
	require.Nil(t, err)
	produce(t, l, t0, at(t0+2000, "a", "2"))
	produce(t, l, t0, at(t0+4000, "z", "1"))
	compact(t, l, t0)
	require.Equal(t, []string{"0:-", "1:a=2", "2:z=1"}, contents(t, l))
	got, _ := batchesOf(fetch(l, 0))
	require.Len(t, got[0], 61)
	require.Equal(t, int64(-1), got[0].BaseTimestamp())
	require.Equal(t, t0, got[0].MaxTimestamp())
	require.Equal(t, int64(8000), got[0].ProducerID())
	require.Zero(t, got[0].BaseSequence())
	require.Equal(t, int64(1), list(l, t0).Offset, "an empty batch is passed over")

	require.Equal(t, 1, l.ExpireProducers(t0+10000))
	produce(t, l, t0, at(t0+6000, "z", "2"))
	compact(t, l, t0)
	require.Equal(t, []string{"1:a=2", "2:z=1", "3:z=2"}, contents(t, l), "gone once the producer is forgotten; z=1 is the last of the cleaned range for its key")
}

func TestCompactionKeepsTheEndOfItsRange(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.SegmentMs = 1000 })
	produce(t, l, t0, at(t0, "a", "1"))
	produce(t, l, t0, Record{Timestamp: t0})
	produce(t, l, t0, Record{Timestamp: t0})
	produce(t, l, t0, at(t0+2000, "c", "1"))
	cfg := l.Config()
	cfg.CleanupCompact = true
	l.SetConfig(cfg)
	compact(t, l, t0)
	require.Equal(t, []string{"0:a=1", "2:-", "3:c=1"}, contents(t, l))
}

func mustTxnKeyed(t testing.TB, l *Log, id, ms int64, key string) {
	t.Helper()
	var sequence int32
	if p := l.producers[id]; p != nil {
		sequence = p.lastSequence() + 1
	}
	mustTxn(t, l, mustBatch(t, []Record{at(ms, key, "txn")}, BatchOptions{Transactional: true, ProducerID: id, BaseSequence: sequence}))
}

func TestCompactionOfTransactions(t *testing.T) {
	t.Parallel()
	l := compactedLog(func(c *Config) { c.DeleteRetentionMs = 500 })
	produce(t, l, t0, at(t0, "a", "1")) // 0
	mustTxnKeyed(t, l, 7, t0, "a")      // 1, aborted: does not supersede
	end(t, l, 7, 0, false)              // 2
	mustTxnKeyed(t, l, 8, t0, "b")      // 3, committed
	end(t, l, 8, 0, true)               // 4
	produce(t, l, t0, at(t0+2000, "x", "1"))
	compact(t, l, t0)
	abort, commit := "\x00\x00\x00\x00=marker", "\x00\x00\x00\x01=marker"
	require.Equal(t, []string{"0:a=1", "1:-", "2:" + abort, "3:b=txn", "4:" + commit, "5:x=1"}, contents(t, l), "the aborted batch keeps its producer's sequence")
	require.Len(t, l.aborted, 1)
	require.Equal(t, int64(7), fetchCommitted(l, 0).Aborted[0].ProducerID)

	l.ExpireProducers(t0 + 86400000)
	produce(t, l, t0, at(t0+4000, "b", "2"))
	produce(t, l, t0, at(t0+6000, "y", "1"))
	compact(t, l, t0+10)
	require.Equal(t, []string{"0:a=1", "2:" + abort, "4:" + commit, "5:x=1", "6:b=2", "7:y=1"}, contents(t, l), "markers stay while something of their transaction was seen")
	require.Len(t, l.aborted, 1)

	produce(t, l, t0, at(t0+8000, "y", "2"))
	compact(t, l, t0+20)
	require.Equal(t, []string{"0:a=1", "2:" + abort, "4:" + commit, "5:x=1", "6:b=2", "7:y=1", "8:y=2"}, contents(t, l), "now they have a delete horizon")
	require.Empty(t, l.aborted)
	produce(t, l, t0, at(t0+10000, "y", "3"))
	compact(t, l, t0+520)
	require.Equal(t, []string{"0:a=1", "5:x=1", "6:b=2", "8:y=2", "9:y=3"}, contents(t, l), "and go after it")
}

func TestCompactionAfterAnAbortInTheCleanPart(t *testing.T) {
	t.Parallel()
	l := compactedLog()
	mustTxnKeyed(t, l, 7, t0, "a") // 0
	end(t, l, 7, 0, false)         // 1
	produce(t, l, t0, at(t0+2000, "x", "1"))
	compact(t, l, t0)
	mustTxnKeyed(t, l, 7, t0+2000, "b") // 3
	mustTxnKeyed(t, l, 7, t0+2000, "b") // 4
	end(t, l, 7, 0, true)               // 5
	produce(t, l, t0, at(t0+4000, "y", "1"))
	compact(t, l, t0)
	require.Equal(t, []string{"1:\x00\x00\x00\x00=marker", "2:x=1", "4:b=txn", "5:\x00\x00\x00\x01=marker", "6:y=1"}, contents(t, l), "b=txn at 3 is superseded although its producer aborted before")
}

func TestOpenTransactionStopsCompaction(t *testing.T) {
	t.Parallel()
	l := compactedLog()
	produce(t, l, t0, at(t0, "a", "1"))
	mustTxnKeyed(t, l, 7, t0+2000, "a")
	produce(t, l, t0, at(t0+4000, "a", "2"))
	produce(t, l, t0, at(t0+6000, "a", "3"))
	compact(t, l, t0)
	require.Equal(t, []string{"0:a=1", "1:a=txn", "2:a=2", "3:a=3"}, contents(t, l))
}

func TestMinCompactionLag(t *testing.T) {
	t.Parallel()
	l := compactedLog(func(c *Config) { c.MinCompactionLagMs = 1000 })
	for i := range int64(4) {
		produce(t, l, t0, at(t0+2000*i, "a", "1"))
	}
	require.False(t, l.Cleanable(t0+999).Due)
	require.Equal(t, Cleanable{1, true}, l.Cleanable(t0+1000))
	compact(t, l, t0+3000)
	require.Equal(t, []string{"1:a=1", "2:a=1", "3:a=1"}, contents(t, l))
}

func TestMaxCompactionLag(t *testing.T) {
	t.Parallel()
	l := compactedLog(func(c *Config) { c.MinCleanableDirtyRatio = 1; c.MaxCompactionLagMs = 10000 })
	produce(t, l, t0, at(t0, "a", "1"))
	produce(t, l, t0, at(t0+2000, "a", "1"))
	require.Equal(t, Cleanable{1, false}, l.Cleanable(t0+10000))
	require.Equal(t, Cleanable{1, true}, l.Cleanable(t0+10001))
}

func TestCompactionMergesSegments(t *testing.T) {
	t.Parallel()
	l := compactedLog(func(c *Config) { c.SegmentBytes = 200 })
	for i := range 8 {
		produce(t, l, t0, at(t0, fmt.Sprint(i), "1"))
	}
	require.Len(t, l.segments, 4)
	produce(t, l, t0, at(t0, "0", "2"))
	cfg := l.Config()
	cfg.SegmentBytes = 1 << 20
	l.SetConfig(cfg)
	compact(t, l, t0)
	require.Len(t, l.segments, 2)
	require.Len(t, contents(t, l), 9)
}

func TestCompactionOfLogAppendTime(t *testing.T) {
	t.Parallel()
	l := compactedLog(func(c *Config) { c.TimestampType = LogAppendTime })
	produce(t, l, t0+5, at(1, "a", "1"), at(2, "b", ""))
	produce(t, l, t0+7, at(3, "a", "2"))
	produce(t, l, t0+2000, at(4, "c", "1"))
	compact(t, l, t0+2000)
	for b := range l.Batches(0) {
		require.Equal(t, LogAppendTime, b.TimestampType())
		require.GreaterOrEqual(t, b.MaxTimestamp(), t0+5)
	}
	require.Equal(t, []string{"1:b=null", "2:a=2", "3:c=1"}, contents(t, l))
	require.Equal(t, OffsetResult{0, t0 + 5, 1, 0}, list(l, t0))
}
