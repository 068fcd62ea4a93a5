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
