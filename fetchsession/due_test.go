package fetchsession

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// opened is a session of so many partitions of one topic, each read to its end, in a shard of its own.
func opened(t *testing.T, size int) (*Shard, *Session, func(named, forgotten []Partition) []*Member) {
	c, now := newShard(1), time.UnixMilli(5_000_000)
	s, evicted := c.Open(now, "client", false, false, size, func(s *Session) {
		s.Holder = "holder"
		s.StartReading(Reading{Version: 12, Replica: -1})
	}, orders)
	require.Nil(t, evicted)
	require.Equal(t, "holder", s.Holder)
	return c, s, func(named, forgotten []Partition) []*Member {
		left, empty, code := c.Use(s, now, "client", s.Epoch(), false, named, forgotten)
		require.Equal(t, OK, code)
		require.Equal(t, s.Len() == 0, empty)
		s.StartReading(Reading{Version: 12, Replica: -1})
		return left
	}
}

func numbers(members []*Member) []int32 {
	list := []int32{}
	for _, m := range members {
		list = append(list, m.Partition.Partition)
	}
	return list
}

// Only members that may have something to say are read.
func TestMembersThatAreDue(t *testing.T) {
	t.Parallel()
	_, s, use := opened(t, 4)
	members := s.Members()
	quiet := Result{HighWatermark: 5}
	use(nil, nil)
	require.Empty(t, s.Due())

	// Touched, in any order and more than once: each once, in the session's order.
	s.Touch(members[2])
	s.Touch(members[0])
	s.Touch(members[2])
	use(nil, nil)
	require.Equal(t, []int32{0, 2}, numbers(s.Due()))
	require.False(t, s.Answer(members[0], quiet), "nothing is new")
	require.Equal(t, []int32{2}, numbers(s.Due()), "it has been read")
	require.True(t, s.Answer(members[2], Result{HighWatermark: 6}))
	require.Empty(t, s.Due())
	s.Touch(members[0])
	require.Equal(t, []int32{0}, numbers(s.Due()), "it can be due again")
	require.False(t, s.Answer(members[0], quiet))

	// Named by the request.
	use([]Partition{{Topic: "orders", Partition: 3}, {Topic: "orders", Partition: 9}}, nil)
	require.Equal(t, []int32{3, 9}, numbers(s.Due()))
	require.False(t, s.Answer(members[3], quiet))
	require.True(t, s.Answer(s.Due()[0], quiet), "a new one is named")

	// Another way of reading makes all due, the same as before none.
	use(nil, nil)
	require.Empty(t, s.Due())
	for _, r := range []Reading{
		{Version: 13, Replica: -1}, {Version: 13, Replica: -1, Isolation: 1}, {Version: 13, Replica: -1, Isolation: 1, Rack: "r"}, {Version: 13, Replica: 2, Isolation: 1, Rack: "r"},
	} {
		s.StartReading(r)
		require.Equal(t, []int32{0, 1, 2, 3, 9}, numbers(s.Due()))
		for _, m := range s.Due() {
			s.Answer(m, quiet)
		}
		s.StartReading(r)
		require.Empty(t, s.Due())
	}
}

// What a member is answered, whether the answer names it, and whether it is read again though nothing changes.
func TestAnswersOfMembers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before, result Result
		named, again   bool
	}{
		"nothing new":              {Result{HighWatermark: 5, LogStart: 1}, Result{HighWatermark: 5, LogStart: 1}, false, false},
		"a high watermark":         {Result{HighWatermark: 5, LogStart: 1}, Result{HighWatermark: 6, LogStart: 1}, true, false},
		"a lower one":              {Result{HighWatermark: 5, LogStart: 1}, Result{HighWatermark: 4, LogStart: 1}, true, false},
		"a log start":              {Result{HighWatermark: 5, LogStart: 1}, Result{HighWatermark: 5, LogStart: 2}, true, false},
		"a byte":                   {Result{HighWatermark: 5, LogStart: 1}, Result{HighWatermark: 5, LogStart: 1, Bytes: 1}, true, true},
		"records without room":     {Result{HighWatermark: 5, LogStart: 1}, Result{HighWatermark: 5, LogStart: 1, Readable: true}, false, true},
		"a hint":                   {Result{HighWatermark: 5, LogStart: 1}, Result{HighWatermark: 5, LogStart: 1, Hint: true}, true, true},
		"an error":                 {Result{HighWatermark: 5, LogStart: 1}, Result{HighWatermark: 5, LogStart: 1, Error: true}, true, true},
		"the same error":           {Result{HighWatermark: -1, LogStart: -1, Error: true}, Result{HighWatermark: -1, LogStart: -1, Error: true}, true, true},
		"as before, past an error": {Result{HighWatermark: 5, LogStart: -1, Error: true}, Result{HighWatermark: 5, LogStart: -1}, true, false},
	} {
		_, s, use := opened(t, 1)
		m := s.Members()[0]
		s.Touch(m)
		use(nil, nil)
		s.Answer(m, tc.before)
		s.Touch(m)
		use(nil, nil)
		require.Equal(t, tc.named, s.Answer(m, tc.result), name)
		use(nil, nil)
		require.Equal(t, tc.again, len(s.Due()) == 1, name)
	}
}

// Who delivers records goes to the end, so that the others come first in the next answer.
func TestDeliveringMembersGoToTheEnd(t *testing.T) {
	t.Parallel()
	_, s, use := opened(t, 3)
	s.TouchAll()
	use(nil, nil)
	due := s.Due()
	require.Equal(t, []int32{0, 1, 2}, numbers(due))
	s.Answer(due[0], Result{HighWatermark: 5, Bytes: 10})
	s.Answer(due[1], Result{HighWatermark: 5, Readable: true})
	s.Answer(due[2], Result{HighWatermark: 5, Readable: true})
	use(nil, nil)
	require.Equal(t, []int32{1, 2, 0}, numbers(s.Due()))
	require.Equal(t, []int32{1, 2, 0}, numbers(s.Members()))
}

// A forgotten member is none any more; the user of the package is told, so that it stops to watch.
func TestForgottenMembers(t *testing.T) {
	t.Parallel()
	c, s, use := opened(t, 3)
	m := s.Members()[1]
	s.Touch(m)
	left := use(nil, []Partition{{Topic: "orders", Partition: 1}, {Topic: "orders", Partition: 7}, {Topic: "others", Partition: 0}})
	require.Equal(t, []*Member{m}, left)
	require.True(t, m.Gone())
	require.Equal(t, 2, s.Len())
	require.Empty(t, s.Due())
	s.Touch(m)
	require.Empty(t, s.Due(), "a change of its partition comes too late")
	require.False(t, s.Members()[0].Gone())
	use([]Partition{{Topic: "orders", Partition: 1}}, nil)
	require.Equal(t, []int32{0, 2, 1}, numbers(s.Members()), "it comes back at the end")
	require.NotSame(t, m, s.Members()[2])

	require.False(t, s.Closed())
	require.Len(t, use(nil, []Partition{{Topic: "orders", Partition: 0}, {Topic: "orders", Partition: 1}, {Topic: "orders", Partition: 2}}), 3)
	require.True(t, s.Closed())
	require.Nil(t, c.Session(s.ID()))
}

// A topic's name stays when a later request knows none for its id.
func TestNamesStay(t *testing.T) {
	t.Parallel()
	c, now := newShard(1), time.UnixMilli(5_000_000)
	s, _ := c.Open(now, "client", true, true, 2, nil, func(i int, m *Member) Result {
		m.Partition = Partition{TopicID: topicID(i), Topic: []string{"known", ""}[i]}
		return Result{}
	})
	require.True(t, s.ByTopicID())
	_, _, code := c.Use(s, now, "client", 1, true, []Partition{{TopicID: topicID(0), FetchOffset: 7}, {TopicID: topicID(1), Topic: "found", FetchOffset: 8}}, nil)
	require.Equal(t, OK, code)
	_, _, code = c.Use(s, now, "client", 2, true, []Partition{{TopicID: topicID(0), Topic: "other", FetchOffset: 9}}, nil)
	require.Equal(t, OK, code)
	info := s.Info()
	require.Equal(t, []MemberInfo{
		{Partition{TopicID: topicID(0), Topic: "known", FetchOffset: 9}, 0, 0},
		{Partition{TopicID: topicID(1), Topic: "found", FetchOffset: 8}, 0, 0},
	}, info.Partitions)
}

func TestInfo(t *testing.T) {
	t.Parallel()
	start := time.UnixMilli(5_000_000)
	c := newShard(2)
	a, _ := c.Open(start, "a", true, false, 1, nil, orders)
	b, _ := c.Open(start, "b", false, true, 1, nil, orders)
	_, _, code := c.Use(a, start.Add(time.Second), "x", 1, false, nil, nil)
	require.Equal(t, OK, code)
	members := func(high int64) []MemberInfo {
		return []MemberInfo{{Partition{Topic: "orders", MaxBytes: 1000}, high, 0}}
	}
	require.Equal(t, Info{ID: a.ID(), ClientID: "a", Epoch: 2, Privileged: true, Created: start, LastUsed: start.Add(time.Second), Partitions: members(5)}, a.Info())
	require.Equal(t, Info{ID: b.ID(), ClientID: "b", Epoch: 1, ByTopicID: true, Created: start, LastUsed: start, Partitions: members(5)}, b.Info())
	require.Equal(t, "a", a.ClientID())
	require.NotEqual(t, a.ID(), b.ID())
	sessions := c.Sessions()
	require.Len(t, sessions, 2)
	require.Less(t, sessions[0].ID(), sessions[1].ID())
	require.Same(t, a, c.Session(a.ID()))
	require.Same(t, a, c.Close(a.ID()))
	require.Nil(t, c.Close(a.ID()))
	c.CountOvertaken("b")
	require.Nil(t, c.Evict(a.ID()))
	require.Same(t, b, c.Evict(b.ID()))
	var sum Stats
	c.AddTo(&sum)
	require.Equal(t, Stats{ForcedEvictions: 1, Clients: map[string]ClientStats{"x": {Incremental: 1}, "b": {InvalidEpoch: 1}}}, sum)
}

// A partition's number may be any, and that of a small one may come behind a large one's.
func TestPartitionsOfAnyNumber(t *testing.T) {
	t.Parallel()
	all := []int32{0, 1, 500, 63, 64, 68, 70, math.MaxInt32, math.MinInt32, -1, 300, 299, 72, 1 << 20}
	for _, expected := range []int{0, 1, 1000} {
		var list []Partition
		table := table[int]{expected: expected}
		for i, n := range all {
			for _, topic := range []string{"a", "b"} {
				p := Partition{Topic: topic, Partition: n}
				require.Zero(t, table.get(&p, false))
				require.Zero(t, table.put(&p, false, i+1))
				require.Equal(t, i+1, table.put(&p, false, 99), "there is something already")
				list = append(list, p)
				table.expected++ // it grows with what is there
			}
		}
		// There is room in a list for numbers that were too large before.
		table.expected = 1000
		require.Zero(t, table.put(&Partition{Topic: "a", Partition: 3000}, false, 77))
		require.Equal(t, 77, table.get(&Partition{Topic: "a", Partition: 3000}, false))
		table.remove(&Partition{Topic: "a", Partition: 3000}, false)
		for i, n := range all {
			for _, topic := range []string{"b", "a"} {
				require.Equal(t, i+1, table.get(&Partition{Topic: topic, Partition: n}, false), "%s-%d", topic, n)
			}
			require.Zero(t, table.get(&Partition{Topic: "c", Partition: n}, false))
		}
		count := 0
		for _, topic := range table.topics {
			topic.each(func(int) { count++ })
		}
		require.Equal(t, 2*len(all), count)
		require.Equal(t, list, Merge(append([]Partition{}, list...), false))
		require.Equal(t, list, Merge(append(append([]Partition{}, list...), list...), false))
		for i, n := range all {
			p := Partition{Topic: "a", Partition: n}
			table.remove(&p, false)
			require.Zero(t, table.get(&p, false))
			require.Equal(t, i+1, table.get(&Partition{Topic: "b", Partition: n}, false))
		}
		require.Len(t, table.topics, 1, "a topic of which nothing is left is forgotten")
		p := Partition{Topic: "a", Partition: 5}
		require.Zero(t, table.put(&p, false, 3))
		require.Equal(t, 3, table.get(&p, false))
	}
}

// From version 13 on ids tell topics apart, before that names.
func TestMergeByNameAndByID(t *testing.T) {
	t.Parallel()
	list := func() []Partition {
		return []Partition{
			{Topic: "a", TopicID: topicID(0), FetchOffset: 1}, {Topic: "b", TopicID: topicID(0), FetchOffset: 2},
			{Topic: "a", TopicID: topicID(1), FetchOffset: 3}, {Topic: "a", TopicID: topicID(0), FetchOffset: 4},
		}
	}
	offsets := func(list []Partition) (at []int64) {
		for _, p := range list {
			at = append(at, p.FetchOffset)
		}
		return at
	}
	require.Equal(t, []int64{4, 2}, offsets(Merge(list(), false)))
	require.Equal(t, []int64{4, 3}, offsets(Merge(list(), true)))
	require.Equal(t, []int64{1}, offsets(Merge(list()[:1], true)))
	require.Nil(t, Merge(nil, true))
}

func TestTurns(t *testing.T) {
	t.Parallel()
	for n, shard := range map[uint32]int{0: 0, 1: 1, 7: 7, 8: 0, 9: 1, math.MaxUint32: 7} {
		require.Equal(t, shard, ShardForTurn(n))
	}
	require.Equal(t, int32(-1), NextEpoch(-1))
	require.Equal(t, int32(-1), NextEpoch(math.MinInt32))
	for kind, name := range map[Kind]string{Sessionless: "sessionless", Full: "full", Incremental: "incremental"} {
		require.Equal(t, name, kind.String())
	}
	// Every id of a shard is one that leads to it.
	for index := range NumShards {
		c := NewShard(index, NumShards, nil)
		for _, id := range []int32{c.low, c.end - 1} {
			shard, ok := ShardOf(id)
			require.True(t, ok)
			require.Equal(t, index, shard)
			require.Positive(t, id)
		}
	}
}

// What the answer that opened the session left to be read is read by the next request.
func TestOpenedWithMoreToRead(t *testing.T) {
	t.Parallel()
	results := []Result{{HighWatermark: 5}, {HighWatermark: 5, Bytes: 10}, {HighWatermark: 5, Readable: true}, {HighWatermark: -1, LogStart: -1, Error: true}, {HighWatermark: 5, Hint: true}}
	c, now := newShard(1), time.UnixMilli(5_000_000)
	reading := Reading{Version: 12, Replica: -1}
	s, _ := c.Open(now, "client", false, false, len(results), func(s *Session) { s.StartReading(reading) }, func(i int, m *Member) Result {
		m.Partition = Partition{Topic: "orders", Partition: int32(i)}
		return results[i]
	})
	_, _, code := c.Use(s, now, "client", 1, false, nil, nil)
	require.Equal(t, OK, code)
	s.StartReading(reading)
	require.Equal(t, []int32{1, 2, 3, 4}, numbers(s.Due()))
}
