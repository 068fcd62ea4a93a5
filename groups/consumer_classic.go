package groups

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/records"
)

// Members of a consumer group that speak the classic protocol (KIP-848's online migration): JoinGroup, SyncGroup, Heartbeat
// and LeaveGroup where the group is of the consumer protocol.

// joinConsumerGroup is JoinGroup to a consumer group. It answers false after it made an empty consumer group go away in tx, so that
// the join goes on with a new classic group; else it has replied, or will.
func (s *Shard) joinConsumerGroup(tx *consumerTx, g *group, c Command, req *kmsg.JoinGroupRequest) (handled bool) {
	if g.consumer.empty() {
		if req.MemberID != "" {
			s.doom(g)
			s.reply(c.Ticket, joinError(req, req.MemberID, errUnknownMemberID))
			return true
		}
		if g.consumer.doomed {
			s.forgetDoomed(tx, g)
		} else {
			s.endEmptyConsumer(tx, g)
		}
		tx.onDone = append(tx.onDone, func() {
			s.emit(Event{Group: g.id, Kind: EventConverted, Cause: "a classic member joins the empty consumer group"})
		})
		return false
	}
	b := &beat{
		tx: tx, ticket: c.Ticket, client: c.Client, group: g.id, member: req.MemberID,
		joins: true, told: true,
	}
	b.rejoin = func() {
		again := *req
		again.MemberID = b.member
		s.joinGroup(c, &again)
	}
	b.answer = func(m *consumerMember, _ bool) {
		if m.usesClassic() { // it went on with the consumer protocol in the same turn otherwise
			s.stopTimer(&m.join)
			s.awaitSync(s.groups[b.group].consumer, m)
		}
		s.reply(c.Ticket, joinedConsumerGroup(req, m))
	}
	b.refuse = func(r *refusal) { s.reply(c.Ticket, joinError(req, "", r.code)) }
	if code := s.classicJoins(b, g, req); code != errNone {
		b.tx.rollback()
		member := ""
		if code == errMemberIDRequired {
			member = b.member
		}
		s.noteRefusal(g.id, req.MemberID, c.Client, refuse(code, "its JoinGroup does not fit the members of the group"))
		s.reply(c.Ticket, joinError(req, member, code))
	}
	return true
}

// endEmptyConsumer writes the end of a consumer group without members.
func (s *Shard) endEmptyConsumer(tx *consumerTx, g *group) {
	s.stopTimer(g.consumer.assign)
	for _, r := range s.consumerTombstones(g) {
		tx.add(r)
	}
}

// doom takes an empty consumer group away from those who write, without a record. Those who read see what is committed, and so they see it until the
// next batch of this shard, of whichever group, moves them on. Its offsets stay, and are back with the next group of the name.
func (s *Shard) doom(g *group) {
	if !g.consumer.doomed {
		g.consumer.doomed = true
		s.doomed = append(s.doomed, g)
	}
}

const causeDoomed = "a classic member with an id wanted to join it while it was empty"

// forgetAllDoomed is the moment of that batch.
func (s *Shard) forgetAllDoomed() {
	for _, g := range s.doomed {
		if g.consumer != nil && g.consumer.doomed {
			s.emit(Event{Group: g.id, Kind: EventGroupDeleted, Epoch: g.epoch(), Cause: causeDoomed})
			s.stopTimer(g.consumer.assign)
			g.consumer = nil
			s.dropIfBare(g)
		}
	}
	s.doomed = nil
}

// forgetDoomed lets go of a consumer group that Kafka has forgotten without a record: its old ones stay in the log.
func (s *Shard) forgetDoomed(tx *consumerTx, g *group) {
	was := g.consumer
	s.stopTimer(was.assign)
	tx.undo = append(tx.undo, func() {
		s.keep(g)
		g.consumer = was
	})
	g.consumer = nil
	s.dropIfBare(g)
}

// classicJoins has the checks of such a join in Kafka's order; it ends in the steps that a heartbeat takes as well.
func (s *Shard) classicJoins(b *beat, group *group, req *kmsg.JoinGroupRequest) int16 {
	g := group.consumer
	if s.cfg.ConsumerMigrationPolicy == "disabled" {
		return errInconsistentGroupProtocol
	}
	if r := s.hasRoom(g, req.MemberID); r != nil {
		return r.code
	}
	if !g.offersWhatClassicMembersSpeak(req) {
		return errInconsistentGroupProtocol
	}
	if req.MemberID == "" {
		b.member = s.newMemberID()
		if req.Version >= 4 && req.InstanceID == nil {
			s.emit(Event{Group: g.id, Kind: EventMemberIDGiven, Member: b.member, ClientID: b.client.ID, Epoch: g.groupEpoch})
			return errMemberIDRequired
		}
	}
	m := g.members[b.member]
	var replaced *consumerMember
	if req.InstanceID != nil {
		holder, r := g.holder(*req.InstanceID)
		switch {
		case r != nil:
			return r.code
		case holder == nil && req.MemberID != "":
			return errUnknownMemberID
		case holder != nil && req.MemberID != "" && holder.id != req.MemberID:
			return errFencedInstanceID
		case holder != nil && req.MemberID == "":
			replaced = holder
		default:
			m = holder
		}
	}
	if m != nil && m.fenced {
		return s.fencedByTest(m).code
	}
	attributes, owned, err := s.classicAttributes(b.client, req)
	if err != nil {
		return errUnknownServerError
	}
	b.owned = owned
	downgrades, foreign := false, false // foreign: the instance id was left behind by its member, which has another one now
	if holder := cmp.Or(replaced, m); holder != nil && req.InstanceID != nil {
		downgrades, foreign = s.mayDowngradeFor(g, holder), holder.instance() != *req.InstanceID
	}
	if replaced != nil {
		m = s.takeOver(b, g, *req.InstanceID, replaced)
	}
	if m != nil {
		b.before = m.memberAssignment
		if attributes.instanceID == nil {
			attributes.instanceID = m.instanceID
		}
		if attributes.rackID == nil {
			attributes.rackID = m.rackID
		}
		attributes.assignor = m.assignor
		if m.regex != "" {
			b.cause = fmt.Sprintf("%s joined with the classic protocol, without its expression /%s/", m.named(), cut(m.regex))
		}
	}
	switch {
	case downgrades && foreign: // Kafka keeps the member, and fails for want of its classic protocols
		return errUnknownServerError
	case downgrades:
		return s.downgradeForStatic(b, group, m, attributes, req)
	}
	if r := s.subscribeAndReconcile(b, g, attributes, m == nil); r != nil {
		return r.code
	}
	return errNone
}

// offersWhatClassicMembersSpeak says whether one of the offered protocols is supported by all classic members of the group.
func (g *consumerGroup) offersWhatClassicMembersSpeak(req *kmsg.JoinGroupRequest) bool {
	if req.ProtocolType != consumerProtocolType || len(req.Protocols) == 0 {
		return false
	}
	return g.classicMembers == 0 || slices.ContainsFunc(req.Protocols, func(p kmsg.JoinGroupRequestProtocol) bool {
		return g.classicProtocols[p.Name] == g.classicMembers
	})
}

// classicAttributes reads what a classic member says of itself: its subscription is that of the first protocol it offers.
func (s *Shard) classicAttributes(client Client, req *kmsg.JoinGroupRequest) (memberAttributes, partitionSet, error) {
	sub, err := readSubscription(req.Protocols[0].Metadata)
	if err != nil {
		return memberAttributes{}, nil, fmt.Errorf("subscription of protocol %s: %w", req.Protocols[0].Name, err)
	}
	a := memberAttributes{
		instanceID: req.InstanceID, rackID: sub.Rack, clientID: client.ID, clientHost: client.Host,
		names: uniqueSorted(sub.Topics), rebalanceTimeoutMs: int32(joinRebalanceTimeout(req).Milliseconds()),
		classic: &records.ClassicMember{SessionTimeoutMs: req.SessionTimeoutMillis},
	}
	for _, p := range req.Protocols {
		a.classic.Protocols = append(a.classic.Protocols, records.ClassicProtocol{Name: p.Name, Metadata: slices.Clone(p.Metadata)})
	}
	return a, s.byTopicID(sub.Owned), nil
}

// byTopicID turns partitions that a classic member names into a set; topics that don't exist are left out.
func (s *Shard) byTopicID(partitions []assignors.TopicPartition) partitionSet {
	set := make(partitionSet)
	for _, tp := range partitions {
		if topic, ok := s.meta.Topic(tp.Topic); ok {
			set[topic.ID] = append(set[topic.ID], tp.Partition)
		}
	}
	return sortedSet(set)
}

// joinedConsumerGroup is the answer to a classic join: the member epoch is its generation, and nobody leads.
func joinedConsumerGroup(req *kmsg.JoinGroupRequest, m *consumerMember) *kmsg.JoinGroupResponse {
	resp := req.ResponseKind().(*kmsg.JoinGroupResponse)
	resp.Generation, resp.MemberID = m.epoch, m.id
	resp.ProtocolType = kmsg.StringPtr(consumerProtocolType)
	resp.Protocol = joinedProtocol(req.Protocols[0].Name)
	return resp
}

// classicMemberFor is the check of SyncGroup and Heartbeat: the member is there, speaks the classic protocol and knows its epoch.
func (s *Shard) classicMemberFor(g *consumerGroup, member string, instanceID *string, generation int32) (*consumerMember, int16) {
	m := g.members[member]
	if instanceID != nil {
		var r *refusal
		if m, r = g.instanceOf(*instanceID, member); r != nil {
			return nil, r.code
		}
	}
	switch {
	case m == nil || !m.usesClassic():
		return nil, errUnknownMemberID
	case m.fenced:
		return nil, s.fencedByTest(m).code
	case generation != m.epoch:
		return nil, errIllegalGeneration
	}
	return m, errNone
}

// syncConsumerGroup is SyncGroup of a classic member: it is told what it owns; assignments in the request don't count.
func (s *Shard) syncConsumerGroup(group *group, c Command, req *kmsg.SyncGroupRequest) {
	g := group.consumer
	m, code := s.classicMemberFor(g, req.MemberID, req.InstanceID, req.Generation)
	switch {
	case code != errNone:
	case req.ProtocolType != nil && *req.ProtocolType != consumerProtocolType,
		req.Protocol != nil && *req.Protocol != m.classic.Protocols[0].Name:
		code = errInconsistentGroupProtocol
	case g.assignmentEpoch > m.epoch && m.state != memberUnrevoked:
		code = errRebalanceInProgress
		s.tellToRejoin(g, m)
	}
	if code != errNone {
		s.reply(c.Ticket, syncError(req, code))
		return
	}
	s.stopTimer(&m.sync)
	s.restartSession(g, m)
	resp := req.ResponseKind().(*kmsg.SyncGroupResponse)
	resp.ProtocolType = kmsg.StringPtr(consumerProtocolType)
	resp.Protocol = kmsg.StringPtr(m.classic.Protocols[0].Name)
	resp.MemberAssignment = s.classicAssignment(m.classic, m.assigned)
	s.emitMember(g, m, Event{Kind: EventSynced, Partitions: s.named(m.assigned)})
	s.reply(c.Ticket, resp)
}

// classicAssignment writes partitions as an assignment of the consumer protocol, in the version of the member's subscription.
func (s *Shard) classicAssignment(c *records.ClassicMember, assigned ownership) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	if len(c.Protocols) > 0 && len(c.Protocols[0].Metadata) >= 2 {
		a.Version = int16(binary.BigEndian.Uint16(c.Protocols[0].Metadata))
	}
	parts := s.describedTopics(assigned.partitions())
	slices.SortFunc(parts, func(x, y describedTopic) int { return strings.Compare(x.name, y.name) })
	for _, t := range parts {
		at := kmsg.NewConsumerMemberAssignmentTopic()
		at.Topic, at.Partitions = t.name, t.parts
		a.Topics = append(a.Topics, at)
	}
	return a.AppendTo(nil)
}

// heartbeatConsumerGroup is Heartbeat of a classic member. It never runs the assignor.
func (s *Shard) heartbeatConsumerGroup(group *group, c Command, req *kmsg.HeartbeatRequest) {
	s.classicBeat(group, c, req, true)
}

func (s *Shard) classicBeat(group *group, c Command, req *kmsg.HeartbeatRequest, mayHold bool) {
	g := group.consumer
	m, code := s.classicMemberFor(g, req.MemberID, req.InstanceID, req.Generation)
	if code == errNone {
		s.restartSession(g, m)
		if s.mustRejoin(g, m) {
			code = errRebalanceInProgress
			s.tellToRejoin(g, m)
		} else if mayHold && s.holdClassicBeat(g, m, c, req) {
			return
		}
	}
	s.reply(c.Ticket, heartbeatAnswer(req, code))
}

// mustRejoin says that joining would bring a classic member further: to a newer target, past a revocation, or to partitions that
// others have released.
func (s *Shard) mustRejoin(g *consumerGroup, m *consumerMember) bool {
	return m.epoch < g.assignmentEpoch || m.state == memberUnrevoked ||
		m.state == memberUnreleased && !g.waitsForOthers(m)
}

// waitsForOthers says whether a partition of the member's target is still with somebody else.
func (g *consumerGroup) waitsForOthers(m *consumerMember) bool {
	for topic, parts := range g.target[m.id] {
		for _, p := range parts {
			if !m.assigned.has(topic, p) && !g.free(topic, p) {
				return true
			}
		}
	}
	return false
}

func (s *Shard) tellToRejoin(g *consumerGroup, m *consumerMember) {
	s.emitMember(g, m, Event{Kind: EventToldToRebalance, Cause: fmt.Sprintf("the target of epoch %d wants more than its epoch %d gave", g.assignmentEpoch, m.epoch)})
	s.awaitRejoin(g, m)
}

// leaveConsumerGroup is LeaveGroup: the code of each entry, in order. All that can leave do so in one step, or none.
func (s *Shard) leaveConsumerGroup(group *group, members []kmsg.LeaveGroupRequestMember) ([]int16, *refusal) {
	g := group.consumer
	codes := make([]int16, len(members))
	var leaving []*consumerMember
	named := make(map[*consumerMember]bool, len(members))
	for i, entry := range members {
		m := g.members[entry.MemberID]
		if entry.InstanceID != nil {
			m, _ = g.holder(*entry.InstanceID)
			if m != nil && entry.MemberID != "" && m.id != entry.MemberID {
				codes[i] = errFencedInstanceID
				continue
			}
		}
		if m == nil {
			codes[i] = errUnknownMemberID
			continue
		}
		if !named[m] {
			named[m] = true
			leaving = append(leaving, m)
		}
	}
	if len(leaving) == 0 {
		return codes, nil
	}
	return codes, s.leaveByRequest(group, leaving, "left by LeaveGroup")
}
