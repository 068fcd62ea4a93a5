package assignors

import (
	"cmp"
	"slices"
)

// hand is what a target holds of one topic.
type hand struct {
	place int32
	ps    []int32
}

// indices appends what a target holds of the table's partitions, topic by topic, each topic's ascending or in the order they stand.
func (t *topicTable) indices(target Partitions, to []int32) []int32 {
	hands := t.hands[:0]
	for id, ps := range target {
		if place := t.find(&id); place >= 0 {
			hands = append(hands, hand{int32(place), ps})
		}
	}
	slices.SortFunc(hands, func(a, b hand) int { return cmp.Compare(a.place, b.place) })
	t.hands = hands
	for _, h := range hands {
		from, first, count := len(to), t.first[h.place], t.counts[h.place]
		for _, p := range h.ps {
			if p >= 0 && p < count {
				to = append(to, first+p)
			}
		}
		if !t.ordered && !slices.IsSorted(to[from:]) {
			slices.Sort(to[from:])
		}
	}
	return to
}

// targets makes the answer of Assign out of that of AssignOrdered.
func targets(in ServerInput, shares [][]Share) map[string]Partitions {
	out := make(map[string]Partitions, len(in.Members))
	for i, list := range shares {
		m := &in.Members[i]
		if list == nil {
			out[m.ID] = m.Target
			continue
		}
		target := make(Partitions, len(list))
		for _, s := range list {
			target[s.Topic] = s.Partitions
		}
		out[m.ID] = target
	}
	return out
}

// shelf is where the lists of shares of one computation stand: many to an allocation.
type shelf struct {
	free []Share
	left int // at most so many are still needed
}

// take answers an empty list with room for n shares; it is not nil.
func (s *shelf) take(n int) []Share {
	if n == 0 {
		return []Share{}
	}
	if len(s.free) < n {
		s.free = make([]Share, max(n, min(s.left, 256)))
	}
	list := s.free[:0:n]
	s.free, s.left = s.free[n:], s.left-n
	return list
}

// targetBuilder makes targets out of partition indices. All targets of one computation share one array of numbers.
type targetBuilder struct {
	table   *topicTable
	shelf   shelf
	numbers []int32
	scratch []int32  // of build
	keys    []uint64 // of byTopic, as is
	indices []int32
}

// build joins what a member keeps, which is sorted by topic, with what it gains.
func (b *targetBuilder) build(kept, gains []int32) []Share {
	if len(gains) == 0 {
		return b.target(kept)
	}
	all := append(append(b.scratch[:0], kept...), gains...)
	b.scratch = all
	switch {
	case slices.IsSorted(all):
	case b.table.ordered:
		b.byTopic(all)
	default:
		slices.Sort(all)
	}
	return b.target(all)
}

// byTopic puts indices in the order of their topics and leaves each topic's as they stand.
func (b *targetBuilder) byTopic(all []int32) {
	keys, end, place := b.keys[:0], int32(-1), 0
	for i, p := range all {
		if p >= end || p < b.table.first[place] {
			place = b.table.placeOf(p)
			end = b.table.first[place+1]
		}
		keys = append(keys, uint64(place)<<32|uint64(i))
	}
	b.keys = keys
	if slices.IsSorted(keys) {
		return
	}
	slices.Sort(keys)
	b.indices = append(b.indices[:0], all...)
	for i, key := range keys {
		all[i] = b.indices[uint32(key)]
	}
}

// target turns partition indices, sorted by topic, into a target.
func (b *targetBuilder) target(all []int32) []Share {
	if len(b.numbers) < len(all) {
		b.numbers = make([]int32, len(all))
	}
	numbers := b.numbers[:len(all):len(all)]
	b.numbers = b.numbers[len(all):]
	topics, end, first := 0, int32(0), int32(0)
	for _, p := range all {
		if p >= end || p < first {
			place := b.table.placeOf(p)
			topics, first, end = topics+1, b.table.first[place], b.table.first[place+1]
		}
	}
	target := b.shelf.take(topics)
	for i := 0; i < len(all); {
		place := b.table.placeOf(all[i])
		first, end := b.table.first[place], b.table.first[place+1]
		j := i
		for j < len(all) && all[j] < end {
			numbers[j] = all[j] - first
			j++
		}
		target = append(target, Share{b.table.ids[place], numbers[i:j:j]})
		i = j
	}
	return target
}

// placeOf answers the topic of a partition index. One is mostly asked for the same topic again.
func (t *topicTable) placeOf(index int32) int {
	if p := t.lastPlace; p < len(t.ids) && t.first[p] <= index && index < t.first[p+1] {
		return p
	}
	lo, hi := 0, len(t.ids)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); t.first[mid+1] <= index {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	t.lastPlace = lo
	return lo
}
