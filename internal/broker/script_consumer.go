package broker

import (
	"encoding/base64"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// A scripted member of a consumer group (KIP-848): ConsumerGroupHeartbeat v1.

// nextConsumer is the next heartbeat of the autopilot, nil for none.
func (s *Script) nextConsumer() kmsg.Request {
	switch s.phase {
	case scriptOut:
		s.news, s.tells = false, false
		return s.consumerBeat(true)
	case scriptIn:
		if s.news || s.tells {
			s.news = false
			return s.consumerBeat(false)
		}
	}
	return nil
}

// consumerBeat is a heartbeat: with everything in it when it joins, with what it owns when that has changed.
func (s *Script) consumerBeat(joins bool) kmsg.Request {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberEpoch, req.InstanceID = 1, s.group, s.epoch, optional(s.spec.Instance)
	if s.id == "" {
		id := s.c.uuid() // from v1 on a member makes its own
		s.id = base64.RawURLEncoding.EncodeToString(id[:])
	}
	req.MemberID = s.id
	if joins {
		s.epoch, req.MemberEpoch = 0, 0
		req.RackID = optional(s.spec.Rack)
		req.RebalanceTimeoutMillis = int32(s.spec.Rebalance.Milliseconds())
		if s.spec.Regex != "" {
			req.SubscribedTopicRegex = &s.spec.Regex
		} else {
			req.SubscribedTopicNames = append([]string{}, s.spec.Topics...)
		}
		if len(s.spec.Assignors) > 0 {
			req.ServerAssignor = &s.spec.Assignors[0]
		}
	}
	if joins || s.tells {
		s.tells = false
		req.Topics = s.ownedByID()
	}
	return req
}

func (s *Script) ownedByID() []kmsg.ConsumerGroupHeartbeatRequestTopic {
	list := []kmsg.ConsumerGroupHeartbeatRequestTopic{} // null would be "as before"
	m := s.c.meta.Load()
	for _, name := range sortedKeys(s.owned) {
		if t := m.topics[name]; t != nil && len(s.owned[name]) > 0 {
			rt := kmsg.NewConsumerGroupHeartbeatRequestTopic()
			rt.TopicID, rt.Partitions = t.id, s.owned[name]
			list = append(list, rt)
		}
	}
	return list
}

// beatenConsumer follows the answer of a heartbeat.
func (s *Script) beatenConsumer(resp *kmsg.ConsumerGroupHeartbeatResponse) {
	switch code := wire.Code(resp.ErrorCode); {
	case code == wire.None:
		s.phase = scriptIn
		if resp.MemberID != nil {
			s.id = *resp.MemberID
		}
		s.epoch = resp.MemberEpoch
		if resp.Assignment == nil {
			return
		}
		m := s.c.meta.Load()
		next := map[string][]int32{}
		for _, t := range resp.Assignment.Topics {
			if known := m.ids[t.TopicID]; known != nil {
				next[known.name] = append([]int32(nil), t.Partitions...)
			}
		}
		lost := loses(s.owned, next)
		if lost && s.refuses {
			s.told = next
			return // it goes on as if it had not been told
		}
		if lost || loses(next, s.owned) {
			s.owned, s.tells = next, true
		}
	case code == wire.FencedMemberEpoch, code == wire.UnknownMemberID:
		s.epoch, s.phase, s.owned, s.told = 0, scriptOut, map[string][]int32{}, nil
	case retriable(code):
		s.news = true
		s.later()
	case code == wire.UnreleasedInstanceID:
		s.later() // until the one before is gone
	default:
		s.stop(wire.ConsumerGroupHeartbeat, code, resp.ErrorMessage)
	}
}
