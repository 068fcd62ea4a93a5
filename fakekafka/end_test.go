package fakekafka_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// ending is a testing.TB whose test's function ends when the test says so.
type ending struct {
	recorder
	ctx context.Context
}

func (e *ending) Context() context.Context { return e.ctx }

// A client is closed by a cleanup that runs before the cluster's. It must get its answers by then: one that leaves its group waits for minutes.
func TestPausesAndHoldsEndWithTheTestsFunction(t *testing.T) {
	ctx, over := context.WithCancel(t.Context())
	tb := &ending{recorder: recorder{TB: t}, ctx: ctx}
	k := fakekafka.Start(tb, fakekafka.Topic("orders", 2))
	paused := k.Join("billing", fakekafka.Member{Topics: []string{"orders"}, ClientID: "paused"})
	held := k.Join("refunds", fakekafka.Member{Topics: []string{"orders"}, ClientID: "held"})
	cutOff := k.Join("stock", fakekafka.Member{Topics: []string{"orders"}, ClientID: "cut off"})
	for _, g := range []string{"billing", "refunds", "stock"} {
		k.Group(g).AwaitStable(t, 1)
	}
	left := make(chan fakekafka.ErrorCode, 3)
	tb.Cleanup(func() {
		for range 3 {
			require.Equal(t, fakekafka.NoError, <-left)
		}
	})
	require.NoError(t, k.Group("billing").Member("paused").Pause())
	hold := k.Group("refunds").Hold(fakekafka.Leave)
	require.NoError(t, k.Broker(1).Isolate("cut off"))
	for _, m := range []*fakekafka.ScriptedMember{paused, held, cutOff} {
		go func() { left <- m.Leave() }()
	}
	hold.Await(t)
	over()
	require.Equal(t, `fakekafka: at the end of the test Group("refunds").Hold(Leave) still holds: LeaveGroup v5 from "held" for group refunds. Release it`, tb.end())
}

// What comes after the end of the test's function isn't what the test saw: where that had something paused or held, a row of the timeline says where it ended.
func TestTheTimelineSaysWhereTheTestEnded(t *testing.T) {
	t.Parallel()
	ctx, over := context.WithCancel(t.Context())
	tb := &ending{recorder: recorder{TB: t}, ctx: ctx}
	k := fakekafka.Start(tb, fakekafka.Topic("orders", 2), fakekafka.ManualClock(start))
	k.Join("billing", fakekafka.Member{Topics: []string{"orders"}, ClientID: "a"})
	b := k.Join("billing", fakekafka.Member{Topics: []string{"orders"}, ClientID: "b"})
	g := k.Group("billing")
	g.AwaitStable(t, 2)
	require.NoError(t, g.Member("b").Pause())
	g.Hold(fakekafka.Commit)
	released := g.Hold(fakekafka.JoinBarrier)
	released.Release()
	require.Panics(t, func() { g.RequireOwner(tb, "orders", 0, "c") })
	require.NotContains(t, tb.errors(), "function ended")
	tb.Cleanup(func() {
		require.Equal(t, fakekafka.NoError, b.Leave()) // answered when the pause is over
		require.NoError(t, g.Member("a").Evict())
	})
	over()
	tb.end()
	require.Regexp(t, `after the failure above, group billing · classic protocol · range assignor
     t +epoch +member +what
   \+0.000s +the test's function ended: let go are the pause of b, Group\("billing"\).Hold\(Commit\)
   \+0.000s +b +resumed: end of the pause of b
   \+0.000s +2 +b \([0-9a-f]{8}…\) +left
`, strings.Join(tb.logs, "\n"))

	unsteered := fakekafka.Start(t)
	require.NotContains(t, unsteered.Timeline(), "ended")
}

func TestAHoldThatACleanupReleasesIsNoFailure(t *testing.T) {
	ctx, over := context.WithCancel(t.Context())
	tb := &ending{recorder: recorder{TB: t}, ctx: ctx}
	k := fakekafka.Start(tb, fakekafka.Topic("orders", 2))
	for _, step := range []fakekafka.Step{fakekafka.JoinBarrier, fakekafka.Join} {
		hold := k.Group(string(step)).Hold(step)
		tb.Cleanup(hold.Release)
		k.Join(string(step), fakekafka.Member{Topics: []string{"orders"}})
		hold.Await(t)
	}
	over()
	require.Empty(t, tb.end())
}

// dated is a recorder whose test has a deadline.
type dated struct {
	*recorder
	at time.Time
}

func (d dated) Deadline() (time.Time, bool) { return d.at, true }

// TestBeforeTheDeadline: a test that waits for what it has paused itself is told so before go test ends it, and goes on.
func TestBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	const lastWords = 2 * time.Second // before the deadline it is told
	var tb dated
	var k *fakekafka.Cluster
	for wait := time.Second; ; wait *= 4 {
		tb = dated{&recorder{TB: t}, time.Now().Add(wait + lastWords)}
		k = fakekafka.Start(tb)
		require.NoError(t, k.Broker(1).Isolate("a"))
		if time.Until(tb.at) > lastWords {
			break
		}
		tb.end() // the machine is so busy that there was nothing to tell then
	}
	within(t, "a client that waits as one does that is closed in a defer", func() { dialRaw(t, k, "a").ask(metadataRequest()) })
	require.Contains(t, tb.errors(), "It may wait for what it has stopped itself: the isolation of broker 1 from client a goes on.")
	require.Contains(t, k.Timeline(), "  go test is about to end the test: let go are the isolation of broker 1 from client a\n")
	tb.end()
	require.NotContains(t, k.Timeline(), "function ended", "by then nothing was held")

	quiet := dated{&recorder{TB: t}, time.Now().Add(2 * time.Second)}
	fakekafka.Start(quiet)
	require.Empty(t, quiet.end())
}

// bubbled is a recorder that can be asked for its deadline, as a *testing.T can.
type bubbled struct {
	*recorder
	t *testing.T
}

func (b bubbled) Deadline() (time.Time, bool) { return b.t.Deadline() }

// TestSocketsInABubble: time would stand still, and the test end by the limit of go test.
func TestSocketsInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := bubbled{&recorder{TB: t}, t}
		require.Panics(t, func() { fakekafka.Start(tb, fakekafka.Topic("orders", 2)) })
		require.Contains(t, tb.errors(), "give Start the option InMemoryNetwork()")
	})
}

func TestTheEndInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := fakekafka.Start(t, fakekafka.Topic("orders", 2), fakekafka.InMemoryNetwork())
		m := k.Join("billing", fakekafka.Member{Topics: []string{"orders"}, ClientID: "a"})
		k.Group("billing").AwaitStable(t, 1)
		require.NoError(t, k.Group("billing").Member("a").Pause())
		began := time.Now()
		t.Cleanup(func() {
			require.Equal(t, fakekafka.NoError, m.Leave())
			require.Zero(t, time.Since(began))
		})
	})
}

// What led to a failure is said once, and a thousand members don't bury it.
func TestAFailureShowsATimelineOnce(t *testing.T) {
	tb := &recorder{TB: t}
	t.Cleanup(func() { tb.end() })
	k := fakekafka.Start(tb, fakekafka.Topic("orders", 300), fakekafka.WaitLimit(300*time.Millisecond))
	g := k.Group("billing")
	var all []fakekafka.Member
	for range 300 {
		all = append(all, fakekafka.Member{Topics: []string{"orders"}})
	}
	members := k.JoinAll("billing", all...)
	require.NoError(t, g.Stable(t.Context(), 300))
	require.Panics(t, func() { g.AwaitStable(tb, 301) })
	require.Contains(t, tb.errors(), "wanted a stable group of 301 members")
	require.Contains(t, tb.errors(), `earlier events: Group("billing").Timeline() has them all`)
	require.Contains(t, tb.errors(), "… and 260 more")
	require.Less(t, strings.Count(tb.errors(), "\n"), 200)
	require.Greater(t, strings.Count(g.Timeline(), "\n"), 900)
	require.NoError(t, g.Member(members[1].ID()).Evict())
	require.Equal(t, fakekafka.NoError, members[0].Leave())
	tb.end()
	logged := strings.Join(tb.logs, "\n")
	require.Contains(t, logged, "after the failure above, group billing")
	require.NotContains(t, logged, "group created")
}

// That the cleanups' clients leave after a failure is not worth its lines; what came before they do is, and a client that can't leave in peace.
func TestGoodbyesAfterAFailureAreNotTold(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]struct {
		between func(g *fakekafka.Group, one, two *fakekafka.ScriptedMember)
		told    string
	}{
		"nothing":          {func(*fakekafka.Group, *fakekafka.ScriptedMember, *fakekafka.ScriptedMember) {}, ""},
		"a rebalance ends": {func(g *fakekafka.Group, _, _ *fakekafka.ScriptedMember) { _ = g.Rebalance() }, "rebalance"},
		"one is thrown out": {func(g *fakekafka.Group, one, _ *fakekafka.ScriptedMember) {
			_ = one.FallSilent()
			_ = g.Member("one").Evict()
		}, "evicted: by the test"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tb := &recorder{TB: t}
			t.Cleanup(func() { tb.end() })
			k := fakekafka.Start(tb, fakekafka.Topic("orders", 2))
			g := k.Group("billing")
			one := k.Join("billing", fakekafka.Member{ClientID: "one", Topics: []string{"orders"}})
			two := k.Join("billing", fakekafka.Member{ClientID: "two", Topics: []string{"orders"}})
			require.NoError(t, g.Stable(t.Context(), 2))
			require.Panics(t, func() { g.RequireOwner(tb, "orders", 0, "nobody") })
			s.between(g, one, two)
			require.Equal(t, fakekafka.NoError, two.Leave())
			one.Leave()
			tb.end()
			logged := strings.Join(tb.logs, "\n")
			require.Contains(t, logged, "seed")
			if s.told == "" {
				require.NotContains(t, logged, "after the failure above")
				return
			}
			require.Contains(t, logged, "after the failure above")
			require.Contains(t, logged, s.told)
		})
	}
}

// A failure stands at the test's own line, whatever of fakekafka finds it.
func TestSteeringCallsAreHelpers(t *testing.T) {
	tb := &helperTB{recorder: recorder{TB: t}, names: map[string]bool{}}
	k := fakekafka.Start(tb, fakekafka.Topic("orders", 1))
	_ = k.Topic("refunds").Produce(fakekafka.V("a"))
	_ = k.Group("billing").Member("nobody").Pause()
	_ = k.Group("billing").Member("nobody").Evict()
	_ = k.FastForward(-1)
	require.Empty(t, k.Broker(2).Addr())
	_ = k.Broker(2).Kill()
	k.On(fakekafka.Heartbeat).Topic("orders").Drop()
	_ = k.FetchSessions().Evict(1)
	k.Topic("refunds").EndOffset(0)
	for _, name := range []string{"TopicHandle).Produce", "MemberHandle).Pause", "MemberHandle).Evict", "MemberHandle).steer", "Cluster).FastForward",
		"BrokerHandle).Addr", "BrokerHandle).Kill", "FaultRule).Drop", "FaultRule).add", "FetchSessions).Evict", "TopicHandle).EndOffset", "Cluster).steered"} {
		require.True(t, tb.names[name], name)
	}
	require.Equal(t, 9, strings.Count(tb.end(), "\n")+1)
	require.NotContains(t, tb.errors(), "it has 0")
}

// helperTB keeps who called Helper.
type helperTB struct {
	recorder
	names map[string]bool
}

func (h *helperTB) Helper() {
	pc, _, _, _ := runtime.Caller(1)
	name := runtime.FuncForPC(pc).Name()
	h.names[name[strings.LastIndex(name, "*")+1:]] = true
}

func TestRulesWithoutActionAndUnknownAPIs(t *testing.T) {
	tb := &recorder{TB: t}
	t.Cleanup(func() { tb.end() })
	k := fakekafka.Start(tb)
	k.On(fakekafka.Produce).Topic("orders").Times(2)
	require.Regexp(t, `^fakekafka: On\(Produce\).Topic\("orders"\).Times\(2\) has no action; add Fail, Delay, Hold, HoldReply, LoseReply, Drop, Reply or Observe; the rule is at end_test.go:\d+$`, tb.end())
	_, err := fakekafka.New(fakekafka.Ignore("ShareFecth"))
	require.ErrorContains(t, err, `Ignore("ShareFecth"): Kafka has no API of this name`)
}

func TestHoldsSayWhatStandsThere(t *testing.T) {
	tb := &recorder{TB: t}
	t.Cleanup(func() { tb.end() })
	k := fakekafka.Start(tb, fakekafka.Topic("orders", 1), fakekafka.WaitLimit(10*time.Millisecond))
	g := k.Group("billing")
	barrier := g.Hold(fakekafka.JoinBarrier)
	k.Join("billing", fakekafka.Member{Topics: []string{"orders"}})
	require.NoError(t, barrier.Reached(t.Context()))
	require.Panics(t, func() { g.Hold(fakekafka.Assign).Await(tb) })
	require.Contains(t, tb.errors(), "Assign is a step of groups of the consumer protocol, this one's is classic")
	require.Contains(t, tb.end(), `Group("billing").Hold(JoinBarrier) still holds: group billing. Release it`)
}

// completedTB fails as a testing.T that has completed.
type completedTB struct {
	recorder
	name string
	done bool
}

func (c *completedTB) Name() string { return c.name }

func (c *completedTB) Error(args ...any) {
	c.recorder.Error(args...)
	if c.done {
		panic(fmt.Sprintf("Fail in goroutine after %s has completed", c.name))
	}
}

// What is asked of the cluster of a subtest that has ended fails the tests around it; there must be one.
func TestSteeringAfterTheTest(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"TestOrders/sub", "TestOrders"} {
		tb := &completedTB{recorder: recorder{TB: t}, name: name}
		k := fakekafka.Start(tb)
		require.Empty(t, tb.end())
		tb.done = true
		for what, call := range map[string]func(){
			"Rebalance of group g":     func() { _ = k.Group("g").Rebalance() },
			"Stop of broker 1":         func() { _ = k.Broker(1).Stop() },
			"On(Fetch).Drop()":         func() { k.On(fakekafka.Fetch).Drop() },
			"Leave of scripted member": func() { k.Join("g", fakekafka.Member{}).Leave() },
		} {
			said := "the cluster is closed: it was started for " + name + ", which has ended; start it with the test that needs it"
			require.ErrorContains(t, k.Group("g").Stable(t.Context(), 1), "wanted a stable group of 1 member: "+said)
			if name == "TestOrders" {
				require.Panics(t, call)
			} else {
				require.NotPanics(t, call)
			}
			require.Contains(t, tb.errors(), said)
			if name != "TestOrders" {
				require.Contains(t, tb.errors(), what)
			}
		}
	}
}
