package groups

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ConsumerGroupHeartbeat (KIP-848): joining, beating and leaving are one request, told apart by its epoch.

const (
	epochJoin        = 0
	epochLeave       = -1
	epochLeaveStatic = -2 // a static member goes away for a while
)

// refusal is an error of the protocol: the code for the client and, where Kafka says more, the words.
type refusal struct {
	code    int16
	message string
	// reason is for the history, where it says more than the client is told.
	reason string
}

func refuse(code int16, format string, args ...any) *refusal {
	return &refusal{code: code, message: fmt.Sprintf(format, args...)}
}

// broken is UNKNOWN_SERVER_ERROR, of which Kafka tells the client no reason.
func broken(format string, args ...any) *refusal {
	return &refusal{code: errUnknownServerError, reason: fmt.Sprintf(format, args...)}
}

// beat is one heartbeat with an epoch of 0 or more, or one classic JoinGroup, on its way through the steps.
type beat struct {
	tx     *consumerTx
	ticket Ticket
	client Client
	group  string
	member string

	joins               bool // it asks to join, and is told the whole assignment
	full                bool // it says everything, as after an error, and is told the whole assignment
	told                bool // it lists what it owns
	owned               partitionSet
	subscriptionChanged bool
	replaces            bool // it takes a static member's place
	// gaveUp is what the member itself had before it took the place. Kafka sees that it is free with the next request.
	gaveUp []ownership
	// turnsStatic: a dynamic member joins again with an instance id that is new to the group. Kafka looks its target up under that
	// id and finds none, so it loses what it has until the next target is computed, which is after this epoch.
	turnsStatic     bool
	assignmentEpoch int32 // before the request
	newExpression   bool  // it brings an expression that has to be resolved
	before          memberAssignment
	vote            vote
	cause           string // of an epoch bump

	// hold re-runs the request when there is news; nil: the answer doesn't wait.
	hold func()
	// rejoin handles a JoinGroup anew, of the member that it has made, when the group is a classic one meanwhile.
	rejoin func()
	answer func(m *consumerMember, withAssignment bool)
	refuse func(*refusal)
}

func (s *Shard) consumerGroupHeartbeat(c Command, req *kmsg.ConsumerGroupHeartbeatRequest) {
	s.consumerBeat(c, req, true)
}

// consumerBeat handles the request; mayHold is false when it has waited already.
func (s *Shard) consumerBeat(c Command, req *kmsg.ConsumerGroupHeartbeatRequest, mayHold bool) {
	r := s.cfg.validateConsumerHeartbeat(req)
	if r == nil {
		r = tooLongForRecords(req)
	}
	if r != nil {
		s.reply(c.Ticket, consumerHeartbeatError(req, r))
		return
	}
	if req.MemberEpoch < 0 {
		s.reply(c.Ticket, s.consumerLeave(c, req))
		return
	}
	if mayHold {
		s.releaseEarlier(req.Group, req.MemberID)
	}
	b := &beat{
		tx: s.beginTx(req.Group), ticket: c.Ticket, client: c.Client, group: req.Group, member: req.MemberID,
		joins: req.MemberEpoch == epochJoin,
		full: req.RebalanceTimeoutMillis != -1 && req.Topics != nil &&
			(req.SubscribedTopicNames != nil || req.SubscribedTopicRegex != nil),
		told: req.Topics != nil,
	}
	if b.told {
		b.owned = make(partitionSet, len(req.Topics))
		for _, t := range req.Topics {
			b.owned[t.TopicID] = append(b.owned[t.TopicID], t.Partitions...)
			if len(b.owned[t.TopicID]) == 0 {
				delete(b.owned, t.TopicID)
			}
		}
		sortedSet(b.owned)
	}
	if mayHold && !b.joins && !b.told {
		b.hold = func() { s.consumerBeat(c, req, false) }
	}
	b.answer = func(m *consumerMember, withAssignment bool) {
		s.reply(c.Ticket, s.consumerHeartbeatAnswer(req, m, c.Client, withAssignment))
	}
	b.refuse = func(r *refusal) { s.reply(c.Ticket, consumerHeartbeatError(req, r)) }
	if r := s.memberBeats(b, req); r != nil {
		b.tx.rollback()
		s.noteRefusal(b.group, b.member, c.Client, r)
		b.refuse(r)
	}
}

// validateConsumerHeartbeat has the checks that need no group, in Kafka's order. They come before the search for the coordinator.
func (c *Config) validateConsumerHeartbeat(req *kmsg.ConsumerGroupHeartbeatRequest) *refusal {
	epoch := req.MemberEpoch
	switch {
	case !c.ConsumerProtocol:
		return &refusal{code: errUnsupportedVersion}
	case blank(req.MemberID) && (req.Version >= 1 || epoch > 0 || epoch == epochLeave):
		return refuse(errInvalidRequest, "MemberId can't be empty.")
	case blank(req.Group):
		return refuse(errInvalidRequest, "GroupId can't be empty.")
	case req.InstanceID != nil && blank(*req.InstanceID):
		return refuse(errInvalidRequest, "InstanceId can't be empty.")
	case req.RackID != nil && blank(*req.RackID):
		return refuse(errInvalidRequest, "RackId can't be empty.")
	case epoch == epochJoin && req.RebalanceTimeoutMillis == -1:
		return refuse(errInvalidRequest, "RebalanceTimeoutMs must be provided in first request.")
	case epoch == epochJoin && (req.Topics == nil || len(req.Topics) > 0):
		return refuse(errInvalidRequest, "TopicPartitions must be empty when (re-)joining.")
	case epoch == epochJoin && req.SubscribedTopicNames == nil && req.SubscribedTopicRegex == nil:
		return refuse(errInvalidRequest, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
	case epoch == epochLeaveStatic && req.InstanceID == nil:
		return refuse(errInvalidRequest, "InstanceId can't be null.")
	case epoch < epochLeaveStatic:
		return refuse(errInvalidRequest, "MemberEpoch is invalid.")
	}
	if req.ServerAssignor != nil && c.assignorNamed(*req.ServerAssignor) == nil {
		return refuse(errUnsupportedAssignor, "ServerAssignor %s is not supported. Supported assignors: %s.",
			*req.ServerAssignor, strings.Join(c.assignorNames(), ", "))
	}
	return nil
}

// tooLongForRecords refuses names that can't become keys of records, whose strings have a maximum length.
func tooLongForRecords(req *kmsg.ConsumerGroupHeartbeatRequest) *refusal {
	for _, name := range []*string{&req.Group, &req.MemberID, req.InstanceID, req.SubscribedTopicRegex} {
		if name != nil && len(*name) > math.MaxInt16 {
			return refuse(errInvalidRequest, "A name of %d bytes is too long; at most %d are possible.", len(*name), math.MaxInt16)
		}
	}
	return nil
}

// blank tells whether nothing is left of a name after Java's trim, which takes off control characters and spaces, but not those beyond ASCII.
func blank(s string) bool {
	return strings.TrimFunc(s, func(c rune) bool { return c <= ' ' }) == ""
}

// memberBeats is a heartbeat with an epoch of 0 or more, up to the target; what follows is in finishBeat.
func (s *Shard) memberBeats(b *beat, req *kmsg.ConsumerGroupHeartbeatRequest) *refusal {
	g, r := s.groupForBeat(b)
	if r != nil {
		return r
	}
	if r := s.hasRoom(g, b.member); r != nil {
		return r
	}
	if b.member == "" {
		b.member = s.newMemberID()
	}
	m, r := s.memberForBeat(b, g, req.InstanceID)
	if r != nil {
		return r
	}
	var attributes memberAttributes
	isNew := m == nil
	if !isNew {
		if m.fenced {
			return s.fencedByTest(m)
		}
		if !b.joins {
			if r := checkMemberEpoch(m, req.MemberEpoch, b); r != nil {
				return r
			}
		}
		attributes, b.before = m.memberAttributes, m.memberAssignment
	}
	attributes.classic = nil
	attributes.clientID, attributes.clientHost = b.client.ID, b.client.Host
	if req.InstanceID != nil {
		attributes.instanceID = req.InstanceID
	}
	if req.RackID != nil {
		attributes.rackID = req.RackID
	}
	if req.RebalanceTimeoutMillis != -1 {
		attributes.rebalanceTimeoutMs = req.RebalanceTimeoutMillis
	}
	if req.ServerAssignor != nil {
		attributes.assignor = req.ServerAssignor
	}
	if req.SubscribedTopicNames != nil {
		attributes.names = uniqueSorted(req.SubscribedTopicNames)
	}
	if req.SubscribedTopicRegex != nil {
		attributes.regex = *req.SubscribedTopicRegex
	}
	return s.subscribeAndReconcile(b, g, attributes, isNew)
}

// groupForBeat finds the group of a beat. A join makes a new one where there is none, and converts a classic one.
// The group of a first join is nil until its first record.
func (s *Shard) groupForBeat(b *beat) (*consumerGroup, *refusal) {
	g := s.groups[b.group]
	switch {
	case g != nil && g.consumer != nil && g.consumer.doomed && b.joins:
		s.forgetDoomed(b.tx, g)
		return nil, nil
	case g != nil && g.consumer != nil && !g.consumer.doomed:
		return g.consumer, nil
	case g == nil || g.classic == nil:
		if b.joins {
			return nil, nil
		}
		return nil, refuse(errGroupIDNotFound, "Consumer group %s not found.", b.group)
	case b.joins:
		return s.upgrade(b.tx, g)
	}
	return nil, refuse(errGroupIDNotFound, "Group %s is not a consumer group.", b.group)
}

// hasRoom keeps strangers out of a full group.
func (s *Shard) hasRoom(g *consumerGroup, member string) *refusal {
	if g == nil || len(g.members) < s.cfg.ConsumerMaxSize || g.members[member] != nil {
		return nil
	}
	return refuse(errGroupMaxSizeReached, "The consumer group has reached its maximum capacity of %d members.", s.cfg.ConsumerMaxSize)
}

// consumerLeave is a heartbeat with epoch -1, or -2 of a static member that will be back. It looks at nothing but the
// group, the member and the instance id.
func (s *Shard) consumerLeave(c Command, req *kmsg.ConsumerGroupHeartbeatRequest) *kmsg.ConsumerGroupHeartbeatResponse {
	refused := func(r *refusal) *kmsg.ConsumerGroupHeartbeatResponse {
		s.noteRefusal(req.Group, req.MemberID, c.Client, r)
		return consumerHeartbeatError(req, r)
	}
	g := s.groups[req.Group]
	switch {
	case s.written(req.Group) == nil:
		return refused(refuse(errGroupIDNotFound, "Group %s not found.", req.Group))
	case g.consumer == nil:
		return refused(refuse(errGroupIDNotFound, "Group %s is not a consumer group.", req.Group))
	}
	cg := g.consumer
	m := cg.members[req.MemberID]
	if req.InstanceID != nil {
		var r *refusal
		if m, r = cg.instanceOf(*req.InstanceID, req.MemberID); r != nil {
			return refused(r)
		}
	}
	switch {
	case m == nil:
		return refused(unknownMember(req.MemberID, req.Group))
	case req.MemberEpoch != epochLeaveStatic:
		if r := s.leaveByRequest(g, []*consumerMember{m}, "left"); r != nil {
			return refused(r)
		}
	default:
		if r := s.goAway(cg, m); r != nil {
			return refused(r)
		}
	}
	resp := req.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
	resp.MemberID, resp.MemberEpoch = kmsg.StringPtr(req.MemberID), req.MemberEpoch
	return resp
}

// goAway marks a static member as absent: its partitions stay its own until it is back or its session ends.
func (s *Shard) goAway(g *consumerGroup, m *consumerMember) *refusal {
	next := m.memberAssignment
	next.epoch, next.pending, next.assigned = epochLeaveStatic, nil, m.assigned.withEpoch(0)
	tx := s.beginTx(g.id)
	tx.putCurrent(m.id, next) // also when it says so again
	if r := tx.commitAsked(); r != nil {
		return r
	}
	s.emitMember(g, m, Event{Kind: EventLeft, Cause: "left for a while (epoch -2); its partitions wait for instance " + m.instance()})
	s.markChanged(g) // what it had to revoke is free
	s.releaseMember(m)
	return nil
}

// consumerHeartbeatAnswer is the answer to a successful beat. The assignment is what the member may use now, without
// what it has to give up; null says "as before".
func (s *Shard) consumerHeartbeatAnswer(
	req *kmsg.ConsumerGroupHeartbeatRequest, m *consumerMember, c Client, withAssignment bool,
) *kmsg.ConsumerGroupHeartbeatResponse {
	resp := req.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
	resp.MemberID, resp.MemberEpoch = kmsg.StringPtr(m.id), m.epoch
	resp.HeartbeatIntervalMillis = int32(s.dictatedInterval(req.Group, m, c) / time.Millisecond)
	if withAssignment {
		order := s.groups[req.Group].consumer.targetOrder[m.id]
		a := kmsg.NewConsumerGroupHeartbeatResponseAssignment()
		a.Topics = make([]kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic, len(m.assigned))
		for i, t := range m.assigned {
			a.Topics[i].TopicID, a.Topics[i].Partitions = t.topic, tableOrder(t.parts, order[t.topic])
		}
		resp.Assignment = &a
	}
	return resp
}

func consumerHeartbeatError(req *kmsg.ConsumerGroupHeartbeatRequest, r *refusal) *kmsg.ConsumerGroupHeartbeatResponse {
	resp := req.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
	resp.ErrorCode = r.code
	if r.message != "" {
		resp.ErrorMessage = kmsg.StringPtr(r.message)
	}
	return resp
}
