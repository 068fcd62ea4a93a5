package partitionlog

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func list(l *Log, timestamp int64) OffsetResult {
	return l.ListOffsets(timestamp, ListOptions{CurrentLeaderEpoch: -1})
}

func TestListOffsetsAllows(t *testing.T) {
	t.Parallel()
	for timestamp, from := range map[int64]int16{0: 1, 5: 1, -1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11} {
		require.False(t, timestamp < -2 && ListOffsetsAllows(timestamp, from-1), "timestamp %d", timestamp)
		require.True(t, ListOffsetsAllows(timestamp, from), "timestamp %d", timestamp)
	}
	require.False(t, ListOffsetsAllows(-7, 11))
	require.Equal(t, CodeUnsupportedVersion, list(newTestLog(), -7).Code)
}

func TestListOffsetsSpecial(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	require.Equal(t, OffsetResult{0, -1, 0, 0}, list(l, TimestampLatest))
	require.Equal(t, OffsetResult{0, -1, 0, 0}, list(l, TimestampEarliest))
	require.Equal(t, nothingFound, list(l, TimestampMax), "empty")
	produce(t, l, t0, at(t0+10, "a", ""), at(t0+20, "b", ""))
	produce(t, l, t0, at(t0+5, "c", ""), at(t0+20, "d", ""))
	l.NewLeaderEpoch(4, 1)
	require.Equal(t, OffsetResult{0, -1, 4, 4}, list(l, TimestampLatest))
	require.Equal(t, OffsetResult{0, t0 + 20, 1, 0}, list(l, TimestampMax), "the first with the largest")
	_, _ = l.DeleteRecords(3)
	require.Equal(t, OffsetResult{0, -1, 3, 0}, list(l, TimestampEarliest))
	require.Equal(t, OffsetResult{0, -1, 3, 0}, list(l, TimestampEarliestLocal))
	require.Equal(t, OffsetResult{0, t0 + 20, 1, 0}, list(l, TimestampMax), "below the log start too")
	require.Equal(t, nothingFound, list(l, TimestampLatestTiered))
	require.Equal(t, nothingFound, list(l, TimestampEarliestPendingUpload))
}

func TestListOffsetsMaxTimestampWithoutTimestamps(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	produce(t, l, t0, at(-1, "a", ""))
	require.Equal(t, OffsetResult{0, -1, 0, 0}, list(l, TimestampMax))
}

func TestListOffsetsByTime(t *testing.T) {
	t.Parallel()
	for codec := range codecNames {
		l := newTestLog(func(c *Config) { c.SegmentMs = 1000 })
		add := func(times ...int64) {
			var records []Record
			for _, ms := range times {
				records = append(records, at(t0+ms, "k", ""))
			}
			_, err := l.Append(t0, mustBatch(t, records, BatchOptions{Codec: codec}), AppendOptions{})
			require.Nil(t, err)
		}
		add(100, 300, 200)   // 0-2
		add(50, 60)          // 3-4
		add(400, 350, 500)   // 5-7
		add(2000, 100, 2500) // 8-10, a segment of its own
		for ms, want := range map[int64]OffsetResult{
			0: {0, t0 + 100, 0, 0}, 100: {0, t0 + 100, 0, 0}, 101: {0, t0 + 300, 1, 0}, 300: {0, t0 + 300, 1, 0},
			301: {0, t0 + 400, 5, 0}, 450: {0, t0 + 500, 7, 0}, 501: {0, t0 + 2000, 8, 0}, 2001: {0, t0 + 2500, 10, 0}, 2501: nothingFound,
		} {
			require.Equal(t, want, list(l, t0+ms), "%s, %d", codecNames[codec], ms)
		}
		require.Equal(t, OffsetResult{0, t0 + 100, 0, 0}, list(l, 0))
		_, _ = l.DeleteRecords(2)
		require.Equal(t, OffsetResult{0, t0 + 200, 2, 0}, list(l, t0+100), "not below the log start")
		_, _ = l.DeleteRecords(8)
		require.Equal(t, nothingFound, list(l, t0+100), "the first segment that is late enough has nothing left: later ones aren't tried")
		require.Equal(t, OffsetResult{0, t0 + 2000, 8, 0}, list(l, t0+501))
	}
}

func TestListOffsetsLogAppendTime(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.TimestampType = LogAppendTime })
	produce(t, l, t0+100, testRecords(3, t0+7000)...)
	produce(t, l, t0+200, testRecords(3, t0)...)
	require.Equal(t, OffsetResult{0, t0 + 100, 0, 0}, list(l, t0))
	require.Equal(t, OffsetResult{0, t0 + 200, 3, 0}, list(l, t0+101))
	require.Equal(t, OffsetResult{0, t0 + 200, 3, 0}, list(l, TimestampMax))
}

func TestListOffsetsOfAnOpenTransaction(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	mustTxn(t, l, transactional(t, 1, 7, 0, 0))
	require.Equal(t, nothingFound, l.ListOffsets(t0, ListOptions{ReadCommitted: true, CurrentLeaderEpoch: -1}))
	require.Equal(t, int64(0), list(l, t0).Offset)
}

func TestHighWatermarkIsHeld(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	produce(t, l, t0, at(t0, "a", ""))
	l.HoldHighWatermark(true)
	produce(t, l, t0, at(t0+1, "b", ""))
	l.HoldHighWatermark(true)
	require.Equal(t, []int64{1, 1, 2}, []int64{l.HighWatermark(), l.LastStable(), l.End()})
	require.Equal(t, OffsetResult{0, -1, 1, 0}, list(l, TimestampLatest))
	require.Equal(t, nothingFound, list(l, t0+1))
	require.Equal(t, int64(2), l.ListOffsets(TimestampLatest, ListOptions{Follower: true, CurrentLeaderEpoch: -1}).Offset)
	for _, committed := range []bool{false, true} {
		o := ReadOptions{MaxBytes: 1000, First: true, ReadCommitted: committed, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1}
		require.Len(t, l.Read(o).Records, 1, "consumers stop there")
		o.Offset = 1
		first := l.Read(o)
		require.Empty(t, first.Records)
		require.Equal(t, Available{}, l.Available(first.Start, o))
		o.Offset = 2
		require.Equal(t, CodeNone, l.Read(o).Code, "between the high watermark and the end")
		o.Offset = 3
		require.Equal(t, CodeOffsetOutOfRange, l.Read(o).Code)
		o = ReadOptions{Offset: 1, MaxBytes: 1000, First: true, Follower: true, ReadCommitted: committed, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1}
		require.Len(t, l.Read(o).Records, 1, "a follower reads on")
	}
	_, code := l.DeleteRecords(2)
	require.Equal(t, CodeOffsetOutOfRange, code)

	// A new leader knows that there is more.
	l.NewLeaderEpoch(1, 2)
	require.Equal(t, failedList(CodeOffsetNotAvailable), list(l, TimestampLatest))
	require.Equal(t, failedList(CodeOffsetNotAvailable), list(l, t0+1))
	require.Equal(t, failedList(CodeOffsetNotAvailable), list(l, TimestampMax))
	require.Equal(t, OffsetResult{0, t0, 0, 0}, list(l, t0))
	require.Equal(t, OffsetResult{0, -1, 0, 0}, list(l, TimestampEarliest))

	l.HoldHighWatermark(false)
	require.Equal(t, OffsetResult{0, -1, 2, 1}, list(l, TimestampLatest))
	require.Equal(t, []int64{2, 2}, []int64{l.HighWatermark(), l.LastStable()})
}
