package groups

import (
	"fmt"
	"slices"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/records"
)

// The records of consumer groups: how they are made and what they do to the group. Nothing else changes what is durable.

// consumerTx gathers the records of one step. Each is applied at once, so that what follows in the step sees it, and all
// of them become one batch, or none: rollback takes them back.
type consumerTx struct {
	s       *Shard
	group   string
	records []Record
	undo    []func()
	onDone  []func() // what happens beside the log, once the records stand
}

func (s *Shard) beginTx(group string) *consumerTx { return &consumerTx{s: s, group: group} }

// put applies a record of the group and remembers how to take it back. A nil value is a tombstone.
func (t *consumerTx) put(typ int16, second string, value []byte) {
	t.add(Record{Key: records.ConsumerKey(typ, t.group, second), Value: value})
}

// add is put for a record of any type.
func (t *consumerTx) add(r Record) {
	g := t.s.groups[t.group]
	if g == nil {
		t.undo = append(t.undo, func() { delete(t.s.groups, t.group) })
	} else {
		was := *g
		t.undo = append(t.undo, func() {
			t.s.groups[t.group] = g
			g.classic, g.consumer = was.classic, was.consumer
		})
	}
	if g != nil && g.consumer != nil {
		if undo := g.consumer.undoOf(r); undo != nil {
			t.undo = append(t.undo, undo)
		}
	}
	t.s.apply(t.s.nextOffset, r)
	t.s.nextOffset++
	t.records = append(t.records, r)
}

// commit makes the records a batch of the step's effects.
func (t *consumerTx) commit() {
	if len(t.records) > 0 {
		t.s.fx.Batches = append(t.s.fx.Batches, Batch{Records: t.records, ProducerID: -1})
	}
	done := t.onDone
	t.records, t.undo, t.onDone = nil, nil, nil
	for _, f := range done {
		f()
	}
}

// rollback leaves everything as it was before the first put.
func (t *consumerTx) rollback() {
	for _, undo := range slices.Backward(t.undo) {
		undo()
	}
	t.s.nextOffset -= int64(len(t.records))
	t.records, t.undo, t.onDone = nil, nil, nil
}

func (t *consumerTx) consumer() *consumerGroup {
	if g := t.s.groups[t.group]; g != nil {
		return g.consumer
	}
	return nil
}

func (t *consumerTx) putMember(id string, a memberAttributes) {
	t.put(records.TypeConsumerMember, id, records.ConsumerMember{
		InstanceID: a.instanceID, RackID: a.rackID, ClientID: a.clientID, ClientHost: a.clientHost,
		Names: a.names, Regex: &a.regex, RebalanceTimeoutMs: a.rebalanceTimeoutMs, Assignor: a.assignor, Classic: a.classic,
	}.Encode())
}

func (t *consumerTx) putGroup(epoch int32, hash int64) {
	t.put(records.TypeConsumerGroup, "", records.ConsumerGroup{Epoch: epoch, MetadataHash: hash}.Encode())
}

func (t *consumerTx) putTarget(epoch int32, at int64) {
	t.put(records.TypeConsumerTarget, "", records.ConsumerTarget{Epoch: epoch, Timestamp: at}.Encode())
}

// putTargetMember writes the lists in the order they have.
func (t *consumerTx) putTargetMember(id string, target partitionSet) {
	var v records.ConsumerTargetMember
	for _, topic := range sortedTopicIDs(target) {
		if len(target[topic]) > 0 {
			v.Topics = append(v.Topics, records.TopicPartitions{TopicID: topic, Partitions: target[topic]})
		}
	}
	t.put(records.TypeConsumerTargetMember, id, v.Encode())
}

func (t *consumerTx) putCurrent(id string, m memberAssignment) {
	t.put(records.TypeConsumerCurrentMember, id, records.ConsumerCurrentMember{
		Epoch: m.epoch, Previous: m.previous, State: int8(m.state),
		Assigned: m.assigned.toRecord(), Pending: m.pending.toRecord(),
	}.Encode())
}

func (t *consumerTx) putRegex(expression string, r *resolvedRegex) {
	t.put(records.TypeConsumerRegex, expression,
		records.ConsumerRegex{Topics: r.topics, Version: r.version, Timestamp: r.at}.Encode())
}

// removeMember writes the tombstones of a member.
func (t *consumerTx) removeMember(id string) {
	t.put(records.TypeConsumerCurrentMember, id, nil)
	t.put(records.TypeConsumerTargetMember, id, nil)
	t.put(records.TypeConsumerMember, id, nil)
}

// consumerTombstones are those of a whole group, in Kafka's order.
func (s *Shard) consumerTombstones(g *group) []Record {
	c := g.consumer
	var out []Record
	tombstone := func(typ int16, second string) {
		out = append(out, Record{Key: records.ConsumerKey(typ, g.id, second)})
	}
	for _, id := range c.order {
		tombstone(records.TypeConsumerCurrentMember, id)
	}
	for _, id := range c.order {
		tombstone(records.TypeConsumerTargetMember, id)
	}
	tombstone(records.TypeConsumerTarget, "")
	for _, id := range c.order {
		tombstone(records.TypeConsumerMember, id)
	}
	for _, expression := range sortedNames(c.regexes) {
		tombstone(records.TypeConsumerRegex, expression)
	}
	tombstone(records.TypeConsumerPartitionMetadata, "")
	tombstone(records.TypeConsumerGroup, "")
	return out
}

// applyConsumerRecord applies one record of types 3 to 8 and 16. What cannot be read is skipped.
func (s *Shard) applyConsumerRecord(kind int16, r Record) {
	typ, id, second, err := records.DecodeConsumerKey(r.Key)
	if err != nil {
		return
	}
	g := s.groups[id]
	if r.Value == nil {
		if g == nil || g.consumer == nil {
			return
		}
		g.consumer.applyTombstone(typ, second)
		if typ == records.TypeConsumerGroup {
			g.consumer = nil
			s.dropIfBare(g)
		}
		return
	}
	if g == nil {
		g = &group{id: id}
		s.groups[id] = g
	}
	c := g.consumer
	if c == nil {
		c = newConsumerGroup(id)
	}
	if c.applyValue(typ, second, r.Value) == nil {
		g.consumer = c
	} else if g.consumer == nil {
		s.dropIfBare(g)
	}
}

func (g *consumerGroup) applyValue(typ int16, second string, value []byte) error {
	switch typ {
	case records.TypeConsumerGroup:
		v, err := records.DecodeConsumerGroup(value)
		if err != nil {
			return err
		}
		g.groupEpoch, g.metadataHash = v.Epoch, v.MetadataHash
	case records.TypeConsumerMember:
		v, err := records.DecodeConsumerMember(value)
		if err != nil {
			return err
		}
		g.setAttributes(second, attributesOf(v))
	case records.TypeConsumerTarget:
		v, err := records.DecodeConsumerTarget(value)
		if err != nil {
			return err
		}
		g.assignmentEpoch, g.assignedAt = v.Epoch, v.Timestamp
	case records.TypeConsumerTargetMember:
		v, err := records.DecodeConsumerTargetMember(value)
		if err != nil {
			return err
		}
		target := make(partitionSet, len(v.Topics))
		for _, t := range v.Topics {
			target[t.TopicID] = append(target[t.TopicID], t.Partitions...)
		}
		g.setTarget(second, target)
	case records.TypeConsumerCurrentMember:
		v, err := records.DecodeConsumerCurrentMember(value)
		if err != nil {
			return err
		}
		g.setAssignment(g.memberOrNew(second), memberAssignment{
			epoch: v.Epoch, previous: v.Previous, state: memberState(v.State),
			assigned: ownershipFromRecord(v.Assigned), pending: ownershipFromRecord(v.Pending),
		})
	case records.TypeConsumerRegex:
		v, err := records.DecodeConsumerRegex(value)
		if err != nil {
			return err
		}
		slices.Sort(v.Topics)
		g.setRegex(second, &resolvedRegex{topics: slices.Compact(v.Topics), version: v.Version, at: v.Timestamp})
	default:
		return fmt.Errorf("groups: record type %d has no value", typ)
	}
	return nil
}

func (g *consumerGroup) applyTombstone(typ int16, second string) {
	switch typ {
	case records.TypeConsumerMember:
		g.dropMember(second)
	case records.TypeConsumerTargetMember:
		g.setTarget(second, nil)
	case records.TypeConsumerTarget:
		g.assignmentEpoch, g.assignedAt = 1, 0
	case records.TypeConsumerCurrentMember:
		if m := g.members[second]; m != nil {
			g.setAssignment(m, memberAssignment{epoch: -1, previous: -1})
		}
	case records.TypeConsumerRegex:
		g.setRegex(second, nil)
	}
}

// undoOf answers what takes back the record's effect on the group's own state, before it is applied.
func (g *consumerGroup) undoOf(r Record) func() {
	typ, _, second, err := records.DecodeConsumerKey(r.Key)
	if err != nil {
		return nil
	}
	switch typ {
	case records.TypeConsumerGroup:
		epoch, hash := g.groupEpoch, g.metadataHash
		return func() { g.groupEpoch, g.metadataHash = epoch, hash }
	case records.TypeConsumerMember:
		m := g.members[second]
		if m == nil {
			return func() { g.dropMember(second) }
		}
		attributes := m.memberAttributes
		return func() {
			if g.members[second] == nil {
				g.insert(m)
				m.memberAttributes = memberAttributes{}
			}
			g.setAttributes(second, attributes)
		}
	case records.TypeConsumerTarget:
		epoch, at := g.assignmentEpoch, g.assignedAt
		return func() { g.assignmentEpoch, g.assignedAt = epoch, at }
	case records.TypeConsumerTargetMember:
		target, order := g.target[second], g.targetOrder[second]
		return func() {
			g.setTarget(second, nil)
			if target != nil {
				g.target[second] = target
			}
			if order != nil {
				g.targetOrder[second] = order
			}
		}
	case records.TypeConsumerCurrentMember:
		m := g.members[second]
		if m == nil {
			return nil
		}
		assignment := m.memberAssignment
		return func() { g.setAssignment(m, assignment) }
	case records.TypeConsumerRegex:
		was := g.regexes[second]
		return func() { g.setRegex(second, was) }
	}
	return nil
}

func (g *consumerGroup) memberOrNew(id string) *consumerMember {
	m := g.members[id]
	if m == nil {
		m = &consumerMember{id: id}
		g.insert(m)
	}
	return m
}

func (g *consumerGroup) insert(m *consumerMember) {
	g.members[m.id] = m
	i, _ := slices.BinarySearch(g.order, m.id)
	g.order = slices.Insert(g.order, i, m.id)
	g.countStable(m, 1)
}

func (g *consumerGroup) dropMember(id string) {
	m := g.members[id]
	if m == nil {
		return
	}
	g.setAttributes(id, memberAttributes{})
	g.setAssignment(m, memberAssignment{epoch: -1, previous: -1})
	g.countStable(m, -1)
	delete(g.members, id)
	if i, ok := slices.BinarySearch(g.order, id); ok {
		g.order = slices.Delete(g.order, i, i+1)
	}
}

// setAttributes replaces what a member says of itself and moves every count that depends on it.
func (g *consumerGroup) setAttributes(id string, a memberAttributes) {
	m := g.memberOrNew(id)
	old := m.memberAttributes
	if old.instanceID != nil && g.static[*old.instanceID] == id {
		delete(g.static, *old.instanceID)
	}
	if a.instanceID != nil {
		g.static[*a.instanceID] = id
	}
	if !slices.Equal(old.names, a.names) {
		for _, name := range a.names {
			g.countTopic(g.nameUsers, name, 1)
		}
		for _, name := range old.names {
			g.countTopic(g.nameUsers, name, -1)
		}
	}
	if old.regex != a.regex {
		count(g.regexUsers, old.regex, -1)
		count(g.regexUsers, a.regex, 1)
	}
	if !equalStrings(old.assignor, a.assignor) {
		if old.assignor != nil {
			count(g.votes, *old.assignor, -1)
		}
		if a.assignor != nil {
			count(g.votes, *a.assignor, 1)
		}
	}
	g.countClassic(old.classic, -1)
	g.countClassic(a.classic, 1)
	m.memberAttributes = a
}

func (g *consumerGroup) countClassic(c *records.ClassicMember, by int) {
	if c == nil {
		return
	}
	g.classicMembers += by
	for _, name := range protocolNames(c) {
		count(g.classicProtocols, name, by)
	}
}

// protocolNames are the offered protocols, each once.
func protocolNames(c *records.ClassicMember) []string {
	names := make([]string, 0, len(c.Protocols))
	for _, p := range c.Protocols {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// count keeps the number of users of a thing; things nobody uses are not in the map.
func count(users map[string]int, thing string, by int) {
	if thing == "" {
		return
	}
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

func attributesOf(v records.ConsumerMember) memberAttributes {
	a := memberAttributes{
		instanceID: v.InstanceID, rackID: v.RackID, clientID: v.ClientID, clientHost: v.ClientHost,
		names: uniqueSorted(v.Names), rebalanceTimeoutMs: v.RebalanceTimeoutMs, assignor: v.Assignor, classic: v.Classic,
	}
	if v.Regex != nil {
		a.regex = *v.Regex
	}
	return a
}

func uniqueSorted(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}

func sortedNames[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (o ownership) toRecord() []records.TopicPartitions {
	out := make([]records.TopicPartitions, len(o))
	for i, t := range o {
		out[i] = records.TopicPartitions{TopicID: t.topic, Partitions: t.parts, Epochs: t.epochs}
	}
	return out
}

// ownershipFromRecord trusts nothing about the order of what was read.
func ownershipFromRecord(topics []records.TopicPartitions) ownership {
	var out ownership
	for _, t := range topics {
		one := ownership{{topic: t.TopicID, parts: t.Partitions, epochs: t.Epochs}}
		if len(t.Partitions) == 0 {
			continue
		}
		if !slices.IsSorted(t.Partitions) {
			one[0] = unionTopic(one[0], ownedTopic{})
		}
		if n := len(out); n == 0 || compareTopicIDs(out[n-1].topic, t.TopicID) < 0 {
			out = append(out, one[0])
		} else {
			out = mergeOwnership(out, one)
		}
	}
	return out
}
