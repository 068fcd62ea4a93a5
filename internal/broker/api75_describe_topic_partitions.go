package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// DescribeTopicPartitions, key 75, version 0 (KIP-966): Metadata in pages, without the brokers.

func (r *request) describeTopicPartitions() (answer, error) {
	req := r.body.(*kmsg.DescribeTopicPartitionsRequest)
	m := r.cluster.meta.Load()
	names := make([]string, 0, len(req.Topics))
	for _, t := range req.Topics {
		names = append(names, t.Topic)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	all := len(names) == 0
	if all {
		names = m.names
	}
	from := int32(0)
	if c := req.Cursor; c != nil {
		at, found := slices.BinarySearch(names, c.Topic)
		switch {
		case c.Partition < 0:
			return errorResponse(req, wire.InvalidRequest), nil
		case !found && !all:
			return errorResponse(req, wire.InvalidRequest), nil
		case found:
			from = c.Partition
		}
		names = names[at:]
	} else if !all && names[0] == "" {
		return errorResponse(req, wire.UnknownServerError), nil // Kafka takes the empty name for that of a cursor, which isn't there
	}
	resp := req.ResponseKind().(*kmsg.DescribeTopicPartitionsResponse)
	left := max(1, min(int(req.ResponsePartitionLimit), r.cluster.settings(r.node.id).Int("max.request.partition.size.limit")))
	for _, name := range names {
		if left == 0 {
			resp.NextCursor = cursorAt(name, 0)
			break
		}
		t, code := m.topics[name], wire.None
		if failed := r.failedTopic(name, [16]byte{}); failed != wire.None {
			code = failed
		} else if t == nil {
			code = wire.UnknownTopicOrPartition
			if validateTopicName(name) != nil {
				code = wire.InvalidTopicException
			}
		}
		if code != wire.None {
			resp.Topics = append(resp.Topics, describeTopicError(name, code, topicOperations))
			from = 0
			continue
		}
		out := describeTopicError(name, wire.None, topicOperations)
		out.TopicID, out.IsInternal = t.id, t.internal
		if end := from + int32(left); end < from { // as in Kafka, which goes on from there
			resp.Topics, resp.NextCursor = append(resp.Topics, out), cursorAt(name, end)
			break
		}
		first := min(int(from), len(t.partitions))
		end := min(first+left, len(t.partitions))
		for _, p := range t.partitions[first:end] {
			described := describePartition(p)
			if code := r.failedPartition(name, t.id, p.index); code != wire.None {
				described.ErrorCode, described.LeaderID = int16(code), leaderWith(code, described.LeaderID)
			}
			out.Partitions = append(out.Partitions, described)
		}
		resp.Topics = append(resp.Topics, out)
		left -= end - first
		from = 0
		if end < len(t.partitions) {
			resp.NextCursor = cursorAt(name, int32(end))
			break
		}
	}
	return resp, nil
}

func cursorAt(topic string, partition int32) *kmsg.DescribeTopicPartitionsResponseNextCursor {
	c := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	c.Topic, c.Partition = topic, partition
	return &c
}

func describeTopicError(name string, code wire.Code, operations int32) kmsg.DescribeTopicPartitionsResponseTopic {
	t := kmsg.NewDescribeTopicPartitionsResponseTopic()
	t.Topic, t.ErrorCode, t.IsInternal, t.AuthorizedOperations = &name, int16(code), isInternal(name), operations
	return t
}

func describePartition(p *partition) kmsg.DescribeTopicPartitionsResponseTopicPartition {
	s := p.state.Load()
	out := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
	out.Partition, out.LeaderID, out.LeaderEpoch = p.index, s.leader, s.epoch
	out.Replicas, out.ISR, out.OfflineReplicas = s.replicas, s.isr, s.offline
	out.EligibleLeaderReplicas, out.LastKnownELR = append([]int32{}, s.elr...), append([]int32{}, s.lastKnownELR...) // never null
	return out
}
