package transactions

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// driver does what the broker does: it keeps the log and writes markers at once, unless it is told to wait.
type driver struct {
	t      *testing.T
	s      *Shard
	log    []Record
	told   []Markers
	waits  bool
	now    time.Time
	nextID int64
}

func newDriver(t *testing.T) *driver {
	d := &driver{t: t, now: time.Unix(1000, 0)}
	d.s = NewShard(DefaultConfig(), d.newID)
	return d
}

func (d *driver) newID() int64 { d.nextID++; return d.nextID - 1 }

func (d *driver) apply(fx Effects) {
	d.log = append(d.log, fx.Records...)
	d.told = append(d.told, fx.Markers...)
	if d.waits {
		return
	}
	for _, m := range fx.Markers {
		d.apply(d.s.MarkersWritten(d.now, m.TransactionalID, m.Partitions...))
	}
}

func (d *driver) init(given Producer) (Producer, int16) {
	p, code, fx := d.s.InitProducerID(d.now, "t", 60000, given)
	d.apply(fx)
	return p, code
}

func (d *driver) add(p Producer, version int16, tps ...TopicPartition) int16 {
	code, fx := d.s.AddPartitions(d.now, "t", p, tps, version)
	d.apply(fx)
	return code
}

func (d *driver) end(p Producer, commit bool, version int16) (Producer, int16) {
	next, code, fx := d.s.EndTxn(d.now, "t", p, commit, version)
	d.apply(fx)
	return next, code
}

func (d *driver) state() State {
	desc, code := d.s.Describe("t")
	require.Zero(d.t, code)
	return desc.State
}

// replayed is a shard that loads the log.
func (d *driver) replayed() *Shard {
	s := NewShard(DefaultConfig(), d.newID)
	for _, r := range d.log {
		require.NoError(d.t, s.Replay(r))
	}
	return s
}

var orders0 = TopicPartition{"orders", 0}

func TestClassicCommitKeepsTheEpoch(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	p, code := d.init(nobody)
	require.Zero(t, code)
	assert.Equal(t, Producer{0, 0}, p)
	require.Zero(t, d.add(p, 0, orders0))
	assert.Equal(t, Ongoing, d.state())
	next, code := d.end(p, true, 4)
	assert.Zero(t, code)
	assert.Equal(t, nobody, next, "before v5 the answer names no producer")
	assert.Equal(t, CompleteCommit, d.state())
	assert.Equal(t, []Markers{{"t", 0, 0, true, 0, []TopicPartition{orders0}}}, d.told)
	_, code = d.end(p, true, 4)
	assert.Zero(t, code, "a repeated commit has been done already")
	_, code = d.end(p, false, 4)
	assert.Equal(t, codeInvalidTxnState, code)
}

func TestEndRaisesTheEpoch(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	p, _ := d.init(nobody)
	require.Zero(t, d.add(p, 2, orders0))
	next, code := d.end(p, true, 5)
	require.Zero(t, code)
	assert.Equal(t, Producer{0, 1}, next)
	assert.EqualValues(t, 1, d.told[0].ProducerEpoch, "the markers carry the raised epoch")
	again, code := d.end(p, true, 5)
	assert.Zero(t, code)
	assert.Equal(t, next, again, "the retry of a lost answer")
	assert.Equal(t, codeProducerFenced, d.add(p, 2, orders0))
	assert.Zero(t, d.add(next, 2, orders0))
}

func TestNewIncarnationAbortsTheOpenTransaction(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	p, _ := d.init(nobody)
	require.Zero(t, d.add(p, 0, orders0))
	_, code := d.init(nobody)
	assert.Equal(t, codeConcurrentTransactions, code, "at least once")
	assert.Equal(t, CompleteAbort, d.state())
	p, code = d.init(nobody)
	assert.Zero(t, code)
	assert.Equal(t, Producer{0, 2}, p)
}

func TestPendingMarkersAreWaitedFor(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	p, _ := d.init(nobody)
	require.Zero(t, d.add(p, 0, orders0, TopicPartition{"orders", 1}))
	d.waits = true
	_, code := d.end(p, false, 4)
	require.Zero(t, code)
	assert.Equal(t, PrepareAbort, d.state())
	for what, code := range map[string]int16{
		"InitProducerId":     second(d.init(nobody)),
		"AddPartitionsToTxn": d.add(p, 0, orders0),
		"EndTxn":             second(d.end(p, false, 4)),
	} {
		assert.Equal(t, codeConcurrentTransactions, code, what)
	}
	d.apply(d.s.MarkersWritten(d.now, "t", orders0))
	assert.Equal(t, PrepareAbort, d.state(), "one partition lacks its marker")

	loaded := d.replayed()
	fx := loaded.Loaded()
	if assert.Len(t, fx.Markers, 1, "who takes over sends the markers again") {
		assert.Len(t, fx.Markers[0].Partitions, 2)
	}
	d.apply(d.s.MarkersWritten(d.now, "t", TopicPartition{"orders", 1}))
	assert.Equal(t, CompleteAbort, d.state())
}

func TestClassicEndOfARaisingTransactionIsRecordedAsClassic(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	p, _ := d.init(nobody)
	require.Zero(t, d.add(p, 2, orders0))
	assert.EqualValues(t, 2, d.s.entries["t"].clientTV)
	require.Zero(t, second(d.end(p, true, 4)))
	assert.EqualValues(t, 0, d.s.entries["t"].clientTV)
}

func TestTransactionOfVeryManyPartitions(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	p, _ := d.init(nobody)
	many := make([]TopicPartition, 200_000)
	for i := range many {
		many[i] = TopicPartition{"orders", int32(i)}
	}
	require.Zero(t, d.add(p, 0, many...))
	require.Zero(t, second(d.end(p, true, 4)))
	assert.Equal(t, CompleteCommit, d.state())
}

func TestPartitionsAddedVeryOften(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	p, _ := d.init(nobody)
	code, fx := d.s.AddPartitions(d.now, "t", p, slices.Repeat([]TopicPartition{orders0}, 1<<20), 0)
	require.Zero(t, code)
	require.Len(t, fx.Events, 1)
	assert.Less(t, len(fx.Events[0].Cause), 1000)
	desc, _ := d.s.Describe("t")
	assert.Equal(t, []TopicPartition{orders0}, desc.Partitions)
}

func TestRefusedMarkerIsNotSentAgainBeforeTheCoordinatorMoves(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	p, _ := d.init(nobody)
	orders1 := TopicPartition{"orders", 1}
	require.Zero(t, d.add(p, 0, orders0, orders1))
	d.waits = true
	require.Zero(t, second(d.end(p, true, 4)))
	d.apply(d.s.MarkersWritten(d.now, "t", orders1))
	d.apply(d.s.MarkersRefused("t"))
	desc, _ := d.s.Describe("t")
	assert.Equal(t, []TopicPartition{orders0}, desc.Partitions, "what lacks its marker")
	assert.Empty(t, d.s.Outstanding())
	d.apply(d.s.MarkersWritten(d.now, "t", orders0))
	assert.Equal(t, PrepareCommit, d.state())
	assert.Equal(t, codeConcurrentTransactions, second(d.init(nobody)))
	assert.Len(t, d.replayed().Loaded().Markers, 1)
}

func second(_ Producer, code int16) int16 { return code }

func TestTimeoutFencesAndRecovers(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	p, _ := d.init(nobody)
	require.Zero(t, d.add(p, 2, orders0))
	d.now = d.now.Add(time.Minute)
	d.apply(d.s.AbortTimedOut(d.now))
	assert.Equal(t, Ongoing, d.state(), "its timeout is not past yet")
	d.now = d.now.Add(time.Millisecond)
	d.apply(d.s.AbortTimedOut(d.now))
	assert.Equal(t, CompleteAbort, d.state())
	assert.Equal(t, codeProducerFenced, second(d.end(p, true, 4)))
	next, code := d.init(p)
	assert.Zero(t, code)
	assert.Equal(t, Producer{0, 1}, next, "recovery with the old epoch is answered the raised one")
}

func TestExhaustedEpochsGetANewProducerID(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	p, _ := d.init(nobody)
	d.s.entries["t"].epoch = maxEpoch - 1
	p.Epoch = maxEpoch - 1
	require.Zero(t, d.add(p, 2, orders0))
	next, code := d.end(p, true, 5)
	require.Zero(t, code)
	assert.Equal(t, Producer{1, 0}, next)
	assert.Equal(t, maxEpoch, d.told[0].ProducerEpoch)
	assert.EqualValues(t, 0, d.told[0].ProducerID)
	again, code := d.end(p, true, 5)
	assert.Zero(t, code)
	assert.Equal(t, next, again)
}

// The id that a producer had before its epochs ran out is recognized, but only with the epochs at which they do.
func TestPreviousProducerIDIsKnownAtItsLastEpochs(t *testing.T) {
	t.Parallel()
	for given, want := range map[int16]int16{maxEpoch - 1: codeNone, maxEpoch - 2: codeProducerFenced, 0: codeProducerFenced} {
		d := newDriver(t)
		old, _ := d.init(nobody)
		d.s.entries["t"].epoch = maxEpoch - 1
		old.Epoch = maxEpoch - 1
		require.Zero(t, d.add(old, 2, orders0))
		_, code := d.end(old, true, 5)
		require.Zero(t, code)
		require.Equal(t, int64(1), d.s.entries["t"].producer)
		_, code = d.init(Producer{old.ID, given})
		assert.Equal(t, want, code, "epoch %d", given)
	}
}

func TestExpiryForgetsUnusedIDs(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	_, _ = d.init(nobody)
	d.apply(d.s.RemoveExpired(d.now.Add(6 * 24 * time.Hour)))
	assert.Equal(t, []string{"t"}, d.s.IDs())
	d.apply(d.s.RemoveExpired(d.now.Add(7 * 24 * time.Hour)))
	assert.Empty(t, d.s.IDs())
	assert.Empty(t, d.replayed().IDs())
}

// A random walk: after each step a replay of the log stands where the live shard stands.
func TestReplayEqualsLive(t *testing.T) {
	t.Parallel()
	for seed := range 300 {
		d := newDriver(t)
		x := uint64(seed)*2654435761 + 1
		draw := func(n uint64) uint64 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			return x % n
		}
		p := nobody
		for range 40 {
			d.now = d.now.Add(time.Duration(draw(30)) * time.Second)
			switch draw(7) {
			case 0:
				given := nobody
				if draw(2) == 0 {
					given = p
				}
				if next, code := d.init(given); code == 0 {
					p = next
				}
			case 1, 2:
				d.add(p, int16(draw(2))*2, TopicPartition{"orders", int32(draw(3))})
			case 3, 4:
				if next, code := d.end(p, draw(2) == 0, []int16{4, 5}[draw(2)]); code == 0 && next != nobody {
					p = next
				}
			case 5:
				d.apply(d.s.AbortTimedOut(d.now))
			case 6:
				d.apply(d.s.MarkersWritten(d.now, "t"))
			}
			live, _ := d.s.Describe("t")
			loaded, _ := d.replayed().Describe("t")
			require.Equal(t, live, loaded, fmt.Sprintf("seed %d", seed))
		}
	}
}

func FuzzReplay(f *testing.F) {
	d := &driver{t: nil, now: time.Unix(1000, 0)}
	d.s = NewShard(DefaultConfig(), d.newID)
	p, _, fx := d.s.InitProducerID(d.now, "t", 60000, nobody)
	d.log = append(d.log, fx.Records...)
	_, fx = d.s.AddPartitions(d.now, "t", p, []TopicPartition{orders0}, 2)
	d.log = append(d.log, fx.Records...)
	for _, r := range d.log {
		f.Add(r.Key, r.Value)
	}
	f.Fuzz(func(_ *testing.T, key, value []byte) {
		s := NewShard(DefaultConfig(), func() int64 { return 0 })
		if s.Replay(Record{key, value}) == nil {
			s.Loaded()
		}
	})
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.s.SetReadOnly(true)
	_, code := d.init(nobody)
	require.Equal(t, codeCoordinatorNotAvailable, code)
	require.Empty(t, d.log)
	known, code := d.s.Describe("t")
	require.Equal(t, codeNone, code, "a new id is known, though not durably")
	require.Equal(t, Description{TransactionalID: "t", Producer: Producer{known.Producer.ID, noProducerEpoch}, TimeoutMs: 60000, StartTimestamp: -1}, known)

	d.s.SetReadOnly(false)
	p, code := d.init(nobody)
	require.Equal(t, codeNone, code)
	require.Equal(t, Producer{known.Producer.ID, 0}, p)
	part := TopicPartition{"orders", 0}
	require.Equal(t, codeNone, d.add(p, 0, part))

	// What writes nothing is answered as ever; the rest changes nothing.
	written := len(d.log)
	d.s.SetReadOnly(true)
	require.Equal(t, codeNone, d.add(p, 0, part), "it is in already")
	require.Equal(t, codeCoordinatorNotAvailable, d.add(p, 0, TopicPartition{"orders", 1}))
	require.Equal(t, codeProducerFenced, d.add(Producer{p.ID, 9}, 0, part), "after the checks")
	for _, version := range []int16{4, 5} {
		_, code = d.end(p, true, version)
		require.Equal(t, codeCoordinatorNotAvailable, code)
	}
	_, code = d.init(nobody)
	require.Equal(t, codeCoordinatorNotAvailable, code, "it would abort")
	d.now = d.now.Add(time.Hour)
	d.apply(d.s.AbortTimedOut(d.now))
	d.now = d.now.Add(30 * 24 * time.Hour)
	d.apply(d.s.RemoveExpired(d.now))
	require.Len(t, d.log, written)
	state, _ := d.s.Describe("t")
	require.Equal(t, Ongoing, state.State)
	require.Equal(t, []TopicPartition{part}, state.Partitions)

	// The last markers were written when nothing could be any more: the transaction is complete later.
	d.s.SetReadOnly(false)
	d.waits = true
	_, code = d.end(p, true, 4)
	require.Equal(t, codeNone, code)
	d.s.SetReadOnly(true)
	d.apply(d.s.MarkersWritten(d.now, "t", part))
	state, _ = d.s.Describe("t")
	require.Equal(t, PrepareCommit, state.State)
	d.s.SetReadOnly(false)
	require.Len(t, d.s.Outstanding(), 1)
	d.apply(d.s.MarkersWritten(d.now, "t"))
	state, _ = d.s.Describe("t")
	require.Equal(t, CompleteCommit, state.State)
}
