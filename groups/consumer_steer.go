package groups

import (
	"fmt"
	"slices"
)

func (s *Shard) steeredMember(g *group, id string) (*consumerMember, error) {
	m := g.consumer.members[id]
	if m == nil {
		return nil, noSuchMember(g.id, id, slices.Clone(g.consumer.order))
	}
	return m, nil
}

func (s *Shard) evictConsumer(g *group, memberID, cause string) error {
	m, err := s.steeredMember(g, memberID)
	if err != nil {
		return err
	}
	return notSteered(g, s.removeMembers(g, []*consumerMember{m}, EventEvicted, cause))
}

// notSteered is the error of a steering call whose records the log doesn't take.
func notSteered(g *group, r *refusal) error {
	if r == nil {
		return nil
	}
	return fmt.Errorf("groups: group %q stays as it is: %s", g.id, r.reason)
}

func (s *Shard) fenceConsumer(g *group, memberID string) error {
	m, err := s.steeredMember(g, memberID)
	if err != nil {
		return err
	}
	m.fenced = true
	s.releaseMember(m)
	return nil
}

// rebalanceConsumer moves the group's epoch, so that the target is computed anew.
func (s *Shard) rebalanceConsumer(g *group, cause string) error {
	if g.consumer.empty() {
		return fmt.Errorf("groups: group %q has no members to rebalance", g.id)
	}
	tx := s.beginTx(g.id)
	s.maybeBump(tx, g.consumer, true, cause)
	return notSteered(g, tx.commitOwn())
}

func (s *Shard) touchConsumer(g *group, memberID string) {
	if m := g.consumer.members[memberID]; m != nil && m.epoch != epochLeaveStatic {
		s.restartSession(g.consumer, m)
	}
}
