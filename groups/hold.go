package groups

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// heldReply is a heartbeat's answer that waits for news (prompt heartbeats).
type heldReply struct {
	ticket Ticket
	timer  timer
	// answer replies; it decides then what there is to say.
	answer func()
	// drop is what becomes of it when the coordinator moves away, or its client.
	drop func()
}

// holdReply lets the request of ticket t wait up to limit; answer is called once, at the limit or at releaseHeld.
// drop replies when the shard is unloaded, or the connection closed, instead.
func (s *Shard) holdReply(t Ticket, group, member string, limit time.Duration, answer, drop func()) *heldReply {
	limit = s.groups[group].heldAtMost(member, limit)
	h := &heldReply{ticket: t, answer: answer, drop: drop}
	h.timer = timer{kind: timerHold, group: group, member: member, fire: func() { s.releaseHeld(h) }}
	s.held[t] = h
	s.startTimer(&h.timer, limit)
	return h
}

// releaseHeld answers a held request now. Nil, or one that was answered before, is no error.
func (s *Shard) releaseHeld(h *heldReply) {
	if h == nil || s.held[h.ticket] != h {
		return
	}
	delete(s.held, h.ticket)
	s.stopTimer(&h.timer)
	h.answer()
}

// Unpark asks for the answer of a held heartbeat at once, because another frame of its connection arrived. Joins and syncs, which wait for others, are not
// its business.
func (s *Shard) Unpark(now time.Time, t Ticket) Effects {
	s.begin(now)
	s.releaseHeld(s.held[t])
	return s.end()
}

// GaveUp is Unpark for a connection that is gone. Its client closed it after the heartbeat had been held for that time: it was gone itself, or did not
// want to wait any longer. 0: it was not the client. Nobody hears an answer, and the end of a connection is no sign of life: the session goes on from when the heartbeat came.
func (s *Shard) GaveUp(now time.Time, t Ticket, held time.Duration) Effects {
	s.begin(now)
	if h := s.held[t]; h != nil {
		if d := s.groups[h.timer.group].gaveUp(h.timer.member); d != nil && held > 0 {
			*d = held
		}
		s.dropHeld(h)
	}
	return s.end()
}

// gaveUp is how long a member's heartbeat had been held when its client closed the connection last; 0: it hasn't, or that is in patience already. Nil: no such member.
func (g *group) gaveUp(member string) *time.Duration {
	if g != nil && g.classic != nil {
		if m := g.classic.members[member]; m != nil {
			return &m.gaveUp
		}
	}
	if g != nil && g.consumer != nil {
		if m := g.consumer.members[member]; m != nil {
			return &m.gaveUp
		}
	}
	return nil
}

// heldAtMost is how long a member's heartbeat is held that would be held up to limit, after what has shown of the clients' own limits for an answer. They tell
// nobody of them (Java's request.timeout.ms, librdkafka's socket.timeout.ms, kgo's RequestTimeoutOverhead); where they are shorter they close the connection. A member that
// comes back with a heartbeat lives, so it wasn't the end of it. The members of a group mostly have one configuration: what one shows counts for all.
func (g *group) heldAtMost(member string, limit time.Duration) time.Duration {
	if d := g.gaveUp(member); d != nil && *d > 0 {
		if bears := *d * 3 / 4; g.patience == 0 || bears < g.patience {
			g.patience = bears
		}
		*d = 0
	}
	if g.patience > 0 {
		return min(limit, g.patience)
	}
	return limit
}

func (s *Shard) unloadHeld() {
	for _, t := range slices.Sorted(maps.Keys(s.held)) {
		s.dropHeld(s.held[t])
	}
}

// dropHeld is releaseHeld for a request that isn't handled any more.
func (s *Shard) dropHeld(h *heldReply) {
	delete(s.held, h.ticket)
	s.stopTimer(&h.timer)
	h.drop()
}

// hold is a step at which a group is stopped.
type hold struct {
	// resume goes on with what stands here; nil: nothing does.
	resume func()
}

// Hold stops a group at a step from now on, whether it exists or not.
func (s *Shard) Hold(group string, step Step) {
	if s.steps[group] == nil {
		s.steps[group] = make(map[Step]*hold)
	}
	if s.steps[group][step] == nil {
		s.steps[group][step] = &hold{}
	}
}

// Held says whether something stands at a held step.
func (s *Shard) Held(group string, step Step) bool {
	h := s.steps[group][step]
	return h != nil && h.resume != nil
}

// Release lifts a Hold; what stands there goes on.
func (s *Shard) Release(now time.Time, group string, step Step) Effects {
	s.begin(now)
	h := s.steps[group][step]
	if h == nil {
		return s.end()
	}
	delete(s.steps[group], step)
	if len(s.steps[group]) == 0 {
		delete(s.steps, group)
	}
	s.emit(Event{Group: group, Kind: EventReleased, Cause: fmt.Sprintf("step %s was released", step)})
	if h.resume != nil && s.phase == phaseActive {
		h.resume()
	}
	return s.end()
}

// stopAt says whether the group is held at step. If so, resume is called at its release: it must look at the group
// anew, as anything may have happened meanwhile.
func (s *Shard) stopAt(group string, step Step, resume func()) bool {
	h := s.steps[group][step]
	if h == nil {
		return false
	}
	if h.resume == nil {
		s.emit(Event{Group: group, Kind: EventHeld, Cause: fmt.Sprintf("stands at step %s", step)})
	}
	h.resume = resume
	return true
}

// Steering is what a test has asked of a shard's groups that is in no log: held steps, and ExpectMembers that were not met yet.
type Steering struct {
	holds    map[string][]Step
	expected map[string]expectation
}

// Steering answers what stands, to be given to the shard that follows when the coordinator moves.
func (s *Shard) Steering() Steering {
	out := Steering{holds: make(map[string][]Step), expected: make(map[string]expectation)}
	for group, steps := range s.steps {
		for step := range steps {
			out.holds[group] = append(out.holds[group], step)
		}
		slices.Sort(out.holds[group])
	}
	for group, e := range s.expected {
		out.expected[group] = expectation{n: e.n, limit: e.limit}
	}
	return out
}

// Resteer takes over what was asked of the shard before this one; call it before Loaded.
func (s *Shard) Resteer(from Steering) {
	for group, steps := range from.holds {
		for _, step := range steps {
			s.Hold(group, step)
		}
	}
	for group, e := range from.expected {
		s.expect(group, e.n, e.limit)
	}
}
