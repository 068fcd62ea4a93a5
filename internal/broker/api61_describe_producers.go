package broker

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
)

// DescribeProducers, v0 (KIP-664). Any replica answers.

func (r *request) describeProducers() (answer, error) {
	req := r.body.(*kmsg.DescribeProducersRequest)
	resp := req.ResponseKind().(*kmsg.DescribeProducersResponse)
	m := r.cluster.meta.Load()
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewDescribeProducersResponseTopic()
		rt.Topic = t.Topic
		var refused *topicError
		if refused = validateTopicName(t.Topic); refused == nil && m.topics[t.Topic] == nil {
			refused = &topicError{wire.UnknownTopicOrPartition, fmt.Sprintf("there is no topic %q", t.Topic)}
		}
		for _, index := range t.Partitions {
			rp := kmsg.NewDescribeProducersResponseTopicPartition()
			rp.Partition = index
			if refused != nil {
				rp.ErrorCode, rp.ErrorMessage = int16(refused.code), &refused.text
			} else {
				r.describePartitionProducers(m.partition(t.Topic, index), &rp)
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp, nil
}

func (r *request) describePartitionProducers(p *partition, rp *kmsg.DescribeProducersResponseTopicPartition) {
	if p == nil {
		rp.ErrorCode = int16(wire.UnknownTopicOrPartition)
		return
	}
	if !p.state.Load().hosted(r.node.id) {
		rp.ErrorCode = int16(wire.NotLeaderOrFollower)
		return
	}
	rp.ErrorCode = int16(p.look(func(l *partitionlog.Log) wire.Code {
		for _, s := range l.Producers() {
			a := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
			a.ProducerID, a.ProducerEpoch = s.ProducerID, int32(s.Epoch)
			a.LastSequence, a.LastTimestamp = s.LastSequence, s.LastTimestamp
			a.CoordinatorEpoch, a.CurrentTxnStartOffset = s.CoordinatorEpoch, s.TxnStart
			rp.ActiveProducers = append(rp.ActiveProducers, a)
		}
		return wire.None
	}))
}
