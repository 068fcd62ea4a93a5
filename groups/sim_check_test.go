package groups

// compare holds the live durable state to the replayed one.
func (r *simRun) compare() {
	if live, replayed := durable(r.shard), durable(r.shadow); live != replayed {
		r.fail("the replayed state differs from the live one\nlive:\n%s\nreplayed:\n%s", live, replayed)
	}
}

// check are the invariants.
func (r *simRun) check() {
	g := r.shard.groups[simGroup]
	if g == nil || g.classic == nil {
		r.generation = 0
		return
	}
	c := g.classic
	if v := c.synced; v != nil {
		if v.Generation < r.generation {
			r.fail("the durable generation went back from %d to %d", r.generation, v.Generation)
		}
		r.generation = v.Generation
	}
	if c.generation < r.generation {
		r.fail("the group is at generation %d, its log at %d", c.generation, r.generation)
	}
	if c.joining != countMembers(c, func(m *classicMember) bool { return m.join != nil }) {
		r.fail("%d parked joins are counted wrongly", c.joining)
	}
	for _, m := range c.order {
		if m.join != nil && c.state != classicPreparing && !c.secondRound.running || m.sync != nil && c.state != classicCompleting && !c.secondRound.running {
			r.fail("a request of %s waits for nothing in state %s (join %t, sync %t)", m.id, c.state, m.join != nil, m.sync != nil)
		}
		if m.beat != nil && c.state != classicStable && r.shard.deaf(m) <= 0 && r.now.Before(m.beat.timer.at) {
			r.fail("a heartbeat of %s waits in state %s", m.id, c.state)
		}
	}
	if c.state == classicStable {
		r.checkStable(c)
	}
	r.checkOwners(c)
}

func countMembers(c *classicGroup, is func(*classicMember) bool) int {
	n := 0
	for _, m := range c.order {
		if is(m) {
			n++
		}
	}
	return n
}

// checkStable compares a Stable group with its last sync.
func (r *simRun) checkStable(c *classicGroup) {
	if c.synced.Generation != c.generation || len(c.synced.Members) != len(c.members) {
		r.fail("the group is Stable at generation %d with %d members, its last sync at %d with %d",
			c.generation, len(c.members), c.synced.Generation, len(c.synced.Members))
		return
	}
	owner := map[topicPartition]string{}
	for _, vm := range c.synced.Members {
		m := c.members[vm.ID]
		if m == nil || string(m.assignment) != string(vm.Assignment) {
			r.fail("member %s has not what the last sync says", vm.ID)
			return
		}
		assigned, _ := assignedPartitions(m.assignment)
		for topic, partitions := range assigned {
			for _, p := range partitions {
				tp := topicPartition{topic, p}
				if owner[tp] != "" {
					r.fail("generation %d gives %s-%d to both %s and %s", c.generation, topic, p, owner[tp], m.id)
				}
				owner[tp] = m.id
			}
		}
		for _, client := range r.clients {
			if client.member == m.id && client.ownedGen == c.generation && !sameOwned(client.owned, assigned) {
				r.fail("%s owns %v by generation %d, but was assigned %v", client.name, client.owned, c.generation, assigned)
			}
		}
	}
}

func sameOwned(owned map[topicPartition]bool, assigned map[string][]int32) bool {
	n := 0
	for topic, partitions := range assigned {
		for _, p := range partitions {
			n++
			if !owned[topicPartition{topic, p}] {
				return false
			}
		}
	}
	return n == len(owned)
}

// checkOwners looks for partitions with two owners.
func (r *simRun) checkOwners(c *classicGroup) {
	for i, a := range r.clients {
		for _, b := range r.clients[i+1:] {
			if !a.running || !b.running {
				continue
			}
			same := a.ownedGen >= 0 && a.ownedGen == b.ownedGen
			both := r.settings.calm && c.generation > 0 && a.gen == c.generation && b.gen == c.generation
			if !same && !both {
				continue
			}
			for tp := range a.owned {
				if b.owned[tp] {
					r.fail("both %s (generation %d) and %s (generation %d) own %s-%d", a.name, a.ownedGen, b.name, b.ownedGen, tp.topic, tp.partition)
				}
			}
		}
	}
}

// converged says that nothing is left to happen: the group is Stable, its members are the running clients, and together they
// own every partition they know of.
func (r *simRun) converged() bool {
	running := 0
	owned := map[topicPartition]bool{}
	for _, c := range r.clients {
		if !c.running {
			continue
		}
		running++
		if c.state != simStable {
			return false
		}
		for tp := range c.owned {
			owned[tp] = true
		}
	}
	g := r.shard.groups[simGroup]
	if running == 0 {
		return g == nil || g.classic.state == classicEmpty
	}
	if g == nil || g.classic.state != classicStable || len(g.classic.members) != running {
		return false
	}
	for _, c := range r.clients {
		if c.running && (g.classic.members[c.member] == nil || c.ownedGen != g.classic.generation) {
			return false
		}
	}
	if len(owned) < int(r.settings.partitions)+2 {
		r.fail("the group is stable, but only %d of %d partitions are owned", len(owned), r.settings.partitions+2)
	}
	return true
}
