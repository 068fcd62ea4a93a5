package broker

import (
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// Clusters that set nothing share their settings and what is made of them; what one of them alters, while others start and are asked, is its own.
func TestWhatAClusterAltersIsItsOwn(t *testing.T) {
	t.Parallel()
	topics := []TopicSpec{{Name: "orders", Partitions: 1}}
	alter := func(raw *rawClient, kind kmsg.ConfigResourceType, name, setting, value string) {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		res := kmsg.NewIncrementalAlterConfigsRequestResource()
		res.ResourceType, res.ResourceName = kind, name
		res.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: setting, Value: &value}}
		req.Resources = append(req.Resources, res)
		got := raw.ask(req).(*kmsg.IncrementalAlterConfigsResponse).Resources[0]
		require.Equal(t, wire.None, wire.Code(got.ErrorCode), "%s: %v", setting, got.ErrorMessage)
	}
	inForce := func(c *Cluster) []any {
		var topic any
		c.Look(func() { topic = *c.meta.Load().topics["orders"].configs })
		d := *c.derived(1)
		d.groups.GroupConfig = nil
		return []any{d, topic, c.settings(1).Int("num.partitions")}
	}
	witness := startCluster(t, Options{Topics: topics})
	before := inForce(witness)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			c := startCluster(t, Options{Topics: topics})
			raw := dialRaw(t, c)
			n := 100 + i
			alter(raw, kmsg.ConfigResourceTypeBroker, "", "producer.id.expiration.ms", strconv.Itoa(n))
			alter(raw, kmsg.ConfigResourceTypeBroker, "1", "max.connections", strconv.Itoa(n))
			alter(raw, kmsg.ConfigResourceTypeBroker, "", "log.retention.ms", strconv.Itoa(n))
			alter(raw, kmsg.ConfigResourceTypeTopic, "orders", "max.message.bytes", strconv.Itoa(n))
			if d := c.derived(1); d.log.ProducerIDExpirationMs != int64(n) || d.maxConnections != n {
				t.Errorf("cluster %d has %+v", i, d)
			}
			c.Look(func() {
				if got := c.meta.Load().topics["orders"].configs; got.RetentionMs != int64(n) || int(got.MaxMessageBytes) != n {
					t.Errorf("cluster %d: %+v", i, got)
				}
			})
		})
	}
	all.Wait()
	require.Equal(t, before, inForce(witness))
	require.Equal(t, before, inForce(startCluster(t, Options{Topics: topics})), "of one started afterwards")
}
