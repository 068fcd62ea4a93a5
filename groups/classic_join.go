package groups

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// joinGroup is JoinGroup (key 11, v0 to v9). The order of the checks decides the error.
func (s *Shard) joinGroup(c Command, req *kmsg.JoinGroupRequest) {
	refuse := func(memberID string, code int16) { s.reply(c.Ticket, joinError(req, memberID, code)) }
	if code := s.cfg.validateJoin(req); code != errNone {
		refuse(req.MemberID, code)
		return
	}
	g := s.groups[req.Group]
	tx := s.beginTx(req.Group)
	if g != nil && g.consumer != nil {
		if s.joinConsumerGroup(tx, g, c, req) {
			return
		}
		g = s.groups[req.Group] // an empty consumer group has made room
	}
	created := false
	if g == nil || g.classic == nil {
		if req.MemberID != "" {
			refuse(req.MemberID, errUnknownMemberID)
			return
		}
		// The group stays, even if the join is refused further down.
		if g == nil {
			g = s.addGroup(req.Group)
		}
		s.newClassicGroup(g)
		if !s.fits(append(tx.records, emptyGroupRecord(g))) {
			s.joinUnwritten(g, c, req)
			tx.rollback()
			return
		}
		tx.commit()
		created = true
		s.emit(Event{Group: g.id, Kind: EventGroupCreated, Cause: "first JoinGroup"})
	}
	switch {
	case !g.classic.roomFor(req.MemberID, s.cfg.MaxSize):
		if m := g.classic.members[req.MemberID]; m != nil {
			s.emit(m.event(g, EventExpired).because("the group has its maximum of %d members", s.cfg.MaxSize))
			s.removeMember(g, m)
		}
		s.forgetPending(g.classic, req.MemberID)
		refuse("", errGroupMaxSizeReached)
	case req.MemberID == "":
		s.joinNewMember(g, c, req)
	default:
		s.joinExistingMember(g, c, req)
	}
	if created {
		s.write(emptyGroupRecord(g))
	}
}

// joinUnwritten is the first join of a group whose record the log does not take, so long is its id: all is as before, whatever the answer.
func (s *Shard) joinUnwritten(g *group, c Command, req *kmsg.JoinGroupRequest) {
	fits := g.classic.compatible(req)
	s.discardClassic(g)
	s.dropIfBare(g)
	switch {
	case !fits:
		s.reply(c.Ticket, joinError(req, "", errInconsistentGroupProtocol))
	case req.InstanceID == nil && req.Version >= 4:
		s.reply(c.Ticket, joinError(req, c.Client.ID+"-"+s.newUUID(), errMemberIDRequired))
	default:
		s.reply(c.Ticket, joinError(req, "", errUnknownServerError))
	}
}

// validateJoin has the checks that need no group, in Kafka's order. They come before the search for the coordinator.
func (c *Config) validateJoin(req *kmsg.JoinGroupRequest) int16 {
	if req.Group == "" {
		return errInvalidGroupID
	}
	if session := millis(req.SessionTimeoutMillis); session < c.MinSessionTimeout || session > c.MaxSessionTimeout {
		return errInvalidSessionTimeout
	}
	return errNone
}

// roomFor says whether a join would stay within the maximum size. Pending ids don't count.
func (c *classicGroup) roomFor(memberID string, maximum int) bool {
	m := c.members[memberID]
	switch c.state {
	case classicPreparing:
		return m != nil && m.join != nil || c.joining < maximum
	case classicCompleting, classicStable:
		return m != nil || len(c.members) < maximum
	}
	return true
}

// joinNewMember is a join without a member id.
func (s *Shard) joinNewMember(g *group, c Command, req *kmsg.JoinGroupRequest) {
	if !g.classic.compatible(req) {
		s.reply(c.Ticket, joinError(req, "", errInconsistentGroupProtocol))
		return
	}
	prefix := c.Client.ID
	if req.InstanceID != nil {
		prefix = *req.InstanceID
	}
	id := prefix + "-" + s.newUUID()
	if len(id) > math.MaxInt16 {
		// No message and no record can hold it. Kafka goes on, and fails at the answer, which the client then never gets.
		s.reply(c.Ticket, joinError(req, "", errUnknownServerError))
		return
	}
	switch {
	case req.InstanceID != nil:
		if old, ok := g.classic.static[*req.InstanceID]; ok {
			m := g.classic.members[old]
			if r := s.returnUnwritable(g, req, m, id); r != nil {
				s.renewSession(m) // the return is undone, but the session has begun anew
				resp := g.classic.joined(req, m)
				resp.ErrorCode, resp.MemberID, resp.Members = r.code, "", nil
				s.reply(c.Ticket, resp)
				return
			}
			s.replaceStatic(g, c, req, m, id)
			return
		}
		s.addMember(g, c, req, id)
	case req.Version >= 4:
		// KIP-394: the client must know its id before it counts, so that a lost answer leaves no ghost behind.
		t := &timer{kind: timerSession, group: g.id, member: id}
		t.fire = func() { s.pendingExpired(g, id) }
		g.classic.pending[id] = t
		s.startTimer(t, millis(req.SessionTimeoutMillis))
		s.onItsWay(g.classic)
		s.emit(Event{Group: g.id, Kind: EventMemberIDGiven, Member: id, ClientID: c.Client.ID, Epoch: g.classic.generation})
		s.reply(c.Ticket, joinError(req, id, errMemberIDRequired))
	default:
		s.addMember(g, c, req, id)
	}
}

// addMember adds a member whose join waits. Its session timer is a long one, since it can't heartbeat yet.
func (s *Shard) addMember(g *group, c Command, req *kmsg.JoinGroupRequest, id string) {
	group := g.classic
	if group.state == classicPreparing && group.previous == classicEmpty {
		group.newMemberAdded = true
	}
	s.forgetPending(group, id)
	m := s.newMember(g, id, c.Client, req)
	group.insert(m, req.ProtocolType)
	group.parkJoin(m, c.Ticket, req)
	s.arrived(group)
	s.startTimer(&m.session, newMemberJoinTimeout)
	e := m.event(g, EventJoined)
	if req.Reason != nil {
		e.Cause = *req.Reason
	}
	s.emit(e)
	s.joinArrived(g, m, m.named()+" joined")
}

// joinExistingMember is a join with a member id.
func (s *Shard) joinExistingMember(g *group, c Command, req *kmsg.JoinGroupRequest) {
	group := g.classic
	refuse := func(memberID string, code int16) { s.reply(c.Ticket, joinError(req, memberID, code)) }
	if !group.compatible(req) {
		refuse(req.MemberID, errInconsistentGroupProtocol)
		return
	}
	if _, pending := group.pending[req.MemberID]; pending {
		if req.InstanceID != nil {
			refuse("", errUnknownServerError) // Kafka meets an impossible state: static members are never pending
			return
		}
		s.addMember(g, c, req, req.MemberID)
		return
	}
	m, code := s.checkMember(g, req.MemberID, req.InstanceID)
	if code != errNone {
		refuse(req.MemberID, code)
		return
	}
	// At this point the group is not Empty, for it has a member.
	why := ""
	switch group.state {
	case classicPreparing:
	case classicCompleting:
		if m.matches(req.Protocols) {
			// The member missed the answer of its join: it gets it again.
			s.readmit(group, m)
			s.reply(c.Ticket, group.joined(req, m))
			return
		}
		why = m.named() + " joined again with other metadata"
	case classicStable:
		switch {
		case group.leader == m.id:
			why = m.named() + ", the leader, joined again"
		case !m.matches(req.Protocols):
			why = m.named() + " joined again with other metadata"
		default:
			s.readmit(group, m)
			s.reply(c.Ticket, group.joined(req, m))
			m.uninformed = true
			return
		}
	}
	e := m.event(g, EventRejoined)
	if req.Reason != nil {
		e.Cause = *req.Reason
	}
	e.Partitions = claimed(req)
	s.emit(e)
	m.software = c.Client.Software
	group.update(m, req)
	group.parkJoin(m, c.Ticket, req)
	s.joinArrived(g, m, why)
}

// claimed is what a joining consumer says it still owns: the cooperative protocol's claim, nothing for an eager one.
func claimed(req *kmsg.JoinGroupRequest) map[string][]int32 {
	if req.ProtocolType != consumerProtocolType || len(req.Protocols) == 0 {
		return nil
	}
	return ownedPartitions(req.Protocols[0].Metadata)
}

// update replaces a member's protocols and timeouts.
func (c *classicGroup) update(m *classicMember, req *kmsg.JoinGroupRequest) {
	c.count(m, -1)
	m.take(req)
	c.count(m, 1)
}

// replaceStatic is the return of a static member that does not send its member id: a fresh id takes the place of the old one.
// Whoever still uses the old one is fenced.
func (s *Shard) replaceStatic(g *group, c Command, req *kmsg.JoinGroupRequest, m *classicMember, id string) {
	group := g.classic
	old, formerLeader := m.id, group.leader
	s.answerJoin(group, m, func(parked *kmsg.JoinGroupRequest) *kmsg.JoinGroupResponse {
		return joinError(parked, old, errFencedInstanceID)
	})
	s.refuseSync(m, errFencedInstanceID)
	s.stopTimer(&m.session)

	// Client id and host of the first client are kept, as is the assignment.
	delete(group.members, old)
	m.id, m.isNew, m.fenced = id, false, false
	s.armSession(g, m)
	group.members[id] = m
	group.static[*m.instanceID] = id
	if group.leader == old {
		group.leader = id
	}
	replaced := m.event(g, EventReplaced).because("static member %s came back; its former member id was %s", cut(*m.instanceID), cut(old))
	replaced.Replaces = old
	s.emit(replaced)
	s.releaseHeld(m.beat)
	s.renewSession(m) // with the old session timeout
	m.software, m.beatAt, m.gaveUp = c.Client.Software, time.Time{}, 0
	group.update(m, req)
	group.parkJoin(m, c.Ticket, req)

	if _, ok := group.vote(); !ok && group.state == classicStable {
		s.failJoin(m)
		return
	}
	if !group.returnsInStable() {
		s.joinArrived(g, m, fmt.Sprintf("static member %s came back", cut(*m.instanceID)))
		return
	}
	// Nothing changes for the others.
	m.uninformed = true
	s.write(groupRecord(g, group.assignments()))
	s.answerJoin(group, m, func(req *kmsg.JoinGroupRequest) *kmsg.JoinGroupResponse {
		resp := group.joined(req, m)
		if req.Version >= 9 {
			resp.SkipAssignment = group.leader == m.id
			return resp
		}
		// Before v9 a leader can't be told to skip the assignment: it is shown its old id and takes itself for a follower.
		resp.LeaderID, resp.Members = formerLeader, nil
		return resp
	})
}

// returnsInStable says that the others need not know of a static member's return: the group is Stable, and the vote is what it was. The member's new
// protocols must count already.
func (c *classicGroup) returnsInStable() bool {
	if c.state != classicStable || c.protocol == nil {
		return false
	}
	name, ok := c.vote()
	return ok && name == *c.protocol
}

// returnUnwritable is why the record of a static member's return can't be written.
func (s *Shard) returnUnwritable(g *group, req *kmsg.JoinGroupRequest, m *classicMember, id string) (r *refusal) {
	c := g.classic
	was, leader := *m, c.leader
	c.update(m, req)
	if m.id = id; leader == was.id {
		c.leader = id
	}
	if c.returnsInStable() {
		r = s.unwritable([]Record{groupRecord(g, c.assignments())})
	}
	c.count(m, -1)
	m.id, m.protocols, m.sessionTimeout, m.rebalanceTimeout = was.id, was.protocols, was.sessionTimeout, was.rebalanceTimeout
	c.count(m, 1)
	c.leader = leader
	return r
}

// joined is the answer of a join in the current generation. Only the leader gets the members.
func (c *classicGroup) joined(req *kmsg.JoinGroupRequest, m *classicMember) *kmsg.JoinGroupResponse {
	resp := req.ResponseKind().(*kmsg.JoinGroupResponse)
	resp.Generation = c.generation
	resp.ProtocolType = kmsg.StringPtr(c.protocolType)
	resp.Protocol = joinedProtocol(text(c.protocol))
	resp.LeaderID = c.leader
	resp.MemberID = m.id
	if c.leader == m.id {
		resp.Members = make([]kmsg.JoinGroupResponseMember, 0, len(c.order))
		for _, o := range c.order {
			rm := kmsg.NewJoinGroupResponseMember()
			rm.MemberID, rm.InstanceID, rm.ProtocolMetadata = o.id, o.instanceID, o.metadata(c.protocol)
			resp.Members = append(resp.Members, rm)
		}
	}
	return resp
}

// joinedProtocol is the protocol as JoinGroup tells it: one without a name is null, in every version that has nulls.
func joinedProtocol(name string) *string {
	if name == "" {
		return nil
	}
	return &name
}

// named is how causes name the member.
func (m *classicMember) named() string { return calledInCauses(m.id, m.instanceID, m.clientID) }

// calledInCauses is what a cause calls a member, of either protocol: as a test would.
func calledInCauses(id string, instanceID *string, clientID string) string {
	return cut(cmp.Or(text(instanceID), clientID, id))
}

// renewSession restarts the member's session timer.
func (s *Shard) renewSession(m *classicMember) {
	m.lastBeat = s.now
	s.startTimer(&m.session, m.sessionTimeout)
}
