package partitionlog

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// sized appends batches of the given sizes, one record each.
func sized(t testing.TB, l *Log, sizes ...int) {
	t.Helper()
	for _, size := range sizes {
		r := Record{Timestamp: t0, Value: []byte{}}
		r.Value = make([]byte, size-len(mustBatch(t, []Record{r}, BatchOptions{})))
		for len(mustBatch(t, []Record{r}, BatchOptions{})) > size {
			r.Value = r.Value[1:]
		}
		b := mustBatch(t, []Record{r}, BatchOptions{})
		require.Len(t, b, size)
		_, err := l.Append(t0, b, AppendOptions{})
		require.Nil(t, err)
	}
}

func TestReadLimits(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	sized(t, l, 200, 200, 90000, 200)
	for _, tt := range []struct {
		explanation string
		offset      int64
		max         int
		first       bool
		bytes       int
		code        int16
	}{
		{"the last batch may be cut", 0, 250, false, 250, 0},
		{"not the first partition, and the first batch doesn't fit", 0, 199, false, 0, 0},
		{"the first batch is whole", 0, 1, true, 200, 0},
		{"and nothing more", 0, 199, true, 200, 0},
		{"nothing left", 0, 0, false, 0, 0},
		{"a limit of 0 in the first partition", 0, 0, true, 200, 0},
		{"everything", 0, 1 << 20, false, 90600, 0},
		{"over the chunks", 1, 90300, false, 90300, 0},
		{"negative", 0, -1, true, 0, CodeUnknownServerError},
		{"negative with nothing to read", 4, -1, true, 0, 0},
		{"at the end", 4, 100, true, 0, 0},
		{"behind it", 5, 100, true, 0, CodeOffsetOutOfRange},
		{"below the start", -1, 100, true, 0, CodeOffsetOutOfRange},
	} {
		t.Run(tt.explanation, func(t *testing.T) {
			t.Parallel()
			r := l.Read(ReadOptions{Offset: tt.offset, MaxBytes: tt.max, First: tt.first, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1})
			require.Equal(t, tt.code, r.Code)
			require.Equal(t, tt.bytes, r.Bytes)
			n := 0
			for _, s := range r.Records {
				require.NotEmpty(t, s)
				n += len(s)
			}
			require.Equal(t, tt.bytes, n)
			want := int64(4)
			if tt.code != 0 {
				want = -1
			}
			require.Equal(t, want, r.HighWatermark)
			require.Equal(t, want, r.LastStable)
		})
	}
}

func TestReadInsideABatch(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	produce(t, l, t0, testRecords(3, t0)...)
	produce(t, l, t0, testRecords(3, t0)...)
	_, code := l.DeleteRecords(1)
	require.Zero(t, code)
	r := fetch(l, 1)
	require.Equal(t, []int64{0, 3}, baseOffsets(r), "whole, from below the log start too")
	require.Equal(t, int64(1), r.LogStart)
	require.Equal(t, Position{0, 0, 0}, r.Start)
	require.Equal(t, []int64{3}, baseOffsets(fetch(l, 5)))
	require.Equal(t, CodeOffsetOutOfRange, fetch(l, 0).Code)
}

func TestReadEndsWithTheSegment(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.SegmentBytes = 400 })
	sized(t, l, 200, 200, 200)
	require.Equal(t, []int64{0, 1}, baseOffsets(fetch(l, 0)))
	require.Equal(t, []int64{2}, baseOffsets(fetch(l, 2)))
}

func TestReadUsesTheCallersMemory(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	sized(t, l, 200)
	into := make([][]byte, 0, 4)
	r := l.Read(ReadOptions{MaxBytes: 500, Into: into, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1})
	require.Same(t, &into[:1][0], &r.Records[0])
}

func TestDivergingEpoch(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	produce(t, l, t0, testRecords(3, t0)...)
	l.NewLeaderEpoch(2, 1)
	produce(t, l, t0, testRecords(3, t0)...)
	read := func(offset int64, last int32) ReadResult {
		return l.Read(ReadOptions{Offset: offset, MaxBytes: 1, First: true, CurrentLeaderEpoch: -1, LastFetchedEpoch: last})
	}
	require.False(t, read(3, 0).HasDiverging)
	for _, tt := range []struct {
		explanation string
		offset      int64
		last        int32
		end         EpochEnd
	}{
		{"beyond the epoch's end", 4, 0, EpochEnd{0, 3}},
		{"an epoch between", 4, 1, EpochEnd{0, 3}},
		{"even out of range", 100, 2, EpochEnd{2, 6}},
	} {
		r := read(tt.offset, tt.last)
		require.True(t, r.HasDiverging, tt.explanation)
		require.Equal(t, tt.end, r.Diverging)
		require.Zero(t, r.Code)
		require.Equal(t, int64(6), r.HighWatermark)
		require.Zero(t, r.Bytes)
		require.True(t, l.Available(Position{tt.offset, 0, 0}, ReadOptions{Offset: tt.offset, LastFetchedEpoch: tt.last}).Ready)
	}
	require.Equal(t, CodeOffsetOutOfRange, read(4, 3).Code, "an unknown epoch")

	l.NewLeaderEpoch(3, 1)
	l.NewLeaderEpoch(4, 2)
	ask := func(broker, epoch int32) int16 {
		return l.Read(ReadOptions{Offset: 6, MaxBytes: 1, CurrentLeaderEpoch: -1, LastFetchedEpoch: epoch, FromFollower: broker != 2, Broker: broker}).Code
	}
	require.Zero(t, ask(2, 4), "it leads")
	require.Equal(t, CodeOffsetOutOfRange, ask(1, 4), "a follower learns of an epoch by its first record")
	require.Equal(t, CodeOffsetOutOfRange, ask(1, 3), "nor does it know the one that it led itself: the log has records, and so it forgot that when it followed")
	require.Equal(t, CodeOffsetOutOfRange, ask(3, 3))
	l.DeleteRecords(-1)
	require.Zero(t, ask(3, 2), "where the log is empty it knows what it has had")
	produce(t, l, t0, testRecords(1, t0)...)
	require.Zero(t, ask(1, 4))
	require.Zero(t, ask(1, 3), "the largest known one up to it is 2, and ends here")
}

func TestAvailable(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.SegmentBytes = 400 })
	sized(t, l, 200)
	none := ReadOptions{Offset: 1, MaxBytes: 1 << 20, First: true, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1}
	start := l.Read(none).Start
	require.Equal(t, Position{1, 0, 200}, start)
	require.Equal(t, Available{}, l.Available(start, none))
	sized(t, l, 150)
	require.Equal(t, Available{Bytes: 150}, l.Available(start, none))
	sized(t, l, 100)
	require.Equal(t, Available{Ready: true}, l.Available(start, none), "its start is on an older segment now")

	none.Offset = 3
	start = l.Read(none).Start
	l.Roll(t0)
	require.Equal(t, Available{}, l.Available(start, none), "nothing was appended")
	sized(t, l, 100)
	require.Equal(t, Available{Ready: true}, l.Available(start, none), "the end it waited at is on an older segment")

	l.HoldHighWatermark(true)
	sized(t, l, 100)
	none.Offset = l.End()
	require.Equal(t, Available{Ready: true}, l.Available(l.Read(none).Start, none), "it waits beyond the high watermark")
}

func TestAvailableReadCommitted(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	sized(t, l, 200)
	o := ReadOptions{Offset: 1, MaxBytes: 1 << 20, ReadCommitted: true, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1}
	start := l.Read(o).Start
	mustTxn(t, l, transactional(t, 1, 7, 0, 0))
	require.Equal(t, Available{}, l.Available(start, o), "data of an open transaction doesn't wake")
	end(t, l, 7, 0, true)
	require.Equal(t, Available{Bytes: 70 + 78}, l.Available(start, o))
}
