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
	// A partition that is named twice is one entry with the last one's offset; a topic without partitions isn't answered.
	last := map[topicPartition]int64{}
	for i := range req.Topics {
		for _, p := range req.Topics[i].Partitions {
			last[topicPartition{req.Topics[i].Topic, p.Partition}] = p.Offset
		}
	}
	answered := map[string]int{} // where each topic is in the answer: one that comes back in the request is answered once
	for i := range req.Topics {
		t := &req.Topics[i]
		if len(t.Partitions) == 0 {
			continue
		}
		at, known := answered[t.Topic]
		if !known {
			at = len(resp.Topics)
			answered[t.Topic] = at
			rt := kmsg.NewDeleteRecordsResponseTopic()
			rt.Topic = t.Topic
			resp.Topics = append(resp.Topics, rt)
		}
		rt := &resp.Topics[at]
		for _, p := range t.Partitions {
			key := topicPartition{t.Topic, p.Partition}
			offset, open := last[key]
			if !open {
				continue
			}
			delete(last, key)
			rp := kmsg.NewDeleteRecordsResponseTopicPartition()
			rp.Partition = p.Partition
			low, code := r.deleteUpTo(t.Topic, p.Partition, offset)
			rp.LowWatermark, rp.ErrorCode = low, int16(code)
			rt.Partitions = append(rt.Partitions, rp)
		}
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
