package fakekafka_test

import (
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
	find := versioned(kmsg.NewPtrFindCoordinatorRequest(), 3)
	find.CoordinatorKey, find.CoordinatorType = "tx", 1
	require.Zero(t, p.ask(find).(*kmsg.FindCoordinatorResponse).ErrorCode)
	begin := versioned(kmsg.NewPtrInitProducerIDRequest(), 4)
	begin.TransactionalID, begin.TransactionTimeoutMillis, begin.ProducerID, begin.ProducerEpoch = kmsg.StringPtr("tx"), 60_000, -1, -1
	id := p.ask(begin).(*kmsg.InitProducerIDResponse)
	require.Zero(t, id.ErrorCode)
	add := versioned(kmsg.NewPtrAddPartitionsToTxnRequest(), 3)
	add.TransactionalID, add.ProducerID, add.ProducerEpoch = "tx", id.ProducerID, id.ProducerEpoch
	topic := kmsg.NewAddPartitionsToTxnRequestTopic()
	topic.Topic, topic.Partitions = "orders", []int32{0}
	add.Topics = append(add.Topics, topic)
	p.ask(add)
	end := versioned(kmsg.NewPtrEndTxnRequest(), 3)
	end.TransactionalID, end.ProducerID, end.ProducerEpoch, end.Commit = "tx", id.ProducerID, id.ProducerEpoch, true
	require.Zero(t, p.ask(end).(*kmsg.EndTxnResponse).ErrorCode)
	for k.Topic("orders").EndOffset(0) < 2 {
		p.ask(versioned(kmsg.NewPtrApiVersionsRequest(), 0)) // the marker is written after the answer
	}

	g.RequireLag(t, 2) // as Kafka's tools count
	require.Equal(t, fakekafka.NoError, m.Commit("orders", 0, 1))
	g.RequireLag(t, 0)
	k.AwaitIdle(t)
}
