package groups

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// validateSync has the checks that need no group, in Kafka's order. They come before the search for the coordinator.
func validateSync(req *kmsg.SyncGroupRequest) int16 {
	switch {
	case req.Version >= 5 && (req.ProtocolType == nil || req.Protocol == nil): // KIP-559 made both mandatory
		return errInconsistentGroupProtocol
	case req.Group == "":
		return errInvalidGroupID
	}
	return errNone
}

// syncGroup is SyncGroup (key 14, v0 to v5).
func (s *Shard) syncGroup(c Command, req *kmsg.SyncGroupRequest) {
	refuse := func(code int16) { s.reply(c.Ticket, syncError(req, code)) }
	if code := validateSync(req); code != errNone {
		refuse(code)
		return
	}
	g := s.groups[req.Group]
	if g != nil && g.consumer != nil {
		s.syncConsumerGroup(g, c, req)
		return
	}
	if g == nil || g.classic == nil {
		refuse(errUnknownMemberID)
		return
	}
	m, code := s.checkSync(g, req)
	if code != errNone {
		refuse(code)
		return
	}
	group := g.classic
	switch group.state {
	case classicPreparing:
		s.emit(m.event(g, EventToldToRebalance).because("its SyncGroup came while the group waits for joins"))
		refuse(errRebalanceInProgress)
	case classicCompleting:
		m.sync = &parked[*kmsg.SyncGroupRequest]{c.Ticket, req}
		s.emit(m.event(g, EventSynced))
		s.noteSynced(group, m)
		if group.leader == m.id {
			s.leaderSynced(g, req)
		}
	case classicStable:
		s.emit(m.event(g, EventSynced))
		s.noteSynced(group, m)
		if s.waitsForSecondRound(group, m) {
			m.sync = &parked[*kmsg.SyncGroupRequest]{c.Ticket, req}
			return
		}
		s.answerAssignment(g, m, c.Ticket, req)
		if m.loses {
			s.answerSyncs(g, errNone) // the others that lose wait no longer
		}
	}
}

// checkSync is the check of member, generation and protocol.
func (s *Shard) checkSync(g *group, req *kmsg.SyncGroupRequest) (*classicMember, int16) {
	c := g.classic
	m, code := s.checkMember(g, req.MemberID, req.InstanceID)
	switch {
	case code != errNone:
		return nil, code
	case req.Generation != c.generation:
		return nil, errIllegalGeneration
	case req.ProtocolType != nil && c.protocolType != "" && *req.ProtocolType != c.protocolType,
		req.Protocol != nil && c.protocol != nil && *req.Protocol != *c.protocol:
		return nil, errInconsistentGroupProtocol
	}
	return m, errNone
}

// noteSynced takes the member from those yet to sync; the last one cancels the deadline.
func (s *Shard) noteSynced(c *classicGroup, m *classicMember) {
	if _, first := c.unsynced[m.id]; first && m.loses {
		c.losersUnsynced--
	}
	delete(c.unsynced, m.id)
	if len(c.unsynced) == 0 {
		s.stopTimer(&c.syncTimer)
	}
}

// leaderSynced stores the leader's assignment and makes the group Stable. Members that the leader left out get an empty
// assignment, ids that are no members are dropped. If the log can't take it all syncs fail and the members begin anew.
func (s *Shard) leaderSynced(g *group, req *kmsg.SyncGroupRequest) {
	c := g.classic
	assignments := make(map[string][]byte, len(req.GroupAssignment))
	for _, a := range req.GroupAssignment {
		assignments[a.MemberID] = bytes.Clone(a.MemberAssignment)
	}
	record := groupRecord(g, assignments)
	if r := s.unwritable([]Record{record}); r != nil {
		s.answerSyncs(g, r.code)
		s.prepareRebalance(g, "the leader's assignment can't be stored: "+r.reason)
		return
	}
	s.write(record) // sets the members' assignments
	s.become(c, classicStable)
	s.emit(c.members[c.leader].event(g, EventStable).because("the leader's assignment is stored"))
	s.beginSecondRound(g)
	s.admitWaiting(g)
	s.answerSyncs(g, errNone)
}

// answerSyncs answers the parked syncs: with an error, or with the assignment to all that need not wait for a second round.
func (s *Shard) answerSyncs(g *group, code int16) {
	c := g.classic
	for _, m := range slices.Clone(c.order) {
		if m.sync == nil || code == errNone && s.waitsForSecondRound(c, m) {
			continue
		}
		if p := m.sync; code == errNone {
			m.sync = nil
			s.answerAssignment(g, m, p.ticket, p.req)
		} else {
			if code == errRebalanceInProgress {
				s.emit(m.event(g, EventToldToRebalance).because("in the answer of its SyncGroup"))
			}
			s.refuseSync(m, code)
		}
		s.renewSession(m)
	}
}

// answerAssignment answers a sync with what the member was assigned.
func (s *Shard) answerAssignment(g *group, m *classicMember, t Ticket, req *kmsg.SyncGroupRequest) {
	c := g.classic
	resp := req.ResponseKind().(*kmsg.SyncGroupResponse)
	resp.ProtocolType = kmsg.StringPtr(c.protocolType)
	resp.Protocol = c.protocol
	resp.MemberAssignment = m.assignment
	s.reply(t, resp)
	m.syncedAt, m.assignedAt = s.now, s.now
	m.uninformed = false
	e := m.event(g, EventAssigned)
	if c.protocolType == consumerProtocolType {
		e.Partitions, _ = assignedPartitions(m.assignment)
	} else {
		e.Cause = fmt.Sprintf("%d bytes, of the protocol type %q", len(m.assignment), c.protocolType)
	}
	s.emit(e)
}
