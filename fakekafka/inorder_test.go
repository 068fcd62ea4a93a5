package fakekafka_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// Partition by partition: a record that comes later on an earlier partition stands before what is there.
func TestInOrderWaitsForEarlierPartitions(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
	orders := k.Topic("orders")
	require.NoError(t, orders.Produce(fakekafka.V("b").On(1)))
	go func() { _ = orders.Produce(fakekafka.V("a").On(0)) }()
	orders.AwaitRecords(t, fakekafka.InOrder(fakekafka.V("a"), fakekafka.V("b")))
}

func TestInOrderGivesUpAtOnceOnTheFirstPartition(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
	orders := k.Topic("orders")
	require.NoError(t, orders.Produce(fakekafka.V("x").On(0), fakekafka.V("b").On(1)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.ErrorContains(t, orders.Has(ctx, fakekafka.InOrder(fakekafka.V("a"), fakekafka.V("b"))), `- null="a"`)
	require.NoError(t, ctx.Err())
}

func TestPerKeyGivesUpAtOnceOnTheFirstPartition(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
	orders := k.Topic("orders")
	require.NoError(t, orders.Produce(fakekafka.KV("ada", "1").On(0), fakekafka.KV("ada", "3").On(0), fakekafka.KV("bob", "2").On(1)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.ErrorContains(t, orders.Has(ctx, fakekafka.PerKey(fakekafka.KV("ada", "1"), fakekafka.KV("ada", "2"))), `- "ada"="2"   (missing)`)
	require.NoError(t, ctx.Err())

	go func() { _ = orders.Produce(fakekafka.KV("bob", "1").On(0)) }()
	orders.AwaitRecords(t, fakekafka.PerKey(fakekafka.KV("bob", "1"), fakekafka.KV("bob", "2"))) // on an earlier partition it comes before
}
