package groups

import (
	"fmt"
)

// Who sends a heartbeat: members by their ids, static members and those who take their places, and the epochs they may send.

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
	if !b.joins {
		return g.instanceOf(*instanceID, b.member)
	}
	holder, r := g.holder(*instanceID)
	switch {
	case r != nil:
		return nil, r
	case holder == nil:
		b.turnsStatic = m != nil
		b.assignmentEpoch = g.assignmentEpoch
		return m, nil
	case holder.epoch != epochLeaveStatic && !holder.usesClassic():
		return nil, refuse(errUnreleasedInstanceID,
			"Static member %s with instance id %s cannot join the group because the instance id is owned by %s member.",
			b.member, *instanceID, holder.id)
	}
	return s.takeOver(b, g, *instanceID, holder), nil
}

// takeOver gives a static member's place to a new incarnation: the old id goes, the new one starts at epoch 0 with its
// attributes, partitions and target, so that nobody else notices. The old one need not have the instance id anymore (consumerGroup.static).
func (s *Shard) takeOver(b *beat, g *consumerGroup, instanceID string, old *consumerMember) *consumerMember {
	b.replaces = true
	if b.member != old.id {
		b.tx.newcomer = b.member
	}
	if m := g.members[b.member]; m != nil && m != old {
		b.gaveUp, b.tx.had = []ownership{m.assigned, m.pending}, g.target[b.member]
		b.tx.countFormer(g, m.memberAttributes)
	}
	attributes, assignment, target := old.memberAttributes, old.memberAssignment, g.orderedTarget(old.id)
	assignment.epoch, assignment.previous = 0, 0
	b.tx.removeMember(old.id)
	b.tx.putMember(b.member, attributes)
	if b.member == old.id {
		g.members[b.member].memberTimers = old.memberTimers
	}
	b.tx.putTargetMember(b.member, target.Shares())
	b.tx.putCurrent(b.member, assignment)
	b.tx.onDone = append(b.tx.onDone, func() {
		s.releaseMember(old)
		if b.member != old.id {
			s.leavePlace(g, old)
		}
		s.emitMember(g, g.members[b.member], Event{Kind: EventReplaced, Member: b.member, ClientID: b.client.ID, InstanceID: instanceID, Replaces: old.id,
			Cause: fmt.Sprintf("instance %s came back as member %s in place of %s", cut(instanceID), cut(b.member), cut(old.id))})
	})
	return g.members[b.member]
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

// fencedByTest answers a member that Shard.Fence named.
func (s *Shard) fencedByTest(m *consumerMember) *refusal {
	m.fenced = false
	if m.instanceID != nil {
		return refuse(errFencedInstanceID, "Static member %s with instance id %s was fenced by the test.", m.id, *m.instanceID)
	}
	return refuse(errFencedMemberEpoch, "Member %s with epoch %d was fenced by the test. The member must abandon all its partitions and rejoin.", m.id, m.epoch)
}
