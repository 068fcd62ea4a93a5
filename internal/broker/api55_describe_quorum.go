package broker

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// DescribeQuorum, key 55, versions 0-2 (KIP-595). v1: timestamps; v2: messages, directory ids, the voters' addresses (KIP-853).
// There is no quorum: the control loop decides. What is told is that of a cluster whose node 1 is its one controller.

func (r *request) describeQuorum() (answer, error) {
	req := r.body.(*kmsg.DescribeQuorumRequest)
	if len(req.Topics) != 1 || req.Topics[0].Topic != controllerTopic || len(req.Topics[0].Partitions) != 1 || req.Topics[0].Partitions[0].Partition != 0 {
		return noQuorum(req), nil
	}
	resp := req.ResponseKind().(*kmsg.DescribeQuorumResponse)
	resp.ErrorMessage = kmsg.StringPtr("") // not null
	m := r.cluster.meta.Load()
	now := r.cluster.clock.NowMillis()
	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	p.ErrorMessage = kmsg.StringPtr("")
	p.LeaderID, p.LeaderEpoch, p.HighWatermark = m.nodes[0].id, 1, m.version
	for i, n := range m.nodes {
		s := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
		s.ReplicaID, s.LogEndOffset, s.LastFetchTimestamp, s.LastCaughtUpTimestamp = n.id, m.version, now, now
		if i == 0 {
			p.CurrentVoters = append(p.CurrentVoters, s)
		} else {
			p.Observers = append(p.Observers, s)
		}
	}
	t := kmsg.NewDescribeQuorumResponseTopic()
	t.Topic = controllerTopic
	t.Partitions = append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	// The controller has no listener of its own; its broker's address is the nearest truth.
	node := kmsg.NewDescribeQuorumResponseNode()
	node.NodeID = m.nodes[0].id
	l := kmsg.NewDescribeQuorumResponseNodeListener()
	l.Name, l.Host, l.Port = controllerListener, r.brokerHost(m.nodes[0]), uint16(m.nodes[0].port)
	node.Listeners = append(node.Listeners, l)
	resp.Nodes = append(resp.Nodes, node)
	return resp, nil
}

// noQuorum refuses the partitions that a request asks for: none but the metadata log's has one.
func noQuorum(req *kmsg.DescribeQuorumRequest) *kmsg.DescribeQuorumResponse {
	resp := req.ResponseKind().(*kmsg.DescribeQuorumResponse)
	resp.ErrorMessage = kmsg.StringPtr("")
	text := wire.UnknownTopicOrPartition.String()
	for _, w := range req.Topics {
		t := kmsg.NewDescribeQuorumResponseTopic()
		t.Topic = w.Topic
		for _, wp := range w.Partitions {
			p := kmsg.NewDescribeQuorumResponseTopicPartition()
			p.Partition, p.ErrorCode, p.ErrorMessage = wp.Partition, int16(wire.UnknownTopicOrPartition), &text
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

const controllerListener = "CONTROLLER"

// AddRaftVoter, key 80, versions 0-1, and RemoveRaftVoter, key 81, version 0 (KIP-853): a quorum that was given at the start, as ours,
// can't be changed.

func (r *request) addRaftVoter() (answer, error) {
	req := r.body.(*kmsg.AddRaftVoterRequest)
	named := slices.ContainsFunc(req.Listeners, func(l kmsg.AddRaftVoterRequestListener) bool { return l.Name == controllerListener })
	switch {
	case req.ClusterID != nil && *req.ClusterID != r.cluster.id:
		return r.otherCluster(*req.ClusterID), nil
	case req.VoterID < 0:
		return errorWithText(req, wire.InvalidRequest, "Add voter request didn't include a valid voter"), nil
	case !named:
		return errorWithText(req, wire.InvalidRequest, "Add voter request didn't include the endpoint for the default listener "+controllerListener), nil
	}
	return errorWithText(req, wire.UnsupportedVersion, "Cluster doesn't support adding voter: its quorum is fixed"), nil
}

func (r *request) removeRaftVoter() (answer, error) {
	req := r.body.(*kmsg.RemoveRaftVoterRequest)
	switch {
	case req.ClusterID != nil && *req.ClusterID != r.cluster.id:
		return r.otherCluster(*req.ClusterID), nil
	case req.VoterID < 0:
		return errorWithText(req, wire.InvalidRequest, "Remove voter request didn't include a valid voter"), nil
	}
	return errorWithText(req, wire.UnsupportedVersion, "Cluster doesn't support removing voter: its quorum is fixed"), nil
}

func (r *request) otherCluster(id string) answer {
	return errorWithText(r.body, wire.InconsistentClusterID, fmt.Sprintf("The given id %q doesn't match the cluster id %q", id, r.cluster.id))
}
