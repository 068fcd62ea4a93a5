package groups

import (
	"fmt"
	"math"
	"slices"
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
	// turnsStatic: a dynamic member joins again with an instance id that is new to the group. Kafka looks its target up under that
	// id and finds none, so it loses what it has until the next target is computed, which is after this epoch.
	turnsStatic     bool
	assignmentEpoch int32 // before the request
	newExpression   bool  // it brings an expression that has to be resolved
	before          memberAssignment
	cause           string // of an epoch bump

	// hold re-runs the request when there is news; nil: the answer doesn't wait.
	hold   func()
	answer func(m *consumerMember, withAssignment bool)
	refuse func(*refusal)
}

// waitingBeat is a beat that waits for the target that the end of the turn computes.
type waitingBeat = *beat

func (s *Shard) consumerGroupHeartbeat(c Command, req *kmsg.ConsumerGroupHeartbeatRequest) {
	s.consumerBeat(c, req, true)
}

// consumerBeat handles the request; mayHold is false when it has waited already.
func (s *Shard) consumerBeat(c Command, req *kmsg.ConsumerGroupHeartbeatRequest, mayHold bool) {
	if r := s.validateConsumerHeartbeat(req); r != nil {
		s.reply(c.Ticket, consumerHeartbeatError(req, r))
		return
	}
	if req.MemberEpoch < 0 {
		s.reply(c.Ticket, s.consumerLeave(c, req))
		return
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
		s.reply(c.Ticket, s.consumerHeartbeatAnswer(req, m, withAssignment))
	}
	b.refuse = func(r *refusal) { s.reply(c.Ticket, consumerHeartbeatError(req, r)) }
	if r := s.memberBeats(b, req); r != nil {
		b.tx.rollback()
		s.noteRefusal(b.group, b.member, c.Client, r)
		b.refuse(r)
	}
}

// validateConsumerHeartbeat has the checks that need no group, in Kafka's order.
func (s *Shard) validateConsumerHeartbeat(req *kmsg.ConsumerGroupHeartbeatRequest) *refusal {
	epoch := req.MemberEpoch
	switch {
	case !s.cfg.ConsumerProtocol:
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
	if req.ServerAssignor != nil && s.assignorNamed(*req.ServerAssignor) == nil {
		return refuse(errUnsupportedAssignor, "ServerAssignor %s is not supported. Supported assignors: %s.",
			*req.ServerAssignor, strings.Join(s.assignorNames(), ", "))
	}
	// Names become keys of records, whose strings are no longer than this.
	for _, name := range []*string{&req.Group, &req.MemberID, req.InstanceID, req.SubscribedTopicRegex} {
		if name != nil && len(*name) > math.MaxInt16 {
			return refuse(errInvalidRequest, "A name of %d bytes is too long; at most %d are possible.", len(*name), math.MaxInt16)
		}
	}
	return nil
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

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
	case g != nil && g.consumer != nil:
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

// memberForBeat finds the member of a beat, or nil if it is a new one. A join may take over the place of a static member.
func (s *Shard) memberForBeat(b *beat, g *consumerGroup, instanceID *string) (*consumerMember, *refusal) {
	if g == nil {
		if b.joins {
			return nil, nil
		}
		return nil, unknownMember(b.member, b.group)
	}
	m := g.members[b.member]
	if instanceID == nil {
		if m == nil && !b.joins {
			return nil, unknownMember(b.member, b.group)
		}
		return m, nil
	}
	holder := g.holder(*instanceID)
	switch {
	case !b.joins:
		if r := checkInstance(holder, *instanceID, b.member); r != nil {
			return nil, r
		}
		return holder, nil
	case holder == nil:
		b.turnsStatic = m != nil
		b.assignmentEpoch = g.assignmentEpoch
		return m, nil
	case holder.epoch != epochLeaveStatic && !holder.usesClassic():
		return nil, refuse(errUnreleasedInstanceID,
			"Static member %s with instance id %s cannot join the group because the instance id is owned by %s member.",
			b.member, *instanceID, holder.id)
	}
	return s.takeOver(b, g, holder), nil
}

// takeOver gives a static member's place to a new incarnation: the old id goes, the new one starts at epoch 0 with its
// attributes, partitions and target, so that nobody else notices.
func (s *Shard) takeOver(b *beat, g *consumerGroup, old *consumerMember) *consumerMember {
	b.replaces = true
	attributes, assignment, target := old.memberAttributes, old.memberAssignment, g.orderedTarget(old.id)
	assignment.epoch, assignment.previous = 0, 0
	b.tx.removeMember(old.id)
	b.tx.putMember(b.member, attributes)
	b.tx.putTargetMember(b.member, target)
	b.tx.putCurrent(b.member, assignment)
	b.tx.onDone = append(b.tx.onDone, func() {
		s.forgetMember(old)
		s.emitMember(g, g.members[b.member], Event{Kind: EventReplaced, Replaces: old.id,
			Cause: fmt.Sprintf("instance %s came back as member %s in place of %s", *attributes.instanceID, b.member, old.id)})
	})
	return g.members[b.member]
}

// checkInstance says whether an instance id belongs to the member.
func checkInstance(holder *consumerMember, instanceID, member string) *refusal {
	if holder == nil {
		return refuse(errUnknownMemberID, "Instance id %s is unknown.", instanceID)
	}
	if holder.id != member {
		return refuse(errFencedInstanceID, "Static member %s with instance id %s was fenced by member %s.", member, instanceID, holder.id)
	}
	return nil
}

func unknownMember(member, group string) *refusal {
	return refuse(errUnknownMemberID, "Member %s is not a member of group %s.", member, group)
}

// checkMemberEpoch compares the epoch of a request with the member's. The previous one is accepted as the retry of a lost
// answer, if what the member says it owns is within what it was given.
func checkMemberEpoch(m *consumerMember, received int32, b *beat) *refusal {
	switch {
	case received == m.epoch:
		return nil
	case received > m.epoch:
		return refuse(errFencedMemberEpoch, "The consumer group member has a greater member epoch (%d) than the one known by "+
			"the group coordinator (%d). The member must abandon all its partitions and rejoin.", received, m.epoch)
	case received == m.previous && b.told && m.assigned.contains(b.owned):
		return nil
	}
	return refuse(errFencedMemberEpoch, "The consumer group member has a smaller member epoch (%d) than the one known by "+
		"the group coordinator (%d). The member must abandon all its partitions and rejoin.", received, m.epoch)
}

// contains says whether every partition of the set is in o.
func (o ownership) contains(set partitionSet) bool {
	for topic, parts := range set {
		for _, p := range parts {
			if !o.has(topic, p) {
				return false
			}
		}
	}
	return true
}

// fencedByTest answers a member that Shard.Fence named.
func (s *Shard) fencedByTest(m *consumerMember) *refusal {
	m.fenced = false
	if m.instanceID != nil {
		return refuse(errFencedInstanceID, "Static member %s with instance id %s was fenced by the test.", m.id, *m.instanceID)
	}
	return refuse(errFencedMemberEpoch, "Member %s with epoch %d was fenced by the test. The member must abandon all its partitions and rejoin.", m.id, m.epoch)
}

// subscribeAndReconcile stores what the member says of itself, moves the group's epoch if that or the topics changed,
// has the target computed and reconciles the member.
func (s *Shard) subscribeAndReconcile(b *beat, g *consumerGroup, attributes memberAttributes, isNew bool) *refusal {
	var was memberAttributes
	if !isNew {
		was = g.members[b.member].memberAttributes
	}
	regex, r := regexChange(g, was.regex, attributes.regex)
	if r != nil {
		return r
	}
	namesChanged := !slices.Equal(was.names, attributes.names)
	b.subscriptionChanged = b.subscriptionChanged || namesChanged || regex.changed
	b.newExpression = regex.needsResolution
	if isNew || !was.equal(attributes) {
		b.tx.putMember(b.member, attributes)
	}
	if regex.dropped != "" {
		b.tx.put(recordRegex, regex.dropped, nil)
	}
	g = b.tx.consumer()
	m := g.members[b.member]
	cause := b.cause
	switch {
	case cause != "":
	case isNew:
		cause = fmt.Sprintf("%s joined", nameOf(m))
	case namesChanged || regex.bumps:
		cause = fmt.Sprintf("%s changed its subscription to %s", nameOf(m), subscriptionText(m))
	}
	b.tx.onDone = append(b.tx.onDone, func() {
		switch {
		case isNew:
			s.emitMember(g, m, Event{Kind: EventJoined, Epoch: g.groupEpoch, Cause: "subscribes to " + subscriptionText(m)})
		case b.joins && !b.replaces:
			s.emitMember(g, m, Event{Kind: EventRejoined, Epoch: g.groupEpoch, Cause: fmt.Sprintf("joined again at epoch %d", b.before.epoch)})
		}
	})
	s.maybeBump(b.tx, g, namesChanged || regex.bumps || b.cause != "", cause)

	b.tx.onDone = append(b.tx.onDone, func() { s.maybeResolve(g, b.client.Principal, b.newExpression) })
	if g.assignmentEpoch < g.groupEpoch {
		if s.cfg.Prompt {
			b.tx.commit()
			g.waiting = append(g.waiting, b)
			s.markChanged(g)
			return nil
		}
		if r := s.maybeAssign(b.tx, g); r != nil {
			return r
		}
	}
	return s.finishBeat(b)
}

// finishBeat reconciles the member with the target there is, and answers.
func (s *Shard) finishBeat(b *beat) *refusal {
	g := b.tx.consumer()
	var m *consumerMember
	if g != nil {
		m = g.members[b.member]
	}
	if m == nil { // removed while the beat waited for the target
		return unknownMember(b.member, b.group)
	}
	changed := false
	if !g.settled(m) || b.subscriptionChanged {
		next, ok := reconcile(m.memberAssignment, s.reconciliationOf(g, m, b))
		if !ok {
			return refuse(errFencedMemberEpoch, "The consumer group member %s is in a state this broker does not know and must abandon all its partitions and rejoin.", m.id)
		}
		if !next.equal(m.memberAssignment) {
			changed = true
			b.tx.putCurrent(m.id, next)
		}
	}
	b.tx.commit()
	if changed {
		s.restartRevocation(g, m)
		s.tellChange(g, m, b.before)
	}
	if !m.usesClassic() { // it may have been one that had to join or sync
		s.stopTimer(&m.join)
		s.stopTimer(&m.sync)
	}
	m.lastBeat = s.now
	s.restartSession(g, m)
	withAssignment := b.joins || b.full || !b.before.assigned.equal(m.assigned)
	if b.hold != nil && !changed && !withAssignment && b.before.epoch == m.epoch && s.holdBeat(g, m, b) {
		return nil
	}
	b.answer(m, withAssignment)
	return nil
}

// reconciliationOf gathers what the rule of reconcile.go looks at.
func (s *Shard) reconciliationOf(g *consumerGroup, m *consumerMember, b *beat) reconciliation {
	target := g.target[m.id]
	if b.turnsStatic && g.assignmentEpoch == b.assignmentEpoch {
		target = nil
	}
	return reconciliation{
		targetEpoch: g.assignmentEpoch, target: target,
		told: b.told, owned: b.owned, subscriptionChanged: b.subscriptionChanged,
		subscribed: func(id [16]byte) bool {
			t, ok := s.meta.TopicByID(id)
			return ok && g.memberSubscribes(m, t.Name)
		},
		free: g.free,
	}
}

// maybeBump moves the group's epoch by one if asked, or if the subscribed topics changed since the stored hash.
func (s *Shard) maybeBump(tx *consumerTx, g *consumerGroup, bump bool, cause string) {
	version := s.meta.Version()
	if !bump && g.metadataSeen == version {
		return
	}
	tx.onDone = append(tx.onDone, func() { g.metadataSeen = version })
	hash := s.metadataHash(g)
	if hash != g.metadataHash && !bump {
		bump, cause = true, "the subscribed topics changed"
	}
	if !bump {
		return
	}
	epoch := g.groupEpoch + 1
	tx.putGroup(epoch, hash)
	tx.onDone = append(tx.onDone, func() {
		s.emit(Event{Group: g.id, Kind: EventEpoch, Epoch: epoch, Cause: cause})
		s.markChanged(g)
	})
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
	case g == nil || g.classic == nil && g.consumer == nil:
		return refused(refuse(errGroupIDNotFound, "Group %s not found.", req.Group))
	case g.consumer == nil:
		return refused(refuse(errGroupIDNotFound, "Group %s is not a consumer group.", req.Group))
	}
	cg := g.consumer
	m := cg.members[req.MemberID]
	if req.InstanceID != nil {
		holder := cg.holder(*req.InstanceID)
		if r := checkInstance(holder, *req.InstanceID, req.MemberID); r != nil {
			return refused(r)
		}
		m = holder
	}
	if m == nil {
		return refused(unknownMember(req.MemberID, req.Group))
	}
	if req.MemberEpoch == epochLeaveStatic {
		s.goAway(cg, m)
	} else {
		s.removeMembers(g, []*consumerMember{m}, EventLeft, "left")
	}
	resp := req.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
	resp.MemberID, resp.MemberEpoch = kmsg.StringPtr(req.MemberID), req.MemberEpoch
	return resp
}

// goAway marks a static member as absent: its partitions stay its own until it is back or its session ends.
func (s *Shard) goAway(g *consumerGroup, m *consumerMember) {
	next := m.memberAssignment
	next.epoch, next.pending, next.assigned = epochLeaveStatic, nil, m.assigned.withEpoch(0)
	tx := s.beginTx(g.id)
	if !next.equal(m.memberAssignment) {
		tx.putCurrent(m.id, next)
	}
	tx.commit()
	s.emitMember(g, m, Event{Kind: EventLeft, Cause: "left for a while (epoch -2); its partitions wait for instance " + m.instance()})
	s.releaseMember(m)
}

// consumerHeartbeatAnswer is the answer to a successful beat. The assignment is what the member may use now, without
// what it has to give up; null says "as before".
func (s *Shard) consumerHeartbeatAnswer(req *kmsg.ConsumerGroupHeartbeatRequest, m *consumerMember, withAssignment bool) *kmsg.ConsumerGroupHeartbeatResponse {
	resp := req.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
	resp.MemberID, resp.MemberEpoch = kmsg.StringPtr(m.id), m.epoch
	resp.HeartbeatIntervalMillis = int32(s.dictatedInterval(req.Group, m) / time.Millisecond)
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
