package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
)

// DeleteRecords, v0-2. The low watermark is the smallest log start over the replicas, which share one log here, so there is
// nothing to wait for.

func (r *request) deleteRecords() (answer, error) {
	req := r.body.(*kmsg.DeleteRecordsRequest)
	resp := req.ResponseKind().(*kmsg.DeleteRecordsResponse)
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewDeleteRecordsResponseTopic()
		rt.Topic = t.Topic
		for j := range t.Partitions {
			rp := kmsg.NewDeleteRecordsResponseTopicPartition()
			rp.Partition = t.Partitions[j].Partition
			low, code := r.deleteUpTo(t.Topic, t.Partitions[j].Partition, t.Partitions[j].Offset)
			rp.LowWatermark, rp.ErrorCode = low, int16(code)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp, nil
}

func (r *request) deleteUpTo(topic string, index int32, offset int64) (low int64, code wire.Code) {
	p := r.cluster.meta.Load().partition(topic, index)
	switch {
	case p == nil:
		return -1, wire.UnknownTopicOrPartition
	case isInternal(topic):
		return -1, wire.InvalidTopicException
	case p.state.Load().leader != r.node.id:
		return -1, wire.NotLeaderOrFollower
	}
	p.update(func(l *partitionlog.Log) {
		var c int16
		low, c = l.DeleteRecords(offset)
		code = wire.Code(c)
	})
	return low, code
}
