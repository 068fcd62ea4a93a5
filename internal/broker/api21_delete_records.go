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
	var named mentions
	for i := range req.Topics {
		t := &req.Topics[i]
		for _, p := range t.Partitions {
			at, _, first := named.place(t.Topic, p.Partition)
			if !first {
				continue
			}
			if at == len(resp.Topics) {
				resp.Topics = append(resp.Topics, kmsg.NewDeleteRecordsResponseTopic())
				resp.Topics[at].Topic = t.Topic
			}
			rp := kmsg.NewDeleteRecordsResponseTopicPartition()
			rp.Partition = p.Partition
			low, code := r.deleteUpTo(t.Topic, p.Partition, last[topicPartition{t.Topic, p.Partition}])
			rp.LowWatermark, rp.ErrorCode = low, int16(code)
			resp.Topics[at].Partitions = append(resp.Topics[at].Partitions, rp)
		}
	}
	return resp, nil
}

func (r *request) deleteUpTo(topic string, index int32, offset int64) (int64, wire.Code) {
	p := r.cluster.meta.Load().partition(topic, index)
	switch {
	case p == nil:
		return -1, wire.UnknownTopicOrPartition
	case isInternal(topic):
		return -1, wire.InvalidTopicException
	case p.state.Load().leader != r.node.id:
		return -1, wire.NotLeaderOrFollower
	}
	low := int64(-1)
	code := p.update(func(l *partitionlog.Log) wire.Code {
		var code int16
		low, code = l.DeleteRecords(offset)
		return wire.Code(code)
	})
	return low, code
}
