package groups

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/records"
)

// removeMembers is a removal of the coordinator's own: on a timeout, an eviction.
func (s *Shard) removeMembers(group *group, members []*consumerMember, kind EventKind, cause string) *refusal {
	return s.removal(group, members, kind, cause).commitOwn()
}

// removal takes members out of the group, to be committed. What they owned is free at once, the epoch moves by one, and the assignor is not run. If only classic
// members remain, the group may become a classic one.
func (s *Shard) removal(group *group, members []*consumerMember, kind EventKind, cause string) *consumerTx {
	g := group.consumer
	tx := s.beginTx(g.id)
	// The tombstones empty the members; the history shall say who they were.
	gone := make([]consumerMember, len(members))
	for i, m := range members {
		gone[i] = consumerMember{id: m.id, memberAttributes: m.memberAttributes, memberAssignment: m.memberAssignment}
	}
	noteRemoved := func() {
		for i, m := range members {
			s.emitMember(g, &gone[i], Event{Kind: kind, Cause: cause})
			s.forgetMember(m)
			g.dropLeft(m.id)
		}
	}
	if s.mayDowngrade(g, members) {
		tx.onDone = append(tx.onDone, noteRemoved)
		s.downgrade(tx, group, g.groupEpoch, members, "", false)
		return tx
	}
	expressions := make(map[string]struct{})
	names := listed(firstOf(members, (*consumerMember).named))
	for _, m := range members {
		expressions[m.regex] = struct{}{}
		tx.removeMember(m.id)
	}
	for _, expression := range sortedNames(expressions) {
		if expression != "" && g.regexUsers[expression] == 0 { // resolved or not
			tx.put(records.TypeConsumerRegex, expression, nil)
		}
	}
	tx.onDone = append(tx.onDone, noteRemoved)
	s.maybeBump(tx, g, true, fmt.Sprintf("%s: %s", names, cause))
	if g.empty() {
		tx.onDone = append(tx.onDone, func() {
			s.emit(Event{Group: g.id, Kind: EventEmpty, Epoch: g.groupEpoch, Cause: "the last member is gone"})
		})
	}
	return tx
}

// stopUnremoved ends the timers of members that stay because the log doesn't hold that they go. Kafka ends them before it knows, and begins none anew but
// the session's, with the member's next request; where the group would have become a classic one it has not come to that.
func (s *Shard) stopUnremoved(g *consumerGroup, members []*consumerMember) {
	if s.mayDowngrade(g, members) {
		return
	}
	for _, m := range members {
		s.stopMember(m)
	}
}

// forgetMember ends what a removed member has running beside the log.
func (s *Shard) forgetMember(m *consumerMember) {
	s.stopMember(m)
	s.releaseMember(m)
}

// emitMember fills in the member of an event.
func (s *Shard) emitMember(g *consumerGroup, m *consumerMember, e Event) {
	e.Group = g.id
	if m != nil {
		e.Member, e.ClientID, e.InstanceID = m.id, m.clientID, m.instance()
		if e.Epoch == 0 {
			e.Epoch = m.epoch
		}
	}
	s.emit(e)
}

// tellChange puts a member's step into the history.
func (s *Shard) tellChange(g *consumerGroup, m *consumerMember, before memberAssignment) {
	if given := mergeOwnership(before.assigned, before.pending).without(mergeOwnership(m.assigned, m.pending)); len(given) > 0 {
		s.emitMember(g, m, Event{Kind: EventRevoked, Partitions: s.named(given), Cause: "acknowledged the revocation"})
	}
	if told := m.pending.without(before.pending); len(told) > 0 {
		s.emitMember(g, m, Event{Kind: EventToldToRevoke, Partitions: s.named(told),
			Cause: fmt.Sprintf("they are not in its target of epoch %d", g.assignmentEpoch)})
	}
	if before.epoch == 0 || len(m.assigned.without(before.assigned)) > 0 {
		e := Event{Kind: EventAssigned, Partitions: s.named(m.assigned), Cause: fmt.Sprintf("its target of epoch %d", g.assignmentEpoch)}
		if m.state == memberUnreleased {
			e.Cause += "; others have not given up the rest"
		}
		s.emitMember(g, m, e)
	}
	if g.toldStable != g.assignmentEpoch && g.stateName() == "Stable" {
		g.toldStable = g.assignmentEpoch
		s.emit(Event{Group: g.id, Kind: EventStable, Epoch: g.groupEpoch, Cause: fmt.Sprintf("all %d members are at their target", len(g.members))})
	}
	s.markChanged(g)
}

// noteRefusal puts a refusal that ends a membership, or that the client is told no reason of, into the history.
func (s *Shard) noteRefusal(group, member string, c Client, r *refusal) {
	kind, cause := EventFenced, r.message
	switch {
	case r.reason != "":
		kind, cause = EventRefused, r.reason
	case r.code == errFencedMemberEpoch, r.code == errFencedInstanceID, r.code == errUnreleasedInstanceID, r.code == errUnknownMemberID:
	default:
		return
	}
	s.emit(Event{Group: group, Kind: kind, Member: member, ClientID: c.ID, Cause: cause})
}

// newMemberID is a random uuid in the 22 characters of base64url, as Kafka makes one.
func (s *Shard) newMemberID() string {
	var b [16]byte
	for i := range b {
		b[i] = byte(s.deps.Rand.Uint32())
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	id := base64url(b)
	if strings.HasPrefix(id, "-") { // Kafka's own never begin like an option
		return s.newMemberID()
	}
	return id
}

// named are the partitions by topic name; of a topic that is gone it says so.
func (s *Shard) named(o ownership) map[string][]int32 {
	out := make(map[string][]int32, len(o))
	for _, t := range o {
		out[s.topicName(t.topic)] = t.parts
	}
	return out
}

func (s *Shard) topicName(id assignors.TopicID) string {
	if t, ok := s.meta.TopicByID(id); ok {
		return t.Name
	}
	if name, ok := s.turn.gone[id]; ok {
		return name
	}
	return "deleted topic " + hex.EncodeToString(id[:])
}

func partitionsText(parts map[string][]int32) string {
	var out []string
	for _, name := range sortedNames(parts) {
		out = append(out, fmt.Sprintf("%s%v", name, parts[name]))
	}
	return listed(out)
}
