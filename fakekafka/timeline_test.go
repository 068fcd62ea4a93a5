package fakekafka_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/fakekafka"
	"github.com/fakekafka/fakekafka/groups"
)

// words is a text without its layout.
func words(text string) string { return strings.Join(strings.Fields(text), " ") + " " }

// TestTimelineTellsOfRefusals: that a member was turned away, or its commit, is in the timeline; that it asks again is not.
func TestTimelineTellsOfRefusals(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
	g := k.Group("billing")
	a := k.Join("billing", fakekafka.Member{ClientID: "a", Topics: []string{"orders"}, Assignors: []string{"range"}})
	g.AwaitStable(t, 1)
	b := k.Join("billing", fakekafka.Member{ClientID: "b", Topics: []string{"orders"}, Assignors: []string{"cooperative-sticky"}})
	require.Error(t, b.Err())
	require.NoError(t, a.FallSilent())
	require.NoError(t, g.Member("a").Evict())
	for range 3 {
		require.Equal(t, fakekafka.UnknownMemberID, a.Commit("orders", 1, 5))
	}
	text := words(g.Timeline())
	require.Contains(t, text, "b refused: JoinGroup was answered INCONSISTENT_GROUP_PROTOCOL: it offers [\"cooperative-sticky\"] for a group of type \"consumer\" +")
	require.Equal(t, 1, strings.Count(text, "a refused orders 1: OffsetCommit was answered UNKNOWN_MEMBER_ID "), text)
	require.NotContains(t, text, "MEMBER_ID_REQUIRED") // a step of the protocol
}

// TestTimelineOfAGroupHasWhatTheTestDid: between a group's events stands what the test did to the time, to brokers and to the group's clients, and to no others.
func TestTimelineOfAGroupHasWhatTheTestDid(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2), fakekafka.Brokers(2))
	g := k.Group("billing")
	require.NoError(t, k.FastForward(time.Second)) // before the group
	k.Join("billing", fakekafka.Member{ClientID: "a", Topics: []string{"orders"}})
	k.Join("shipping", fakekafka.Member{ClientID: "stranger", Topics: []string{"orders"}})
	g.AwaitStable(t, 1)
	k.Group("shipping").AwaitStable(t, 1)
	require.NoError(t, g.Member("a").Pause())
	require.NoError(t, k.Group("shipping").Member("stranger").Pause())
	require.NoError(t, k.FastForward(20*time.Second))
	require.NoError(t, g.Member("a").Resume())
	require.NoError(t, k.Broker(2).Restart())
	text := words(g.Timeline())
	for _, line := range []string{"a paused: pause of a ", "time moved: FastForward(20s) ", "a resumed: end of the pause of a ", "broker stopped: broker 2", "broker started: broker 2"} {
		require.Contains(t, text, line)
	}
	require.NotContains(t, text, "stranger")
	require.NotContains(t, text, "FastForward(1s)")
	require.Contains(t, k.Group("nobody").Timeline(), "(nothing has happened)")
}

// TestARowForAMemberThatHearsOfARebalanceWithEachHeartbeat: a worker that is busy and does not rejoin, as one that blocks rebalances while it works.
func TestARowForAMemberThatHearsOfARebalanceWithEachHeartbeat(t *testing.T) {
	t.Parallel()
	k := startRaw(t)
	busy := joinRaw(t, k, "billing", "busy")
	require.NoError(t, k.Group("billing").Rebalance())
	for range 200 {
		require.Equal(t, fakekafka.RebalanceInProgress, beatCode(t, busy.ask(busy.beat()), nil))
	}
	text := k.Group("billing").Timeline()
	require.Equal(t, 1, strings.Count(text, "told to rebalance: in the answer of its heartbeat (and again, until +"), text)
	require.Equal(t, 1, strings.Count(text, "told to rebalance"), text)
}

// TestARowForWhatAClientIsToldAgainAndAgain: a zombie that asks on and on doesn't push what led to it out of a failure.
func TestARowForWhatAClientIsToldAgainAndAgain(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	zombie := k.Join("billing", fakekafka.Member{ClientID: "one", InstanceID: "pod-1", Topics: []string{"orders"}})
	zombie.AwaitOwned(t, map[string][]int32{"orders": {0}})
	k.Join("billing", fakekafka.Member{ClientID: "two", InstanceID: "pod-1", Topics: []string{"orders"}}).AwaitOwned(t, map[string][]int32{"orders": {0}})
	for range 200 {
		require.Equal(t, fakekafka.FencedInstanceID, zombie.Commit("orders", 0, 1))
	}
	g := k.Group("billing")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := g.Stable(ctx, 2)
	require.ErrorContains(t, err, "  joined\n")
	require.NotContains(t, err.Error(), "earlier events")
	require.Regexp(t, ` one \(instance pod-1\) +fenced: instance id is held by pod-1-\S+ \(and again, until \+\d+\.\d{3}s\)\n`, err.Error())
	require.Equal(t, 1, strings.Count(err.Error(), "refused orders 0: OffsetCommit was answered FENCED_INSTANCE_ID"), err.Error())
	require.Equal(t, 1, strings.Count(g.Timeline(), "fenced: "))
	require.Regexp(t, `client "one" is out of it since \S+ replaced: `, err.Error()) // which led to what it was refused later
	for _, e := range g.History() {
		if e.Kind == groups.EventFenced {
			require.Equal(t, "one", e.ClientID, "who asked")
		}
	}
	require.Equal(t, fakekafka.FencedInstanceID, zombie.Heartbeat())
	require.Contains(t, g.Timeline(), "refused: Heartbeat was answered FENCED_INSTANCE_ID\n") // what is new has its own
}
