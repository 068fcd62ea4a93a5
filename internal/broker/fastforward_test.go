package broker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/memnet"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// A client that is closed just before time moves is gone, whether its connection's reader has come to it or not.
func TestFastForwardAfterClose(t *testing.T) {
	t.Parallel()
	instance := "i-1"
	network := memnet.New()
	for name, o := range map[string]Options{"socket": {}, "memory": {Network: network}} {
		t.Run(name, func(t *testing.T) {
			k := startCluster(t, o)
			for range 20 {
				dial := func() *rawClient {
					if o.Network == nil {
						return dialRaw(t, k)
					}
					nc, err := network.DialContext(t.Context(), k.Addrs()[0])
					require.NoError(t, err)
					return &rawClient{tb: t, node: 1, nc: nc}
				}
				cl := dial()
				find := kmsg.NewPtrFindCoordinatorRequest()
				find.CoordinatorKey = "g"
				cl.ask(find)
				join := kmsg.NewPtrConsumerGroupHeartbeatRequest()
				join.Version, join.Group, join.MemberID, join.InstanceID, join.RebalanceTimeoutMillis = 1, "g", "m", &instance, 1000
				join.Topics, join.SubscribedTopicNames = []kmsg.ConsumerGroupHeartbeatRequestTopic{}, []string{"orders"}
				require.Equal(t, int16(wire.None), cl.ask(join).(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
				require.NoError(t, cl.nc.Close())
				require.NoError(t, k.FastForward(46*time.Second, time.Second, nil))
				k.Look(func() {
					s, ok := k.GroupState("g")
					require.True(t, ok)
					require.Empty(t, s.Members)
				})
			}
		})
	}
}
