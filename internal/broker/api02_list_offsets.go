package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
)

// ListOffsets, v1-11. v2 isolation, v4 leader epochs, v7 max timestamp, v8 earliest local, v9 latest tiered, v10 timeout (there is
// nothing to wait for without tiered storage), v11 earliest pending upload.

// debuggingReplica may read from any replica.
const debuggingReplica = -2

func (r *request) listOffsets() (answer, error) {
	req := r.body.(*kmsg.ListOffsetsRequest)
	if !validIsolation(req.IsolationLevel) {
		return errorForm(r, wire.UnknownServerError), nil
	}
	times := map[topicPartition]int{} // how often the request names each
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			times[topicPartition{req.Topics[i].Topic, req.Topics[i].Partitions[j].Partition}]++
		}
	}
	scratch := r.cluster.codecs.Get().(*partitionlog.Codecs)
	defer r.cluster.codecs.Put(scratch)
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	var named mentions
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			at, _, first := named.place(t.Topic, p.Partition)
			if !first {
				continue
			}
			if at == len(resp.Topics) {
				resp.Topics = append(resp.Topics, kmsg.NewListOffsetsResponseTopic())
				resp.Topics[at].Topic = t.Topic
			}
			found := partitionlog.OffsetResult{Timestamp: -1, Offset: -1, LeaderEpoch: -1}
			switch {
			case times[topicPartition{t.Topic, p.Partition}] > 1:
				found.Code = int16(wire.InvalidRequest)
			case !partitionlog.ListOffsetsAllows(p.Timestamp, r.version):
				found.Code = int16(wire.UnsupportedVersion)
			default:
				found = r.listOffset(req, t.Topic, p, scratch)
			}
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, found.Code
			rp.Timestamp, rp.Offset, rp.LeaderEpoch = found.Timestamp, found.Offset, found.LeaderEpoch
			resp.Topics[at].Partitions = append(resp.Topics[at].Partitions, rp)
		}
	}
	return resp, nil
}

func (r *request) listOffset(req *kmsg.ListOffsetsRequest, topic string, p *kmsg.ListOffsetsRequestTopicPartition, scratch *partitionlog.Codecs) partitionlog.OffsetResult {
	part, code := r.replica(topic, p.Partition, p.CurrentLeaderEpoch, req.ReplicaID != debuggingReplica)
	var found partitionlog.OffsetResult
	if code == wire.None {
		code = part.look(func(l *partitionlog.Log) wire.Code {
			found = l.ListOffsets(p.Timestamp, partitionlog.ListOptions{
				ReadCommitted: req.IsolationLevel == 1, Follower: req.ReplicaID != -1, CurrentLeaderEpoch: -1, Codecs: scratch,
			})
			return wire.None
		})
	}
	if code != wire.None {
		return partitionlog.OffsetResult{Code: int16(code), Timestamp: -1, Offset: -1, LeaderEpoch: -1}
	}
	if found.Code == partitionlog.CodeOffsetNotAvailable && r.version < 5 { // which doesn't know that code
		found.Code = int16(wire.LeaderNotAvailable)
	}
	return found
}

type topicPartition struct {
	topic     string
	partition int32
}

// replica finds a partition of a request by name, with Kafka's checks in order: unknown 3, not on this node 6, the request's idea of
// the leader epoch 74 or 75, and (where only the leader may answer) not the leader 6.
func (r *request) replica(topic string, index, currentLeaderEpoch int32, onlyLeader bool) (*partition, wire.Code) {
	p := r.cluster.meta.Load().partition(topic, index)
	if p == nil {
		return nil, wire.UnknownTopicOrPartition
	}
	s := p.state.Load()
	if !s.hosted(r.node.id) {
		return nil, wire.NotLeaderOrFollower
	}
	if currentLeaderEpoch != -1 { // any other number is compared, unlike in a Fetch
		if code := s.checkLeaderEpoch(currentLeaderEpoch); code != wire.None {
			return nil, code
		}
	}
	if onlyLeader && s.leader != r.node.id {
		return nil, wire.NotLeaderOrFollower
	}
	return p, wire.None
}
