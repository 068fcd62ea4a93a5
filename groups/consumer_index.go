package groups

import (
	"slices"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/records"
)

// What records do to a group, and the indexes that follow: no request walks the group for what is kept here.

func (g *consumerGroup) memberOrNew(id string) *consumerMember {
	m := g.members[id]
	if m == nil {
		m = &consumerMember{id: id}
		if m.memberTimers = g.left[id]; m.memberTimers == nil {
			m.memberTimers = new(memberTimers)
		}
		g.insert(m)
	}
	return m
}

func (g *consumerGroup) insert(m *consumerMember) {
	g.members[m.id] = m
	i, _ := slices.BinarySearch(g.order, m.id)
	g.order = slices.Insert(g.order, i, m.id)
	g.stored.set(m.id, m)
	g.countStable(m, 1)
}

func (g *consumerGroup) dropMember(id string) {
	m := g.members[id]
	if m == nil {
		return
	}
	if m.instanceID != nil && g.static[*m.instanceID] == id {
		delete(g.static, *m.instanceID)
	}
	g.setAttributes(id, memberAttributes{})
	g.setAssignment(m, memberAssignment{epoch: -1, previous: -1})
	g.countStable(m, -1)
	delete(g.members, id)
	g.stored.remove(id)
	if i, ok := slices.BinarySearch(g.order, id); ok {
		g.order = slices.Delete(g.order, i, i+1)
	}
}

// setAttributes replaces what a member says of itself and moves every count that depends on it.
func (g *consumerGroup) setAttributes(id string, a memberAttributes) {
	m := g.memberOrNew(id)
	old := m.memberAttributes
	if a.instanceID != nil {
		g.static[*a.instanceID] = id
	}
	g.recount(old, a)
	g.countClassic(old.classic, -1)
	g.countClassic(a.classic, 1)
	m.memberAttributes = a
	g.counted = nil
}

// recount moves the counts of what members subscribe to and vote for.
func (g *consumerGroup) recount(old, a memberAttributes) {
	if !slices.Equal(old.names, a.names) {
		for _, name := range a.names {
			g.countTopic(g.nameUsers, name, 1)
		}
		for _, name := range old.names {
			g.countTopic(g.nameUsers, name, -1)
		}
	}
	if old.regex != a.regex {
		if old.regex != "" {
			count(g.regexUsers, old.regex, -1)
		}
		if a.regex != "" {
			count(g.regexUsers, a.regex, 1)
		}
	}
	if !equalStrings(old.assignor, a.assignor) {
		if old.assignor != nil {
			count(g.votes, *old.assignor, -1)
		}
		if a.assignor != nil {
			count(g.votes, *a.assignor, 1)
		}
	}
}

func (g *consumerGroup) countClassic(c *records.ClassicMember, by int) {
	if c == nil {
		return
	}
	g.classicMembers += by
	for _, p := range c.Protocols { // one that stands there twice counts twice, as in a classic group
		count(g.classicProtocols, p.Name, by)
	}
}

// count keeps the number of users of a thing; things nobody uses are not in the map.
func count(users map[string]int, thing string, by int) {
	if users[thing] += by; users[thing] <= 0 {
		delete(users, thing)
	}
}

// countTopic is count for a topic, and notes when the set of subscribed topics changes.
func (g *consumerGroup) countTopic(users map[string]int, topic string, by int) {
	before := g.subscribedTo(topic)
	count(users, topic, by)
	if before != g.subscribedTo(topic) {
		g.subscriptions++
	}
}

func (g *consumerGroup) setRegex(expression string, r *resolvedRegex) {
	g.keepCount()
	old := g.regexes[expression]
	if r == nil {
		delete(g.regexes, expression)
	} else {
		g.regexes[expression] = r
		for _, topic := range r.topics {
			g.countTopic(g.regexTopics, topic, 1)
		}
	}
	if old != nil {
		for _, topic := range old.topics {
			g.countTopic(g.regexTopics, topic, -1)
		}
	}
}

// setAssignment replaces what a member has and moves the partition epochs: each partition, assigned or pending, carries
// its member's epoch.
func (g *consumerGroup) setAssignment(m *consumerMember, a memberAssignment) {
	g.stored.makeRoom() // Kafka stores a member anew with each of its records
	g.countStable(m, -1)
	old := m.memberAssignment
	for _, set := range []ownership{old.assigned, old.pending} {
		set.each(func(topic assignors.TopicID, p, _ int32) {
			if epoch, ok := g.owners[topic][p]; !ok || epoch != old.epoch {
				return
			}
			if !a.assigned.has(topic, p) && !a.pending.has(topic, p) {
				g.disown(topic, p)
			}
		})
	}
	for _, set := range []ownership{a.assigned, a.pending} {
		for _, t := range set {
			owners := g.owners[t.topic]
			if owners == nil {
				owners = make(map[int32]int32)
				g.owners[t.topic] = owners
			}
			for _, p := range t.parts {
				owners[p] = a.epoch
			}
		}
	}
	m.memberAssignment = a
	g.countStable(m, 1)
}

// disown makes a partition free and remembers who was waiting for it.
func (g *consumerGroup) disown(topic assignors.TopicID, partition int32) {
	owners := g.owners[topic]
	delete(owners, partition)
	if len(owners) == 0 {
		delete(g.owners, topic)
	}
	if member, ok := g.unreleased[topic][partition]; ok {
		if g.freed == nil {
			g.freed = make(map[string]struct{})
		}
		g.freed[member] = struct{}{}
	}
}

func (g *consumerGroup) countStable(m *consumerMember, by int) {
	if m.state != memberStable {
		return
	}
	if g.stableAt[m.epoch] += by; g.stableAt[m.epoch] == 0 {
		delete(g.stableAt, m.epoch)
	}
}
