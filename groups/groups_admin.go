package groups

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupOperations are the operations on a group that everybody has who is not restricted: read, delete, describe, describe and
// alter configs, as bits.
const groupOperations int32 = 1<<3 | 1<<6 | 1<<8 | 1<<10 | 1<<11

// describeGroups is DescribeGroups (key 15, v0 to v6). A group that is missing, or of the other protocol, is Dead.
func (s *Shard) describeGroups(c Command, req *kmsg.DescribeGroupsRequest) {
	resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
	for _, id := range req.Groups {
		resp.Groups = append(resp.Groups, s.describeGroup(id, req))
	}
	s.reply(c.Ticket, resp)
}

func (s *Shard) describeGroup(id string, req *kmsg.DescribeGroupsRequest) kmsg.DescribeGroupsResponseGroup {
	out := kmsg.NewDescribeGroupsResponseGroup()
	out.Group = id
	if req.IncludeAuthorizedOperations {
		out.AuthorizedOperations = groupOperations
	}
	g := s.shown(id)
	if g == nil || g.classic == nil {
		out.State = string(classicDead)
		if req.Version >= 6 {
			why := fmt.Sprintf("Group %s not found.", id)
			if g != nil {
				why = fmt.Sprintf("Group %s is not a classic group.", id)
			}
			out.ErrorCode, out.ErrorMessage = errGroupIDNotFound, &why
			out.AuthorizedOperations = kmsg.NewDescribeGroupsResponseGroup().AuthorizedOperations
		}
		return out
	}
	group := g.classic
	stable := group.state == classicStable
	out.State, out.ProtocolType = string(group.state), group.protocolType
	if stable {
		out.Protocol = text(group.protocol)
	}
	for _, m := range group.order {
		rm := kmsg.NewDescribeGroupsResponseGroupMember()
		rm.MemberID, rm.InstanceID, rm.ClientID, rm.ClientHost = m.id, m.instanceID, m.clientID, m.clientHost
		rm.MemberAssignment = m.assignment
		if stable {
			rm.ProtocolMetadata = m.metadata(group.protocol)
		}
		out.Members = append(out.Members, rm)
	}
	return out
}

// listGroups is ListGroups (key 16, v0 to v5). Filters compare without case, and states without surrounding blanks; names nobody knows
// match nothing.
func (s *Shard) listGroups(c Command, req *kmsg.ListGroupsRequest) {
	resp := req.ResponseKind().(*kmsg.ListGroupsResponse)
	passes := func(filter []string, value string) bool {
		return len(filter) == 0 || slices.ContainsFunc(filter, func(f string) bool { return strings.EqualFold(f, value) })
	}
	states := make([]string, len(req.StatesFilter))
	for i, f := range req.StatesFilter {
		states[i] = strings.TrimSpace(f)
	}
	for id, g := range s.stored.all() {
		out := kmsg.NewListGroupsResponseGroup()
		out.Group = id
		switch {
		case g.unseen:
			continue
		case g.classic != nil:
			out.ProtocolType, out.GroupState, out.GroupType = g.classic.protocolType, string(g.classic.state), "classic"
		case g.consumer != nil:
			out.ProtocolType, out.GroupState, out.GroupType = consumerProtocolType, g.consumer.stateName(), "consumer"
		default:
			continue
		}
		if passes(states, out.GroupState) && passes(req.TypesFilter, out.GroupType) {
			resp.Groups = append(resp.Groups, out)
		}
	}
	s.reply(c.Ticket, resp)
}

// deleteGroups is DeleteGroups (key 42, v0 to v2).
func (s *Shard) deleteGroups(c Command, req *kmsg.DeleteGroupsRequest) {
	resp := req.ResponseKind().(*kmsg.DeleteGroupsResponse)
	seen := make(map[string]bool, len(req.Groups)) // a broker names each group once; other callers may not
	var gone tombstones
	for _, id := range req.Groups {
		if seen[id] {
			continue
		}
		seen[id] = true
		out := kmsg.NewDeleteGroupsResponseGroup()
		out.Group = id
		switch g := s.written(id); {
		case g == nil:
			out.ErrorCode = errGroupIDNotFound
		case !g.isEmpty():
			out.ErrorCode = errNonEmptyGroup
		default:
			for _, tp := range g.offsets.allKeys() {
				gone.add(offsetTombstone(id, tp))
			}
			gone.add(s.tombstones(g)...)
			gone.tell(Event{Group: id, Kind: EventGroupDeleted, Epoch: g.epoch(), Cause: "DeleteGroups"})
		}
		resp.Groups = append(resp.Groups, out)
	}
	if r := s.writeAsked(gone); r != nil {
		s.reply(c.Ticket, Refuse(req, r.code)) // all of them, since it is one write
		return
	}
	s.reply(c.Ticket, resp)
}
