package fakekafka_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fakekafka"
)

func TestIdle(t *testing.T) {
	k := startRaw(t)
	k.AwaitIdle(t)
	m := joinRaw(t, k, "billing", "worker-1")
	m.hold(k)
	dialRaw(t, k, "worker-1").send(fetchFrom(time.Minute, 0, 0, "orders", 0))
	k.Requests(fakekafka.Fetch).AwaitCount(t, 1)
	k.AwaitIdle(t)

	require.NoError(t, k.Topic("orders").Produce(fakekafka.V("a")))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, k.Idle(ctx), "group billing has a lag of 1: orders-0: 1 (nothing committed, end 1, owned by worker-1)")
	m.send(m.commit(1))
	k.AwaitIdle(t)

	hold := k.On(fakekafka.Produce).Hold()
	dialRaw(t, k, "producer").send(produceTo(t, "orders", 0))
	hold.Await(t)
	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, k.Idle(ctx), `Produce of client "producer" at broker 1 is in flight`)
	hold.Release()
}

// TestWhoIsAboutToJoinIsNotIdle: a worker that was just started has its member id and nothing else for a moment.
func TestWhoIsAboutToJoinIsNotIdle(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1), fakekafka.ManualClock(start))
	m := &rawMember{raw: dialRaw(t, k, "worker-1"), group: "billing"}
	m.ask(findGroup("billing"))
	idle := func(ctx context.Context) error { return k.Idle(ctx) }
	m.id = m.ask(m.join()).(*kmsg.JoinGroupResponse).MemberID
	const waits = `there was: group billing waits for worker-1 \([0-9a-f]{8}…\): a member id was given, and nobody has joined with it yet`
	require.Regexp(t, waits+`$`, unmet(t, idle))
	m.generation = m.ask(m.join()).(*kmsg.JoinGroupResponse).Generation
	m.ask(m.sync())
	k.AwaitIdle(t)

	other := &rawMember{raw: dialRaw(t, k, "worker-1"), group: "billing"}
	other.ask(other.join())
	require.Regexp(t, waits, unmet(t, idle), "beside a stable member")
	done := make(chan error)
	go func() { done <- k.Idle(t.Context()) }()
	require.NoError(t, k.Group("billing").Member("worker-1").Evict())
	require.NoError(t, k.FastForward(46*time.Second))
	require.NoError(t, <-done, "neither comes any more")
}
