package partitionlog

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDuplicateWindow(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	for i := range int32(6) {
		r, err := l.Append(t0, idempotent(t, 2, 7, 0, 2*i), AppendOptions{})
		require.Nil(t, err)
		require.Equal(t, int64(2*i), r.BaseOffset)
	}
	_, code := l.DeleteRecords(8)
	require.Zero(t, code)
	for i := int32(1); i < 6; i++ {
		r, err := l.Append(t0+999, idempotent(t, 2, 7, 0, 2*i), AppendOptions{})
		require.Nil(t, err)
		require.Equal(t, AppendResult{BaseOffset: int64(2 * i), LastOffset: int64(2*i) + 1, LogAppendTime: t0, LogStart: 8, Duplicate: true}, r,
			"the offset may be deleted, and the append time is the first copy's timestamp on CreateTime topics too")
	}
	for name, b := range map[string]Batch{
		"older than the window":  idempotent(t, 2, 7, 0, 0),
		"overlaps":               idempotent(t, 1, 7, 0, 10),
		"overlaps and goes on":   idempotent(t, 4, 7, 0, 10),
		"a gap":                  idempotent(t, 1, 7, 0, 13),
		"a new epoch not from 0": idempotent(t, 1, 7, 1, 12),
	} {
		_, err := l.Append(t0, b, AppendOptions{})
		require.NotNil(t, err, name)
		require.Equal(t, CodeOutOfOrderSequence, err.Code, name)
		require.Equal(t, int64(8), err.LogStart)
		require.Empty(t, err.Message)
	}
	require.Equal(t, int64(12), l.End())
}

func TestProducerEpochs(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	try := func(epoch int16, sequence int32) int16 {
		_, err := l.Append(t0, idempotent(t, 1, 7, epoch, sequence), AppendOptions{})
		if err != nil {
			return err.Code
		}
		return 0
	}
	require.Zero(t, try(3, 41), "an unknown producer may start anywhere")
	require.Equal(t, CodeInvalidProducerEpoch, try(2, 0))
	require.Equal(t, CodeOutOfOrderSequence, try(4, 42))
	require.Zero(t, try(4, 0))
	require.Equal(t, CodeInvalidProducerEpoch, try(3, 41), "an exact repeat of an old epoch's batch too")
	require.Zero(t, try(4, 1))
	require.Zero(t, try(4, 1), "a duplicate")
	require.Equal(t, int64(3), l.End())
	require.Equal(t, []ProducerState{{7, 4, 1, t0, -1, -1}}, l.Producers())
}

func TestSequencesWrap(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	for _, sequence := range []int32{math.MaxInt32 - 1, 1, 4} { // three records each
		_, err := l.Append(t0, idempotent(t, 3, 7, 0, sequence), AppendOptions{})
		require.Nil(t, err, "sequence %d", sequence)
	}
	r, err := l.Append(t0, idempotent(t, 3, 7, 0, math.MaxInt32-1), AppendOptions{})
	require.Nil(t, err)
	require.True(t, r.Duplicate)
	require.Equal(t, int32(6), l.Producers()[0].LastSequence)

	_, err = l.Append(t0, idempotent(t, 1, 8, 0, math.MaxInt32), AppendOptions{})
	require.Nil(t, err)
	_, err = l.Append(t0, idempotent(t, 1, 8, 0, 0), AppendOptions{})
	require.Nil(t, err)
}

func TestProducersWithoutState(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	for _, id := range []int64{-1, -5} {
		for range 2 {
			r, err := l.Append(t0, idempotent(t, 1, id, 0, 9), AppendOptions{})
			require.Nil(t, err)
			require.False(t, r.Duplicate)
		}
	}
	require.Empty(t, l.Producers())
	for _, sequence := range []int32{5, 3} {
		_, err := l.Append(t0, idempotent(t, 1, 6, -1, sequence), AppendOptions{})
		require.Nil(t, err, "a real id with epoch -1 may send any sequence")
	}
}

func TestExpireProducers(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.ProducerIDExpirationMs = 1000 })
	_, err := l.Append(t0, idempotent(t, 1, 7, 0, 0), AppendOptions{})
	require.Nil(t, err)
	_, err = appendTxn(t, l, transactional(t, 1, 8, 0, 0), 9)
	require.Nil(t, err)
	require.Zero(t, l.ExpireProducers(t0+999))
	require.Equal(t, 1, l.ExpireProducers(t0+1000), "by record time; one with an open transaction stays")
	require.Len(t, l.Producers(), 1)
	r, err := l.Append(t0, idempotent(t, 1, 7, 0, 0), AppendOptions{})
	require.Nil(t, err)
	require.False(t, r.Duplicate, "forgotten: appended again")

	v, needed := l.BeginVerification(t0, transactional(t, 1, 9, 0, 0), 9)
	require.True(t, needed)
	l.ExpireProducers(t0 + 999)
	again, _ := l.BeginVerification(t0, transactional(t, 1, 9, 0, 0), 9)
	require.Equal(t, v, again)
	l.ExpireProducers(t0 + 1000)
	again, _ = l.BeginVerification(t0, transactional(t, 1, 9, 0, 0), 9)
	require.NotEqual(t, v, again, "a question that is as old is forgotten, too")
}

func TestEpochBelowThatOfNoProducer(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	batch := func(epoch int16, sequence int32) []byte {
		return mustBatch(t, testRecords(1, t0), BatchOptions{Idempotent: true, ProducerID: 9, ProducerEpoch: epoch, BaseSequence: sequence})
	}
	_, err := l.Append(t0, batch(-2, 0), AppendOptions{})
	require.NotNil(t, err)
	require.Equal(t, CodeInvalidProducerEpoch, err.Code)
	_, err = l.Append(t0, batch(-1, 0), AppendOptions{})
	require.Nil(t, err)

	require.False(t, l.StaleEpoch(batch(-1, 0)))
	_, err = l.Append(t0, batch(3, 0), AppendOptions{})
	require.Nil(t, err)
	require.True(t, l.StaleEpoch(batch(2, 0)))
	require.False(t, l.StaleEpoch(batch(3, 0)))
	require.False(t, l.StaleEpoch(nil))
}

// A batch may end anywhere when a verification is to begin.
func TestVerificationOfShortBatches(t *testing.T) {
	t.Parallel()
	for _, transactional := range []bool{false, true} {
		whole := mustBatch(t, testRecords(1, t0), BatchOptions{Idempotent: true, Transactional: transactional, ProducerID: 9, ProducerEpoch: 3})
		for n := range whole {
			l := newTestLog()
			_, needed := l.BeginVerification(t0, whole[:n], 9)
			require.Equal(t, transactional && n >= posRecordCount, needed, "%d bytes", n)
			require.False(t, l.StaleEpoch(whole[:n]))
		}
	}
}
