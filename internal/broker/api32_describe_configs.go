package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/config"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// DescribeConfigs, key 32, versions 1-4.
//   v1: synonyms (KIP-226); v3: types and documentation (KIP-569); v4: flexible.
// The documentation of a setting is a text of ours: Kafka's are not ours to hand out.

func (r *request) describeConfigs() (answer, error) {
	req := r.body.(*kmsg.DescribeConfigsRequest)
	for _, res := range req.Resources {
		switch config.ResourceType(res.ResourceType) {
		case config.TopicResource, config.BrokerResource, config.BrokerLoggerResource, config.ClientMetricsResource, config.GroupResource:
		default: // the whole request fails, not just this resource
			return errorWithText(req, wire.InvalidRequest, "Unexpected resource type "+res.ResourceType.String()), nil
		}
	}
	return onLoop(r.cluster, func() answer {
		resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
		for _, res := range req.Resources {
			resp.Resources = append(resp.Resources, r.cluster.describeResource(r.node.id, req, res))
		}
		return resp
	})
}

// topicExists tells what topics there are, to package config.
func (c *Cluster) topicExists(name string) bool { return c.meta.Load().topics[name] != nil }

func (c *Cluster) describeResource(node int32, req *kmsg.DescribeConfigsRequest, res kmsg.DescribeConfigsRequestResource) kmsg.DescribeConfigsResponseResource {
	out := kmsg.NewDescribeConfigsResponseResource()
	out.ResourceType, out.ResourceName = res.ResourceType, res.ResourceName
	entries, err := c.config.Describe(node, config.ResourceType(res.ResourceType), res.ResourceName, res.ConfigNames, c.topicExists)
	if err != nil {
		out.ErrorCode, out.ErrorMessage = int16(err.Code), &err.Message
		return out
	}
	out.ErrorMessage = kmsg.StringPtr("")
	out.Configs = make([]kmsg.DescribeConfigsResponseResourceConfig, len(entries))
	for i, e := range entries {
		o := kmsg.NewDescribeConfigsResponseResourceConfig()
		o.Name, o.Value, o.ReadOnly, o.IsSensitive = e.Name, e.Value, e.ReadOnly, e.Sensitive
		o.Source, o.ConfigType = kmsg.ConfigSource(e.Source), kmsg.ConfigType(e.Type)
		if res.ResourceType == kmsg.ConfigResourceTypeBrokerLogger {
			o.Documentation = kmsg.StringPtr("") // the default of the field, asked for or not
		} else if req.IncludeDocumentation {
			o.Documentation = e.Documentation()
		}
		if req.IncludeSynonyms {
			for _, s := range e.Synonyms {
				syn := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
				syn.Name, syn.Value, syn.Source = s.Name, s.Value, kmsg.ConfigSource(s.Source)
				o.ConfigSynonyms = append(o.ConfigSynonyms, syn)
			}
		}
		out.Configs[i] = o
	}
	return out
}
