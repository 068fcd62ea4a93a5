package fakekafka_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// failure is what an Await or Require call said when it failed.
func failure(t *testing.T, call func(tb testing.TB)) (said string) {
	t.Helper()
	tb := &recorder{TB: t}
	defer func() {
		if e := recover(); e != nil && e != any(tb) {
			panic(e)
		}
		said = tb.errors()
		require.NotEmpty(t, said, "the call passed")
	}()
	call(tb)
	return ""
}

// billing is a group of two scripted members that share six partitions.
func billing(t *testing.T, m fakekafka.Member, opts ...fakekafka.Option) (*fakekafka.Cluster, *fakekafka.Group, []*fakekafka.ScriptedMember) {
	opts = append([]fakekafka.Option{fakekafka.Topic("orders", 6), fakekafka.ManualClock(start), fakekafka.WaitLimit(5 * time.Second)}, opts...)
	k := fakekafka.Start(t, opts...)
	list := k.JoinAll("billing", members(2, m)...)
	g := k.Group("billing")
	g.AwaitStable(t, 2)
	return k, g, list
}

var inRange = fakekafka.Member{Topics: []string{"orders"}}

func TestAwaitStableSaysWhatItSaw(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 6), fakekafka.ManualClock(start), fakekafka.WaitLimit(50*time.Millisecond))
	g := k.Group("billing")
	g.AwaitStable(t, 0)
	said := failure(t, func(tb testing.TB) { g.AwaitStable(tb, 1) })
	require.Contains(t, said, "group billing: wanted a stable group of 1 member; after")
	require.Contains(t, said, "there was: no such group")

	k.JoinAll("billing", members(2, inRange)...)
	said = failure(t, func(tb testing.TB) { g.AwaitStable(tb, 3) })
	require.Contains(t, said, "wanted a stable group of 3 members")
	require.Contains(t, said, "Stable, classic protocol, epoch 1, 2 members")
	require.Contains(t, said, "worker-2: epoch 1, owns orders 3-5")
	require.Contains(t, said, "group billing · classic protocol · range assignor", "the timeline")
}

// A cooperative group calls itself Stable between its two rounds; it has not settled.
func TestAwaitStableWaitsForTheSecondRound(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, m fakekafka.Member) {
		k, g, _ := billing(t, m)
		third := m
		third.ClientID = "worker-3"
		hold := g.Hold(fakekafka.RevokeAck)
		if m.Protocol == fakekafka.Classic {
			hold.Release()
			hold = g.Hold(fakekafka.JoinBarrier)
		}
		k.Join("billing", third)
		hold.Await(t)
		done := make(chan struct{})
		go func() {
			defer close(done)
			g.AwaitStable(t, 3)
			g.RequireBalanced(t)
		}()
		hold.Release()
		<-done
	})
}

func TestRequireAssignment(t *testing.T) {
	t.Parallel()
	_, g, _ := billing(t, inRange)
	g.RequireAssignment(t, fakekafka.Assignment{"worker-1": {"orders": {2, 1, 0}}, "worker-2": {"orders": {3, 4, 5}}})
	require.Equal(t, fakekafka.Assignment{"worker-1": {"orders": {0, 1, 2}}, "worker-2": {"orders": {3, 4, 5}}}, g.Assignment())

	said := failure(t, func(tb testing.TB) {
		g.RequireAssignment(tb, fakekafka.Assignment{"worker-1": {"orders": {0, 1, 2}}, "worker-3": {"orders": {3, 4, 5}}})
	})
	require.Contains(t, said, "group billing: wanted this assignment; there was: Stable, epoch 1\n")
	require.Contains(t, said, "    worker-1: orders 0-2, as wanted\n")
	require.Contains(t, said, "    worker-3: wanted orders 3-5; ")
	require.Contains(t, said, "    worker-2: not wanted in the group; owns orders 3-5\n")
	require.Contains(t, said, "assigned orders 3-5", "the timeline")
}

// What a worker of Kafka Connect was assigned is not known to the broker, which is not to own nothing.
func TestAssignmentsOfOtherProtocolTypes(t *testing.T) {
	t.Parallel()
	k := startRaw(t)
	m := &rawMember{raw: dialRaw(t, k, "worker-1"), group: "connect", software: "kgo", assignor: "sessioned", kind: "connect"}
	m.joins()
	g := k.Group("connect")
	size := len(m.sync().GroupAssignment[0].MemberAssignment)
	want := fmt.Sprintf("was assigned %d bytes, of the protocol type \"connect\": no partitions are known", size)
	require.Contains(t, unmet(t, stableWith(g, 2)), "\n    worker-1: epoch 1, "+want)
	said := unmet(t, func(ctx context.Context) error {
		return g.Assigned(ctx, fakekafka.Assignment{"worker-1": {"orders": {0}}})
	})
	require.Contains(t, said, "\n    worker-1: wanted orders 0; "+want)
	require.Regexp(t, fmt.Sprintf(`worker-1 +assigned: %d bytes, of the protocol type "connect"`, size), g.Timeline())
	require.Len(t, g.State().Members[0].Assignment, size)
}

func TestAwaitAssignmentIsWoken(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, m fakekafka.Member) {
		_, g, list := billing(t, m)
		left := make(chan fakekafka.ErrorCode, 1)
		go func() { left <- list[1].Leave() }()
		g.AwaitAssignment(t, fakekafka.Assignment{"worker-1": {"orders": {0, 1, 2, 3, 4, 5}}})
		g.RequireOwner(t, "orders", 5, "worker-1")
		g.RequireNoDoubleOwner(t)
		require.Equal(t, fakekafka.NoError, <-left)
	})
}

func TestOwners(t *testing.T) {
	t.Parallel()
	_, g, _ := billing(t, inRange)
	g.AwaitOwner(t, "orders", 4, "worker-2")
	owner, ok := g.Owner("orders", 4)
	require.True(t, ok)
	require.Equal(t, "worker-2", owner)
	_, ok = g.Owner("refunds", 0)
	require.False(t, ok)
	require.Contains(t, failure(t, func(tb testing.TB) { g.RequireOwner(tb, "orders", 4, "worker-1") }),
		"wanted orders-4 owned by worker-1; there was: worker-2 owns it: Stable")
	require.Contains(t, failure(t, func(tb testing.TB) { g.RequireOwner(tb, "refunds", 0, "worker-1") }), "nobody owns it")
}

// What Owner answers names the member in every other call.
func TestOwnerOfAStaticMember(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	k.Join("billing", fakekafka.Member{ClientID: "worker-1", InstanceID: "pod-1", Topics: []string{"orders"}})
	g := k.Group("billing")
	g.AwaitStable(t, 1)
	owner, ok := g.Owner("orders", 0)
	require.True(t, ok)
	require.Equal(t, "worker-1", owner)
	g.RequireOwner(t, "orders", 0, owner)
	g.RequireAssignment(t, fakekafka.Assignment{owner: {"orders": {0}}})
}

func TestCommittedAndLag(t *testing.T) {
	t.Parallel()
	k, g, list := billing(t, inRange)
	g.RequireLag(t, 0)
	require.NoError(t, k.Topic("orders").Produce(fakekafka.V("a").On(0), fakekafka.V("b").On(0), fakekafka.V("c").On(4)))
	g.RequireLag(t, 3)
	require.Equal(t, int64(3), g.Lag())
	require.Equal(t, fakekafka.NoError, list[0].Commit("orders", 0, 1))
	g.RequireCommitted(t, "orders", 0, 1)
	said := failure(t, func(tb testing.TB) { g.RequireLag(tb, 0) })
	require.Contains(t, said, "wanted a lag of 0; there was: a lag of 2: orders-0: 1 (committed 1")
	require.Contains(t, failure(t, func(tb testing.TB) { g.RequireCommitted(tb, "orders", 4, 1) }), "no committed offset")
	require.Contains(t, failure(t, func(tb testing.TB) { g.RequireCommitted(tb, "orders", 0, 2) }), "there was: offset 1")

	done := make(chan struct{})
	go func() {
		defer close(done)
		list[0].Commit("orders", 0, 2)
		list[1].Commit("orders", 4, 1)
	}()
	g.AwaitLag(t, 0)
	<-done
	g.RequireLag(t, 0)
	g.AwaitCommitted(t, "orders", 0, 2)
	offset, ok := g.Committed("orders", 0)
	require.True(t, ok)
	require.Equal(t, int64(2), offset)
}

// A partition that no member fetches is not being consumed, whatever the assignment says.
func TestAwaitFetchingSaysWhatIsNotFetched(t *testing.T) {
	t.Parallel()
	_, g, _ := billing(t, inRange, fakekafka.WaitLimit(50*time.Millisecond))
	require.Contains(t, failure(t, func(tb testing.TB) { g.AwaitFetching(tb) }),
		"wanted every owned partition to be fetched; after")
	require.Contains(t, failure(t, func(tb testing.TB) { g.AwaitFetching(tb) }),
		"worker-1 doesn't fetch orders 0-2; worker-2 doesn't fetch orders 3-5")
}

// What a process fetched that is gone, or hangs, is not being fetched: a record that comes now reaches nobody. A static member keeps its partitions meanwhile.
func TestAwaitFetchingWantsALivingClient(t *testing.T) {
	t.Parallel()
	k := startRaw(t)
	g := k.Group("billing")
	latest(t, k, 0)
	g.AwaitFetching(t)
	const unheard = "there was: worker-1 is not heard: its client isn't connected, or is paused"
	require.NoError(t, g.Member("worker-1").Pause())
	require.Contains(t, unmet(t, g.Fetching), unheard)
	require.NoError(t, g.Member("worker-1").Resume())
	g.AwaitFetching(t)
	k.DropConnections("worker-1")
	require.Contains(t, unmet(t, g.Fetching), unheard)
}

// A third member comes, and the rebalance stands for a second at the step where partitions are without an owner, if there is one.
func TestInterruptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps   []fakekafka.Step // each is held before the one before it is released
		stopped int
	}{
		"range":              {[]fakekafka.Step{fakekafka.Sync}, 6},                        // everybody has given up everything
		"cooperative-sticky": {[]fakekafka.Step{fakekafka.Sync, fakekafka.JoinBarrier}, 2}, // those that moved, until the second round
		"consumer":           {[]fakekafka.Step{fakekafka.RevokeAck}, 0},                   // until its owner confirms, it is the owner's
	} {
		t.Run(name, func(t *testing.T) {
			k, g, _ := billing(t, kinds[name])
			require.Empty(t, g.Interruptions())
			hold := g.Hold(c.steps[0])
			third := kinds[name]
			third.ClientID = "worker-3"
			joined := make(chan struct{})
			go func() {
				defer close(joined)
				k.Join("billing", third)
			}()
			hold.Await(t)
			for _, step := range c.steps[1:] {
				next := g.Hold(step)
				hold.Release()
				next.Await(t)
				hold = next
			}
			require.NoError(t, k.FastForward(time.Second))
			hold.Release()
			<-joined
			g.AwaitStable(t, 3)
			stopped := g.Interruptions()
			require.Len(t, stopped, c.stopped)
			for _, i := range stopped {
				require.Equal(t, time.Second, i.Duration(), i.String())
			}
			g.RequireNoDoubleOwner(t)
			if name != "range" {
				g.RequireSticky(t)
				require.Len(t, g.Moved(), 2)
			}
		})
	}
}

// While nobody owns a partition its interruption isn't over.
func TestInterruptionThatGoesOn(t *testing.T) {
	t.Parallel()
	k, g, list := billing(t, kinds["consumer"])
	first := list[1].Owned()["orders"][0]
	require.NoError(t, list[0].FallSilent())
	require.Equal(t, fakekafka.NoError, list[1].Leave())
	stopped := g.Interruptions()
	require.Len(t, stopped, 3)
	require.Zero(t, stopped[0].Duration())
	require.Equal(t, fmt.Sprintf("orders-%d: nobody since worker-2 lost it (worker-2 left: left)", first), stopped[0].String())
	require.NoError(t, k.FastForward(time.Second))
	require.NoError(t, list[0].Speak())
	g.AwaitStable(t, 1)
	stopped = g.Interruptions()
	require.Len(t, stopped, 3)
	require.Equal(t, fmt.Sprintf("orders-%d: nobody for 1s, from worker-2 to worker-1 (worker-2 left: left)", first), stopped[0].String())
}

// TestInterruptionTellsWhatFastForwardMoved: of the time without an owner, that which nobody lived through.
func TestInterruptionTellsWhatFastForwardMoved(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
	g := k.Group("billing")
	a := k.Join("billing", fakekafka.Member{ClientID: "a", Topics: []string{"orders"}})
	g.AwaitStable(t, 1)
	require.NoError(t, a.FallSilent())
	require.NoError(t, k.FastForward(time.Minute)) // 45 s of it until a is gone
	require.NoError(t, k.FastForward(time.Second))
	k.Join("billing", fakekafka.Member{ClientID: "b", Topics: []string{"orders"}})
	g.AwaitOwner(t, "orders", 0, "b")
	require.NoError(t, k.FastForward(time.Hour)) // that is not without an owner
	stopped := g.Interruptions()
	require.Len(t, stopped, 2)
	require.Greater(t, stopped[0].FastForwarded, 15*time.Second+900*time.Millisecond)
	require.Less(t, stopped[0].FastForwarded, stopped[0].Duration())
	require.Contains(t, stopped[0].String(), ", of which FastForward moved 1")
}

func TestRequireBalancedAndSticky(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 7), fakekafka.Topic("refunds", 7), fakekafka.ManualClock(start))
	g := k.Group("billing")
	m := fakekafka.Member{Topics: []string{"orders", "refunds"}}
	k.JoinAll("billing", members(2, m)...)
	g.AwaitStable(t, 2)
	// range gives the first member the odd partition of each topic.
	require.Contains(t, failure(t, func(tb testing.TB) { g.RequireBalanced(tb) }), "worker-1: epoch 1, owns orders 0-3, refunds 0-3")

	// range begins anew with the members in their order: the one that comes shifts those behind it.
	first := fakekafka.Member{ClientID: "worker-0", InstanceID: "aaa", Topics: m.Topics}
	k.Join("billing", first)
	g.AwaitStable(t, 3)
	said := failure(t, func(tb testing.TB) { g.RequireSticky(tb) })
	require.Contains(t, said, "wanted at most 4 partitions to leave a member that stayed; there was")
	require.Contains(t, said, "from worker-1 to")
}

// latest is a member whose client begins at the end of a partition that its group has committed nothing of.
func latest(t *testing.T, k *fakekafka.Cluster, offset int64) *rawMember {
	m := joinRaw(t, k, "billing", "worker-1")
	req := fetchFrom(0, 0, 0, "orders", 0)
	req.Topics[0].Partitions[0].FetchOffset = offset
	dialRaw(t, k, "worker-1").ask(req)
	return m
}

func TestRequireNothingSkipped(t *testing.T) {
	t.Parallel()
	k := startRaw(t)
	g := k.Group("billing")
	require.NoError(t, k.Topic("orders").Produce(fakekafka.V("a"), fakekafka.V("b")))
	latest(t, k, 2)
	g.AwaitFetching(t)
	said := failure(t, func(tb testing.TB) { g.RequireNothingSkipped(tb) })
	require.Contains(t, said, "wanted every record to be offered to an owner; skipped were: +")
	require.Contains(t, said, "worker-1: orders-0 is fetched from 2 on, 2 records are skipped")
	require.Len(t, g.Skipped(), 1)
}

func TestNothingIsSkippedBehindACommit(t *testing.T) {
	t.Parallel()
	k := startRaw(t)
	g := k.Group("billing")
	require.NoError(t, k.Topic("orders").Produce(fakekafka.V("a"), fakekafka.V("b")))
	m := joinRaw(t, k, "billing", "worker-0")
	require.NotNil(t, m.ask(m.commit(2)))
	require.NoError(t, g.Member("worker-0").Evict())
	latest(t, k, 2)
	g.AwaitFetching(t)
	g.RequireNothingSkipped(t)
}

// TestASlipOfThePenIsNamed: a group, topic, partition or member that isn't there is said to be missing, and nothing passes by it.
func TestASlipOfThePenIsNamed(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 6), fakekafka.ManualClock(start), fakekafka.WaitLimit(50*time.Millisecond))
	k.JoinAll("billing", members(2, inRange)...)
	g, biling := k.Group("billing"), k.Group("biling")
	g.AwaitStable(t, 2)
	released := g.Hold(fakekafka.Commit)
	released.Release()
	for _, c := range []struct {
		says string
		do   func(tb testing.TB)
	}{
		{`of groups there are ["billing"]`, func(tb testing.TB) { biling.AwaitStable(tb, 2) }},
		{"there was: no such group", func(tb testing.TB) { biling.RequireLag(tb, 0) }},
		{"there was: no such group", biling.RequireNoDoubleOwner},
		{"there was: no such group", biling.RequireNothingSkipped},
		{"there was: no such group", biling.RequireSticky},
		{"give a number from 0 on", func(tb testing.TB) { g.AwaitStable(tb, -1) }},
		{`nobody owns it; there is no topic "ordres"; there are ["__consumer_offsets" "orders"]; did you mean "orders"?`, func(tb testing.TB) { g.RequireOwner(tb, "ordres", 0, "worker-1") }},
		{`topic "orders" has no partition 6; it has 6, counted from 0`, func(tb testing.TB) { g.AwaitOwner(tb, "orders", 6, "worker-1") }},
		{"worker-1 owns it: Stable, ", func(tb testing.TB) { g.RequireOwner(tb, "orders", 0, "wroker-1") }},
		{"owns orders 3-5\n    no member is called \"wroker-1\"\n    no other client", func(tb testing.TB) { g.RequireOwner(tb, "orders", 0, "wroker-1") }},
		{`no committed offset; there is no topic "ordres"`, func(tb testing.TB) { g.RequireCommitted(tb, "ordres", 0, 1) }},
		{`fakekafka: wanted no more records in topic ordres: there is no topic`, func(tb testing.TB) { k.Topic("ordres").RequireNoMore(tb) }},
		{"it was released", released.Await},
		{"worker-9: epoch 1, owns nothing, subscribes to ordres", func(tb testing.TB) {
			k.Join("slips", fakekafka.Member{ClientID: "worker-9", Topics: []string{"ordres"}})
			k.Group("slips").AwaitOwner(tb, "orders", 0, "worker-9")
		}},
		{"scripted member worker-8 has stopped: JoinGroup was answered INVALID_SESSION_TIMEOUT", func(tb testing.TB) {
			k.Join("refused", fakekafka.Member{ClientID: "worker-8", Topics: []string{"orders"}, SessionTimeout: time.Millisecond})
			k.Group("refused").AwaitStable(tb, 1)
		}},
		{"0; no client sent any", func(tb testing.TB) { k.Requests(fakekafka.Produce).From("worker-1").AwaitCount(tb, 1) }},
	} {
		require.Contains(t, failure(t, c.do), c.says)
	}
}

func TestOneRecordThatIsSkipped(t *testing.T) {
	t.Parallel()
	k := startRaw(t)
	require.NoError(t, k.Topic("orders").Produce(fakekafka.V("a")))
	latest(t, k, 1)
	k.Group("billing").AwaitFetching(t)
	said := failure(t, func(tb testing.TB) { k.Group("billing").RequireNothingSkipped(tb) })
	require.Contains(t, said, "orders-0 is fetched from 1 on, 1 record is skipped: ")
}
