package broker

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/config"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// ListConfigResources, key 74, versions 0-1 (KIP-714, KIP-1142).
//   v0 lists client metrics subscriptions only; v1 by types, none given: all.

func (r *request) listConfigResources() (answer, error) {
	req := r.body.(*kmsg.ListConfigResourcesRequest)
	types := []config.ResourceType{config.ClientMetricsResource}
	if r.version >= 1 {
		supported := []config.ResourceType{config.TopicResource, config.BrokerResource, config.BrokerLoggerResource, config.ClientMetricsResource, config.GroupResource}
		types = supported
		if len(req.ResourceTypes) > 0 {
			types = nil
		}
		for _, t := range req.ResourceTypes {
			if !slices.Contains(supported, config.ResourceType(t)) {
				return errorResponse(req, wire.UnsupportedVersion), nil
			}
			if !slices.Contains(types, config.ResourceType(t)) {
				types = append(types, config.ResourceType(t))
			}
		}
	}
	return onLoop(r.cluster, func() answer {
		resp := req.ResponseKind().(*kmsg.ListConfigResourcesResponse)
		for _, t := range types {
			for _, name := range r.cluster.configResources(t) {
				res := kmsg.NewListConfigResourcesResponseConfigResource()
				res.Name, res.Type = name, int8(t)
				resp.ConfigResources = append(resp.ConfigResources, res)
			}
		}
		return resp
	})
}

func (c *Cluster) configResources(t config.ResourceType) []string {
	m := c.meta.Load()
	switch t {
	case config.TopicResource:
		return m.names
	case config.BrokerResource, config.BrokerLoggerResource:
		var ids []string
		for _, n := range m.nodes { // the stopped ones are registered still
			ids = append(ids, strconv.Itoa(int(n.id)))
		}
		return ids
	case config.ClientMetricsResource:
		return c.config.ClientMetricsSubscriptions()
	case config.GroupResource:
		return c.config.GroupsWithConfigs()
	}
	return nil
}
