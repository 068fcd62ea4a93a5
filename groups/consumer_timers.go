package groups

import (
	"fmt"
	"strconv"
	"time"
)

// The timers of a consumer group's members, and the settings they follow.

// restartSession gives the member its whole session timeout again.
func (s *Shard) restartSession(g *consumerGroup, m *consumerMember) {
	timeout := s.sessionTimeout(g.id)
	if m.usesClassic() {
		timeout = millis(m.classic.SessionTimeoutMs)
	}
	s.startSession(g, m, timeout)
}

func (s *Shard) startSession(g *consumerGroup, m *consumerMember, timeout time.Duration) {
	if m.session.fire == nil {
		m.session = timer{kind: timerSession, group: g.id, member: m.id, fire: s.expiry(g, m.id, &m.session, func(m *consumerMember) string {
			return fmt.Sprintf("session timeout of %s passed without a heartbeat", m.timeout)
		})}
	}
	m.timeout, m.lastBeat = timeout, s.now
	s.startTimer(&m.session, timeout)
}

// restartRevocation starts the rebalance timeout when a change leaves the member with partitions to revoke, and stops it
// when a change leaves it without. Classic members have other timers; one that began before the member turned classic goes on, as in Kafka.
func (s *Shard) restartRevocation(g *consumerGroup, m *consumerMember) {
	if m.usesClassic() {
		return
	}
	if m.state != memberUnrevoked {
		s.stopTimer(&m.revoke)
		return
	}
	s.startRevocation(g, m)
}

func (s *Shard) startRevocation(g *consumerGroup, m *consumerMember) {
	timeout, id, epoch := millis(m.rebalanceTimeoutMs), m.id, m.epoch
	remove := s.expiry(g, m.id, &m.revoke, func(m *consumerMember) string {
		switch {
		case len(m.pending) > 0:
		case m.usesClassic():
			return fmt.Sprintf("rebalance timeout of %s passed, which began before it went on with the classic protocol", timeout)
		default:
			return fmt.Sprintf("rebalance timeout of %s passed, which began with a heartbeat that did not fit into the coordinator's log", timeout)
		}
		return fmt.Sprintf("rebalance timeout of %s passed; it still had to revoke %s", timeout, partitionsText(s.named(m.pending)))
	})
	if m.revoke.fire == nil {
		m.revoke = timer{kind: timerRevocation, group: g.id, member: m.id}
	}
	m.revoke.fire = func() {
		if m := g.members[id]; m != nil && m.epoch == epoch {
			remove()
		}
	}
	s.startTimer(&m.revoke, timeout)
}

// awaitRejoin limits how long a classic member that was told to rebalance may take to join.
func (s *Shard) awaitRejoin(g *consumerGroup, m *consumerMember) {
	if m.join.running {
		return
	}
	timeout := millis(m.rebalanceTimeoutMs)
	m.join = timer{kind: timerJoin, group: g.id, member: m.id, fire: s.expiry(g, m.id, &m.join, func(*consumerMember) string {
		return fmt.Sprintf("it was told to rebalance and did not join within %s", timeout)
	})}
	s.startTimer(&m.join, timeout)
}

// awaitSync limits how long a classic member that has joined may take to ask for its assignment.
func (s *Shard) awaitSync(g *consumerGroup, m *consumerMember) {
	timeout := millis(m.rebalanceTimeoutMs)
	s.stopTimer(&m.sync)
	m.sync = timer{kind: timerSync, group: g.id, member: m.id, fire: s.expiry(g, m.id, &m.sync, func(*consumerMember) string {
		return fmt.Sprintf("it joined and did not sync within %s", timeout)
	})}
	s.startTimer(&m.sync, timeout)
}

// retryAfter is when a timer tries again whose records did not fit into a batch.
const retryAfter = 500 * time.Millisecond

// expiry is what a timer of an id does: the member that has it now is removed. While the log doesn't take that it is tried again and again, and
// no other timer of the member runs (but see stopUnremoved).
func (s *Shard) expiry(g *consumerGroup, id string, t *timer, cause func(*consumerMember) string) func() {
	return func() {
		group, m := s.groups[g.id], g.members[id]
		if m == nil {
			g.dropLeft(id)
		}
		if group == nil || group.consumer != g || m == nil {
			return
		}
		if r := s.removeMembers(group, []*consumerMember{m}, EventExpired, cause(m)); r != nil {
			s.stopUnremoved(g, []*consumerMember{m})
			s.startTimer(t, retryAfter)
		}
	}
}

func (s *Shard) stopMember(m *consumerMember) {
	s.stopTimer(&m.session)
	s.stopTimer(&m.revoke)
	s.stopTimer(&m.join)
	s.stopTimer(&m.sync)
}

// leavePlace ends the timers of a member whose place another id took. Kafka ends none of them: those of a classic member's join and sync remove
// who joins with its id meanwhile; of the others nothing is seen, as a join begins its own.
func (s *Shard) leavePlace(g *consumerGroup, m *consumerMember) {
	s.stopTimer(&m.session)
	s.stopTimer(&m.revoke)
	if m.join.running || m.sync.running {
		if g.left == nil {
			g.left = make(map[string]*memberTimers)
		}
		g.left[m.id] = m.memberTimers
	}
}

// dropLeft lets go of what leavePlace left, once none of it runs.
func (g *consumerGroup) dropLeft(id string) {
	if t := g.left[id]; t != nil && !t.join.running && !t.sync.running {
		delete(g.left, id)
	}
}

// stopLeft ends what leavePlace left.
func (s *Shard) stopLeft(g *consumerGroup) {
	for _, t := range g.left {
		s.stopTimer(&t.join)
		s.stopTimer(&t.sync)
	}
	g.left = nil
}

// consumerLoaded starts the timers of a group that was read from the log. Every member gets the session timeout of the
// consumer protocol, also a classic one.
func (s *Shard) consumerLoaded(g *group) {
	c := g.consumer
	for _, id := range c.order {
		m := c.members[id]
		s.startSession(c, m, s.sessionTimeout(c.id))
		if m.state == memberUnrevoked { // a classic one, too
			s.startRevocation(c, m)
		}
	}
	if c.assignmentEpoch < c.groupEpoch {
		s.markChanged(c)
	}
}

// consumerUnload stops the timers. No member waits for an answer but those whose heartbeats are held.
func (s *Shard) consumerUnload(g *group) {
	for _, m := range g.consumer.members {
		s.stopMember(m)
	}
	s.stopLeft(g.consumer)
	delete(s.turn.resolving, g.id)
	s.stopTimer(g.consumer.assign)
}

// sessionTimeout, heartbeatInterval and assignmentInterval are a group's own setting, or the broker's. A stored value
// outside of the broker's bounds counts as the nearer bound.
func (s *Shard) sessionTimeout(group string) time.Duration {
	d, _ := s.groupSetting(group, "consumer.session.timeout.ms",
		s.cfg.ConsumerSessionTimeout, s.cfg.ConsumerMinSession, s.cfg.ConsumerMaxSession)
	return d
}

func (s *Shard) heartbeatInterval(group string) (d time.Duration, set bool) {
	d, own := s.groupSetting(group, "consumer.heartbeat.interval.ms",
		s.cfg.ConsumerHeartbeat, s.cfg.ConsumerMinHeartbeat, s.cfg.ConsumerMaxHeartbeat)
	return d, own || s.cfg.ConsumerHeartbeatSet
}

// assignmentInterval is the least time between two targets. With prompt rebalances there is none, unless somebody set one.
func (s *Shard) assignmentInterval(group string) time.Duration {
	d, own := s.groupSetting(group, "consumer.assignment.interval.ms",
		s.cfg.ConsumerAssignment, s.cfg.ConsumerMinAssignment, s.cfg.ConsumerMaxAssignment)
	if s.cfg.Prompt && !own && !s.cfg.ConsumerAssignmentSet {
		return 0
	}
	return d
}

func (s *Shard) groupSetting(group, name string, broker, least, most time.Duration) (d time.Duration, own bool) {
	if s.cfg.GroupConfig == nil {
		return broker, false
	}
	value, ok := s.cfg.GroupConfig(group, name)
	if !ok {
		return broker, false
	}
	ms, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return broker, false
	}
	return min(max(time.Duration(ms)*time.Millisecond, least), most), true
}
