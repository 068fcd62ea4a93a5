package groups

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// leaveGroup is LeaveGroup (key 13, v0 to v5). Up to v2 it names one member, whose error stands at the top; from v3 on several,
// each with its own.
func (s *Shard) leaveGroup(c Command, req *kmsg.LeaveGroupRequest) {
	resp := req.ResponseKind().(*kmsg.LeaveGroupResponse)
	if req.Group == "" {
		resp.ErrorCode = errInvalidGroupID
		s.reply(c.Ticket, resp)
		return
	}
	leaving := req.Members
	if req.Version < 3 {
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = req.MemberID
		leaving = []kmsg.LeaveGroupRequestMember{m}
	}
	var codes []int16
	var r *refusal
	g := s.groups[req.Group]
	switch {
	case g != nil && g.consumer != nil:
		codes, r = s.leaveConsumerGroup(g, leaving)
	case g == nil || g.classic == nil:
		codes = make([]int16, len(leaving))
		for i := range codes {
			codes[i] = errUnknownMemberID
		}
	default:
		codes, r = s.leaveClassicGroup(g, leaving)
	}
	switch {
	case r != nil:
		resp.ErrorCode = r.code
	case req.Version < 3:
		resp.ErrorCode = codes[0]
	default:
		for i, m := range leaving {
			rm := kmsg.NewLeaveGroupResponseMember()
			rm.MemberID, rm.InstanceID, rm.ErrorCode = m.MemberID, m.InstanceID, codes[i]
			resp.Members = append(resp.Members, rm)
		}
	}
	s.reply(c.Ticket, resp)
}

// leaveClassicGroup removes the entries one after the other; then the group goes on once. Where it can't, or the log doesn't take that it is Empty, the request is refused,
// and the members have left all the same.
func (s *Shard) leaveClassicGroup(g *group, leaving []kmsg.LeaveGroupRequestMember) ([]int16, *refusal) {
	codes := make([]int16, len(leaving))
	left, why := 0, ""
	for i, entry := range leaving {
		var name string
		if codes[i], name = s.leave(g, entry); codes[i] == errNone {
			if left++; left == 1 {
				why = name
			}
		}
	}
	switch left {
	case 0:
		return codes, nil
	case 1:
	default:
		why = fmt.Sprintf("%s and %d more", why, left-1)
	}
	return codes, g.classic.asked(func() {
		if g.classic.state != classicEmpty {
			s.rebalanceOrCheckJoin(g, why+" left")
		}
	})
}

// leave removes one entry; the name is for the timeline.
func (s *Shard) leave(g *group, entry kmsg.LeaveGroupRequestMember) (code int16, name string) {
	c := g.classic
	id := entry.MemberID
	if id == "" && entry.InstanceID != nil {
		// An admin may remove a static member by its instance id alone.
		id = c.static[*entry.InstanceID]
	}
	if _, pending := c.pending[id]; pending {
		s.forgetPending(c, id)
		s.emit(Event{Group: g.id, Kind: EventLeft, Member: id, Epoch: c.generation, Cause: "a member id that had not joined yet"})
		return errNone, id
	}
	m, code := s.checkMember(g, id, entry.InstanceID)
	if code != errNone {
		return code, ""
	}
	e := m.event(g, EventLeft)
	if entry.Reason != nil {
		e.Cause = *entry.Reason
	}
	s.emit(e)
	s.removeMember(g, m)
	return errNone, m.named()
}
