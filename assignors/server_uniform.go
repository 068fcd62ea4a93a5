package assignors

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// NewUniform is the server-side uniform assignor, the default of the consumer protocol: everyone keeps what the previous target
// gave it up to its fair share, and what is free fills up those below theirs. With equal subscriptions the spread is at most 1
// and the number of moves is the least that this balance permits. It does not look at racks.
//
// A member whose target does not change is answered with the very map it came with.
func NewUniform() ServerAssignor { return uniform{} }

type uniform struct{}

func (uniform) Name() string { return "uniform" }

func (a uniform) Assign(in ServerInput) (map[string]Partitions, error) { return a.assign(in, false) }

func (a uniform) AssignOrdered(in ServerInput) (map[string]Partitions, error) {
	return a.assign(in, true)
}

func (a uniform) assign(in ServerInput, ordered bool) (map[string]Partitions, error) {
	if len(in.Members) == 0 {
		return map[string]Partitions{}, nil
	}
	order, err := membersByID(a.Name(), in.Members)
	if err != nil {
		return nil, err
	}
	in.Homogeneous = in.Homogeneous && homogeneous(in.Members)
	table, err := newTopicTable(a.Name(), in)
	if err != nil {
		return nil, err
	}
	if in.Homogeneous {
		table.ordered = ordered
		return a.homogeneous(in, table, order)
	}
	return a.mixed(in, table, order), nil
}

// held is what a member's previous target still counts for.
type held struct {
	count int32
	// stale: the target lists something that is gone (a topic no longer subscribed to, a partition that does not exist),
	// so the map cannot be answered as it is.
	stale bool
}

// rest is what a member with too many partitions keeps.
type rest struct {
	place int32
	kept  []int32
}

// need is a member below its share and how many partitions it lacks.
type need struct{ place, lacks int32 }

func (a uniform) homogeneous(in ServerInput, table *topicTable, order []int32) (map[string]Partitions, error) {
	owned := newBitset(table.total())
	holds := make([]held, len(order))
	hint := 0
	for k, i := range order {
		h, once := table.claim(owned, in.Members[i].Target, &hint)
		if !once {
			return nil, a.twice(in, table, order)
		}
		holds[k] = h
	}
	pool := owned.zerosBelow(table.total())

	n := len(order)
	changed := 0 // partitions in targets that change
	share, extras := int32(table.total()/n), table.total()%n
	keep := make([]int32, n)
	var needs []need
	var rests []rest
	var had []int32 // what those with too many had
	for k := range order {
		quota, extra := share, extras > 0
		if extra {
			quota++
		}
		h := holds[k].count
		keep[k] = min(h, quota)
		if h > quota {
			// What it has above its quota are its last ones; they go to the end of the pool.
			from := len(had)
			had = table.indices(in.Members[order[k]].Target, had)
			pool = append(pool, had[from+int(quota):]...)
			rests = append(rests, rest{int32(k), had[from : from+int(quota)]})
		}
		lacks := quota - keep[k]
		if lacks > 0 && extra && n-k > extras {
			// Enough members remain that could have the extra one without anything moving.
			lacks, extra = lacks-1, false
		}
		if lacks > 0 {
			needs = append(needs, need{int32(k), lacks})
		}
		if extra {
			extras--
		}
		if lacks > 0 || keep[k] < h || holds[k].stale {
			changed += int(keep[k] + lacks)
		}
	}

	out := make(map[string]Partitions, n)
	b := targetBuilder{table: table, numbers: make([]int32, changed)}
	var own []int32
	for k, i := range order {
		m := &in.Members[i]
		var gets []int32
		if len(needs) > 0 && needs[0].place == int32(k) {
			gets, pool = pool[:needs[0].lacks], pool[needs[0].lacks:]
			needs = needs[1:]
		}
		if len(gets) == 0 && keep[k] == holds[k].count && !holds[k].stale && m.Target != nil {
			out[m.ID] = m.Target
			continue
		}
		var kept []int32
		if len(rests) > 0 && rests[0].place == int32(k) {
			kept, rests = rests[0].kept, rests[1:]
		} else if keep[k] > 0 {
			own = table.indices(m.Target, own[:0])
			kept = own
		}
		out[m.ID] = b.build(kept, gets)
	}
	return out, nil
}

// claim marks what a target holds and tells whether nobody held it before. A partition in two targets is an error: whoever made
// such targets is broken, and Kafka's own computation fails there too.
//
// Neighbours often hold partitions of one topic and no other, so the hint, the topic found last, is tried first: a look-up costs
// half of what walking the map does.
func (t *topicTable) claim(owned bitset, target Partitions, hint *int) (h held, once bool) {
	if len(target) == 1 && *hint < len(t.ids) {
		if ps, ok := target[t.ids[*hint]]; ok {
			once = t.mark(owned, *hint, ps, &h)
			return h, once
		}
	}
	for id, ps := range target {
		place := t.find(&id)
		if place < 0 {
			h.stale = true
			continue
		}
		*hint = place
		if !t.mark(owned, place, ps, &h) {
			return h, false
		}
	}
	return h, true
}

func (t *topicTable) mark(owned bitset, place int, ps []int32, h *held) (once bool) {
	first, count := t.first[place], t.counts[place]
	for _, p := range ps {
		if uint32(p) >= uint32(count) {
			h.stale = true
			continue
		}
		if owned.set(int(first + p)) {
			return false
		}
		h.count++
	}
	return true
}

// twice names the first partition that two targets list, or one lists twice.
func (a uniform) twice(in ServerInput, table *topicTable, order []int32) error {
	owner := make([]string, table.total())
	owned := newBitset(table.total())
	first := int32(math.MaxInt32)
	var members [2]string
	for _, i := range order {
		m := &in.Members[i]
		for _, p := range table.indices(m.Target, nil) {
			if owned.set(int(p)) && p < first {
				first, members = p, [2]string{owner[p], m.ID}
			}
			owner[p] = cmp.Or(owner[p], m.ID)
		}
	}
	place := table.placeOf(first)
	return fmt.Errorf("assignors: uniform: the previous target gives partition %d of topic %s to %q and to %q",
		first-table.first[place], in.topicName(table.ids[place]), members[0], members[1])
}

func (in ServerInput) topicName(id TopicID) string {
	if t, ok := in.Topics[id]; ok && t.Name != "" {
		return t.Name
	}
	return TopicIDString(id)
}

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

// targetBuilder makes targets out of partition indices. All targets of one computation share one array of numbers.
type targetBuilder struct {
	table   *topicTable
	numbers []int32
	scratch []int32  // of build
	keys    []uint64 // of byTopic, as is
	indices []int32
}

// build joins what a member keeps, which is sorted by topic, with what it gains.
func (b *targetBuilder) build(kept, gains []int32) Partitions {
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
func (b *targetBuilder) target(all []int32) Partitions {
	if len(all) == 0 {
		return Partitions{}
	}
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
	target := make(Partitions, topics)
	for i := 0; i < len(all); {
		place := b.table.placeOf(all[i])
		first, end := b.table.first[place], b.table.first[place+1]
		j := i
		for j < len(all) && all[j] < end {
			numbers[j] = all[j] - first
			j++
		}
		target[b.table.ids[place]] = numbers[i:j:j]
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

type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64+1) }

// set sets a bit and tells whether it was set before.
func (b bitset) set(i int) bool {
	w, m := &b[i>>6], uint64(1)<<(i&63)
	was := *w&m != 0
	*w |= m
	return was
}

func (b bitset) clear(i int)    { b[i>>6] &^= 1 << (i & 63) }
func (b bitset) has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }

// zerosBelow lists the bits below n that are not set, ascending.
func (b bitset) zerosBelow(n int) []int32 {
	free := n
	for _, w := range b {
		free -= bits.OnesCount64(w)
	}
	if free == 0 {
		return nil
	}
	out := make([]int32, 0, free)
	for i, w := range b {
		for w = ^w; w != 0; w &= w - 1 {
			if bit := i<<6 + bits.TrailingZeros64(w); bit < n {
				out = append(out, int32(bit))
			}
		}
	}
	return out
}
