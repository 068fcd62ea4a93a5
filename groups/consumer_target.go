package groups

import (
	"fmt"
	"slices"
	"time"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/javatext"
)

func (c *Config) assignorNamed(name string) assignors.ServerAssignor {
	for _, a := range c.Assignors {
		if a.Name() == name {
			return a
		}
	}
	return nil
}

func (c *Config) assignorNames() []string {
	names := make([]string, len(c.Assignors))
	for i, a := range c.Assignors {
		names[i] = a.Name()
	}
	return names
}

// maybeAssign computes the target if the assignment interval lets it; if not, the group goes on with the one it has. homogeneous is
// what the group is taken for (homogeneous.go), v what the request that computes it votes for.
func (s *Shard) maybeAssign(tx *consumerTx, g *consumerGroup, homogeneous bool, v vote) *refusal {
	if g.assignmentEpoch >= g.groupEpoch || s.now.Before(s.assignmentDue(g)) || s.assignmentHeldBack(g) {
		return nil
	}
	return s.computeTarget(tx, g, homogeneous, v)
}

// assignmentDue is when the next target may be computed.
func (s *Shard) assignmentDue(g *consumerGroup) time.Time {
	interval := s.assignmentInterval(g.id)
	if g.assignedAt == 0 || interval == 0 {
		return time.Time{}
	}
	return time.UnixMilli(g.assignedAt).Add(interval)
}

// assignmentHeldBack says that a test holds the group's assignor, or that it waits for members that are expected.
func (s *Shard) assignmentHeldBack(g *consumerGroup) bool {
	again := func() {
		if group := s.groups[g.id]; group != nil && group.consumer != nil {
			s.assignNow(group.consumer)
		}
	}
	return s.shortOfMembers(g.id, len(g.members)) || s.stopAt(g.id, StepAssign, again)
}

// assignNow runs the assignor outside of a heartbeat: at the end of a turn, or when what held it back is gone.
func (s *Shard) assignNow(g *consumerGroup) {
	if g.empty() || g.assignmentEpoch >= g.groupEpoch {
		return
	}
	if s.cfg.Prompt { // else the next heartbeat does it
		s.markChanged(g)
		s.flushConsumer()
	}
}

// computeTarget runs the assignor over the whole group. Only members whose target changed are written.
func (s *Shard) computeTarget(tx *consumerTx, g *consumerGroup, homogeneous bool, v vote) *refusal {
	assignor := s.assignorFor(g, v)
	if assignor == nil {
		return broken("no server-side assignor is configured (group.consumer.assignors)")
	}
	in := s.assignorInput(g, tx.joined)
	if homogeneous && !in.Homogeneous {
		takeForHomogeneous(&in, assignor.Name())
	}
	targets, err := g.askAssignor(assignor, in)
	if err != nil {
		return broken("assignor %s failed at epoch %d: %v", assignor.Name(), g.groupEpoch, err)
	}
	changed := 0
	for i := range in.Members {
		id, old, target := in.Members[i].ID, in.Members[i].Target, targets[i]
		switch {
		case id == tx.newcomer:
			if target == nil {
				target = old.Shares()
			}
			if tx.had != nil && sameTarget(tx.had, target) {
				tx.held = tx.had
				continue
			}
		case target == nil || old != nil && sameTarget(g.target[id], target):
			continue
		}
		changed++
		tx.putTargetMember(id, recordOrder(old, target))
	}
	epoch, members := g.groupEpoch, len(g.order)
	tx.putTarget(epoch, s.now.UnixMilli())
	tx.onDone = append(tx.onDone, func() {
		s.emit(Event{Group: g.id, Kind: EventTarget, Epoch: epoch,
			Cause: fmt.Sprintf("assignor %s gave %d members their target; it changed for %d", assignor.Name(), members, changed)})
	})
	return nil
}

// askAssignor answers the shares of each of in.Members, nil where nothing changes. The built-in assignors are shown what members have in
// the order of Kafka's sets.
func (g *consumerGroup) askAssignor(a assignors.ServerAssignor, in assignors.ServerInput) ([][]assignors.Share, error) {
	if ordered, ok := a.(assignors.OrderedServerAssignor); ok {
		for i := range in.Members {
			m := &in.Members[i]
			m.Target = g.orderedTarget(m.ID)
		}
		return ordered.AssignOrdered(in)
	}
	targets, err := a.Assign(in)
	if err != nil {
		return nil, err
	}
	shares := make([][]assignors.Share, len(in.Members))
	for i := range in.Members {
		shares[i] = targets[in.Members[i].ID].Shares()
	}
	return shares, nil
}

// sameTarget compares a target with shares of it in whatever order; a topic without partitions is as good as none.
func sameTarget(set partitionSet, shares []assignors.Share) bool {
	topics := 0
	for _, s := range shares {
		if len(s.Partitions) == 0 {
			continue
		}
		parts := s.Partitions
		if !slices.IsSorted(parts) {
			parts = slices.Sorted(slices.Values(parts))
		}
		if !slices.Equal(parts, set[s.Topic]) {
			return false
		}
		topics++
	}
	for _, parts := range set {
		if len(parts) > 0 {
			topics--
		}
	}
	return topics == 0
}

// assignorInput shows the group to an assignor. Members stand in the order of Kafka's hash map, into which joined, who is new with this request, comes last.
func (s *Shard) assignorInput(g *consumerGroup, joined string) assignors.ServerInput {
	in := assignors.ServerInput{
		Members:     make([]assignors.ServerMember, 0, len(g.order)),
		Homogeneous: g.homogeneous(),
		Topics:      make(map[assignors.TopicID]assignors.ServerTopic),
	}
	ids := make(map[string]assignors.TopicID)
	for _, name := range g.subscribedTopics() {
		if t, ok := s.meta.Topic(name); ok {
			ids[name] = t.ID
			in.Topics[t.ID] = assignors.ServerTopic{Name: name, Partitions: t.Partitions, Racks: t.Racks}
		}
	}
	var before *consumerMember
	var topics []assignors.TopicID
	for _, m := range javatext.MapOrder(g.shownToAssignor(joined), func(m *consumerMember) int32 { return javatext.HashCode(m.id) }) {
		if before == nil || before.regex != m.regex || !slices.Equal(before.names, m.names) {
			topics = g.topicIDs(m, ids)
		}
		before = m
		in.Members = append(in.Members, assignors.ServerMember{
			ID: m.id, InstanceID: m.instanceID, Rack: m.rackID, Topics: topics, Target: g.target[m.id],
		})
	}
	return in
}

// shownToAssignor are the members as they are put into that map: those that the coordinator has stored, and then the one that is new.
func (g *consumerGroup) shownToAssignor(joined string) []*consumerMember {
	out := make([]*consumerMember, 0, len(g.order))
	for id, m := range g.stored.all() {
		if id != joined {
			out = append(out, m)
		}
	}
	if m := g.members[joined]; m != nil {
		out = append(out, m)
	}
	return out
}

// topicIDs are the existing topics a member subscribes to, in order of their names.
func (g *consumerGroup) topicIDs(m *consumerMember, ids map[string]assignors.TopicID) []assignors.TopicID {
	names := m.names
	if r := g.regexes[m.regex]; m.regex != "" && r != nil {
		names = slices.Concat(names, r.topics)
		slices.Sort(names)
		names = slices.Compact(names)
	}
	out := make([]assignors.TopicID, 0, len(names))
	for _, name := range names {
		if id, ok := ids[name]; ok {
			out = append(out, id)
		}
	}
	return out
}
