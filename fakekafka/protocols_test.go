package fakekafka_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// A broker whose group.coordinator.rebalance.protocols leaves KIP-848 out answers its requests UNSUPPORTED_VERSION.
func TestConsumerProtocolLeftOut(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1), fakekafka.Config("group.coordinator.rebalance.protocols", "classic"))
	r := dialRaw(t, k, "worker-1")
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKeys = []string{"billing"}
	found := r.ask(versioned(find, 4)).(*kmsg.FindCoordinatorResponse)
	require.Zero(t, found.Coordinators[0].ErrorCode)

	beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	beat.Group, beat.MemberID, beat.RebalanceTimeoutMillis = "billing", "m1", 60000
	beat.SubscribedTopicNames, beat.Topics = []string{"orders"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	resp := r.ask(versioned(beat, 1)).(*kmsg.ConsumerGroupHeartbeatResponse)
	require.Equal(t, fakekafka.UnsupportedVersion, fakekafka.ErrorCode(resp.ErrorCode))

	describe := kmsg.NewPtrConsumerGroupDescribeRequest()
	describe.Groups = []string{"billing"}
	described := r.ask(versioned(describe, 1)).(*kmsg.ConsumerGroupDescribeResponse)
	require.Equal(t, fakekafka.UnsupportedVersion, fakekafka.ErrorCode(described.Groups[0].ErrorCode))
}
