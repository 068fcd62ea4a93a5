package fetchsession

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestKindAndEpochs(t *testing.T) {
	t.Parallel()
	require.Equal(t, Sessionless, KindOf(-1))
	require.Equal(t, Full, KindOf(0))
	require.Equal(t, Incremental, KindOf(1))
	require.Equal(t, Incremental, KindOf(-2))
	require.Equal(t, int32(1), NextEpoch(0))
	require.Equal(t, int32(8), NextEpoch(7))
	require.Equal(t, int32(1), NextEpoch(math.MaxInt32), "0 has a meaning of its own")
}

func TestShardOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id    int32
		shard int
		ok    bool
	}{
		{0, 0, true}, {1, 0, true}, {268435454, 0, true}, {268435455, 1, true}, {2147483639, 7, true},
		{2147483640, 8, false}, {math.MaxInt32, 8, false},
		{-1, 0, true}, {-268435454, 0, true}, {-268435455, -1, false}, {math.MinInt32, -8, false},
	} {
		shard, ok := ShardOf(c.id)
		require.Equal(t, c.ok, ok, c.id)
		require.Equal(t, c.shard, shard, c.id)
	}
}

// orders fills a session with partitions of one topic, read to their end.
func orders(i int, m *Member) Result {
	m.Partition = Partition{Topic: "orders", Partition: int32(i), MaxBytes: 1000}
	return Result{HighWatermark: 5, LogStart: 0}
}

func newShard(sessions int) *Shard {
	return NewShard(0, sessions*NumShards, rand.New(rand.NewPCG(3, 4)))
}

// The consequences of the eviction rule that were checked against a live broker (golden/fetch-sessions, cache-full).
func TestEviction(t *testing.T) {
	t.Parallel()
	start := time.UnixMilli(5_000_000)
	after := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	use := func(t *testing.T, c *Shard, s *Session, at time.Time) {
		_, _, code := c.Use(s, at, "c", s.Epoch(), false, nil, nil)
		require.Equal(t, OK, code)
	}
	open := func(c *Shard, at time.Time, follower bool, size int) *Session {
		s, _ := c.Open(at, "c", follower, false, size, nil, orders)
		return s
	}

	t.Run("a young session is safe from consumers, however large", func(t *testing.T) {
		t.Parallel()
		c := newShard(1)
		require.NotNil(t, open(c, start, false, 1))
		require.Nil(t, open(c, after(120), false, 100))
	})
	t.Run("a follower evicts it at once, whatever its size", func(t *testing.T) {
		t.Parallel()
		c := newShard(1)
		open(c, start, false, 10)
		require.NotNil(t, open(c, start, true, 1))
	})
	t.Run("a stale session goes to anyone", func(t *testing.T) {
		t.Parallel()
		c := newShard(1)
		open(c, start, true, 10)
		require.Nil(t, open(c, after(120), false, 1))
		require.NotNil(t, open(c, after(120).Add(time.Millisecond), false, 1))
	})
	t.Run("used at 60 s and not since: neither stale nor a candidate at 122 s", func(t *testing.T) {
		t.Parallel()
		c := newShard(1)
		use(t, c, open(c, start, false, 1), after(60))
		require.Nil(t, open(c, after(122), false, 50))
	})
	t.Run("used at 120 s: not old enough, whoever is larger", func(t *testing.T) {
		t.Parallel()
		c := newShard(1)
		use(t, c, open(c, start, false, 1), after(120))
		require.Nil(t, open(c, after(121), false, 50))
	})
	t.Run("used when old: gives way to a larger one only", func(t *testing.T) {
		t.Parallel()
		c := newShard(1)
		use(t, c, open(c, start, false, 3), after(121))
		require.Nil(t, open(c, after(122), false, 3))
		require.NotNil(t, open(c, after(122), false, 4))
	})
	t.Run("fewer than eight slots are none", func(t *testing.T) {
		t.Parallel()
		require.Nil(t, open(NewShard(0, 7, rand.New(rand.NewPCG(1, 1))), start, true, 1))
	})
}

func TestStatsOfManyClientsAreBounded(t *testing.T) {
	t.Parallel()
	c := newShard(1)
	for i := range maxClients + 500 {
		c.CountFull(fmt.Sprint("client-", i))
	}
	var sum Stats
	c.AddTo(&sum)
	require.Len(t, sum.Clients, maxClients+1)
	require.Equal(t, int64(500), sum.Clients[otherClients].Full)
}

// BenchmarkIncremental is the curve: what one incremental fetch costs the session, by its number of members and by how
// many of them changed. Flat is the goal; Kafka walks all of them.
func BenchmarkIncremental(b *testing.B) {
	now := time.UnixMilli(1)
	for _, changed := range []int{0, 1, 10} {
		for _, size := range []int{1, 100, 10_000, 100_000} {
			if changed > size {
				continue
			}
			b.Run(fmt.Sprintf("changed=%d/members=%d", changed, size), func(b *testing.B) {
				c := newShard(1)
				s, _ := c.Open(now, "bench", false, false, size, nil, orders)
				members := s.Members()
				high := int64(5)
				b.ReportAllocs()
				b.ResetTimer()
				for b.Loop() {
					c.Use(s, now, "bench", s.Epoch(), false, nil, nil)
					high++
					for i := range changed {
						s.Touch(members[i*size/changed])
					}
					s.StartReading(Reading{})
					answered := 0
					for _, m := range s.Due() {
						if s.Answer(m, Result{HighWatermark: high}) {
							answered++
						}
					}
					if answered != changed {
						b.Fatal("answered", answered)
					}
				}
			})
		}
	}
}
