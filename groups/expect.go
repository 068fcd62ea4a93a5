package groups

import (
	"fmt"
	"time"
)

// ExpectMembers: a test that starts several members has the first assignment wait for all of them, however they race.

// expectation is one ExpectMembers that has not been met.
type expectation struct {
	n     int
	have  int // when it was looked at last
	limit time.Duration
	timer timer
}

// ExpectMembers lets the next assignment of a group, which need not exist yet, wait until it has n members; at most limit from
// when the first of them is there. An n of 0 takes it back.
func (s *Shard) ExpectMembers(now time.Time, id string, n int, limit time.Duration) Effects {
	s.begin(now)
	if e := s.expected[id]; e != nil {
		s.stopTimer(&e.timer)
		delete(s.expected, id)
	}
	if n > 0 {
		s.expect(id, n, limit)
	}
	s.expectationOver(id)
	return s.end()
}

func (s *Shard) expect(id string, n int, limit time.Duration) {
	e := &expectation{n: n, limit: limit}
	e.timer = timer{kind: timerExpectMembers, group: id, fire: func() {
		delete(s.expected, id)
		s.emit(Event{Group: id, Kind: EventExpectationLimit, Cause: fmt.Sprintf("%d of %d expected members joined within %s; going on without the others", e.have, n, limit)})
		s.expectationOver(id)
	}}
	s.expected[id] = e
}

// shortOfMembers says that the group must wait for more members before it computes an assignment. The first call that finds
// enough of them is the end of the expectation.
func (s *Shard) shortOfMembers(id string, have int) bool {
	e := s.expected[id]
	if e == nil || have == 0 {
		return false
	}
	e.have = have
	if have < e.n {
		if !e.timer.running {
			s.startTimer(&e.timer, e.limit)
		}
		return true
	}
	s.stopTimer(&e.timer)
	delete(s.expected, id)
	s.emit(Event{Group: id, Kind: EventExpectationMet, Cause: fmt.Sprintf("%d of %d expected members are there", have, e.n)})
	return false
}

// expectationOver lets a group go on that waited for members.
func (s *Shard) expectationOver(id string) {
	g := s.groups[id]
	switch {
	case g == nil || s.phase != phaseActive:
	case g.consumer != nil:
		s.assignNow(g.consumer)
	case g.classic != nil && g.classic.state == classicPreparing && g.classic.overdue:
		s.completeJoin(g)
	}
}

// checkExpected ends the initial delay when the members that ExpectMembers waits for are all there.
func (s *Shard) checkExpected(g *group) {
	if s.expected[g.id] != nil && !s.shortOfMembers(g.id, len(g.classic.members)) && g.classic.allJoined() && len(g.classic.members) > 0 {
		s.completeJoin(g)
	}
}

// Expecting tells whether an ExpectMembers of the group has not been met, and whether its limit runs.
func (s *Shard) Expecting(group string) (expecting, limited bool) {
	e := s.expected[group]
	return e != nil, e != nil && e.timer.running
}

// EndExpectation is the limit of ExpectMembers.
func (s *Shard) EndExpectation(now time.Time, group string) Effects {
	s.begin(now)
	if e := s.expected[group]; e != nil {
		s.stopTimer(&e.timer)
		e.timer.fire()
	}
	return s.end()
}
