package fakekafka_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/fakekafka"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func members(n int, m fakekafka.Member) []fakekafka.Member {
	list := make([]fakekafka.Member, n)
	for i := range list {
		list[i] = m
		list[i].ClientID = fmt.Sprintf("worker-%d", i+1)
	}
	return list
}

// kinds are the ways of taking part that every story is told in.
var kinds = map[string]fakekafka.Member{
	"range":              {Topics: []string{"orders"}},
	"roundrobin":         {Topics: []string{"orders"}, Assignors: []string{"roundrobin"}},
	"sticky":             {Topics: []string{"orders"}, Assignors: []string{"sticky"}},
	"cooperative-sticky": {Topics: []string{"orders"}, Assignors: []string{"cooperative-sticky"}},
	"consumer":           {Topics: []string{"orders"}, Protocol: fakekafka.Consumer},
	"consumer range":     {Topics: []string{"orders"}, Protocol: fakekafka.Consumer, Assignors: []string{"range"}},
}

func eachKind(t *testing.T, story func(t *testing.T, m fakekafka.Member)) {
	for name, m := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story(t, m)
		})
	}
}

func TestScriptedMembersShareTheirTopic(t *testing.T) {
	eachKind(t, func(t *testing.T, m fakekafka.Member) {
		k := fakekafka.Start(t, fakekafka.Topic("orders", 6), fakekafka.ManualClock(start))
		g := k.Group("billing")
		list := k.JoinAll("billing", members(2, m)...)
		g.AwaitStable(t, 2)
		g.RequireBalanced(t)
		third := k.Join("billing", m)
		g.AwaitStable(t, 3)
		g.RequireBalanced(t)
		require.Len(t, third.Owned()["orders"], 2)
		require.Equal(t, fakekafka.NoError, third.Leave())
		g.AwaitStable(t, 2)
		require.Empty(t, third.Owned())
		require.Equal(t, fakekafka.NoError, list[0].Commit("orders", list[0].Owned()["orders"][0], 7))
		g.AwaitCommitted(t, "orders", list[0].Owned()["orders"][0], 7)
	})
}

func TestSilentMemberExpires(t *testing.T) {
	eachKind(t, func(t *testing.T, m fakekafka.Member) {
		k := fakekafka.Start(t, fakekafka.Topic("orders", 6), fakekafka.ManualClock(start))
		g := k.Group("billing")
		list := k.JoinAll("billing", members(3, m)...)
		g.AwaitStable(t, 3)
		mine := list[1].Owned()
		require.NoError(t, list[1].FallSilent())
		require.NoError(t, k.FastForward(44*time.Second))
		g.AwaitStable(t, 3)
		require.NoError(t, k.FastForward(2*time.Second))
		g.AwaitStable(t, 2)
		g.RequireBalanced(t)
		require.Equal(t, mine, list[1].Owned(), "it doesn't know yet")
		require.NoError(t, list[1].Speak())
		g.AwaitStable(t, 3)
	})
}

func TestTheLivingStayAliveOverDays(t *testing.T) {
	eachKind(t, func(t *testing.T, m fakekafka.Member) {
		k := fakekafka.Start(t, fakekafka.Topic("orders", 6), fakekafka.ManualClock(start))
		k.JoinAll("billing", members(3, m)...)
		k.JoinAll("shipping", members(3, m)...)
		k.Group("billing").AwaitStable(t, 3)
		k.Group("shipping").AwaitStable(t, 3)
		epoch := k.Group("billing").State().Epoch
		require.NoError(t, k.FastForward(3*24*time.Hour))
		require.Equal(t, start.Add(3*24*time.Hour), k.Now().UTC())
		k.Group("billing").AwaitStable(t, 3)
		k.Group("shipping").AwaitStable(t, 3)
		require.Equal(t, epoch, k.Group("billing").State().Epoch, "nothing happened")
	})
}

func TestMemberThatRefusesToRevoke(t *testing.T) {
	eachKind(t, func(t *testing.T, m fakekafka.Member) {
		k := fakekafka.Start(t, fakekafka.Topic("orders", 6), fakekafka.ManualClock(start))
		g := k.Group("billing")
		stubborn := m
		stubborn.ClientID, stubborn.RefuseRevoke, stubborn.RebalanceTimeout = "stubborn", true, time.Minute
		s := k.Join("billing", stubborn)
		g.AwaitStable(t, 1)
		k.Join("billing", m)
		require.Equal(t, []int32{0, 1, 2, 3, 4, 5}, s.Owned()["orders"])
		require.NotEqual(t, "Stable", g.State().State)
		require.NoError(t, s.RefuseRevoke(false))
		g.AwaitStable(t, 2)
		g.RequireBalanced(t)

		// Nobody waits for it longer than its rebalance timeout.
		require.NoError(t, s.RefuseRevoke(true))
		k.Join("billing", m)
		require.NoError(t, k.FastForward(6*time.Minute))
		require.Equal(t, 1, count(g.History(), "expired"))
	})
}

func count(events []fakekafka.Event, kind string) (n int) {
	for _, e := range events {
		if string(e.Kind) == kind {
			n++
		}
	}
	return n
}

func TestStaticMemberComesBackToItsPartitions(t *testing.T) {
	eachKind(t, func(t *testing.T, m fakekafka.Member) {
		k := fakekafka.Start(t, fakekafka.Topic("orders", 6), fakekafka.ManualClock(start))
		g := k.Group("billing")
		list := members(2, m)
		for i := range list {
			list[i].InstanceID = fmt.Sprintf("rack-%d", i+1)
		}
		both := k.JoinAll("billing", list...)
		g.AwaitStable(t, 2)
		epoch, id, had := g.State().Epoch, both[0].ID(), both[0].Owned()
		require.NoError(t, both[0].FallSilent())
		if m.Protocol == fakekafka.Consumer {
			// Its process says that it will be back; without that the instance id isn't free.
			require.NoError(t, both[0].Speak())
			require.Equal(t, fakekafka.NoError, both[0].LeaveForAWhile())
		}
		require.NoError(t, k.FastForward(10*time.Second))
		require.NoError(t, both[0].ComeBack())
		g.AwaitStable(t, 2)
		require.Equal(t, had, both[0].Owned())
		require.Equal(t, epoch, g.State().Epoch, "no rebalance")
		require.NotEqual(t, id, both[0].ID())
	})
}

func TestEvictedMemberJoinsAnew(t *testing.T) {
	eachKind(t, func(t *testing.T, m fakekafka.Member) {
		k := fakekafka.Start(t, fakekafka.Topic("orders", 6), fakekafka.ManualClock(start))
		g := k.Group("billing")
		list := k.JoinAll("billing", members(2, m)...)
		g.AwaitStable(t, 2)
		epoch := list[0].Epoch()
		require.NoError(t, g.Member("worker-1").Evict())
		g.AwaitStable(t, 2)
		require.Greater(t, list[0].Epoch(), epoch)
		require.NoError(t, g.Member("worker-2").Fence())
		require.NoError(t, g.Rebalance())
		g.AwaitStable(t, 2)
		g.RequireBalanced(t)
	})
}

func TestScriptedMembersFollowTheirTopic(t *testing.T) {
	eachKind(t, func(t *testing.T, m fakekafka.Member) {
		k := fakekafka.Start(t, fakekafka.Topic("orders", 2), fakekafka.ManualClock(start), fakekafka.Brokers(2))
		g := k.Group("billing")
		list := k.JoinAll("billing", members(2, m)...)
		g.AwaitStable(t, 2)
		require.NoError(t, k.Topic("orders").AddPartitions(4))
		g.AwaitStable(t, 2)
		list[0].AwaitOwned(t, list[0].Owned())
		g.RequireBalanced(t)
		require.Len(t, list[0].Owned()["orders"], 3)

		// The coordinator moves, and its broker stops: nobody notices.
		epoch := g.State().Epoch
		for range 2 {
			require.NoError(t, g.MoveCoordinator(1))
			g.AwaitStable(t, 2)
			require.NoError(t, g.MoveCoordinator(2))
			g.AwaitStable(t, 2)
			require.NoError(t, k.Broker(2).Restart())
			g.AwaitStable(t, 2)
		}
		require.NoError(t, g.ReloadCoordinator())
		g.AwaitStable(t, 2)
		require.Equal(t, epoch, g.State().Epoch)
	})
}

func TestByHandClassic(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2), fakekafka.ManualClock(start))
	g := k.Group("billing")
	one := k.Join("billing", fakekafka.Member{ByHand: true, Topics: []string{"orders"}, ClientID: "hand"})
	require.Empty(t, g.State().Members, "it does nothing by itself")
	require.Equal(t, fakekafka.UnknownMemberID, one.Heartbeat())
	require.Equal(t, fakekafka.MemberIDRequired, one.JoinGroup())
	require.Equal(t, fakekafka.NoError, one.JoinGroup())
	require.Equal(t, "CompletingRebalance", g.State().State)
	require.Equal(t, fakekafka.NoError, one.SyncGroup())
	require.Equal(t, map[string][]int32{"orders": {0, 1}}, one.Owned())

	// A second one comes; the first is told, and takes its time.
	two := k.Join("billing", fakekafka.Member{Topics: []string{"orders"}})
	require.Equal(t, fakekafka.RebalanceInProgress, one.Heartbeat())
	require.Equal(t, fakekafka.NoError, one.Commit("orders", 0, 5))
	require.Equal(t, fakekafka.NoError, one.JoinGroup())
	require.Equal(t, fakekafka.NoError, one.SyncGroup())
	g.AwaitStable(t, 2)
	require.Equal(t, []int{1, 1}, []int{len(one.Owned()["orders"]), len(two.Owned()["orders"])})

	// It never answers the next one: time goes on without it.
	two.Leave()
	require.NoError(t, k.FastForward(6*time.Minute))
	g.AwaitStable(t, 0)
}

func TestByHandConsumer(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2), fakekafka.ManualClock(start))
	g := k.Group("billing")
	m := fakekafka.Member{Topics: []string{"orders"}, Protocol: fakekafka.Consumer}
	hand := m
	hand.ByHand = true
	one := k.Join("billing", hand)
	require.Equal(t, fakekafka.NoError, one.Heartbeat())
	require.Equal(t, map[string][]int32{"orders": {0, 1}}, one.Owned())
	two := k.Join("billing", m)
	require.Empty(t, two.Owned())
	require.Equal(t, fakekafka.NoError, one.Heartbeat(), "it is told")
	require.Empty(t, two.Owned())
	require.Equal(t, fakekafka.NoError, one.Heartbeat(), "it has given up")
	require.Len(t, two.Owned()["orders"], 1)
	require.Equal(t, fakekafka.NoError, one.Heartbeat())
	g.AwaitStable(t, 2)
}

func TestBadMembersAreNamed(t *testing.T) {
	for want, m := range map[string]fakekafka.Member{
		`no assignor "best"`: {Assignors: []string{"best"}},
		"at most one":        {Protocol: fakekafka.Consumer, Assignors: []string{"uniform", "range"}},
		"not both":           {Protocol: fakekafka.Consumer, Topics: []string{"a"}, Regex: "b"},
		"look the topics up": {Regex: "b"},
		"the classic":        {Protocol: fakekafka.Consumer, SessionTimeout: time.Second},
	} {
		tb := &recorder{TB: t}
		k := fakekafka.Start(tb)
		k.Join("g", m)
		require.Contains(t, tb.errors(), want)
		tb.end()
	}
}

func TestStepsOfAMemberThatTakesThemByItself(t *testing.T) {
	tb := &recorder{TB: t}
	k := fakekafka.Start(tb)
	require.Equal(t, fakekafka.UnknownServerError, k.Join("g", fakekafka.Member{}).JoinGroup())
	require.Contains(t, tb.end(), "it joins and syncs by itself")
}

func TestAThousandScriptedMembers(t *testing.T) {
	for _, kind := range []string{"range", "cooperative-sticky", "consumer"} {
		t.Run(kind, func(t *testing.T) {
			k := fakekafka.Start(t, fakekafka.Topic("orders", 1000), fakekafka.ManualClock(start))
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			began := time.Now()
			list := k.JoinAll("billing", members(1000, kinds[kind])...)
			k.Group("billing").AwaitStable(t, 1000)
			joined := time.Since(began)
			require.NoError(t, list[0].FallSilent())
			require.NoError(t, k.FastForward(time.Minute))
			k.Group("billing").AwaitStable(t, 999)
			runtime.GC()
			runtime.ReadMemStats(&after)
			mb := (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / (1 << 20) // other tests may free in between
			t.Logf("%s: joined in %s, one lost in %s, %.1f MB", kind, joined, time.Since(began)-joined, mb)
			require.Less(t, mb, 40.0)
			runtime.KeepAlive(k)
		})
	}
}

// tenMinutes is a scenario with something of everything; it answers the timeline.
func tenMinutes(t *testing.T, seed uint64, m fakekafka.Member) string {
	// A fault that one of the protocols has no request for doesn't matter here.
	k := fakekafka.Start(&recorder{TB: t}, fakekafka.Topic("orders", 6), fakekafka.Topic("refunds", 3), fakekafka.Brokers(2),
		fakekafka.ManualClock(start), fakekafka.Seed(seed))
	defer k.Close()
	g := k.Group("billing")
	m.Topics = []string{"orders", "refunds"}
	list := k.JoinAll("billing", members(3, m)...)
	minute := func() { _ = k.FastForward(time.Minute) }
	k.On(fakekafka.Heartbeat).From("worker-2").Times(1).LoseReply()
	k.On(fakekafka.ConsumerGroupHeartbeat).From("worker-2").Times(2).Fail(fakekafka.CoordinatorNotAvailable)
	k.On(fakekafka.AnyAPI).Observe(func(*fakekafka.Call) {})
	minute()
	for i, s := range list {
		for topic, ps := range s.Owned() {
			if topic == "orders" {
				s.Commit(topic, ps[0], int64(i))
			}
		}
	}
	minute()
	_ = list[1].FallSilent()
	minute()
	fourth := k.Join("billing", fakekafka.Member{ClientID: "late", Topics: []string{"orders"}, Protocol: m.Protocol, Assignors: m.Assignors})
	minute()
	_ = list[1].Speak()
	minute()
	_ = k.Topic("refunds").AddPartitions(3)
	_ = g.MoveCoordinator(2)
	minute()
	_ = g.Member("worker-3").Evict()
	minute()
	fourth.Leave()
	minute()
	_ = g.Rebalance()
	_ = g.ReloadCoordinator()
	minute()
	beat := g.Hold(fakekafka.Beat)
	_ = g.Rebalance()
	minute()
	beat.Release()
	_ = k.Broker(1).Restart()
	minute()
	return k.Timeline()
}

// scenarioRuns is how often the ten minutes are run: FAKEKAFKA_SCENARIOS, or a few.
func scenarioRuns(t *testing.T) int {
	s := os.Getenv("FAKEKAFKA_SCENARIOS")
	if s == "" {
		return 20
	}
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}

func TestTheSameTimelineEveryTime(t *testing.T) {
	for _, kind := range []string{"range", "cooperative-sticky", "consumer"} {
		t.Run(kind, func(t *testing.T) {
			var first string
			var spent time.Duration
			runs := scenarioRuns(t)
			for i := range runs {
				t.Run(strconv.Itoa(i), func(t *testing.T) {
					began := time.Now()
					got := tenMinutes(t, 7, kinds[kind])
					spent += time.Since(began)
					if i == 0 {
						first = got
					}
					require.Equal(t, first, got)
				})
			}
			t.Logf("%s for each ten minutes", spent/time.Duration(runs))
			if testing.Verbose() {
				t.Log(first)
			}
			require.Contains(t, first, "late")
		})
	}
}

// Every event with a member id has the client id, also those of a generation as a whole, which are its leader's.
func TestEventsNameTheirClient(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
	k.JoinAll("billing", fakekafka.Member{ClientID: "a", Topics: []string{"orders"}, InstanceID: "one"}, fakekafka.Member{ClientID: "b", Topics: []string{"orders"}})
	k.Group("billing").AwaitStable(t, 2)
	kinds := map[string]bool{}
	for _, e := range k.Group("billing").History() {
		kinds[string(e.Kind)] = true
		if e.Member != "" {
			require.NotEmpty(t, e.ClientID, "%+v", e)
		}
	}
	require.True(t, kinds["generation"] && kinds["stable"], kinds)
}
