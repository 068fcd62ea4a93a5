package fakekafka_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// Brokers whose group.coordinator.rebalance.protocols leaves KIP-848 out answer its requests UNSUPPORTED_VERSION: also one that doesn't coordinate the
// group, and before there is any coordinator.
func TestConsumerProtocolLeftOut(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1), fakekafka.Brokers(2), fakekafka.Config("group.coordinator.rebalance.protocols", "classic"))
	refused := func() {
		for _, addr := range k.Addrs() {
			r := dialBroker(t, k, "worker-1", addr)
			beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
			beat.Group, beat.MemberID, beat.RebalanceTimeoutMillis = "billing", "m1", 60000
			beat.SubscribedTopicNames, beat.Topics = []string{"orders"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
			resp := r.ask(versioned(beat, 1)).(*kmsg.ConsumerGroupHeartbeatResponse)
			require.Equal(t, fakekafka.UnsupportedVersion, fakekafka.ErrorCode(resp.ErrorCode))

			describe := kmsg.NewPtrConsumerGroupDescribeRequest()
			describe.Groups = []string{"billing", "refunds"}
			described := r.ask(versioned(describe, 1)).(*kmsg.ConsumerGroupDescribeResponse)
			require.Len(t, described.Groups, 2)
			for i, g := range described.Groups {
				require.Equal(t, describe.Groups[i], g.Group)
				require.Equal(t, fakekafka.UnsupportedVersion, fakekafka.ErrorCode(g.ErrorCode))
			}
		}
	}
	refused()
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKeys = []string{"billing"}
	found := dialRaw(t, k, "worker-1").ask(versioned(find, 4)).(*kmsg.FindCoordinatorResponse)
	require.Zero(t, found.Coordinators[0].ErrorCode)
	refused()
}
