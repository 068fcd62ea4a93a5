package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
)

// OffsetForLeaderEpoch, v2-4 (KIP-320): where an epoch ends in the leader's log.

func (r *request) offsetForLeaderEpoch() (answer, error) {
	req := r.body.(*kmsg.OffsetForLeaderEpochRequest)
	resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic = t.Topic
		for j := range t.Partitions {
			p := &t.Partitions[j]
			rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			rp.Partition, rp.LeaderEpoch, rp.EndOffset = p.Partition, -1, -1
			part, code := r.replica(t.Topic, p.Partition, p.CurrentLeaderEpoch, true)
			if code == wire.None {
				code = part.look(func(l *partitionlog.Log) wire.Code {
					end := l.OffsetForLeaderEpoch(p.LeaderEpoch)
					rp.LeaderEpoch, rp.EndOffset = end.Epoch, end.EndOffset
					return wire.None
				})
			}
			rp.ErrorCode = int16(code)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp, nil
}
