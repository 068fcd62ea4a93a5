package broker

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// A scripted member of a classic group: JoinGroup v9, SyncGroup v5, Heartbeat v4.

// clientAssignors are those of Kafka's clients, by the names that members list.
var clientAssignors = map[string]assignors.Assignor{
	"range": assignors.NewRange(), "roundrobin": assignors.NewRoundRobin(),
	"sticky": assignors.NewSticky(), "cooperative-sticky": assignors.NewCooperativeSticky(),
}

// ClientAssignors are the names of the client-side assignors.
func ClientAssignors() []string { return slices.Sorted(maps.Keys(clientAssignors)) }

const cooperative = "cooperative-sticky"

// nextClassic is the next request of the autopilot, nil for none.
func (s *Script) nextClassic() kmsg.Request {
	switch s.phase {
	case scriptOut:
		return s.join()
	case scriptJoined:
		return s.sync()
	case scriptIn:
		switch {
		case s.rejoins && !s.refuses:
			return s.join()
		case s.news:
			s.news = false
			return s.classicBeat()
		}
	}
	return nil
}

func (s *Script) classicBeat() kmsg.Request {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.Generation, req.InstanceID = 4, s.group, s.id, s.epoch, optional(s.spec.Instance)
	return req
}

func (s *Script) join() kmsg.Request {
	s.rejoins, s.news = false, false
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID = 9, s.group, s.id, optional(s.spec.Instance)
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = int32(s.spec.Session.Milliseconds()), int32(s.spec.Rebalance.Milliseconds())
	req.ProtocolType = "consumer"
	for _, name := range s.spec.Assignors {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = name, s.subscription(name)
		req.Protocols = append(req.Protocols, p)
	}
	return req
}

// subscription is what it tells the leader. An eager member has given up everything before it joins.
func (s *Script) subscription(assignor string) []byte {
	sub := assignors.Subscription{Topics: s.spec.Topics, Generation: -1, Rack: optional(s.spec.Rack)}
	owned := partitionList(s.owned)
	switch {
	case s.epoch <= 0:
	case assignor == cooperative:
		sub.Owned, sub.Generation = owned, s.epoch
		sub.UserData = assignors.EncodeCooperativeUserData(s.epoch)
	case assignor == "sticky":
		sub.UserData, _ = assignors.EncodeStickyUserData(owned, s.epoch)
	}
	b, err := assignors.EncodeSubscription(sub, assignors.ConsumerProtocolVersion)
	if err != nil {
		s.c.reportUser("a scripted member's subscription: "+err.Error(), nil)
	}
	return b
}

// joined follows the answer of a JoinGroup.
func (s *Script) joined(resp *kmsg.JoinGroupResponse) {
	switch code := wire.Code(resp.ErrorCode); code {
	case wire.None:
		s.id, s.epoch, s.phase = resp.MemberID, resp.Generation, scriptJoined
		s.protocol, s.leader = "", nil
		if resp.Protocol != nil {
			s.protocol = *resp.Protocol
		}
		if resp.LeaderID == resp.MemberID {
			s.leader = resp
		}
	case wire.MemberIDRequired:
		s.id, s.phase = resp.MemberID, scriptOut
	case wire.UnknownMemberID:
		s.reset()
	default:
		if retriable(code) || code == wire.RebalanceInProgress {
			s.later()
			return
		}
		s.stop(wire.JoinGroup, code, nil)
	}
}

// reset is for a member that the coordinator doesn't know any more: it joins as a new one.
func (s *Script) reset() {
	s.id, s.epoch, s.phase, s.owned = "", 0, scriptOut, map[string][]int32{}
}

func (s *Script) sync() kmsg.Request {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.MemberID, req.Generation, req.InstanceID = 5, s.group, s.id, s.epoch, optional(s.spec.Instance)
	req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), &s.protocol
	if s.leader != nil && !s.leader.SkipAssignment {
		req.GroupAssignment = s.assign()
	}
	return req
}

// assign is what the leader does with the members' subscriptions.
func (s *Script) assign() []kmsg.SyncGroupRequestGroupAssignment {
	g := assignors.Group{LedGeneration: s.epoch - 1}
	var names []string
	for _, m := range s.leader.Members {
		sub, err := assignors.DecodeSubscription(m.ProtocolMetadata)
		if err != nil {
			continue
		}
		names = append(names, sub.Topics...)
		g.Members = append(g.Members, assignors.Member{ID: m.MemberID, InstanceID: m.InstanceID, Subscription: sub})
	}
	g.Topics = s.topicsOf(names)
	s.counts = map[string]int{}
	for _, name := range names {
		s.counts[name] = int(g.Topics[name].Partitions)
	}
	a := clientAssignors[s.protocol]
	if a == nil {
		s.c.reportUser("a scripted leader can't assign by "+s.protocol, nil)
		return nil
	}
	shares, err := a.Assign(g)
	if err != nil {
		s.c.reportUser("a scripted leader's assignor: "+err.Error(), nil)
		return nil
	}
	var list []kmsg.SyncGroupRequestGroupAssignment
	for _, m := range s.leader.Members {
		b, err := assignors.EncodeAssignment(assignors.Assignment{Partitions: shares[m.MemberID]}, assignors.ConsumerProtocolVersion)
		if err != nil {
			s.c.reportUser("a scripted leader's assignment: "+err.Error(), nil)
			continue
		}
		ga := kmsg.NewSyncGroupRequestGroupAssignment()
		ga.MemberID, ga.MemberAssignment = m.MemberID, b
		list = append(list, ga)
	}
	return list
}

// synced follows the answer of a SyncGroup.
func (s *Script) synced(resp *kmsg.SyncGroupResponse) {
	switch code := wire.Code(resp.ErrorCode); code {
	case wire.None:
		had := s.owned
		s.phase, s.owned = scriptIn, map[string][]int32{}
		if a, err := assignors.DecodeAssignment(resp.MemberAssignment); err == nil || len(resp.MemberAssignment) == 0 {
			for _, p := range a.Partitions {
				s.owned[p.Topic] = append(s.owned[p.Topic], p.Partition)
			}
		} else {
			s.stop(wire.SyncGroup, code, kmsg.StringPtr("the assignment can't be read: "+err.Error()))
			return
		}
		if s.protocol == cooperative && loses(had, s.owned) {
			s.rejoins = true // it has given them up; the next generation gives them to others
		}
	case wire.RebalanceInProgress:
		s.phase = scriptIn
		s.rejoin()
	default:
		s.outOf(wire.SyncGroup, code)
	}
}

// beaten follows the answer of a Heartbeat.
func (s *Script) beaten(code wire.Code) {
	switch code {
	case wire.None:
	case wire.RebalanceInProgress:
		s.rejoin()
	default:
		s.outOf(wire.Heartbeat, code)
	}
}

// rejoin is what a rebalance asks for. Under an eager assignor everything is given up before.
func (s *Script) rejoin() {
	s.rejoins = true
	if s.protocol != cooperative && s.protocol != "sticky" && !s.refuses {
		s.owned = map[string][]int32{}
	}
}

// outOf follows an error by which the member has lost its generation, its place in the group, or only its coordinator.
func (s *Script) outOf(api wire.Key, code wire.Code) {
	switch {
	case retriable(code):
		s.news = true
		s.later()
	case code == wire.UnknownMemberID:
		s.reset()
	case code == wire.IllegalGeneration:
		s.epoch, s.phase, s.owned = 0, scriptOut, map[string][]int32{}
	default:
		s.stop(api, code, nil)
	}
}

// lookAtTopics is a leader's look at the topics: it asks for another assignment when one has grown, or come or gone.
func (s *Script) lookAtTopics() {
	if s.leader == nil || s.phase != scriptIn || s.counts == nil {
		return
	}
	m := s.c.meta.Load()
	for name, n := range s.counts {
		have := 0
		if t := m.topics[name]; t != nil {
			have = len(t.partitions)
		}
		if have != n {
			s.rejoins = true
			s.c.groups.scripts.wake(s)
			return
		}
	}
}

// loses tells whether something of a is not in b.
func loses(a, b map[string][]int32) bool {
	for t, ps := range a {
		for _, p := range ps {
			if !slices.Contains(b[t], p) {
				return true
			}
		}
	}
	return false
}

func partitionList(owned map[string][]int32) []assignors.TopicPartition {
	var list []assignors.TopicPartition
	for _, t := range sortedKeys(owned) {
		for _, p := range owned[t] {
			list = append(list, assignors.TopicPartition{Topic: t, Partition: p})
		}
	}
	return list
}
