package broker

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// TestTransactionsWithTooFewInSync: with one of three replicas of __transaction_state left, below its min.insync.replicas of 2, Apache Kafka 4.3.1
// answers COORDINATOR_NOT_AVAILABLE to what would be written, after its other checks, and goes on where it was when enough are back.
func TestTransactionsWithTooFewInSync(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Brokers: 3, Topics: []TopicSpec{{Name: "t", Partitions: 1, ReplicationFactor: 3}}})
	coordinator := func() *rawClient {
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.Version, find.CoordinatorKey, find.CoordinatorType = 3, "x", 1
		found := dialRunning(t, c).ask(find).(*kmsg.FindCoordinatorResponse)
		require.Zero(t, found.ErrorCode)
		return dialNode(t, c, found.NodeID)
	}
	begin := func(id string) *kmsg.InitProducerIDResponse {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version, req.TransactionalID, req.TransactionTimeoutMillis = 4, &id, 60_000
		return coordinator().ask(req).(*kmsg.InitProducerIDResponse)
	}
	p := begin("x")
	require.Zero(t, p.ErrorCode)
	add := func(epoch int16) wire.Code {
		req := kmsg.NewPtrAddPartitionsToTxnRequest()
		req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 3, "x", p.ProducerID, epoch
		req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: "t", Partitions: []int32{0}}}
		return wire.Code(coordinator().ask(req).(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0].ErrorCode)
	}
	end := func() wire.Code {
		req := kmsg.NewPtrEndTxnRequest()
		req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = 3, "x", p.ProducerID, p.ProducerEpoch, true
		return wire.Code(coordinator().ask(req).(*kmsg.EndTxnResponse).ErrorCode)
	}
	require.NoError(t, c.StopBroker(1, true))
	require.NoError(t, c.StopBroker(3, true))
	require.Equal(t, wire.CoordinatorNotAvailable, add(p.ProducerEpoch))
	require.Equal(t, wire.ProducerFenced, add(p.ProducerEpoch+1))
	require.EqualValues(t, wire.CoordinatorNotAvailable, begin("x").ErrorCode)

	require.NoError(t, c.StartBroker(1))
	require.Equal(t, wire.None, add(p.ProducerEpoch))
	require.NoError(t, c.StopBroker(1, true))
	require.Equal(t, wire.CoordinatorNotAvailable, end())
	require.NoError(t, c.StartBroker(3))
	require.Equal(t, wire.None, end())
}
