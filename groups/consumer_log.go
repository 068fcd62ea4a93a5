package groups

import (
	"fmt"
	"slices"

	"github.com/fakekafka/fakekafka/internal/records"
)

// The records of consumer groups: how they are made and what they do to the group. Nothing else changes what is durable.

// consumerTombstones are those of a whole group, in Kafka's order. dropped are expressions that the step has ended before: Kafka, which looks
// at the group as it was, ends them again.
func (s *Shard) consumerTombstones(g *group, dropped ...string) []Record {
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
	for _, expression := range dropped {
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
		g = s.addGroup(id)
	}
	c := g.consumer
	if c == nil {
		c = newConsumerGroup(id)
	}
	if c.applyValue(typ, second, r.Value) == nil {
		if g.classic != nil && g.classic.synced == nil {
			s.discardClassic(g) // a simple one, which an offset's record made: where the tombstone between them was compacted away, nothing else ends it
		}
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
		// In a compacted log the first epoch to be read may follow a target of an earlier one, as 0 of a group that was classic.
		if g.epochRead && v.Epoch <= g.groupEpoch || v.Epoch < g.assignmentEpoch {
			g.beginAnew()
		}
		g.groupEpoch, g.metadataHash, g.epochRead = v.Epoch, v.MetadataHash, true
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
		m := g.memberOrNew(second)
		// A member that has yet to revoke is behind the target, too, and where the log is compacted that may be all it says of it.
		behind := memberState(v.State) == memberStable && 0 < v.Epoch && v.Epoch < g.assignmentEpoch
		if len(g.members) == 1 && m.epoch == 0 && behind {
			g.beginAnew()
		}
		g.setAssignment(m, memberAssignment{
			epoch: v.Epoch, previous: v.Previous, state: memberStateOf(v.State),
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

// beginAnew forgets the epochs of an earlier group of the name, which was forgotten without a record (forgetDoomed). Epochs that go back
// tell of it when the log is read.
func (g *consumerGroup) beginAnew() {
	g.groupEpoch, g.metadataHash = 1, 0
	g.assignmentEpoch, g.assignedAt = 1, 0
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
