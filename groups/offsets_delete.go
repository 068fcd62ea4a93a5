package groups

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
)

// offsetDelete is OffsetDelete (key 47, v0). The group is checked even when no partition exists.
func (s *Shard) offsetDelete(c Command, req *kmsg.OffsetDeleteRequest) {
	refuse := func(code int16) { s.reply(c.Ticket, Refuse(req, code)) }
	if req.Group == "" {
		refuse(errInvalidGroupID)
		return
	}
	g := s.written(req.Group)
	switch {
	case g == nil:
		refuse(errGroupIDNotFound)
		return
	case g.classic != nil && g.classic.state != classicEmpty && g.classic.protocolType != consumerProtocolType:
		refuse(errNonEmptyGroup)
		return
	}
	var gone tombstones
	var answer commitAnswer
	for _, t := range req.Topics {
		topic, known := s.meta.Topic(t.Topic)
		subscribed := g.subscribedTo(t.Topic)
		key := topicKey{name: t.Topic}
		checked := commitTopic{key, make([]commitPartition, 0, len(t.Partitions))}
		for _, p := range t.Partitions {
			tp := topicPartition{t.Topic, p.Partition}
			_, committed := g.offsets.committed.get(tp)
			code := errNone
			switch {
			case !known || p.Partition < 0 || p.Partition >= topic.Partitions:
				answer.refuse(commitTopic{key, []commitPartition{{p.Partition, errUnknownTopicOrPartition}}})
				continue
			case subscribed:
				code = errGroupSubscribedToTopic
			case committed || g.offsets.isPending(tp):
				gone.add(offsetTombstone(g.id, tp))
				gone.tell(Event{Group: g.id, Kind: EventOffsetsDeleted, Partitions: tp.single(), Cause: "OffsetDelete"})
			}
			checked.partitions = append(checked.partitions, commitPartition{p.Partition, code})
		}
		switch {
		case len(checked.partitions) > 0:
			answer.checked = append(answer.checked, checked)
		case !known:
			answer.refuse(commitTopic{key, nil})
		}
	}
	if r := s.writeAsked(gone); r != nil {
		refuse(r.code)
		return
	}
	resp := req.ResponseKind().(*kmsg.OffsetDeleteResponse)
	for _, t := range answer.topics() {
		rt := kmsg.NewOffsetDeleteResponseTopic()
		rt.Topic = t.name
		for _, p := range t.partitions {
			rp := kmsg.NewOffsetDeleteResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.number, p.code
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	s.reply(c.Ticket, resp)
}

// dropDeletedTopics writes tombstones for the offsets of topics that were in the old picture and are not in the new one; a topic
// with the same name and another id is another topic.
func (s *Shard) dropDeletedTopics(old Metadata) {
	deleted := make(map[string]assignors.TopicID)
	for _, name := range old.TopicNames() {
		was, ok := old.Topic(name)
		if is, still := s.meta.Topic(name); ok && (!still || is.ID != was.ID) {
			deleted[name] = was.ID
		}
	}
	if len(deleted) == 0 {
		return
	}
	var gone tombstones
	for _, id := range s.GroupIDs() {
		g := s.groups[id]
		told := make(map[topicPartition]bool)
		drop := func(tp topicPartition, v storedOffset) {
			topicID, ok := deleted[tp.topic]
			if !ok || v.TopicID != topicID && v.TopicID != (assignors.TopicID{}) {
				return
			}
			gone.add(offsetTombstone(id, tp))
			if !told[tp] {
				told[tp] = true
				gone.tell(Event{Group: id, Kind: EventOffsetsDeleted, Partitions: tp.single(), Cause: fmt.Sprintf("topic %s was deleted", tp.topic)})
			}
		}
		for tp, v := range g.offsets.committed.all() {
			drop(tp, v)
		}
		for _, producer := range g.offsets.producers() {
			for tp, v := range g.offsets.pending[producer].all() {
				drop(tp, v)
			}
		}
	}
	s.writeEach(gone) // as in Kafka, what the log doesn't take stays
}

// expire is the clean-up: offsets whose retention is over, and Empty groups that have none left.
func (s *Shard) expire() {
	if s.readOnly {
		return
	}
	var gone tombstones
	for _, id := range s.GroupIDs() {
		g := s.groups[id]
		base, can := s.expirationBase(g)
		left := len(g.offsets.pending) > 0
		if can {
			subscribed := make(map[string]bool)
			for tp, v := range g.offsets.committed.all() {
				used, ok := subscribed[tp.topic]
				if !ok {
					used = g.subscribedTo(tp.topic)
					subscribed[tp.topic] = used
				}
				if used || g.offsets.isPending(tp) || !s.expired(v, base) {
					left = true
					continue
				}
				gone.add(offsetTombstone(id, tp))
				gone.tell(Event{Group: id, Kind: EventOffsetsExpired, Partitions: tp.single(), Cause: "their retention is over"})
			}
			if !left && g.isEmpty() {
				gone.add(s.tombstones(g)...)
				gone.tell(Event{Group: id, Kind: EventGroupDeleted, Epoch: g.epoch(), Cause: "the clean-up found it Empty and without offsets"})
			}
		}
	}
	s.writeEach(gone) // what the log doesn't take is looked at again
}

// expirationBase is the moment from which a group's offsets age; ok is false while they don't. A base of 0 says: from each one's commit.
func (s *Shard) expirationBase(g *group) (base int64, ok bool) {
	c := g.classic
	switch {
	case c == nil:
		return 0, true
	case c.protocolType == "":
		return 0, true
	case c.state == classicEmpty:
		if c.stateSince.IsZero() {
			return 0, true
		}
		return c.stateSince.UnixMilli(), true
	}
	return 0, c.protocolType == consumerProtocolType && c.subscribed != nil && c.state == classicStable
}

// expired judges one offset. An expiry of its own, from a commit of v2 to v4, replaces the rule.
func (s *Shard) expired(v storedOffset, base int64) bool {
	now := s.now.UnixMilli()
	if v.Expire != -1 {
		return now >= v.Expire
	}
	if base == 0 {
		base = v.Commit
	}
	return now-base >= s.cfg.OffsetsRetention.Milliseconds()
}
