package groups

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/fakekafka/fakekafka/assignors"
)

// ownedTopic is one topic's share of an ownership: partition numbers, ascending, and beside each the
// epoch at which its owner was given it.
type ownedTopic struct {
	topic  assignors.TopicID
	parts  []int32
	epochs []int32
}

// ownership is a set of partitions, ascending by topic id, without empty topics. Values are never
// changed in place: members, records and targets share them.
type ownership []ownedTopic

// partitionSet is a set of partitions without epochs: numbers ascending, by topic.
type partitionSet = assignors.Partitions

func (o ownership) find(topic assignors.TopicID) *ownedTopic {
	i, ok := slices.BinarySearchFunc(o, topic, func(t ownedTopic, id assignors.TopicID) int {
		return compareTopicIDs(t.topic, id)
	})
	if !ok {
		return nil
	}
	return &o[i]
}

// epochOf is the epoch at which the partition was assigned; ok is false if it isn't in the set.
func (o ownership) epochOf(topic assignors.TopicID, partition int32) (int32, bool) {
	t := o.find(topic)
	if t == nil {
		return 0, false
	}
	i, ok := slices.BinarySearch(t.parts, partition)
	if !ok {
		return 0, false
	}
	return t.epochs[i], true
}

func (o ownership) has(topic assignors.TopicID, partition int32) bool {
	_, ok := o.epochOf(topic, partition)
	return ok
}

// equal compares partitions and epochs: a partition that was dropped and given back is another one.
func (o ownership) equal(p ownership) bool {
	return slices.EqualFunc(o, p, func(a, b ownedTopic) bool {
		return a.topic == b.topic && slices.Equal(a.parts, b.parts) && slices.Equal(a.epochs, b.epochs)
	})
}

// contains says whether every partition of the set is in o.
func (o ownership) contains(set partitionSet) bool {
	for topic, parts := range set {
		for _, p := range parts {
			if !o.has(topic, p) {
				return false
			}
		}
	}
	return true
}

// without are the partitions of o that p doesn't have at the same epoch.
func (o ownership) without(p ownership) ownership {
	var out ownership
	for _, t := range o {
		var parts, epochs []int32
		for i, n := range t.parts {
			if e, ok := p.epochOf(t.topic, n); !ok || e != t.epochs[i] {
				parts, epochs = append(parts, n), append(epochs, t.epochs[i])
			}
		}
		out.add(t.topic, parts, epochs)
	}
	return out
}

// each calls f for every partition, in order.
func (o ownership) each(f func(topic assignors.TopicID, partition, epoch int32)) {
	for _, t := range o {
		for i, p := range t.parts {
			f(t.topic, p, t.epochs[i])
		}
	}
}

// partitions are the numbers alone.
func (o ownership) partitions() partitionSet {
	s := make(partitionSet, len(o))
	for _, t := range o {
		s[t.topic] = t.parts
	}
	return s
}

// withEpoch is the same set, every partition as if assigned at that epoch.
func (o ownership) withEpoch(epoch int32) ownership {
	out := make(ownership, len(o))
	for i, t := range o {
		out[i] = ownedTopic{t.topic, t.parts, repeatEpoch(epoch, len(t.parts))}
	}
	return out
}

// add appends one topic; topics have to come in ascending order.
func (o *ownership) add(topic assignors.TopicID, parts, epochs []int32) {
	if len(parts) > 0 {
		*o = append(*o, ownedTopic{topic, parts, epochs})
	}
}

// ownershipOf makes a set in which every partition was assigned at that epoch.
func ownershipOf(set partitionSet, epoch int32) ownership {
	out := make(ownership, 0, len(set))
	for _, id := range sortedTopicIDs(set) {
		out.add(id, set[id], repeatEpoch(epoch, len(set[id])))
	}
	return out
}

func repeatEpoch(epoch int32, n int) []int32 {
	return slices.Repeat([]int32{epoch}, n)
}

func compareTopicIDs(a, b assignors.TopicID) int { return bytes.Compare(a[:], b[:]) }

func sortedTopicIDs(set partitionSet) []assignors.TopicID {
	ids := make([]assignors.TopicID, 0, len(set))
	for id := range set {
		ids = append(ids, id)
	}
	if len(ids) > 1 {
		slices.SortFunc(ids, compareTopicIDs)
	}
	return ids
}

// sortedSet sorts the lists of a set that came from outside and drops what is named twice.
func sortedSet(set partitionSet) partitionSet {
	for id, parts := range set {
		if !slices.IsSorted(parts) {
			parts = slices.Clone(parts)
			slices.Sort(parts)
		}
		set[id] = slices.Compact(slices.Clip(parts))
	}
	return set
}

// mergeOwnership is the union; where both have a partition, a's epoch stands.
func mergeOwnership(a, b ownership) ownership {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	out := make(ownership, 0, len(a)+len(b))
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case j == len(b) || i < len(a) && compareTopicIDs(a[i].topic, b[j].topic) < 0:
			out = append(out, a[i])
			i++
		case i == len(a) || compareTopicIDs(a[i].topic, b[j].topic) > 0:
			out = append(out, b[j])
			j++
		default:
			out = append(out, unionTopic(a[i], b[j]))
			i, j = i+1, j+1
		}
	}
	return out
}

func unionTopic(a, b ownedTopic) ownedTopic {
	type entry struct{ part, epoch int32 }
	all := make([]entry, 0, len(a.parts)+len(b.parts))
	for i, p := range a.parts {
		all = append(all, entry{p, a.epochs[i]})
	}
	for i, p := range b.parts {
		all = append(all, entry{p, b.epochs[i]})
	}
	slices.SortStableFunc(all, func(x, y entry) int { return cmp.Compare(x.part, y.part) })
	all = slices.CompactFunc(all, func(x, y entry) bool { return x.part == y.part })
	out := ownedTopic{topic: a.topic}
	for _, e := range all {
		out.parts = append(out.parts, e.part)
		out.epochs = append(out.epochs, e.epoch)
	}
	return out
}
