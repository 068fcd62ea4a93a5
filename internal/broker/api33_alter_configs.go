package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/config"
)

// AlterConfigs, key 33, versions 0-2, and IncrementalAlterConfigs, key 44, versions 0-1 (KIP-339): the rules are in package config.
//   33 v2, 44 v1: flexible.

func (r *request) alterConfigs() (answer, error) {
	req := r.body.(*kmsg.AlterConfigsRequest)
	wanted := make([]config.Alteration, len(req.Resources))
	for i, res := range req.Resources {
		wanted[i] = config.Alteration{Type: config.ResourceType(res.ResourceType), Name: res.ResourceName}
		for _, s := range res.Configs {
			wanted[i].Settings = append(wanted[i].Settings, config.AlterSetting{Name: s.Name, Value: s.Value})
		}
	}
	return onLoop(r.cluster, func() answer {
		resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
		results := r.cluster.config.Alter(r.node.id, wanted, r.cluster.topicExists, req.ValidateOnly)
		for _, res := range results {
			out := kmsg.NewAlterConfigsResponseResource()
			out.ResourceType, out.ResourceName = kmsg.ConfigResourceType(res.Type), res.Name
			if res.Err != nil {
				out.ErrorCode, out.ErrorMessage = int16(res.Err.Code), message(res.Err.Message)
			}
			resp.Resources = append(resp.Resources, out)
		}
		if !req.ValidateOnly {
			r.cluster.configsAltered(r.node.id, results)
		}
		return resp
	})
}

func (r *request) incrementalAlterConfigs() (answer, error) {
	req := r.body.(*kmsg.IncrementalAlterConfigsRequest)
	wanted := make([]config.Alteration, len(req.Resources))
	for i, res := range req.Resources {
		wanted[i] = config.Alteration{Type: config.ResourceType(res.ResourceType), Name: res.ResourceName}
		for _, s := range res.Configs {
			wanted[i].Settings = append(wanted[i].Settings, config.AlterSetting{Name: s.Name, Op: config.Op(s.Op), Value: s.Value})
		}
	}
	return onLoop(r.cluster, func() answer {
		resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
		results := r.cluster.config.IncrementalAlter(r.node.id, wanted, r.cluster.topicExists, req.ValidateOnly)
		for _, res := range results {
			out := kmsg.NewIncrementalAlterConfigsResponseResource()
			out.ResourceType, out.ResourceName = kmsg.ConfigResourceType(res.Type), res.Name
			if res.Err != nil {
				out.ErrorCode, out.ErrorMessage = int16(res.Err.Code), message(res.Err.Message)
			}
			resp.Resources = append(resp.Resources, out)
		}
		if !req.ValidateOnly {
			r.cluster.configsAltered(r.node.id, results)
		}
		return resp
	})
}

// configsAltered puts altered configs into force: at once, where Kafka's brokers learn of them some milliseconds later. On the loop.
func (c *Cluster) configsAltered(node int32, results []config.Result) {
	var topics []string
	brokers, groups := false, false
	for _, res := range results {
		if res.Err != nil {
			continue
		}
		switch res.Type {
		case config.TopicResource:
			topics = append(topics, res.Name)
		case config.BrokerResource:
			brokers = true
		case config.GroupResource:
			groups = true
		case config.ClientMetricsResource:
			c.subscriptionsAltered(node)
		}
	}
	switch {
	case brokers: // the topics' defaults are among the brokers' settings
		c.refreshSettings()
		topics = c.meta.Load().names
	case groups:
		c.groups.configChanged()
	}
	if len(topics) > 0 {
		c.topicConfigsChanged(topics)
	}
}
