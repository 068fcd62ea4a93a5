package transactions

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// at is a driver whose id "t" stands in a state, and its producer. Prepare states are those of a log that was replayed and not loaded yet: no marker is
// outstanding. Where raising is set they, and the Complete states, were reached by an end that raised the epoch, and the producer is the one before.
func at(t *testing.T, state State, raising bool) (*driver, Producer) {
	d := newDriver(t)
	d.nextID = 7 // so that no id is like an epoch
	p, code := d.init(nobody)
	require.Zero(t, code)
	p, code = d.init(p)
	require.Zero(t, code)
	require.Equal(t, Producer{7, 1}, p)
	if state == Empty {
		return d, p
	}
	require.Zero(t, d.add(p, 0, orders0))
	if state == Ongoing {
		return d, p
	}
	version := int16(4)
	if raising {
		version = 5
	}
	d.waits = state == PrepareCommit || state == PrepareAbort
	_, code = d.end(p, state == PrepareCommit || state == CompleteCommit, version)
	require.Zero(t, code)
	if d.waits {
		d.s = d.replayed()
	}
	require.Equal(t, state, d.state())
	return d, p
}

var allStates = []State{Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort}

// EndTxn v0 to v4: who asks, then what state the transaction is in.
func TestClassicEndsByState(t *testing.T) {
	t.Parallel()
	for state, want := range map[State]struct{ commit, abort int16 }{
		Empty:          {codeInvalidTxnState, codeInvalidTxnState},
		Ongoing:        {codeNone, codeNone},
		PrepareCommit:  {codeConcurrentTransactions, codeInvalidTxnState},
		PrepareAbort:   {codeInvalidTxnState, codeConcurrentTransactions},
		CompleteCommit: {codeNone, codeInvalidTxnState},
		CompleteAbort:  {codeInvalidTxnState, codeNone},
	} {
		for commit, want := range map[bool]int16{true: want.commit, false: want.abort} {
			what := fmt.Sprintf("%s, commit %t", state, commit)
			for given, want := range map[Producer]int16{
				{7, 1}: want,
				{8, 1}: codeInvalidProducerIDMapping,
				{8, 9}: codeInvalidProducerIDMapping, // the id is looked at first
				{7, 0}: codeProducerFenced,
				{7, 2}: codeProducerFenced,
			} {
				for _, version := range []int16{0, 4} {
					d, _ := at(t, state, false)
					written := len(d.log)
					d.waits = true
					answer, code := d.end(given, commit, version)
					assert.Equal(t, want, code, "%s by %v", what, given)
					assert.Equal(t, nobody, answer, "%s by %v", what, given)
					if code == codeNone && state == Ongoing {
						assert.Len(t, d.log, written+1, what)
						assert.Equal(t, map[bool]State{true: PrepareCommit, false: PrepareAbort}[commit], d.state(), what)
						assert.Equal(t, []Markers{{"t", 7, 1, commit, 0, []TopicPartition{orders0}}}, d.told, what)
						assert.Equal(t, codeConcurrentTransactions, second(d.end(given, commit, version)), "its markers are outstanding")
						assert.Equal(t, codeConcurrentTransactions, second(d.end(given, !commit, version)), "before it is looked at what was decided")
						continue
					}
					assert.Len(t, d.log, written, "%s by %v", what, given)
					assert.Equal(t, state, d.state(), what)
				}
			}
		}
	}
	d, p := at(t, Ongoing, false)
	for id, want := range map[string]int16{"": codeInvalidRequest, "unknown": codeInvalidProducerIDMapping} {
		for _, version := range []int16{4, 5} {
			answer, code, fx := d.s.EndTxn(d.now, id, p, true, version)
			assert.Equal(t, want, code, "%q", id)
			assert.Equal(t, nobody, answer)
			assert.Empty(t, fx)
		}
	}
}

// EndTxn v5: the same, with epochs that the end raises. A retry is a request with the epoch before.
func TestRaisingEndsByState(t *testing.T) {
	t.Parallel()
	const ends = int16(-100) // the transaction ends now
	type cells struct{ abort, abortRetry, commit, commitRetry int16 }
	for state, row := range map[State]cells{
		Ongoing:        {ends, codeProducerFenced, ends, codeProducerFenced},
		Empty:          {ends, codeProducerFenced, codeInvalidTxnState, codeProducerFenced},
		CompleteAbort:  {ends, codeNone, codeInvalidTxnState, codeInvalidTxnState},
		CompleteCommit: {ends, codeInvalidTxnState, codeInvalidTxnState, codeNone},
		PrepareCommit:  {codeProducerFenced, codeInvalidTxnState, codeProducerFenced, codeConcurrentTransactions},
		PrepareAbort:   {codeProducerFenced, codeConcurrentTransactions, codeProducerFenced, codeInvalidTxnState},
	} {
		for _, tc := range []struct {
			commit, retry bool
			want          int16
		}{{false, false, row.abort}, {false, true, row.abortRetry}, {true, false, row.commit}, {true, true, row.commitRetry}} {
			what := fmt.Sprintf("%s, commit %t, retry %t", state, tc.commit, tc.retry)
			d, _ := at(t, state, true)
			now, _ := d.s.Describe("t")
			given := now.Producer
			if tc.retry {
				given.Epoch--
			}
			written, told := len(d.log), len(d.told)
			d.waits = true
			d.now = d.now.Add(time.Second)
			answer, code := d.end(given, tc.commit, 5)
			if tc.want != ends {
				assert.Equal(t, tc.want, code, what)
				assert.Len(t, d.log, written, what)
				if code == codeNone {
					assert.Equal(t, now.Producer, answer, what)
				} else {
					assert.Equal(t, nobody, answer, what)
				}
				continue
			}
			require.Zero(t, code, what)
			raised := Producer{now.Producer.ID, now.Producer.Epoch + 1}
			assert.Equal(t, raised, answer, what)
			require.Len(t, d.log, written+1, what)
			require.Len(t, d.told, told+1, what)
			assert.Equal(t, Markers{"t", raised.ID, raised.Epoch, tc.commit, 2, now.Partitions}, d.told[told], what)
			after, _ := d.s.Describe("t")
			assert.Equal(t, map[bool]State{true: PrepareCommit, false: PrepareAbort}[tc.commit], after.State, what)
			if state == Ongoing {
				assert.Equal(t, now.StartTimestamp, after.StartTimestamp, what)
			} else {
				assert.Equal(t, d.now.UnixMilli(), after.StartTimestamp, what)
			}
			assert.Equal(t, codeConcurrentTransactions, second(d.end(answer, tc.commit, 5)), "its markers are outstanding")
		}
		for _, given := range []Producer{{8, 1}, {8, 2}, {8, maxEpoch - 1}} {
			d, _ := at(t, state, true)
			assert.Equal(t, codeInvalidProducerIDMapping, second(d.end(given, true, 5)), "%s by %v", state, given)
		}
		for _, epoch := range []int16{-1, 3, 4, maxEpoch - 1} {
			d, _ := at(t, state, true)
			assert.Equal(t, codeProducerFenced, second(d.end(Producer{7, epoch}, true, 5)), "%s at epoch %d", state, epoch)
		}
	}
}

// The last epoch of a producer id is for the markers alone: the producer goes on with another id, and what it sends again with the old one is known by that.
func TestRaisingEndsAtTheLastEpoch(t *testing.T) {
	t.Parallel()
	for _, commit := range []bool{true, false} {
		d, old := at(t, Ongoing, false)
		d.s.entries["t"].epoch, old.Epoch = maxEpoch-1, maxEpoch-1
		d.waits = true
		next, code := d.end(old, commit, 5)
		require.Zero(t, code)
		require.Equal(t, Producer{8, 0}, next)
		require.Equal(t, []Markers{{"t", 7, maxEpoch, commit, 2, []TopicPartition{orders0}}}, d.told)
		pending, _ := d.s.Describe("t")
		require.Equal(t, Producer{7, maxEpoch}, pending.Producer)

		// Who takes over knows of the id that was put aside.
		d.s = d.replayed()
		d.apply(d.s.Loaded())
		d.apply(d.s.MarkersWritten(d.now, "t", orders0))
		done, _ := d.s.Describe("t")
		require.Equal(t, next, done.Producer)

		again, code := d.end(old, commit, 5)
		require.Zero(t, code)
		require.Equal(t, next, again)
		require.Equal(t, codeInvalidTxnState, second(d.end(old, !commit, 5)))
		for _, other := range []Producer{{old.ID, maxEpoch - 2}, {old.ID, maxEpoch}, {old.ID, 0}} {
			require.Equal(t, codeInvalidProducerIDMapping, second(d.end(other, commit, 5)), "%v", other)
		}
		require.Zero(t, d.add(next, 0, orders0))
		require.Equal(t, codeInvalidProducerIDMapping, second(d.end(old, commit, 5)), "the new id's transaction is not the old one's")
	}

	// The same of an abort that the coordinator makes, and of the classic end, which raises nothing.
	d, old := at(t, Ongoing, false)
	d.s.entries["t"].epoch, old.Epoch = maxEpoch-1, maxEpoch-1
	require.Equal(t, codeConcurrentTransactions, second(d.init(nobody)))
	next, code := d.init(nobody)
	require.Zero(t, code)
	require.Equal(t, Producer{8, 1}, next)

	d, old = at(t, Ongoing, false)
	d.s.entries["t"].epoch, old.Epoch = maxEpoch-1, maxEpoch-1
	require.Zero(t, second(d.end(old, true, 4)))
	done, _ := d.s.Describe("t")
	require.Equal(t, old, done.Producer)
}

// InitProducerId: the epoch that a producer is given, by what it says of itself.
func TestEpochsThatProducersAreGiven(t *testing.T) {
	t.Parallel()
	for _, state := range []State{Empty, CompleteCommit, CompleteAbort} {
		for given, want := range map[Producer]struct {
			p    Producer
			code int16
		}{
			nobody: {Producer{7, 2}, codeNone},
			{7, 1}: {Producer{7, 2}, codeNone},
			{7, 0}: {Producer{7, 1}, codeNone}, // at() asked with it: the answer may have been lost
			{7, 2}: {nobody, codeProducerFenced},
			{8, 1}: {nobody, codeProducerFenced},
		} {
			d, _ := at(t, state, false)
			written := len(d.log)
			p, code := d.init(given)
			assert.Equal(t, want.code, code, "%s, %v", state, given)
			assert.Equal(t, want.p, p, "%s, %v", state, given)
			desc, _ := d.s.Describe("t")
			if code != codeNone {
				assert.Len(t, d.log, written)
				continue
			}
			assert.Len(t, d.log, written+1)
			assert.Equal(t, Description{TransactionalID: "t", State: Empty, Producer: want.p, TimeoutMs: 60000, StartTimestamp: -1}, desc)
			// It was given an epoch on its word: a lost answer is given again. Without a word nothing is known.
			lost, code := d.init(Producer{7, p.Epoch - 1})
			if given == nobody {
				assert.Equal(t, codeProducerFenced, code, "%s, %v", state, given)
				assert.Equal(t, codeProducerFenced, second(d.init(Producer{7, 0})), "%s, %v", state, given)
			} else {
				assert.Equal(t, p, lost, "%s, %v", state, given)
			}
		}
	}
	for _, state := range []State{PrepareCommit, PrepareAbort} {
		for given, want := range map[Producer]int16{nobody: codeConcurrentTransactions, {7, 1}: codeConcurrentTransactions, {8, 1}: codeProducerFenced} {
			d, _ := at(t, state, false)
			assert.Equal(t, want, second(d.init(given)), "%s, %v", state, given)
		}
	}
	for given, want := range map[Producer]int16{nobody: codeConcurrentTransactions, {7, 1}: codeConcurrentTransactions, {7, 0}: codeConcurrentTransactions, {8, 1}: codeProducerFenced} {
		d, _ := at(t, Ongoing, false)
		assert.Equal(t, want, second(d.init(given)), "%v", given)
		assert.Equal(t, map[bool]State{true: CompleteAbort, false: Ongoing}[want == codeConcurrentTransactions], d.state(), "%v", given)
	}

	// A producer that is given for an id that nobody knows is nobody's.
	d := newDriver(t)
	p, code := d.init(Producer{5, 3})
	require.Zero(t, code)
	require.Equal(t, Producer{0, 0}, p)
}

// The epochs of a producer id end at 32766.
func TestEpochsRunOut(t *testing.T) {
	t.Parallel()
	for given, want := range map[Producer]struct {
		p    Producer
		code int16
	}{
		nobody:            {Producer{8, 0}, codeNone},
		{7, maxEpoch - 1}: {Producer{8, 0}, codeNone},
		{7, maxEpoch - 2}: {nobody, codeUnknownServerError},
		{9, maxEpoch - 1}: {nobody, codeProducerFenced},
	} {
		d, _ := at(t, Empty, false)
		d.s.entries["t"].epoch = maxEpoch - 1
		p, code := d.init(given)
		assert.Equal(t, want.code, code, "%v", given)
		assert.Equal(t, want.p, p, "%v", given)
		if code != codeNone {
			continue
		}
		again, code := d.init(Producer{7, maxEpoch - 1})
		if given == nobody {
			assert.Equal(t, codeProducerFenced, code, "who said nothing is not known by its last epoch")
		} else {
			assert.Zero(t, code)
			assert.Equal(t, p, again, "the answer may have been lost")
		}
	}
	d, _ := at(t, Empty, false)
	d.s.entries["t"].epoch = maxEpoch - 2
	p, _ := d.init(nobody)
	assert.Equal(t, Producer{7, maxEpoch - 1}, p, "the last one that is given")
}

// Timeouts are more than nothing and no more than the broker's limit, which comes before all else. Each call sets it anew.
func TestTimeoutsThatProducersMayHave(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	for ms, want := range map[int32]int16{
		-1: codeInvalidTransactionTimeout, 0: codeInvalidTransactionTimeout, 900_001: codeInvalidTransactionTimeout, 1: codeNone, 900_000: codeNone,
	} {
		p, code, _ := d.s.InitProducerID(d.now, "t", ms, nobody)
		assert.Equal(t, want, code, "%d ms", ms)
		if code != codeNone {
			assert.Equal(t, nobody, p)
			continue
		}
		desc, _ := d.s.Describe("t")
		assert.Equal(t, ms, desc.TimeoutMs)
	}
	d = newDriver(t)
	_, code, _ := d.s.InitProducerID(d.now, "t", 0, nobody)
	require.Equal(t, codeInvalidTransactionTimeout, code)
	require.Empty(t, d.s.IDs(), "the id was not looked at")
}

// AddPartitionsToTxn: who asks, then the state. VerifyOnly asks in any state but those that end, and changes nothing.
func TestWhoMayAddPartitions(t *testing.T) {
	t.Parallel()
	orders1 := TopicPartition{"orders", 1}
	for _, state := range allStates {
		right := codeNone
		if state == PrepareCommit || state == PrepareAbort {
			right = codeConcurrentTransactions
		}
		for given, want := range map[Producer]int16{
			{7, 1}: right, {8, 1}: codeInvalidProducerIDMapping, {8, 0}: codeInvalidProducerIDMapping, {7, 0}: codeProducerFenced, {7, 2}: codeProducerFenced,
		} {
			for _, version := range []int16{0, 2} {
				d, _ := at(t, state, false)
				written := len(d.log)
				before, _ := d.s.Describe("t")
				d.now = d.now.Add(time.Second)
				code := d.add(given, version, orders1, orders0)
				assert.Equal(t, want, code, "%s by %v", state, given)
				after, _ := d.s.Describe("t")
				if code != codeNone {
					assert.Equal(t, before, after)
					assert.Len(t, d.log, written)
					continue
				}
				assert.Len(t, d.log, written+1)
				started := d.now.UnixMilli()
				if state == Ongoing {
					started = before.StartTimestamp
				}
				assert.Equal(t, Description{"t", Ongoing, given, 60000, started, []TopicPartition{orders0, orders1}}, after)
				assert.Zero(t, d.add(given, version, orders1), "it is in already")
				assert.Len(t, d.log, written+1)
			}
			d, _ := at(t, state, false)
			verified := want
			if want == codeNone {
				verified = codeTransactionAbortable
			}
			written := len(d.log)
			assert.Equal(t, verified, d.s.VerifyPartition("t", given, orders1), "%s by %v", state, given)
			if want == codeNone && state == Ongoing {
				assert.Zero(t, d.s.VerifyPartition("t", given, orders0))
			}
			assert.Len(t, d.log, written)
		}
	}
	d, p := at(t, Ongoing, false)
	for id, want := range map[string]int16{"": codeInvalidRequest, "unknown": codeInvalidProducerIDMapping} {
		code, fx := d.s.AddPartitions(d.now, id, p, []TopicPartition{orders0}, 0)
		assert.Equal(t, want, code, "%q", id)
		assert.Empty(t, fx)
		assert.Equal(t, want, d.s.VerifyPartition(id, p, orders0), "%q", id)
	}

	// None opens the transaction too.
	d, p = at(t, Empty, false)
	require.Zero(t, d.add(p, 0))
	require.Equal(t, Ongoing, d.state())

	// While markers are outstanding the question is still answered, by what the transaction was.
	d, p = at(t, Ongoing, false)
	d.waits = true
	require.Zero(t, second(d.end(p, true, 4)))
	require.Equal(t, codeConcurrentTransactions, d.add(Producer{8, 1}, 0, orders1), "before it is looked at who asks")
	require.Equal(t, codeInvalidProducerIDMapping, d.s.VerifyPartition("t", Producer{8, 1}, orders0))
	require.Equal(t, codeConcurrentTransactions, d.s.VerifyPartition("t", p, orders0))
}

// What stands in the log, in Kafka's fields, of a transaction that begins with a raising request and ends with a raising one.
func TestWhatIsWritten(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.nextID = 7
	p, _ := d.init(nobody)
	begun := d.now.UnixMilli()
	require.Zero(t, d.add(p, 2, TopicPartition{"b", 1}, TopicPartition{"a", 2}, TopicPartition{"b", 0}))
	d.now = d.now.Add(time.Second)
	require.Zero(t, second(d.end(p, true, 5)))
	ended := d.now.UnixMilli()
	topics := []kmsg.TxnMetadataValueTopic{{Topic: "a", Partitions: []int32{2}}, {Topic: "b", Partitions: []int32{0, 1}}}
	value := func(epoch int16, state State, topics []kmsg.TxnMetadataValueTopic, updated, started, previous int64, clientTV int16) kmsg.TxnMetadataValue {
		v := kmsg.NewTxnMetadataValue()
		v.Version, v.ProducerID, v.ProducerEpoch, v.TimeoutMillis, v.State = 1, 7, epoch, 60000, kmsg.TransactionState(state)
		v.Topics, v.LastUpdateTimestamp, v.StartTimestamp = topics, updated, started
		v.PreviousProducerID, v.NextProducerID, v.ClientTransactionVersion, v.NextProducerEpoch = previous, -1, clientTV, -1
		return v
	}
	for i, want := range []kmsg.TxnMetadataValue{
		value(0, Empty, nil, begun, -1, 7, 0),
		value(0, Ongoing, topics, begun, begun, 7, 2),
		value(1, PrepareCommit, topics, ended, begun, 7, 2),
		value(1, CompleteCommit, []kmsg.TxnMetadataValueTopic{}, ended, begun, 7, 2),
	} {
		key := kmsg.NewTxnMetadataKey()
		require.NoError(t, key.ReadFrom(d.log[i].Key))
		require.Equal(t, "t", key.TransactionalID)
		got := kmsg.NewTxnMetadataValue()
		require.NoError(t, got.ReadFrom(d.log[i].Value))
		if len(want.Topics) == 0 {
			require.Equal(t, want.Topics == nil, got.Topics == nil, "record %d", i)
		}
		for j := range got.Topics {
			got.Topics[j].UnknownTags = want.Topics[j].UnknownTags
		}
		got.UnknownTags = want.UnknownTags
		require.Equal(t, want, got, "record %d", i)
	}
	require.Len(t, d.log, 4)
}

// Who is in no transaction is forgotten when nobody has used it for long, a transaction that is open is ended when its time is over; to the millisecond.
func TestHousekeepingByState(t *testing.T) {
	t.Parallel()
	for _, state := range allStates {
		d, _ := at(t, state, false)
		d.apply(d.s.AbortTimedOut(d.now.Add(time.Minute)))
		assert.Equal(t, state, d.state())
		d.waits = true
		d.apply(d.s.AbortTimedOut(d.now.Add(time.Minute + time.Millisecond)))
		if state == Ongoing {
			assert.Equal(t, PrepareAbort, d.state())
			assert.Equal(t, []Markers{{"t", 7, 2, false, 2, []TopicPartition{orders0}}}, d.told)
			d.apply(d.s.AbortTimedOut(d.now.Add(time.Hour)))
			assert.Len(t, d.told, 1, "once is enough")
		} else {
			assert.Equal(t, state, d.state())
		}

		d, _ = at(t, state, false)
		d.apply(d.s.RemoveExpired(d.now.Add(7*24*time.Hour - time.Millisecond)))
		assert.Equal(t, []string{"t"}, d.s.IDs())
		written := len(d.log)
		fx := d.s.RemoveExpired(d.now.Add(7 * 24 * time.Hour))
		if state == Ongoing || state == PrepareCommit || state == PrepareAbort {
			assert.Equal(t, []string{"t"}, d.s.IDs(), state.String())
			assert.Empty(t, fx)
			continue
		}
		assert.Empty(t, d.s.IDs(), state.String())
		require.Len(t, fx.Records, 1)
		assert.Equal(t, d.log[written-1].Key, fx.Records[0].Key)
		assert.Nil(t, fx.Records[0].Value)
		assert.Equal(t, []Event{{"t", 7, 1, state, "expired and removed"}}, fx.Events)
	}

	// While markers are outstanding it is in use.
	d, p := at(t, Ongoing, false)
	d.waits = true
	require.Zero(t, second(d.end(p, true, 4)))
	assert.Empty(t, d.s.RemoveExpired(d.now.Add(30*24*time.Hour)))
	assert.Equal(t, []Markers{{"t", 7, 1, true, 0, []TopicPartition{orders0}}}, d.s.Outstanding())
	assert.Empty(t, d.s.MarkersWritten(d.now, "unknown", orders0))
	d.apply(d.s.MarkersWritten(d.now, "t", TopicPartition{"orders", 1}))
	assert.Equal(t, PrepareCommit, d.state(), "of another partition")
	d.apply(d.s.MarkersWritten(d.now, "t", orders0))
	assert.Equal(t, CompleteCommit, d.state())
	assert.Empty(t, d.s.Outstanding())
	assert.Empty(t, d.s.MarkersWritten(d.now, "t", orders0), "nothing is outstanding")
	assert.Empty(t, d.s.MarkersRefused("t"))
	assert.Empty(t, d.s.MarkersRefused("unknown"))
}

func TestDescriptions(t *testing.T) {
	t.Parallel()
	d, p := at(t, Ongoing, false)
	for id, want := range map[string]int16{"": codeInvalidRequest, "unknown": codeTransactionalIDNotFound} {
		desc, code := d.s.Describe(id)
		assert.Equal(t, want, code, "%q", id)
		assert.Zero(t, desc)
	}
	desc, _ := d.s.Describe("t")
	desc.Partitions[0].Partition = 9
	again, _ := d.s.Describe("t")
	assert.Equal(t, []TopicPartition{orders0}, again.Partitions, "a description is a copy")
	assert.Equal(t, p, again.Producer)
	for state, name := range map[State]string{
		Empty: "Empty", Ongoing: "Ongoing", PrepareCommit: "PrepareCommit", PrepareAbort: "PrepareAbort", CompleteCommit: "CompleteCommit", CompleteAbort: "CompleteAbort",
	} {
		assert.Equal(t, name, state.String())
		assert.True(t, KnownState(name))
	}
	assert.True(t, KnownState("Dead"))
	assert.True(t, KnownState("PrepareEpochFence"))
	assert.False(t, KnownState("ongoing"))
	assert.False(t, KnownState(""))
}

// The history says what happened, of how many partitions it be.
func TestCauses(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	p, _, fx := d.s.InitProducerID(d.now, "t", 60000, nobody)
	assert.Equal(t, []Event{{"t", 0, 0, Empty, "InitProducerId"}}, fx.Events)
	_, fx = d.s.AddPartitions(d.now, "t", p, nil, 0)
	assert.Equal(t, []Event{{"t", 0, 0, Ongoing, "added nothing"}}, fx.Events)
	_, fx = d.s.AddPartitions(d.now, "t", p, []TopicPartition{{"b", 1}, {"a", 2}}, 0)
	assert.Equal(t, []Event{{"t", 0, 0, Ongoing, "added b-1, a-2"}}, fx.Events)
	_, fx = d.s.AddPartitions(d.now, "t", p, slices.Repeat([]TopicPartition{{"c", 0}}, 50), 0)
	assert.NotContains(t, fx.Events[0].Cause, "more")
	_, fx = d.s.AddPartitions(d.now, "t", p, slices.Repeat([]TopicPartition{{"d%d", 0}}, 52), 0)
	assert.Contains(t, fx.Events[0].Cause, ", d%d-0 and 2 more")
	_, _, fx = d.s.EndTxn(d.now, "t", p, true, 4)
	assert.Equal(t, []Event{{"t", 0, 0, PrepareCommit, "EndTxn: commit"}}, fx.Events)
	fx = d.s.MarkersRefused("t")
	require.Len(t, fx.Events, 1)
	assert.Equal(t, PrepareCommit, fx.Events[0].State)
	assert.Contains(t, fx.Events[0].Cause, "refused")
	assert.Empty(t, d.s.MarkersRefused("t"), "it is said once")

	d, p = at(t, Ongoing, false)
	_, _, fx = d.s.EndTxn(d.now, "t", p, false, 4)
	assert.Equal(t, []Event{{"t", 7, 1, PrepareAbort, "EndTxn: abort"}}, fx.Events)
	fx = d.s.MarkersWritten(d.now, "t", orders0)
	assert.Equal(t, []Event{{"t", 7, 1, CompleteAbort, "all markers are written"}}, fx.Events)
	d, _ = at(t, Ongoing, false)
	fx = d.s.AbortTimedOut(d.now.Add(time.Hour))
	assert.Equal(t, []Event{{"t", 7, 2, PrepareAbort, "its timeout of 1m0s has passed"}}, fx.Events)
	d, _ = at(t, Ongoing, false)
	_, _, fx = d.s.InitProducerID(d.now, "t", 60000, nobody)
	assert.Equal(t, []Event{{"t", 7, 2, PrepareAbort, "a new incarnation of the producer"}}, fx.Events)
}

// Records that are none are told from those that are.
func TestRecordsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	d, _ := at(t, Ongoing, false)
	good := d.log[len(d.log)-1]
	s := NewShard(DefaultConfig(), d.newID)
	for what, r := range map[string]Record{
		"no key":              {nil, good.Value},
		"a key cut short":     {good.Key[:len(good.Key)-1], good.Value},
		"a key of version 1":  {append([]byte{0, 1}, good.Key[2:]...), good.Value},
		"no value's bytes":    {good.Key, []byte{}},
		"a value cut short":   {good.Key, good.Value[:10]},
		"a state that isn't":  {good.Key, slices.Replace(slices.Clone(good.Value), 16, 17, 6)},
		"a state less than 0": {good.Key, slices.Replace(slices.Clone(good.Value), 16, 17, 0xff)},
	} {
		require.Error(t, s.Replay(r), what)
		require.Empty(t, s.IDs(), what)
	}
	require.NoError(t, s.Replay(good))
	require.Equal(t, []string{"t"}, s.IDs())
	require.NoError(t, s.Replay(Record{Key: good.Key}))
	require.Empty(t, s.IDs())
	require.Empty(t, s.Loaded())

	// Who takes over sends the markers of those that were ending, and of no other.
	for _, state := range allStates {
		d, _ := at(t, state, false)
		markers := d.replayed().Loaded().Markers
		if state == PrepareCommit || state == PrepareAbort {
			require.Equal(t, []Markers{{"t", 7, 1, state == PrepareCommit, 0, []TopicPartition{orders0}}}, markers)
		} else {
			require.Empty(t, markers, state.String())
		}
	}
}

// Each id is for itself: what is done for all of them is done for each.
func TestSeveralIDs(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	var log []Record
	next := int64(-1)
	newID := func() int64 { next++; return next }
	s := NewShard(DefaultConfig(), newID)
	ps := make(map[string]Producer)
	for _, id := range []string{"c", "a", "b", "idle"} {
		p, code, fx := s.InitProducerID(now, id, 60000, nobody)
		require.Zero(t, code)
		ps[id], log = p, append(log, fx.Records...)
		if id == "idle" {
			continue
		}
		code, fx = s.AddPartitions(now, id, p, []TopicPartition{orders0}, 0)
		require.Zero(t, code)
		log = append(log, fx.Records...)
	}
	_, code, fx := s.EndTxn(now, "b", ps["b"], true, 4)
	require.Zero(t, code)
	log = append(log, fx.Records...)
	fx = s.AbortTimedOut(now.Add(time.Hour))
	log = append(log, fx.Records...)
	require.Equal(t, []Markers{
		{"a", ps["a"].ID, 1, false, 2, []TopicPartition{orders0}},
		{"c", ps["c"].ID, 1, false, 2, []TopicPartition{orders0}},
	}, fx.Markers)
	outstanding := []Markers{
		{"a", ps["a"].ID, 1, false, 0, []TopicPartition{orders0}},
		{"b", ps["b"].ID, 0, true, 0, []TopicPartition{orders0}},
		{"c", ps["c"].ID, 1, false, 0, []TopicPartition{orders0}},
	}
	require.Equal(t, outstanding, s.Outstanding())

	loaded := NewShard(DefaultConfig(), newID)
	for _, r := range log {
		require.NoError(t, loaded.Replay(r))
	}
	require.Equal(t, outstanding, loaded.Loaded().Markers)
	for _, id := range []string{"a", "b", "c"} {
		loaded.MarkersWritten(now, id, orders0)
	}
	require.Empty(t, loaded.Outstanding())
	loaded.SetReadOnly(true)
	require.Empty(t, loaded.RemoveExpired(now.Add(30*24*time.Hour)))
	require.Len(t, loaded.IDs(), 4)
	loaded.SetReadOnly(false)
	require.Len(t, loaded.RemoveExpired(now.Add(30*24*time.Hour)).Records, 4)
	require.Empty(t, loaded.IDs())
}

// While markers are outstanding nobody is told who else he is.
func TestOutstandingMarkersComeFirst(t *testing.T) {
	t.Parallel()
	d, p := at(t, Ongoing, false)
	d.waits = true
	require.Zero(t, second(d.end(p, false, 4)))
	for _, given := range []Producer{nobody, p, {8, 1}, {7, 0}} {
		require.Equal(t, codeConcurrentTransactions, second(d.init(given)), "%v", given)
		require.Equal(t, codeConcurrentTransactions, second(d.end(Producer{8, 1}, true, 5)), "%v", given)
	}
	// They are written in any order, and in pieces.
	d, p = at(t, Ongoing, false)
	more := []TopicPartition{{"b", 1}, {"a", 2}, {"b", 0}, {"c", 0}}
	require.Zero(t, d.add(p, 0, more...))
	d.waits = true
	require.Zero(t, second(d.end(p, false, 4)))
	d.apply(d.s.MarkersWritten(d.now, "t", more...))
	desc, _ := d.s.Describe("t")
	require.Equal(t, []TopicPartition{orders0}, desc.Partitions)
	d.apply(d.s.MarkersWritten(d.now, "t", orders0, orders0))
	require.Equal(t, CompleteAbort, d.state())
}

// What a log knows of a producer is not all: an epoch whose answer may have been lost is known until the coordinator moves only. And a log may name partitions in any order.
func TestWhatALogForgets(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	p, _ := d.init(nobody)
	p, _ = d.init(p)
	p, _ = d.init(p)
	require.Equal(t, Producer{0, 2}, p)
	d.s = d.replayed()
	for _, epoch := range []int16{0, 1} {
		require.Equal(t, codeProducerFenced, second(d.init(Producer{0, epoch})))
	}
	v := kmsg.NewTxnMetadataValue()
	v.Version, v.ProducerID, v.TimeoutMillis, v.State = 1, 7, 60000, kmsg.TransactionState(Ongoing)
	v.Topics = []kmsg.TxnMetadataValueTopic{{Topic: "b", Partitions: []int32{1, 0}}, {Topic: "a", Partitions: []int32{2}}}
	require.NoError(t, d.s.Replay(Record{recordKey("t"), v.AppendTo(nil)}))
	for _, part := range []TopicPartition{{"a", 2}, {"b", 0}, {"b", 1}} {
		require.Zero(t, d.s.VerifyPartition("t", Producer{7, 0}, part), "%v", part)
	}
}

// The id of before is forgotten with the next transaction that the new one ends.
func TestPreviousIDIsForgotten(t *testing.T) {
	t.Parallel()
	d, old := at(t, Ongoing, false)
	d.s.entries["t"].epoch, old.Epoch = maxEpoch-1, maxEpoch-1
	next, _ := d.end(old, true, 5)
	require.Equal(t, Producer{8, 0}, next)
	require.Zero(t, d.add(next, 2, orders0))
	next, code := d.end(next, true, 5)
	require.Zero(t, code)
	require.Equal(t, Producer{8, 1}, next)
	require.Equal(t, codeProducerFenced, second(d.init(old)))
	require.Equal(t, codeInvalidProducerIDMapping, second(d.end(old, true, 5)))
}
