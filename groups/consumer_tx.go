package groups

import (
	"slices"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/records"
)

// How a step of a consumer group writes records: all of them or none.

// consumerTx gathers the records of one step. Each is applied at once, so that what follows in the step sees it, and all
// of them become one batch, or none: rollback takes them back.
type consumerTx struct {
	s       *Shard
	group   string
	records []Record
	undo    []func()
	onDone  []func() // what happens beside the log, once the records stand
	// newcomer is the id that took another's place in this step. Kafka compares a new target with the one before the step, in which
	// this id has none: so it is written even if it is the one taken over.
	newcomer string
	// had is the target of that id if it is that of a member which was there already; held is a new target that is the same. It isn't written: in the log
	// the member has the one it took over, though its answer is by the new one.
	had, held partitionSet
	// joined is the id that is new with this step.
	joined string
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
		t.undo = append(t.undo, func() { t.s.forget(t.group) })
	} else {
		was := *g
		t.undo = append(t.undo, func() {
			if t.s.groups[t.group] != g {
				t.s.keep(g)
			}
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

// commitOwn is commit, or rollback where the records are more than a batch can hold.
func (t *consumerTx) commitOwn() *refusal { return t.commitUnless(t.s.tooLarge(t.records)) }

// commitAsked is the same of what a request asks for: it is taken back too where the log takes nothing.
func (t *consumerTx) commitAsked() *refusal { return t.commitUnless(t.s.unwritable(t.records)) }

func (t *consumerTx) commitUnless(r *refusal) *refusal {
	if r != nil {
		t.rollback()
	} else {
		t.commit()
	}
	return r
}

// commitPieces is commitOwn of what need not be one batch: the target that is computed for a whole turn, of requests that have been granted already (Config.Prompt).
func (t *consumerTx) commitPieces() *refusal {
	var pieces [][]Record
	for rest := t.records; len(rest) > 0; {
		n := t.s.fitting(rest)
		if n == 0 {
			t.rollback()
			return t.s.tooLarge(rest[:1])
		}
		pieces = append(pieces, rest[:n:n])
		rest = rest[n:]
	}
	for _, piece := range pieces {
		t.s.addBatch(piece)
	}
	t.records = nil
	t.commit()
	return nil
}

// countFormer has a member that takes another's place count as two until the step's records stand, as Kafka counts: what it said of itself before is still
// subscribed to and voted for.
func (t *consumerTx) countFormer(g *consumerGroup, said memberAttributes) {
	g.recount(memberAttributes{}, said)
	g.former++
	end := func() {
		g.former--
		g.recount(said, memberAttributes{})
	}
	t.undo = append(t.undo, end)
	t.onDone = append(t.onDone, end)
}

// commit makes the records, which fit into one, a batch of the step's effects.
func (t *consumerTx) commit() {
	t.s.addBatch(t.records)
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
	if g := t.consumer(); g != nil && a.instanceID != nil {
		t.undo = append(t.undo, g.undoOfInstance(*a.instanceID))
	}
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

// putTargetMember writes each topic's list in the order it has; topics go by their ids' bytes.
func (t *consumerTx) putTargetMember(id string, target []assignors.Share) {
	var v records.ConsumerTargetMember
	for _, s := range target {
		if len(s.Partitions) > 0 {
			v.Topics = append(v.Topics, records.TopicPartitions{TopicID: s.Topic, Partitions: s.Partitions})
		}
	}
	slices.SortFunc(v.Topics, func(a, b records.TopicPartitions) int { return compareTopicIDs(a.TopicID, b.TopicID) })
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

// undoOfInstance answers what gives an instance id back to the member that has it now.
func (g *consumerGroup) undoOfInstance(instanceID string) func() {
	member, ok := g.static[instanceID]
	return func() {
		if ok {
			g.static[instanceID] = member
		} else {
			delete(g.static, instanceID)
		}
	}
}

// undoOf answers what takes back the record's effect on the group's own state, before it is applied.
func (g *consumerGroup) undoOf(r Record) func() {
	typ, _, second, err := records.DecodeConsumerKey(r.Key)
	if err != nil {
		return nil
	}
	switch typ {
	case records.TypeConsumerGroup, records.TypeConsumerTarget:
		epoch, hash, read, assigned, at := g.groupEpoch, g.metadataHash, g.epochRead, g.assignmentEpoch, g.assignedAt
		return func() {
			g.groupEpoch, g.metadataHash, g.epochRead, g.assignmentEpoch, g.assignedAt = epoch, hash, read, assigned, at
		}
	case records.TypeConsumerMember:
		m, counted := g.members[second], g.counted
		if m == nil {
			return func() { g.dropMember(second); g.counted = counted }
		}
		attributes, undoInstance := m.memberAttributes, func() {}
		if m.instanceID != nil {
			undoInstance = g.undoOfInstance(*m.instanceID)
		}
		return func() {
			if g.members[second] == nil {
				g.insert(m)
			}
			g.setAttributes(second, attributes)
			g.counted = counted
			undoInstance()
		}
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
			return func() { g.dropMember(second) }
		}
		assignment := m.memberAssignment
		return func() { g.setAssignment(m, assignment) }
	case records.TypeConsumerRegex:
		was, counted := g.regexes[second], g.counted
		return func() { g.setRegex(second, was); g.counted = counted }
	}
	return nil
}
