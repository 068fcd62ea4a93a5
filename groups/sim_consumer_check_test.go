package groups

import (
	"fmt"
	"slices"
)

func (w *consumerSim) check() error {
	if err := checkIndexes(w.shard); err != nil {
		return err
	}
	var waiting []Ticket // but for those that were given up: a later join of the member may have taken their place
	for _, c := range w.clients {
		if c.waiting != 0 {
			waiting = append(waiting, c.waiting)
		}
	}
	if err := checkWaiting(w.shard, waiting); err != nil {
		return err
	}
	if w.epochs["back"] != 0 {
		return fmt.Errorf("a member epoch went back")
	}
	if w.step%7 == 0 {
		for ; w.shadowed < len(w.log); w.shadowed++ {
			r := w.log[w.shadowed]
			w.shadow.Replay(int64(w.shadowed), r.Record, r.producer)
		}
		if live, replayed := durable(w.shard), durable(w.shadow); live != replayed {
			return fmt.Errorf("the replayed state differs from the live one\nlive:\n%s\nreplayed:\n%s", live, replayed)
		}
	}
	g := w.shard.groups["g"]
	if g == nil || g.consumer == nil {
		return nil
	}
	for _, c := range w.clients {
		m := g.consumer.members[c.member]
		if c.classic || m == nil || c.epoch == 0 || m.epoch == epochLeaveStatic {
			continue
		}
		for name, parts := range c.owned {
			id, _ := w.idOf(name)
			for _, p := range parts {
				if !m.assigned.has(id, p) && !m.pending.has(id, p) {
					return fmt.Errorf("%s consumes partition %d of %x, which is not its own", c.name, p, id)
				}
			}
		}
	}
	return nil
}

// checkWaiting says whether each request without an answer waits for something that will answer it, and no heartbeat for what is there. It is
// asked at the end of a turn.
func checkWaiting(s *Shard, tickets []Ticket) error {
	awaited := make(map[Ticket]bool)
	for _, id := range s.GroupIDs() {
		g := s.groups[id]
		if g.classic != nil {
			for _, m := range g.classic.order {
				if m.join != nil {
					awaited[m.join.ticket] = true
				}
				if m.sync != nil {
					awaited[m.sync.ticket] = true
				}
				if m.beat != nil {
					awaited[m.beat.ticket] = true
					if s.held[m.beat.ticket] != m.beat {
						return fmt.Errorf("the heartbeat of %s was answered, and still counts as held", m.id)
					}
					if !m.session.running || m.session.at.Before(m.beat.timer.at) {
						return fmt.Errorf("the heartbeat of %s is held for longer than its session", m.id)
					}
					if g.classic.state != classicStable && s.deaf(m) <= 0 {
						return fmt.Errorf("the heartbeat of %s is held while the group is %s", m.id, g.classic.state)
					}
				}
			}
		}
		if g.consumer != nil {
			if err := checkHeld(s, g.consumer, awaited); err != nil {
				return err
			}
		}
	}
	for t := range s.held {
		if !awaited[t] {
			return fmt.Errorf("ticket %d is held for no member", t)
		}
	}
	for _, t := range tickets {
		if !awaited[t] {
			return fmt.Errorf("ticket %d is never answered", t)
		}
	}
	return nil
}

func checkHeld(s *Shard, g *consumerGroup, awaited map[Ticket]bool) error {
	for _, id := range g.order {
		m := g.members[id]
		if m.held == nil {
			continue
		}
		awaited[m.held.ticket] = true
		switch {
		case s.held[m.held.ticket] != m.held:
			return fmt.Errorf("the heartbeat of %s was answered, and still counts as held", id)
		case !m.session.running || m.session.at.Before(m.held.timer.at):
			return fmt.Errorf("the heartbeat of %s is held for longer than its session", id)
		case m.epoch != g.assignmentEpoch:
			return fmt.Errorf("the heartbeat of %s is held at epoch %d, the target is of %d", id, m.epoch, g.assignmentEpoch)
		case m.state != memberStable && !(m.state == memberUnreleased && g.waitsForOthers(m)):
			return fmt.Errorf("the heartbeat of %s is held though there is a step for it: %s", id, m.state)
		case !m.usesClassic() && s.metadataHash(g) != g.metadataHash:
			return fmt.Errorf("the heartbeat of %s is held though the subscribed topics changed", id)
		}
	}
	return nil
}

// settled says what keeps the group from being so that everybody has all it shall have; "" if nothing does.
func (w *consumerSim) settled() string {
	g := w.shard.groups["g"]
	if g == nil {
		return "no group"
	}
	if g.classic != nil {
		if g.classic.state != classicStable {
			return "the classic group is " + string(g.classic.state)
		}
		for _, c := range w.clients {
			if c.running && !c.classic && w.cfg.ConsumerMigrationPolicy != "upgrade" && w.cfg.ConsumerMigrationPolicy != "bidirectional" {
				return "" // those can't join: nothing more to expect
			}
		}
	}
	for _, c := range w.clients {
		if !c.running {
			continue
		}
		if g.consumer != nil {
			if c.classic && w.cfg.ConsumerMigrationPolicy == "disabled" {
				continue
			}
			m := g.consumer.members[c.member]
			if m == nil {
				return c.name + " is not a member"
			}
			if !g.consumer.settled(m) {
				return c.name + " is " + m.state.String()
			}
			if !equalSets(m.assigned.partitions(), g.consumer.target[m.id]) {
				return c.name + " does not have its target"
			}
			if !c.classic {
				mine := make(partitionSet)
				for name, parts := range c.owned {
					id, _ := w.idOf(name)
					mine[id] = slices.Sorted(slices.Values(parts))
				}
				if !equalSets(mine, g.consumer.target[m.id]) {
					return c.name + " does not know its target"
				}
			}
		} else if g.classic.members[c.member] == nil {
			return c.name + " is not a member of the classic group"
		}
	}
	if g.consumer == nil {
		return ""
	}
	if g.consumer.classicMembers == len(g.consumer.members) && g.consumer.groupEpoch > g.consumer.assignmentEpoch && !w.cfg.Prompt {
		return "" // classic heartbeats don't run the assignor: so it stays until somebody joins
	}
	if state := g.consumer.stateName(); state != "Stable" && state != "Empty" {
		return "the group is " + state
	}
	for _, name := range g.consumer.subscribedTopics() {
		t, ok := w.meta.Topic(name)
		for p := range t.Partitions {
			if ok && g.consumer.free(t.ID, p) {
				return fmt.Sprintf("nobody has %s-%d", name, p)
			}
		}
	}
	return ""
}

// equalSets compares two sets; a topic without partitions is as good as none.
func equalSets(a, b partitionSet) bool {
	return within(a, b) && within(b, a)
}

func within(a, b partitionSet) bool {
	for id, parts := range a {
		if len(parts) > 0 && !slices.Equal(parts, b[id]) {
			return false
		}
	}
	return true
}
