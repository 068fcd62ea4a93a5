package broker

import "slices"

// How the controller changes a partition: who is in sync, who is eligible, who leads, at which epoch (KIP-455, KIP-966). What is Kafka's
// is the order of steps and what each makes of the sets; that a follower which runs is in sync at once is ours, since all replicas share one log.

// newPartitionState is that of a new partition: the replicas that run are in sync, and the first of them leads.
func newPartitionState(replicas []int32, m *metadata) *partitionState {
	s := &partitionState{leader: -1, epoch: -1, replicas: replicas, isr: replicas}
	if slices.ContainsFunc(replicas, func(id int32) bool { return !m.isAlive(id) }) {
		s.isr = nil
		s.settleReplicas(m, func(id int32) { s.isr = append(s.isr, id) })
	}
	if len(s.isr) > 0 {
		s.leader, s.epoch = s.isr[0], 0
	}
	return s
}

// partitionChange is what becomes of a partition.
type partitionChange struct {
	before *partitionState
	partitionState
	m       *metadata
	minISR  int  // of the topic: see topic.minISR
	unclean bool // unclean.leader.election.enable, or an unclean election was asked for
}

// after is the state of a partition after edit, which says what is wanted of it, and after all that follows from it for the
// brokers that run in m. On the loop.
func (p *partition) after(m *metadata, edit func(*partitionState)) *partitionState {
	return p.afterElection(m, m.topics[p.topic].configs.UncleanLeaderElection, edit)
}

// afterElection is after, where unclean says whether an election may be unclean.
func (p *partition) afterElection(m *metadata, unclean bool, edit func(*partitionState)) *partitionState {
	t, s := m.topics[p.topic], p.state.Load()
	c := partitionChange{before: s, partitionState: *s, m: m, minISR: t.minISR(t.partitions[0].state.Load()), unclean: unclean}
	edit(&c.partitionState)
	c.isr = slices.DeleteFunc(slices.Clone(c.isr), func(id int32) bool { return !m.isAlive(id) })
	c.build()
	if c.leader >= 0 && c.expandISR() { // the leader tells the controller, which makes this another change
		one := c.partitionState
		c.before = &one
		if p.index == 0 {
			c.minISR = t.minISR(&one)
		}
		c.build()
	}
	next := c.partitionState
	next.settleReplicas(m, func(int32) {})
	return &next
}

// settleReplicas notes the replicas that don't run, and hands on the others.
func (s *partitionState) settleReplicas(m *metadata, runs func(id int32)) {
	s.offline = nil
	for _, id := range s.replicas {
		if m.isAlive(id) {
			runs(id)
		} else {
			s.offline = append(s.offline, id)
		}
	}
}

// build is one change.
func (c *partitionChange) build() {
	c.completeReassignment()
	c.populateELR()
	c.elect()
	removed := len(without(c.before.replicas, c.replicas)) > 0
	if c.leader != c.before.leader || removed {
		c.epoch = c.before.epoch + 1
	}
	c.updateLastKnownLeader()
}

// expandISR lets the followers that run into the ISR, which is in the order of ids from then on. It tells whether there were any.
func (c *partitionChange) expandISR() bool {
	joined := slices.Clone(c.isr)
	for _, id := range c.replicas {
		if c.m.isAlive(id) && !slices.Contains(joined, id) {
			joined = append(joined, id)
		}
	}
	if len(joined) == len(c.isr) {
		return false
	}
	slices.Sort(joined)
	c.isr = joined
	return true
}

// completeReassignment ends a reassignment when of the replicas that stay all new ones are in sync, or simply all, where there are to be fewer
// than before. What min.insync.replicas asks for doesn't count.
func (c *partitionChange) completeReassignment() {
	if !c.reassigning() {
		return
	}
	replicas, isr := without(c.replicas, c.removing), without(c.isr, c.removing)
	if len(isr) == 0 || len(without(c.adding, isr)) > 0 {
		return
	}
	if len(c.adding) < len(c.removing) && len(without(replicas, isr)) > 0 {
		return
	}
	c.replicas, c.isr, c.adding, c.removing = replicas, isr, nil, nil
}

// populateELR keeps who has all that was acknowledged, while fewer are in sync than min.insync.replicas asks for. Who is no replica any more
// is kept too.
func (c *partitionChange) populateELR() {
	if len(c.isr) >= c.minISR {
		c.elr, c.lastKnownELR = nil, nil
		return
	}
	candidates := slices.Concat(c.elr, c.before.isr)
	slices.Sort(candidates)
	c.elr = without(slices.Compact(candidates), c.isr)
}

// elect keeps the leader while it is in sync, and else takes the first replica that runs and is in sync, or eligible, or else who led last where
// nobody is known to be eligible, or else (unclean) any that runs.
func (c *partitionChange) elect() {
	if c.validLeader(c.leader) {
		return
	}
	c.leader = -1
	if i := slices.IndexFunc(c.replicas, c.validLeader); i >= 0 {
		c.lead(c.replicas[i])
		return
	}
	if len(c.isr)+len(c.elr) == 0 && len(c.lastKnownELR) == 1 && c.m.isAlive(c.lastKnownELR[0]) {
		c.lead(c.lastKnownELR[0])
		return
	}
	if i := slices.IndexFunc(c.replicas, c.m.isAlive); i >= 0 && c.unclean {
		c.elr = nil
		c.lead(c.replicas[i])
	}
}

// validLeader tells whether a broker may lead: who is eligible may where nobody is in sync.
func (c *partitionChange) validLeader(id int32) bool {
	return c.m.isAlive(id) && (slices.Contains(c.isr, id) || len(c.isr) == 0 && slices.Contains(c.elr, id))
}

// lead makes a broker the leader; one that was not in sync is alone in sync then.
func (c *partitionChange) lead(id int32) {
	c.leader = id
	if !slices.Contains(c.isr, id) {
		c.isr = []int32{id}
		c.elr = without(c.elr, c.isr)
	}
}

// updateLastKnownLeader remembers who led when nobody does any more.
func (c *partitionChange) updateLastKnownLeader() {
	switch {
	case c.leader >= 0:
		c.lastKnownELR = nil
	case c.before.leader >= 0:
		c.lastKnownELR = []int32{c.before.leader}
	}
}

// effectiveMinISR is min.insync.replicas of a partition: more than it has replicas counts as their number.
func effectiveMinISR(minISR int32, replicas int) int { return min(int(minISR), replicas) }

// minISR is min.insync.replicas as the controller takes it for each partition of a topic: more than the first one has replicas counts as their
// number. That is one for all, and counts the replicas from before a change, so that a reassignment to fewer can leave some eligible.
func (t *topic) minISR(first *partitionState) int {
	return effectiveMinISR(t.configs.MinInsyncReplicas, len(first.replicas))
}

func (s *partitionState) reassigning() bool { return len(s.adding)+len(s.removing) > 0 }

// without is ids without those in others.
func without(ids, others []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(ids), func(id int32) bool { return slices.Contains(others, id) })
}
