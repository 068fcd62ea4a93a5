package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// Metadata, key 3, versions 0-13.
//   v1: null asks for all topics, empty for none; v4: AllowAutoTopicCreation; v8: authorized operations;
//   v10: topic ids in the answer; v12: topics may be asked for by id; v13: top-level error.

const (
	noOperations      = -1 << 31 // not asked for
	topicOperations   = 3576     // what ANONYMOUS may do without an authorizer
	clusterOperations = 8096
)

func (r *request) metadata() (answer, error) {
	req := r.body.(*kmsg.MetadataRequest)
	m := r.cluster.meta.Load()
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	if code := checkMetadataRequest(req); code != wire.None {
		return metadataError(req, code), nil
	}
	r.describeBrokers(m, resp)
	resp.ClusterID = &r.cluster.id
	resp.AuthorizedOperations = noOperations
	if req.IncludeClusterAuthorizedOperations {
		resp.AuthorizedOperations = clusterOperations
	}
	if req.Topics == nil || r.version == 0 && len(req.Topics) == 0 {
		r.cluster.strays.add(r.client, allTopics)
		for _, name := range m.names {
			resp.Topics = append(resp.Topics, r.describeTopic(m, req, m.topics[name]))
		}
		return resp, nil
	}
	var create []string
	if slices.ContainsFunc(req.Topics, func(t kmsg.MetadataRequestTopic) bool { return t.TopicID != [16]byte{} }) {
		r.metadataByID(m, req, resp)
		return resp, nil
	}
	seen := map[string]bool{}
	for _, t := range req.Topics {
		name := *t.Topic
		if seen[name] {
			continue
		}
		seen[name] = true
		if code := r.failedTopic(name, [16]byte{}); code != wire.None {
			resp.Topics = append(resp.Topics, unknownTopic(&name, [16]byte{}, code))
			continue
		}
		if known := m.topics[name]; known != nil {
			resp.Topics = append(resp.Topics, r.describeTopic(m, req, known))
			continue
		}
		code := wire.UnknownTopicOrPartition
		if validateTopicName(name) != nil {
			code = wire.InvalidTopicException
		} else if r.autoCreates(req) {
			create = append(create, name)
		} else {
			r.cluster.strays.add(r.client, name)
		}
		t := unknownTopic(&name, [16]byte{}, code)
		t.IsInternal = isInternal(name)
		if req.IncludeTopicAuthorizedOperations {
			t.AuthorizedOperations = topicOperations
		}
		resp.Topics = append(resp.Topics, t)
	}
	if len(create) > 0 {
		// Kafka answers before the topics exist, and so do we: clients are built for that.
		r.cluster.loop.post(func() { r.cluster.autoCreate(r.client, create) })
	}
	return resp, nil
}

// checkMetadataRequest finds what a version doesn't allow: asking by id before v12, and asking for neither a name nor an id.
func checkMetadataRequest(req *kmsg.MetadataRequest) wire.Code {
	nameless, byID := false, false
	for _, t := range req.Topics {
		byID = byID || t.TopicID != [16]byte{}
		nameless = nameless || t.Topic == nil
	}
	switch {
	case req.Version < 12 && (byID || nameless):
		return wire.InvalidRequest
	case nameless && !byID:
		return wire.UnknownServerError // Kafka stumbles over it
	}
	return wire.None
}

func (r *request) autoCreates(req *kmsg.MetadataRequest) bool {
	return (r.version < 4 || req.AllowAutoTopicCreation) && r.cluster.settings(r.node.id).Bool("auto.create.topics.enable")
}

func (r *request) metadataByID(m *metadata, req *kmsg.MetadataRequest, resp *kmsg.MetadataResponse) {
	seen := map[[16]byte]bool{}
	for _, t := range req.Topics {
		if t.TopicID == ([16]byte{}) || seen[t.TopicID] {
			continue // once one topic is asked for by id, names are not looked at
		}
		seen[t.TopicID] = true
		if code := r.failedTopic("", t.TopicID); code != wire.None {
			resp.Topics = append(resp.Topics, unknownTopic(nil, t.TopicID, code))
		} else if known := m.ids[t.TopicID]; known != nil {
			resp.Topics = append(resp.Topics, r.describeTopic(m, req, known))
		} else {
			resp.Topics = append(resp.Topics, unknownTopic(nil, t.TopicID, wire.UnknownTopicID))
		}
	}
}

func (r *request) describeBrokers(m *metadata, resp *kmsg.MetadataResponse) {
	for _, n := range m.nodes {
		if !n.alive {
			continue
		}
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Host, b.Port, b.Rack = n.id, r.brokerHost(n), n.port, rackPtr(n.rack)
		resp.Brokers = append(resp.Brokers, b)
	}
	resp.ControllerID = r.cluster.controller(m)
}

// controller is the broker that clients shall send controller requests to. Any will do: Kafka answers a random one.
func (c *Cluster) controller(m *metadata) int32 {
	if alive := m.alive(); len(alive) > 0 {
		return alive[0]
	}
	return -1
}

func rackPtr(rack string) *string {
	if rack == "" {
		return nil
	}
	return &rack
}

func unknownTopic(name *string, id [16]byte, code wire.Code) kmsg.MetadataResponseTopic {
	t := kmsg.NewMetadataResponseTopic()
	t.ErrorCode, t.Topic, t.TopicID = int16(code), name, id
	t.AuthorizedOperations = noOperations
	return t
}

func (r *request) describeTopic(m *metadata, req *kmsg.MetadataRequest, known *topic) kmsg.MetadataResponseTopic {
	t := kmsg.NewMetadataResponseTopic()
	t.Topic, t.TopicID, t.IsInternal = &known.name, known.id, known.internal
	t.AuthorizedOperations = noOperations
	if req.IncludeTopicAuthorizedOperations {
		t.AuthorizedOperations = topicOperations
	}
	t.Partitions = make([]kmsg.MetadataResponseTopicPartition, len(known.partitions))
	for i, p := range known.partitions {
		s := p.state.Load()
		out := &t.Partitions[i]
		*out = kmsg.NewMetadataResponseTopicPartition()
		out.Partition, out.Leader, out.LeaderEpoch = p.index, s.leader, s.epoch
		out.Replicas, out.ISR, out.OfflineReplicas = s.replicas, s.isr, s.offline
		if s.leader < 0 {
			out.ErrorCode = int16(wire.LeaderNotAvailable)
		}
		if code := r.failedPartition(known.name, known.id, p.index); code != wire.None {
			out.ErrorCode, out.Leader = int16(code), leaderWith(code, s.leader)
		}
		if r.version == 0 && len(s.offline) > 0 { // v0 knows no offline replicas: it leaves them out and says so
			out.Replicas = without(s.replicas, s.offline)
			if out.ErrorCode == 0 {
				out.ErrorCode = int16(wire.ReplicaNotAvailable)
			}
		}
	}
	return t
}

// leaderWith is the leader that stands beside an error of a partition that the test wants: where the error is that it can't be told, none.
func leaderWith(code wire.Code, leader int32) int32 {
	if code == wire.ReplicaNotAvailable {
		return leader
	}
	return -1
}

func metadataError(req *kmsg.MetadataRequest, code wire.Code) *kmsg.MetadataResponse {
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	resp.AuthorizedOperations = noOperations
	resp.ControllerID = -1
	resp.ErrorCode = int16(code)
	for _, t := range req.Topics {
		name := t.Topic
		if name == nil {
			name = kmsg.StringPtr("")
		}
		resp.Topics = append(resp.Topics, unknownTopic(name, t.TopicID, code))
	}
	return resp
}

// autoCreate makes topics that a Metadata request named, with the broker's defaults. One that can't be created is left out: the
// client goes on hearing that it is unknown. On the loop.
func (c *Cluster) autoCreate(client string, names []string) {
	m := c.meta.Load()
	var plans []*topicPlan
	for _, name := range names {
		if isInternal(name) {
			c.createInternal(name)
			continue
		}
		p, err := c.planTopic(m, wantedTopic{name: name, partitions: -1, replicas: -1})
		if err == nil {
			plans = append(plans, p)
			c.created.add(client, name)
		} else if err.code != wire.TopicAlreadyExists { // created since the client asked
			c.log.Warn("a topic can't be created automatically", "topic", name, "reason", err.text)
		}
	}
	if len(plans) > 0 {
		c.createTopics(plans)
	}
}
