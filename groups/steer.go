package groups

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Evict removes a member as its session timeout would, whatever it waits for.
func (s *Shard) Evict(now time.Time, id, memberID, cause string) (Effects, error) {
	return s.steer(now, id, func(g *group) error {
		if g.consumer != nil {
			return s.evictConsumer(g, memberID, cause)
		}
		return s.evictClassic(g, memberID, cause)
	})
}

// Fence makes the member's next request fail as that of a member whose place was taken.
func (s *Shard) Fence(now time.Time, id, memberID string) (Effects, error) {
	return s.steer(now, id, func(g *group) error {
		if g.consumer != nil {
			return s.fenceConsumer(g, memberID)
		}
		return s.fenceClassic(g, memberID)
	})
}

// Rebalance begins one: a classic group goes to PreparingRebalance, a consumer group bumps its epoch.
func (s *Shard) Rebalance(now time.Time, id, cause string) (Effects, error) {
	return s.steer(now, id, func(g *group) error {
		if g.consumer != nil {
			return s.rebalanceConsumer(g, cause)
		}
		return s.rebalanceClassic(g, cause)
	})
}

// Touch counts as a heartbeat of the member; unknown ones are ignored.
func (s *Shard) Touch(now time.Time, id, memberID string) {
	s.begin(now)
	g := s.groups[id]
	switch {
	case g == nil || s.phase != phaseActive:
	case g.consumer != nil:
		s.touchConsumer(g, memberID)
	case g.classic != nil:
		s.touchClassic(g, memberID)
	}
}

// steer runs a steering call as a step.
func (s *Shard) steer(now time.Time, id string, do func(*group) error) (Effects, error) {
	s.begin(now)
	if s.phase != phaseActive {
		return s.end(), fmt.Errorf("groups: the coordinator of group %q is not active", id)
	}
	g := s.groups[id]
	if g == nil {
		return s.end(), fmt.Errorf("groups: there is no group %q; this coordinator has %s", id, listed(s.GroupIDs()))
	}
	err := do(g)
	return s.end(), err
}

// noSuchMember is the error of a steering call that names a stranger.
func noSuchMember(id, member string, have []string) error {
	slices.Sort(have)
	return fmt.Errorf("groups: group %q has no member %q; it has %s", id, member, listed(have))
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
