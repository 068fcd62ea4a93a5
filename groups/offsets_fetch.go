package groups

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
)

// offsetFetch is OffsetFetch (key 9, v1 to v10). Before v8 it asks for one group, at the top of the request.
// A group or topic that doesn't exist is no error: it has no offsets.
func (s *Shard) offsetFetch(c Command, req *kmsg.OffsetFetchRequest) {
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	if req.Version >= 8 {
		for _, g := range req.Groups {
			resp.Groups = append(resp.Groups, s.fetchGroup(g, req.Version, req.RequireStable))
		}
		s.reply(c.Ticket, resp)
		return
	}
	asked := kmsg.NewOffsetFetchRequestGroup()
	asked.Group = req.Group
	if req.Topics != nil {
		asked.Topics = make([]kmsg.OffsetFetchRequestGroupTopic, 0, len(req.Topics))
	}
	for _, t := range req.Topics {
		topic := kmsg.NewOffsetFetchRequestGroupTopic()
		topic.Topic, topic.Partitions = t.Topic, t.Partitions
		asked.Topics = append(asked.Topics, topic)
	}
	for _, t := range s.fetchGroup(asked, req.Version, req.RequireStable).Topics {
		topic := kmsg.NewOffsetFetchResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, kmsg.OffsetFetchResponseTopicPartition(p))
		}
		resp.Topics = append(resp.Topics, topic)
	}
	s.reply(c.Ticket, resp)
}

// fetchGroup answers the offsets of one group: those of the topics asked for, or all where Topics is null.
func (s *Shard) fetchGroup(asked kmsg.OffsetFetchRequestGroup, version int16, stable bool) kmsg.OffsetFetchResponseGroup {
	out := kmsg.NewOffsetFetchResponseGroup()
	out.Group = asked.Group
	g := s.groups[asked.Group]
	if stable { // Kafka lets the answer wait behind what is being written, as a request that writes
		g = s.written(asked.Group)
	}
	if g != nil && g.consumer != nil && version >= 9 {
		if out.ErrorCode = s.validateConsumerFetch(g, asked.MemberID, asked.MemberEpoch); out.ErrorCode != errNone {
			return out
		}
	}
	var have offsets
	if g != nil && (g.classic != nil || g.consumer != nil) {
		have = g.offsets
	}
	if asked.Topics == nil {
		out.Topics = s.fetchAll(have, version, stable)
		return out
	}
	var unknown []kmsg.OffsetFetchResponseGroupTopic
	for _, t := range asked.Topics {
		topic := kmsg.NewOffsetFetchResponseGroupTopic()
		topic.Topic, topic.TopicID = t.Topic, t.TopicID
		name, known := t.Topic, true
		if version >= 10 {
			var found Topic
			found, known = s.meta.TopicByID(t.TopicID)
			name = found.Name
		}
		for _, p := range t.Partitions {
			answer := have.fetch(topicPartition{name, p}, t.TopicID, version, stable)
			if !known {
				answer = noOffset(p, errUnknownTopicID)
			}
			topic.Partitions = append(topic.Partitions, answer)
		}
		if known {
			out.Topics = append(out.Topics, topic)
		} else {
			unknown = append(unknown, topic)
		}
	}
	out.Topics = append(out.Topics, unknown...)
	return out
}

// fetchAll answers every committed offset, by topic; from v10 on only those of topics that exist.
func (s *Shard) fetchAll(have offsets, version int16, stable bool) []kmsg.OffsetFetchResponseGroupTopic {
	topics := []kmsg.OffsetFetchResponseGroupTopic{}
	last := ""
	for tp := range have.committed.all() {
		var id assignors.TopicID
		if version >= 10 {
			topic, ok := s.meta.Topic(tp.topic)
			if !ok {
				continue
			}
			id = topic.ID
		}
		if len(topics) == 0 || last != tp.topic {
			t := kmsg.NewOffsetFetchResponseGroupTopic()
			t.Topic, t.TopicID = tp.topic, id
			topics = append(topics, t)
			last = tp.topic
		}
		t := &topics[len(topics)-1]
		t.Partitions = append(t.Partitions, have.fetch(tp, id, version, stable))
	}
	return topics
}

// fetch answers one partition. With stable one that an open transaction may change is refused. From v10 on an offset that was
// committed under another topic id, hence for a topic that is gone, does not count.
func (o offsets) fetch(tp topicPartition, id assignors.TopicID, version int16, stable bool) kmsg.OffsetFetchResponseGroupTopicPartition {
	if stable && o.isPending(tp) {
		return noOffset(tp.partition, errUnstableOffsetCommit)
	}
	v, ok := o.committed.get(tp)
	if !ok || version >= 10 && v.TopicID != id && v.TopicID != (assignors.TopicID{}) {
		return noOffset(tp.partition, errNone)
	}
	p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = tp.partition, v.Offset, v.LeaderEpoch, kmsg.StringPtr(v.Metadata)
	return p
}

func noOffset(partition int32, code int16) kmsg.OffsetFetchResponseGroupTopicPartition {
	p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode = partition, -1, -1, kmsg.StringPtr(""), code
	return p
}
