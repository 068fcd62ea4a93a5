package fakekafka_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// stableNow is what a wait for n members answers that may not wait.
func stableNow(k *fakekafka.Cluster, group string, n int) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return k.Group(group).Stable(ctx, n)
}

// The group is Stable as soon as the leader's assignment is stored. A member that has not asked for its own by then does not know it.
func TestAGroupIsNotStableForATestBeforeEverybodyHasSynced(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 4))
	hold := k.On(fakekafka.SyncGroup).From("late").Hold()
	k.JoinAll("billing",
		fakekafka.Member{ClientID: "leader", Topics: []string{"orders"}},
		fakekafka.Member{ClientID: "late", Topics: []string{"orders"}})
	hold.Await(t)
	require.Eventually(t, func() bool { return k.Group("billing").State().State == "Stable" }, 10*time.Second, time.Millisecond)
	require.ErrorIs(t, stableNow(k, "billing", 2), context.Canceled)
	now, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorContains(t, k.Group("billing").Assigned(now, k.Group("billing").Assignment()), "as wanted, but it is not settled: Syncing")
	hold.Release()
	k.Group("billing").AwaitStable(t, 2)
	k.Group("billing").RequireBalanced(t)
}

// Between the two rounds of a cooperative rebalance the group is Stable, and partitions are on their way. No prompt heartbeat need be there to see it.
func TestAGroupIsNotStableForATestBetweenTwoCooperativeRounds(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]fakekafka.Option{"prompt": nil, "Kafka's timings": {fakekafka.KafkaTimings(), fakekafka.Config("group.initial.rebalance.delay.ms", "0")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := fakekafka.Start(t, append(opts, fakekafka.Topic("orders", 4))...)
			g := k.Group("billing")
			hold := k.On(fakekafka.JoinGroup).From("first").After(3).Hold() // it has asked for its id, joined, and joined again when the second came
			member := fakekafka.Member{ClientID: "first", Topics: []string{"orders"}, Assignors: []string{"cooperative-sticky"}}
			k.Join("billing", member)
			g.AwaitStable(t, 1)
			member.ClientID = "second"
			k.Join("billing", member)
			hold.Await(t)
			require.Equal(t, "Stable", g.State().State)
			require.ErrorIs(t, stableNow(k, "billing", 2), context.Canceled)

			hold.Release()
			g.AwaitStable(t, 2)
			g.RequireBalanced(t)
		})
	}
}
