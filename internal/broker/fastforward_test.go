package broker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/groups"
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

// Time that is moved far doesn't stop for the clean-up of each of the 50 coordinators: those without groups have nothing to do. The one that has a group finds on its
// way, at its time, that the offsets' retention is over.
func TestFastForwardPassesIdleCleanUp(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}})
	cl := dialNode(t, c, coordinatorOf(t, c, "g"))
	require.Equal(t, wire.None, simpleCommit(t, cl, "g", 6))
	steps := 0
	require.NoError(t, c.FastForward(10*24*time.Hour, time.Second, func() { steps++ }))
	require.Less(t, steps, 10*24*60/5*4, "as many as there are for the group and the logs")
	state, ok := c.GroupState("g")
	require.False(t, ok, "%v", state)
	for _, e := range c.History("g") {
		if e.Kind == groups.EventOffsetsExpired {
			require.Less(t, e.At.Sub(c.StartedAt()), 7*24*time.Hour+11*time.Minute)
			return
		}
	}
	t.Fatal("no offset has expired")
}
