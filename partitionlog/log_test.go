package partitionlog

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// t0 is the time of most tests' records and clock.
const t0 = int64(1700000000000)

func testConfig() Config {
	cfg := DefaultConfig()
	cfg.RetentionMs = -1
	return cfg
}

func newTestLog(change ...func(*Config)) *Log {
	cfg := testConfig()
	for _, f := range change {
		f(&cfg)
	}
	return New(cfg, t0, nil)
}

func testRecords(n int, timestamp int64) []Record {
	out := make([]Record, n)
	for i := range out {
		out[i] = Record{Timestamp: timestamp, Key: fmt.Appendf(nil, "k%d", i)}
	}
	return out
}

func mustBatch(t testing.TB, records []Record, o BatchOptions) Batch {
	t.Helper()
	b, err := BuildBatch(records, o)
	require.NoError(t, err)
	return b
}

// produce appends records without a producer id and returns the base offset.
func produce(t testing.TB, l *Log, now int64, records ...Record) int64 {
	t.Helper()
	r, err := l.Append(now, mustBatch(t, records, BatchOptions{}), AppendOptions{})
	require.Nil(t, err)
	return r.BaseOffset
}

// idempotent is a batch of n records of a producer.
func idempotent(t testing.TB, n int, id int64, epoch int16, sequence int32) Batch {
	t.Helper()
	return mustBatch(t, testRecords(n, t0), BatchOptions{Idempotent: true, ProducerID: id, ProducerEpoch: epoch, BaseSequence: sequence})
}

func transactional(t testing.TB, n int, id int64, epoch int16, sequence int32) Batch {
	t.Helper()
	return mustBatch(t, testRecords(n, t0), BatchOptions{Transactional: true, ProducerID: id, ProducerEpoch: epoch, BaseSequence: sequence})
}

// appendTxn appends a transactional batch that the coordinator agreed to.
func appendTxn(t testing.TB, l *Log, b Batch, version int16) (AppendResult, *AppendError) {
	t.Helper()
	v, _ := l.BeginVerification(t0, b, version)
	return l.Append(t0, b, AppendOptions{Verification: v})
}

// fetch reads everything at an offset.
func fetch(l *Log, offset int64) ReadResult {
	return l.Read(ReadOptions{Offset: offset, MaxBytes: 1 << 20, First: true, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1})
}

func fetchCommitted(l *Log, offset int64) ReadResult {
	return l.Read(ReadOptions{Offset: offset, MaxBytes: 1 << 20, First: true, ReadCommitted: true, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1})
}

// batchesOf splits the bytes of a read.
func batchesOf(r ReadResult) (out []Batch, partial int) {
	var all []byte
	for _, s := range r.Records {
		all = append(all, s...)
	}
	for len(all) > 0 {
		if len(all) < headerSize || Batch(all).size() > len(all) {
			return out, len(all)
		}
		size := Batch(all).size()
		out = append(out, Batch(all[:size]))
		all = all[size:]
	}
	return out, 0
}

func baseOffsets(r ReadResult) []int64 {
	out := []int64{}
	batches, _ := batchesOf(r)
	for _, b := range batches {
		out = append(out, b.BaseOffset())
	}
	return out
}

func at(ms int64, key, value string) Record {
	r := Record{Timestamp: ms, Key: []byte(key)}
	if value != "" {
		r.Value = []byte(value)
	}
	return r
}

func TestAppendAssignsOffsetsAndKeepsTheBytes(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	l.NewLeaderEpoch(3, 1)
	first := mustBatch(t, testRecords(2, t0), BatchOptions{})
	sent := append(Batch(nil), first...)
	r, err := l.Append(t0, first, AppendOptions{})
	require.Nil(t, err)
	require.Equal(t, AppendResult{BaseOffset: 0, LastOffset: 1, LogAppendTime: -1, LogStart: 0, Records: 2, Bytes: len(first)}, r)
	require.Equal(t, int64(2), produce(t, l, t0, testRecords(1, t0)...))

	got, partial := batchesOf(fetch(l, 0))
	require.Zero(t, partial)
	require.Len(t, got, 2)
	require.Equal(t, int32(3), got[0].LeaderEpoch())
	require.Equal(t, sent[posMagic:], got[0][posMagic:], "only base offset and leader epoch are written")
	require.Equal(t, got[1].crc(), got[1].crcField())
	require.Equal(t, int64(3), l.End())
	require.Equal(t, int64(len(got[0])+len(got[1])), l.Size())
}

func TestLargeBatchIsKeptWithoutCopying(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	big := mustBatch(t, []Record{{Timestamp: t0, Value: make([]byte, 20<<10)}}, BatchOptions{})
	for name, frame := range map[string]int{"alone": 0, "nearly the whole frame": len(big) + 1000} {
		b := append(Batch(nil), big...)
		r, err := l.Append(t0, b, AppendOptions{FrameSize: frame})
		require.Nil(t, err)
		require.Same(t, &b[0], &fetch(l, r.BaseOffset).Records[0][0], name)
	}
	b := append(Batch(nil), big...)
	r, err := l.Append(t0, b, AppendOptions{FrameSize: 10 * len(b)})
	require.Nil(t, err)
	require.NotSame(t, &b[0], &fetch(l, r.BaseOffset).Records[0][0], "small beside its frame")
}

func TestSmallBatchesShareMemory(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	for range 1000 {
		produce(t, l, t0, testRecords(1, t0)...)
	}
	r := l.Read(ReadOptions{Offset: 0, MaxBytes: 1 << 20, First: true, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1})
	require.Equal(t, 70000, r.Bytes)
	require.Less(t, len(r.Records), 60, "slices to write")
}

func TestCurrentLeaderEpoch(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	l.NewLeaderEpoch(2, 1)
	for epoch, code := range map[int32]int16{-1: 0, 0: CodeFencedLeaderEpoch, 1: CodeFencedLeaderEpoch, 2: 0, 3: CodeUnknownLeaderEpoch} {
		require.Equal(t, code, l.CheckLeaderEpoch(epoch), "epoch %d", epoch)
		require.Equal(t, code, l.ListOffsets(-1, ListOptions{CurrentLeaderEpoch: epoch}).Code)
		r := l.Read(ReadOptions{MaxBytes: 1, CurrentLeaderEpoch: epoch, LastFetchedEpoch: -1})
		require.Equal(t, code, r.Code)
		if code != 0 {
			require.Equal(t, int64(-1), r.HighWatermark)
			require.Nil(t, r.Aborted)
		}
	}
}

func TestOffsetForLeaderEpoch(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	require.Equal(t, EpochEnd{0, 0}, l.OffsetForLeaderEpoch(0), "an empty log knows its first epoch")
	require.Equal(t, EpochEnd{-2, 0}, l.OffsetForLeaderEpoch(-2), "Kafka's odd answer")
	produce(t, l, t0, testRecords(3, t0)...)
	l.NewLeaderEpoch(2, 1)
	l.NewLeaderEpoch(5, 1) // nothing was appended in epoch 2
	produce(t, l, t0, testRecords(2, t0)...)
	l.NewLeaderEpoch(6, 1)
	for epoch, want := range map[int32]EpochEnd{
		-1: {-1, -1}, 0: {0, 3}, 1: {0, 3}, 3: {0, 3}, 5: {5, 5}, 6: {6, 5}, 7: {-1, -1},
	} {
		require.Equal(t, want, l.OffsetForLeaderEpoch(epoch), "epoch %d", epoch)
	}
	_, code := l.DeleteRecords(4)
	require.Zero(t, code)
	require.Equal(t, []epochEntry{{5, 4}, {6, 5}}, l.knownEpochs())
}

func TestBatchesOfOneFrameAreKeptTogether(t *testing.T) {
	t.Parallel()
	require.True(t, KeepFrame(100<<10, 10, 98<<10))
	require.False(t, KeepFrame(100<<10, 10, 90<<10), "too much beside them")
	require.False(t, KeepFrame(100<<10, 50, 99<<10), "too small for a chunk each")
	require.False(t, KeepFrame(10<<10, 1, 10<<10), "too small together")

	l := newTestLog()
	b := mustBatch(t, []Record{{Timestamp: t0, Value: make([]byte, 5000)}}, BatchOptions{})
	_, err := l.Append(t0, b, AppendOptions{FrameSize: 50000, Keep: true})
	require.Nil(t, err)
	produce(t, l, t0, testRecords(1, t0)...)
	r := fetch(l, 0)
	require.Same(t, &b[0], &r.Records[0][0])
	require.Equal(t, []int64{0, 1}, baseOffsets(r))
}
