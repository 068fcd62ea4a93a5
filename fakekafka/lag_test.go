package fakekafka_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// No consumer is given a transaction's marker, and those that commit the offset after their last record never commit it.
func TestMarkersAreNoLag(t *testing.T) {
	k := startRaw(t)
	g := k.Group("billing")
	m := k.Join("billing", fakekafka.Member{Topics: []string{"orders"}})
	g.AwaitStable(t, 1)
	require.NoError(t, k.Topic("orders").Produce(fakekafka.V("a").On(0)))

	p := dialRaw(t, k, "producer")
	tx := p.transaction("tx")
	tx.add("orders", 0)
	tx.end(true)
	for k.Topic("orders").EndOffset(0) < 2 {
		p.ask(versioned(kmsg.NewPtrApiVersionsRequest(), 0)) // the marker is written after the answer
	}

	g.RequireLag(t, 2) // as Kafka's tools count
	require.Equal(t, fakekafka.NoError, m.Commit("orders", 0, 1))
	g.RequireLag(t, 0)
	k.AwaitIdle(t)
}

// A client that joins is first given a member id: that makes the group, and to wait for its lag may not end there, with everything still to read.
func TestAGroupThatNobodyHasJoinedYetLags(t *testing.T) {
	t.Parallel()
	k := startRaw(t)
	g := k.Group("billing")
	require.NoError(t, k.Topic("orders").Produce(fakekafka.V("a").On(0)))
	m := k.Join("billing", fakekafka.Member{Topics: []string{"orders"}, ByHand: true})
	require.Equal(t, fakekafka.MemberIDRequired, m.JoinGroup())
	require.NotEmpty(t, g.State().PendingMembers)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, n := range []int64{0, 5} {
		require.ErrorContains(t, g.LagAtMost(ctx, n), "there was, when the wait was canceled: a group without members and committed offsets")
	}
	require.Zero(t, g.Lag())

	require.Equal(t, fakekafka.NoError, m.JoinGroup())
	require.ErrorContains(t, g.LagAtMost(ctx, 0), "a lag of 1: orders-0: 1 (nothing committed, end 1)")
	require.Equal(t, fakekafka.NoError, m.Leave())
	require.ErrorContains(t, g.LagAtMost(ctx, 0), "a group without members and committed offsets")
}
