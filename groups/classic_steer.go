package groups

import (
	"fmt"
)

// evictClassic removes a member as by session timeout, even one whose request waits.
func (s *Shard) evictClassic(g *group, memberID, cause string) error {
	m, err := s.steered(g, memberID)
	if err != nil {
		return err
	}
	s.emit(m.event(g, EventEvicted).because("%s", cause))
	s.refuseSync(m, errUnknownMemberID)
	s.removeAndUpdate(g, m, m.named()+" was evicted")
	return nil
}

// fenceClassic lets the member's next request fail. A held heartbeat is that request.
func (s *Shard) fenceClassic(g *group, memberID string) error {
	m, err := s.steered(g, memberID)
	if err != nil {
		return err
	}
	m.fenced = true
	s.releaseHeld(m.beat)
	return nil
}

// refuseFenced is the answer to a fenced member. A dynamic one is gone with it, since its client starts anew under another id;
// a static one stays, as it does when another client has taken its instance id.
func (s *Shard) refuseFenced(g *group, m *classicMember) int16 {
	m.fenced = false
	s.emit(m.event(g, EventFenced).because("the test fenced it"))
	if m.instanceID != nil {
		return errFencedInstanceID
	}
	s.removeAndUpdate(g, m, m.named()+" was fenced")
	return errUnknownMemberID
}

// rebalanceClassic begins a rebalance; one that goes on is enough.
func (s *Shard) rebalanceClassic(g *group, cause string) error {
	switch {
	case g.classic == nil, g.classic.state == classicEmpty:
		return fmt.Errorf("groups: group %q has no members that could rebalance", g.id)
	case g.classic.state == classicStable, g.classic.state == classicCompleting:
		s.prepareRebalance(g, cause)
	}
	return nil
}

// touchClassic counts as a heartbeat.
func (s *Shard) touchClassic(g *group, memberID string) {
	c := g.classic
	if m := c.members[memberID]; m != nil && m.session.running {
		if m.isNew {
			s.startTimer(&m.session, newMemberJoinTimeout)
			return
		}
		s.renewSession(m)
	}
}

func (s *Shard) steered(g *group, memberID string) (*classicMember, error) {
	var have []string
	if g.classic == nil { // Kafka has forgotten all of it but its offsets
		return nil, noSuchMember(g.id, memberID, have)
	}
	if m := g.classic.members[memberID]; m != nil {
		return m, nil
	}
	for _, m := range g.classic.order {
		have = append(have, m.id)
	}
	return nil, noSuchMember(g.id, memberID, have)
}
