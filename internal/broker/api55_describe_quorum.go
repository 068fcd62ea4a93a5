package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// DescribeQuorum, key 55, versions 0-2 (KIP-595). v1: timestamps; v2: messages, directory ids, the voters' addresses (KIP-853).
// There is no quorum: the control loop decides. What is told is that of a cluster whose node 1 is its one controller.

func (r *request) describeQuorum() (answer, error) {
	req := r.body.(*kmsg.DescribeQuorumRequest)
	resp := req.ResponseKind().(*kmsg.DescribeQuorumResponse)
	if len(req.Topics) != 1 || req.Topics[0].Topic != "__cluster_metadata" || len(req.Topics[0].Partitions) != 1 || req.Topics[0].Partitions[0].Partition != 0 {
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
		return resp, nil
	}
	m := r.cluster.meta.Load()
	now := r.cluster.clock.NowMillis()
	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	p.LeaderID, p.LeaderEpoch, p.HighWatermark = r.cluster.nodes[0].id, 1, m.version
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
	t.Topic = "__cluster_metadata"
	t.Partitions = append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	return resp, nil
}

// AddRaftVoter, key 80, versions 0-1, and RemoveRaftVoter, key 81, version 0 (KIP-853): the quorum can't be changed.
func (r *request) fixedQuorum() (answer, error) {
	return errorWithText(r.body, wire.UnsupportedVersion, "The quorum of this cluster can't be changed."), nil
}
