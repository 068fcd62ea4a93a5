package groups

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// rebalanceOrCheckJoin is what follows a change of the members: a rebalance begins, or the one that goes on may be complete.
func (s *Shard) rebalanceOrCheckJoin(g *group, why string) {
	if g.classic.state == classicPreparing {
		s.checkJoinPhase(g)
	} else {
		s.prepareRebalance(g, why)
	}
}

// asked takes a step for a request, and answers why the request fails where the step ends the join phase: no protocol can be chosen, where in Kafka an exception comes out of
// the phase, which stays as it is, with a new generation; or the log doesn't take that the group is Empty, as it is from now on.
func (c *classicGroup) asked(step func()) *refusal {
	c.isAsked, c.failed = true, nil
	step()
	c.isAsked = false
	return c.failed
}

// joinArrived is rebalanceOrCheckJoin for a join that waits now.
func (s *Shard) joinArrived(g *group, m *classicMember, why string) {
	if r := g.classic.asked(func() { s.rebalanceOrCheckJoin(g, why) }); r != nil {
		s.failJoin(m)
	}
}

// failJoin refuses a join that came to a vote without candidates. It counts as one that waits all the same, and the others' go on waiting.
func (s *Shard) failJoin(m *classicMember) {
	s.reply(m.join.ticket, joinError(m.join.req, "", errUnknownServerError))
	m.join.ticket = 0
}

// prepareRebalance begins a join phase, from Empty with the initial delay.
func (s *Shard) prepareRebalance(g *group, why string) {
	c := g.classic
	if c.state == classicCompleting {
		for _, m := range c.order {
			m.assignment = nil
		}
	}
	s.stopTimer(&c.syncTimer)
	s.stopTimer(&c.secondRound)
	clear(c.unsynced)
	from := c.state
	s.become(c, classicPreparing)
	s.emit(Event{Group: g.id, Kind: EventRebalance, Epoch: c.generation, Cause: why})
	// Parked syncs are those of CompletingRebalance, or wait for this very rebalance (prompt.go).
	s.answerSyncs(g, errRebalanceInProgress)
	for _, m := range slices.Clone(c.order) {
		s.tellNews(m)
	}
	if from == classicEmpty {
		if d := s.cfg.InitialRebalanceDelay; s.delaysByArrivals() {
			s.awaitArrivals(g)
		} else {
			s.startInitialDelay(g, d, max(c.rebalanceTimeout()-d, 0))
		}
		s.checkExpected(g)
		return
	}
	if c.allJoined() {
		s.completeJoin(g)
		return
	}
	s.startJoinDeadline(g)
}

// startJoinDeadline limits the join phase. Members that join later don't move it.
func (s *Shard) startJoinDeadline(g *group) {
	c := g.classic
	c.joinTimer.kind = timerJoin
	c.joinTimer.fire = func() { s.completeJoin(g) }
	c.joinLimit = c.rebalanceTimeout()
	s.startTimer(&c.joinTimer, c.joinLimit)
}

// startInitialDelay lets the first rebalance of an Empty group wait for more members: delay now, and remaining is what later
// extensions may take.
func (s *Shard) startInitialDelay(g *group, delay, remaining time.Duration) {
	c := g.classic
	c.joinTimer.kind = timerInitialDelay
	c.joinTimer.fire = func() {
		if c.newMemberAdded && remaining != 0 {
			c.newMemberAdded = false
			s.startInitialDelay(g, min(s.cfg.InitialRebalanceDelay, remaining), max(remaining-delay, 0))
			return
		}
		// In Kafka too the flag outlives a delay that nothing could extend: the group's next initial delay is extended by it.
		s.completeJoin(g)
	}
	s.startTimer(&c.joinTimer, delay)
}

// checkJoinPhase ends the join phase if everybody is there. While the initial delay runs only its timer does that.
func (s *Shard) checkJoinPhase(g *group) {
	c := g.classic
	switch {
	case c.overdue:
		s.completeJoin(g)
	case c.previous == classicEmpty:
		s.checkExpected(g)
	case c.allJoined():
		s.completeJoin(g)
	}
}

// checkJoinAfterExpiry is checkJoinPhase after a member or a pending id expired: it ends the initial delay as well.
func (s *Shard) checkJoinAfterExpiry(g *group) {
	if c := g.classic; c.state == classicPreparing && c.allJoined() {
		s.completeJoin(g)
	}
}

// completeJoin ends the join phase: who has not joined is out, the others get a generation.
func (s *Shard) completeJoin(g *group) {
	c := g.classic
	if s.shortOfMembers(g.id, len(c.members)) {
		c.overdue = true
		return
	}
	if s.stopAt(g.id, StepJoinBarrier, func() {
		if g.classic == c && c.state == classicPreparing {
			s.completeJoin(g)
		}
	}) {
		return
	}
	c.overdue = false
	s.stopTimer(&c.joinTimer)
	s.removeUnjoined(g)
	if len(c.members) > 0 && !c.electJoinedLeader() {
		// Only static members are left and none of them is here: they have until their sessions end. A rebalance timeout of
		// zero would spin.
		s.startJoinDeadline(g)
		if c.rebalanceTimeout() <= 0 {
			s.startTimer(&c.joinTimer, time.Millisecond)
		}
		return
	}
	c.generation++
	if len(c.members) == 0 {
		s.becomeEmpty(g)
	} else {
		s.beginGeneration(g)
	}
}

// removeUnjoined removes the members that have not joined. Static ones may be late.
func (s *Shard) removeUnjoined(g *group) {
	c := g.classic
	for _, m := range slices.Clone(c.order) {
		if m.join == nil && m.instanceID == nil {
			e := m.event(g, EventExpired).because("did not join again within the rebalance timeout of %s", c.joinLimit)
			if c.previous == classicEmpty { // it was sent away when a member of the consumer protocol came
				e.Cause = "did not join again before the initial rebalance delay was over"
			}
			s.emit(e)
			s.removeMember(g, m)
		}
	}
}

// becomeEmpty is the generation of a group that nobody is in.
func (s *Shard) becomeEmpty(g *group) {
	c := g.classic
	c.protocol = nil
	c.findSubscribed()
	s.become(c, classicEmpty)
	s.emit(Event{Group: g.id, Kind: EventEmpty, Epoch: c.generation, Cause: "the last member is gone"})
	record := groupRecord(g, nil)
	c.failed = s.unwritable([]Record{record})
	if s.fits([]Record{record}) {
		s.write(record)
	}
}

// beginGeneration chooses the protocol and answers the joins; the members have the rebalance timeout to sync.
func (s *Shard) beginGeneration(g *group) {
	c := g.classic
	name, ok := c.vote()
	switch {
	case ok:
	case c.isAsked:
		c.failed = broken("no protocol can be chosen")
		return
	default:
		name = c.firstProtocol()
	}
	c.protocol = &name
	c.findSubscribed()
	s.become(c, classicCompleting)
	s.emit(c.members[c.leader].event(g, EventGeneration).because("%d of %d members joined; protocol %s", c.joining, len(c.members), cut(name)))
	late := s.joinsMayWait(c)
	for _, m := range c.order {
		c.unsynced[m.id] = struct{}{}
		if late && s.joinWaits(c, m) {
			s.startTimer(&c.secondRound, secondRoundWait)
			continue
		}
		s.admit(c, m)
	}
	generation, limit := c.generation, c.rebalanceTimeout()
	c.syncTimer.fire = func() { s.syncExpired(g, generation, limit) }
	s.startTimer(&c.syncTimer, limit)
}

// admit answers a member's join: it is in this generation.
func (s *Shard) admit(c *classicGroup, m *classicMember) {
	s.answerJoin(c, m, func(req *kmsg.JoinGroupRequest) *kmsg.JoinGroupResponse { return c.joined(req, m) })
	s.renewSession(m)
	m.isNew, m.uninformed = false, true
}

// readmit answers the member's earlier join, if that still waits (prompt.go): another has come.
func (s *Shard) readmit(c *classicGroup, m *classicMember) {
	if m.join != nil {
		s.admit(c, m)
	}
}

// electJoinedLeader makes sure that the leader is one that has joined; it answers false if nobody has.
func (c *classicGroup) electJoinedLeader() bool {
	if m := c.members[c.leader]; m != nil && m.join != nil {
		return true
	}
	for _, m := range c.order {
		if m.join != nil {
			c.leader = m.id
			return true
		}
	}
	return false
}

// sessionExpired removes a member that fell silent. One whose request waits here is not silent, unless it is new: then its wait
// for the first generation took too long.
func (s *Shard) sessionExpired(g *group, m *classicMember) {
	if !m.isNew && (m.join != nil || m.sync != nil) {
		return
	}
	timeout := m.sessionTimeout
	if m.isNew {
		timeout = newMemberJoinTimeout
	}
	s.emit(m.event(g, EventExpired).because("session timeout of %s passed", timeout))
	s.removeAndUpdate(g, m, m.named()+" expired")
}

// removeAndUpdate removes a member without its doing and lets the group go on.
func (s *Shard) removeAndUpdate(g *group, m *classicMember, why string) {
	s.removeMember(g, m)
	switch g.classic.state {
	case classicStable, classicCompleting:
		s.prepareRebalance(g, why)
	case classicPreparing:
		s.checkJoinAfterExpiry(g)
	}
}

// pendingExpired forgets an id whose client did not come back.
func (s *Shard) pendingExpired(g *group, id string) {
	if g.classic == nil {
		return
	}
	delete(g.classic.pending, id)
	s.emit(Event{Group: g.id, Kind: EventExpired, Member: id, Epoch: g.classic.generation, Cause: "the member id was not used within the session timeout"})
	s.checkJoinAfterExpiry(g)
}

// syncExpired removes the members that have not synced within the rebalance timeout, static ones too.
func (s *Shard) syncExpired(g *group, generation int32, limit time.Duration) {
	c := g.classic
	if c.generation != generation || c.state != classicCompleting && c.state != classicStable || len(c.unsynced) == 0 {
		return
	}
	for _, m := range slices.Clone(c.order) {
		if _, ok := c.unsynced[m.id]; ok {
			s.emit(m.event(g, EventExpired).because("did not sync within the rebalance timeout of %s", limit))
			s.removeMember(g, m)
		}
	}
	s.prepareRebalance(g, "members did not sync in time")
}
