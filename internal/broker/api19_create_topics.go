package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/config"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// CreateTopics, key 19, versions 2-7.
//   v5: flexible; partition count, replication factor and effective configs in the answer (KIP-525); v6: quota errors (KIP-599); v7: topic ids.

// maxPartitionsPerRequest bounds what one request may create.
const maxPartitionsPerRequest = 10_000

// maxBatchRecords bounds what the controller writes to its log for one request: a record for each topic, each setting and each partition.
const maxBatchRecords = 10_000

func (r *request) createTopics() (answer, error) {
	req := r.body.(*kmsg.CreateTopicsRequest)
	return onLoop(r.cluster, func() answer { return r.cluster.createWanted(r, req) })
}

// createWanted checks the topics of a request, each for itself, and creates those that are right. On the loop.
func (c *Cluster) createWanted(r *request, req *kmsg.CreateTopicsRequest) answer {
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	times := map[string]int{}
	for _, t := range req.Topics {
		times[t.Topic]++
	}
	forController := func(t kmsg.CreateTopicsRequestTopic) bool {
		return times[t.Topic] == 1 && t.Topic != controllerTopic
	}
	if outOfTime(req.TimeoutMillis) && slices.ContainsFunc(req.Topics, forController) {
		return errorResponse(req, wire.RequestTimedOut)
	}
	if c.countWanted(req, times) > maxPartitionsPerRequest {
		return errorWithText(req, wire.PolicyViolation, "Excessively large number of partitions per request.")
	}
	m := c.meta.Load()
	quota := r.mutations(6)
	var plans []*topicPlan
	records := 0
	var refused, prohibited []kmsg.CreateTopicsResponseTopic // they follow the others
	for _, t := range req.Topics {
		switch n := times[t.Topic]; {
		case n < 0:
			continue
		case n > 1:
			refused = append(refused, createError(t.Topic, refuse(wire.InvalidRequest, "Duplicate topic name.")))
			times[t.Topic] = -1 // answered once
			continue
		case t.Topic == controllerTopic:
			prohibited = append(prohibited, createError(t.Topic, errControllerTopic))
			continue
		}
		w := wantedTopic{name: t.Topic, partitions: t.NumPartitions, replicas: t.ReplicationFactor, assignments: t.ReplicaAssignment}
		for _, s := range t.Configs {
			w.configs = append(w.configs, config.Setting{Name: s.Name, Value: s.Value})
		}
		p, err := c.planTopic(m, w)
		if err == nil {
			err = quota.take(len(p.assignments)) // also with validate_only
		}
		if err != nil {
			resp.Topics = append(resp.Topics, createError(t.Topic, err))
			continue
		}
		if records += p.records(); records > maxBatchRecords {
			return errorWithText(req, wire.PolicyViolation, "Unable to perform excessively large batch operation.")
		}
		plans = append(plans, p)
		resp.Topics = append(resp.Topics, c.createdTopic(r, p))
	}
	resp.Topics = slices.Concat(resp.Topics, refused, prohibited)
	if len(plans) > 0 && !req.ValidateOnly {
		c.createTopics(plans)
	}
	quota.end(resp)
	return resp
}

// records is how many the controller would write for the topic.
func (p *topicPlan) records() int {
	settings := map[string]bool{}
	for _, s := range p.configs {
		settings[s.Name] = true
	}
	return 1 + len(settings) + len(p.assignments)
}

// countWanted adds up the partitions that a request asks for, those of names that the controller doesn't get to see not.
func (c *Cluster) countWanted(req *kmsg.CreateTopicsRequest, times map[string]int) (sum int64) {
	for _, t := range req.Topics {
		switch {
		case times[t.Topic] > 1 || t.Topic == controllerTopic:
		case len(t.ReplicaAssignment) > 0:
			sum += int64(len(t.ReplicaAssignment))
		case t.NumPartitions <= 0: // 0 and the like are refused later; until then they count like -1
			sum += c.settings(c.nodes[0].id).Int64("num.partitions")
		default:
			sum += int64(t.NumPartitions)
		}
	}
	return sum
}

func createError(name string, err *topicError) kmsg.CreateTopicsResponseTopic {
	t := kmsg.NewCreateTopicsResponseTopic()
	t.Topic, t.ErrorCode, t.ErrorMessage = name, int16(err.code), message(err.text)
	t.NumPartitions, t.ReplicationFactor, t.Configs = -1, -1, []kmsg.CreateTopicsResponseTopicConfig{}
	return t
}

func (c *Cluster) createdTopic(r *request, p *topicPlan) kmsg.CreateTopicsResponseTopic {
	t := kmsg.NewCreateTopicsResponseTopic()
	t.Topic, t.TopicID = p.name, p.id
	t.NumPartitions, t.ReplicationFactor = int32(len(p.assignments)), int16(len(p.assignments[0]))
	if r.version < 5 {
		return t
	}
	for _, e := range c.config.NewTopicEntries(r.node.id, p.configs) {
		o := kmsg.NewCreateTopicsResponseTopicConfig()
		o.Name, o.Value, o.ReadOnly, o.Source, o.IsSensitive = e.Name, e.Value, e.ReadOnly, int8(e.Source), e.Sensitive
		t.Configs = append(t.Configs, o)
	}
	return t
}
