package partitionlog

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func mustTxn(t testing.TB, l *Log, b Batch) {
	t.Helper()
	_, err := appendTxn(t, l, b, 9)
	require.Nil(t, err)
}

func end(t testing.TB, l *Log, id int64, epoch int16, commit bool) int64 {
	t.Helper()
	r, err := l.AppendMarker(t0, Marker{ProducerID: id, ProducerEpoch: epoch, Commit: commit})
	require.Nil(t, err)
	return r.BaseOffset
}

func TestMarker(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	r, err := l.AppendMarker(t0+5, Marker{ProducerID: 7, ProducerEpoch: 3, Commit: true, CoordinatorEpoch: 9})
	require.Nil(t, err)
	require.Equal(t, AppendResult{LogAppendTime: -1, Records: 1, Bytes: 78}, r)
	got, _ := batchesOf(fetch(l, 0))
	require.Len(t, got[0], 78)
	require.Equal(t, int16(0x30), got[0].attributes())
	require.Equal(t, noSequence, got[0].BaseSequence())
	require.Equal(t, t0+5, got[0].MaxTimestamp())
	records, derr := DecodeBatch(nil, got[0], nil)
	require.NoError(t, derr)
	require.Equal(t, []byte{0, 0, 0, 1}, records[0].Key)
	require.Equal(t, []byte{0, 0, 0, 0, 0, 9}, records[0].Value)
	m, ok := ParseMarker(records[0])
	require.True(t, ok)
	require.Equal(t, Marker{ProducerID: 7, ProducerEpoch: 3, Commit: true, CoordinatorEpoch: 9}, m)
	require.Equal(t, []ProducerState{{7, 3, -1, t0 + 5, 9, -1}}, l.Producers())
}

func TestMarkerRefused(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	mustTxn(t, l, transactional(t, 1, 7, 3, 0))
	for _, tt := range []struct {
		explanation string
		m           Marker
		code        int16
	}{
		{"an old epoch", Marker{ProducerEpoch: 2}, CodeInvalidProducerEpoch},
		{"version 2 with the same epoch", Marker{ProducerEpoch: 3, TransactionVersion: 2}, CodeInvalidProducerEpoch},
		{"version 2 with a raised epoch", Marker{ProducerEpoch: 4, TransactionVersion: 2, CoordinatorEpoch: 5}, 0},
		{"a repeat with nothing open", Marker{ProducerEpoch: 4, TransactionVersion: 2, CoordinatorEpoch: 5}, 0},
		{"an old coordinator", Marker{ProducerEpoch: 4, CoordinatorEpoch: 4}, CodeTxnCoordinatorFenced},
		{"version -1, before the coordinator is looked at", Marker{ProducerEpoch: 4, CoordinatorEpoch: 4, TransactionVersion: -1}, CodeUnknownServerError},
		{"version -1, after an old epoch", Marker{ProducerEpoch: 2, TransactionVersion: -1}, CodeInvalidProducerEpoch},
		{"version -1, of a producer without state", Marker{ProducerID: 8, ProducerEpoch: -2, TransactionVersion: -1}, CodeUnknownServerError},
		{"version -2 is as good as 0", Marker{ProducerEpoch: 4, CoordinatorEpoch: 4, TransactionVersion: -2}, CodeTxnCoordinatorFenced},
		{"no epoch at all, of a producer without state", Marker{ProducerID: 8, ProducerEpoch: -2}, CodeInvalidProducerEpoch},
		{"no coordinator at all, of a producer without state", Marker{ProducerID: 8, CoordinatorEpoch: -2}, CodeTxnCoordinatorFenced},
	} {
		if tt.m.ProducerID == 0 {
			tt.m.ProducerID = 7
		}
		_, err := l.AppendMarker(t0, tt.m)
		if tt.code == 0 {
			require.Nil(t, err, tt.explanation)
			continue
		}
		require.NotNil(t, err, tt.explanation)
		require.Equal(t, tt.code, err.Code, tt.explanation)
	}
	require.Equal(t, int64(3), l.End())
}

// The last epoch there is can't be raised by the end of its transaction.
func TestMarkerOfTheLastEpoch(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	mustTxn(t, l, transactional(t, 1, 7, math.MaxInt16, 0))
	_, err := l.AppendMarker(t0, Marker{ProducerID: 7, ProducerEpoch: math.MaxInt16, TransactionVersion: 2})
	require.Nil(t, err)
	require.Empty(t, l.OpenTransactions())
}

func TestLastStableOffset(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	produce(t, l, t0, testRecords(1, t0)...)
	mustTxn(t, l, transactional(t, 2, 7, 0, 0)) // 1-2
	mustTxn(t, l, transactional(t, 1, 8, 0, 0)) // 3
	produce(t, l, t0, testRecords(1, t0)...)    // 4
	require.Equal(t, int64(1), l.LastStable())
	require.Equal(t, []OpenTransaction{{7, 0, 1, t0}, {8, 0, 3, t0}}, l.OpenTransactions())

	r := fetchCommitted(l, 0)
	require.Equal(t, []int64{0}, baseOffsets(r))
	require.Equal(t, []AbortedTxn{}, r.Aborted)
	require.Equal(t, []int64{0, 1, 3, 4}, baseOffsets(fetch(l, 0)))
	require.Nil(t, fetch(l, 0).Aborted)
	require.Zero(t, fetchCommitted(l, 1).Bytes)
	require.Zero(t, fetchCommitted(l, 4).Bytes)
	require.Zero(t, fetchCommitted(l, 4).Code)
	follower := l.Read(ReadOptions{MaxBytes: 1 << 20, ReadCommitted: true, Follower: true, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1})
	require.Equal(t, []int64{0, 1, 3, 4}, baseOffsets(follower), "a follower reads to the log's end")
	require.Nil(t, follower.Aborted)
	require.Equal(t, int64(1), l.ListOffsets(TimestampLatest, ListOptions{ReadCommitted: true, CurrentLeaderEpoch: -1}).Offset)

	end(t, l, 7, 0, false) // 5
	require.Equal(t, int64(3), l.LastStable())
	end(t, l, 8, 0, true) // 6
	require.Equal(t, int64(7), l.LastStable())
	require.Equal(t, []AbortedTxn{{7, 1, 5, 3}}, l.aborted)
}

func TestLastStableBelowLogStart(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	mustTxn(t, l, transactional(t, 1, 7, 0, 0)) // 0
	produce(t, l, t0, testRecords(1, t0)...)    // 1
	produce(t, l, t0, testRecords(3, t0)...)    // 2-4
	_, code := l.DeleteRecords(3)
	require.Zero(t, code)
	require.Equal(t, int64(2), l.LastStable(), "the base offset of the batch that holds the log start")
}

func TestAbortedList(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	produce(t, l, t0, testRecords(1, t0)...)     // 0
	mustTxn(t, l, transactional(t, 2, 7, 0, 0))  // 1-2
	mustTxn(t, l, transactional(t, 1, 8, 0, 0))  // 3
	end(t, l, 8, 0, false)                       // 4
	end(t, l, 7, 0, false)                       // 5
	mustTxn(t, l, transactional(t, 1, 9, 0, 0))  // 6
	end(t, l, 9, 0, true)                        // 7
	mustTxn(t, l, transactional(t, 1, 10, 0, 0)) // 8
	end(t, l, 10, 0, false)                      // 9
	ids := func(r ReadResult) []int64 {
		out := []int64{}
		for _, a := range r.Aborted {
			out = append(out, a.ProducerID)
		}
		return out
	}
	require.Equal(t, []int64{8, 7, 10}, ids(fetchCommitted(l, 0)), "in the order of the markers")
	require.Equal(t, []int64{7, 10}, ids(fetchCommitted(l, 5)), "the marker counts")
	require.Equal(t, []int64{10}, ids(fetchCommitted(l, 6)))
	require.Equal(t, []int64{}, ids(fetchCommitted(l, 10)))
	one := l.Read(ReadOptions{MaxBytes: 1, First: true, ReadCommitted: true, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1})
	require.Equal(t, []int64{0}, baseOffsets(one))
	require.Equal(t, []int64{8, 7, 10}, ids(one), "up to the segment's end, not the end of what is returned")
}

func TestAbortedListEndsAtTheNextIndexEntry(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.IndexIntervalBytes = 100 })
	for i := range int64(4) { // three batches each: two of 79 and 78 bytes and one of 70
		mustTxn(t, l, transactional(t, 2, 7+i, 0, 0))
		end(t, l, 7+i, 0, false)
		produce(t, l, t0, testRecords(1, t0)...)
	}
	// Index entries are made for the batches at 3 (position 157), 4 (227), ...: when more than 100 bytes came since the last.
	require.Equal(t, int32(3), l.active().index[0].lastOffset)
	one := l.Read(ReadOptions{MaxBytes: 1, First: true, ReadCommitted: true, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1})
	require.Len(t, one.Aborted, 1)
	require.Len(t, fetchCommitted(l, 0).Aborted, 4)
}

func TestAbortedListWhereAReadEndsAtTheFirstIndexEntry(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.IndexIntervalBytes = 0 })
	produce(t, l, t0, testRecords(1, t0)...)    // 0
	produce(t, l, t0, testRecords(1, t0)...)    // 1: the first entry
	mustTxn(t, l, transactional(t, 1, 7, 0, 0)) // 2
	end(t, l, 7, 0, false)                      // 3
	mustTxn(t, l, transactional(t, 1, 8, 0, 0)) // 4
	end(t, l, 8, 0, false)                      // 5
	aborted := func(offset int64) int {
		r := l.Read(ReadOptions{Offset: offset, MaxBytes: 1, First: true, ReadCommitted: true, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1})
		return len(r.Aborted)
	}
	require.Equal(t, 0, aborted(0), "up to offset 2, since a broker's search takes the second entry")
	require.Equal(t, 0, aborted(1))
	require.Equal(t, 1, aborted(2))
}

func TestVerification(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	b := func(epoch int16, sequence int32) Batch { return transactional(t, 1, 7, epoch, sequence) }
	v, needed := l.BeginVerification(t0, b(0, 5), 9)
	require.True(t, needed)
	_, err := l.Append(t0, b(0, 5), AppendOptions{Verification: v + 1})
	require.Equal(t, CodeInvalidTxnState, err.Code, "another's token")
	end(t, l, 7, 0, true)
	_, err = l.Append(t0, b(0, 5), AppendOptions{Verification: v})
	require.NotNil(t, err, "a marker came in between")
	require.Equal(t, CodeInvalidTxnState, err.Code)

	l = newTestLog()
	v, _ = l.BeginVerification(t0, b(0, 5), 9)
	v2, _ := l.BeginVerification(t0, b(0, 6), 9)
	require.Equal(t, v, v2)
	_, err = l.Append(t0, b(0, 6), AppendOptions{Verification: v})
	require.Equal(t, CodeOutOfOrderSequence, err.Code, "sequence 5 waits for the same verification")
	_, err = l.Append(t0, b(0, 5), AppendOptions{Verification: v})
	require.Nil(t, err)
	_, needed = l.BeginVerification(t0, b(0, 6), 9)
	require.False(t, needed, "the transaction is open")
	_, err = l.Append(t0, b(0, 6), AppendOptions{})
	require.Nil(t, err)

	l = newTestLog(func(c *Config) { c.TransactionVerification = false })
	_, err = l.Append(t0, b(0, 5), AppendOptions{})
	require.Nil(t, err)
}

func TestTransactionalSequenceStartsAtZeroFromV12(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	_, err := appendTxn(t, l, transactional(t, 1, 7, 0, 3), 12)
	require.Equal(t, CodeOutOfOrderSequence, err.Code)
	l = newTestLog()
	_, err = appendTxn(t, l, transactional(t, 1, 7, 0, 3), 11)
	require.Nil(t, err)
}

func TestWrongTransactionalWrites(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	mustTxn(t, l, transactional(t, 1, 7, 1, 0))
	_, err := l.Append(t0, idempotent(t, 1, 7, 1, 1), AppendOptions{})
	require.Equal(t, CodeInvalidTxnState, err.Code, "non-transactional while the transaction is open")
	_, err = appendTxn(t, l, transactional(t, 1, 7, 0, 1), 9)
	require.Equal(t, CodeInvalidProducerEpoch, err.Code)
	end(t, l, 7, 1, true)
	_, err = l.Append(t0, idempotent(t, 1, 7, 1, 1), AppendOptions{})
	require.Nil(t, err, "fine after its end")
	end(t, l, 7, 2, true)
	_, err = l.Append(t0, idempotent(t, 1, 7, 2, 2), AppendOptions{})
	require.Equal(t, CodeOutOfOrderSequence, err.Code, "a marker with a new epoch starts the sequence at 0")
	_, err = l.Append(t0, idempotent(t, 1, 7, 2, 0), AppendOptions{})
	require.Nil(t, err)
}

func TestTransactionalBatchWithoutProducer(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	b := transactional(t, 2, -1, -1, -1)
	_, needed := l.BeginVerification(t0, b, 9)
	require.False(t, needed)
	_, err := l.Append(t0, b, AppendOptions{})
	require.Nil(t, err, "recorded from a live Kafka: nobody asks")
	require.Equal(t, int64(2), l.LastStable())
	require.Empty(t, l.Producers())
}

func TestVerificationOfV12OutlivesAMarker(t *testing.T) {
	t.Parallel()
	after := func(version int16) *AppendError {
		l := newTestLog()
		l.BeginVerification(t0, transactional(t, 1, 7, 0, -1), version) // the batch is refused for its sequence
		end(t, l, 7, 0, true)
		_, err := appendTxn(t, l, transactional(t, 1, 7, 0, 0), version)
		return err
	}
	require.Nil(t, after(11))
	err := after(12)
	require.NotNil(t, err, "recorded from a live Kafka: sequence -1 is still waited for")
	require.Equal(t, CodeOutOfOrderSequence, err.Code)
}

func TestUnknownProducerOfAnOlderVerification(t *testing.T) {
	t.Parallel()
	begin := func(first int16) *Log {
		l := newTestLog()
		l.BeginVerification(t0, transactional(t, 1, 7, 0, 2), first) // the coordinator said no
		return l
	}
	_, err := appendTxn(t, begin(9), transactional(t, 1, 7, 0, 2), 12)
	require.Nil(t, err, "recorded from a live Kafka: the request that began the verification decides")
	_, err = appendTxn(t, begin(12), transactional(t, 1, 7, 0, 2), 11)
	require.Equal(t, CodeOutOfOrderSequence, err.Code)
}

func TestVerificationFollowsARaisedEpoch(t *testing.T) {
	t.Parallel()
	for _, first := range []int16{9, 12} {
		l := newTestLog()
		l.BeginVerification(t0, transactional(t, 1, 7, 0, 0), first) // the coordinator said no
		_, err := appendTxn(t, l, transactional(t, 1, 7, 1, 0), 11)
		require.Nil(t, err, "recorded from a live Kafka: the sequences of an older epoch are not waited for")
	}
	l := newTestLog()
	l.BeginVerification(t0, transactional(t, 1, 7, 0, 0), 9)
	_, err := appendTxn(t, l, transactional(t, 1, 7, 1, 2), 11)
	require.Nil(t, err)
}
