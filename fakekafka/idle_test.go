package fakekafka_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	require.ErrorContains(t, k.Idle(ctx), "group billing has a lag of 1: orders-0: 1 (nothing committed, end 1)")
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
