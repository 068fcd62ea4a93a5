package assignors

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// NewUniform is the server-side uniform assignor, the default of the consumer protocol: everyone keeps what the previous target
// gave it up to its fair share, and what is free fills up those below theirs. With equal subscriptions the spread is at most 1
// and the number of moves is the least that this balance permits. It does not look at racks. It fails, as Kafka's does, where a
// previous target has a partition that a topic does not have or, with equal subscriptions, that another has too.
//
// A member whose target does not change is answered with the very map it came with.
func NewUniform() ServerAssignor { return uniform{} }

type uniform struct{}

func (uniform) Name() string { return "uniform" }

func (a uniform) Assign(in ServerInput) (map[string]Partitions, error) {
	shares, err := a.assign(in, false)
	if err != nil {
		return nil, err
	}
	return targets(in, shares), nil
}

func (a uniform) AssignOrdered(in ServerInput) ([][]Share, error) { return a.assign(in, true) }

func (a uniform) assign(in ServerInput, ordered bool) ([][]Share, error) {
	if len(in.Members) == 0 {
		return nil, nil
	}
	order := upTo(int32(len(in.Members)))
	if !ordered {
		var err error
		if order, err = membersByID(a.Name(), in.Members); err != nil {
			return nil, err
		}
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
	return a.mixed(in, table, order)
}

// held is what a member's previous target still counts for.
type held struct {
	count int32
	// stale: the target lists a topic that is no longer subscribed to, so the map cannot be answered as it is.
	stale bool
}

// rest is what a member with too many partitions keeps.
type rest struct {
	place int32
	kept  []int32
}

// need is a member below its share and how many partitions it lacks.
type need struct{ place, lacks int32 }

func (a uniform) homogeneous(in ServerInput, table *topicTable, order []int32) ([][]Share, error) {
	owned := newBitset(table.total())
	holds := make([]held, len(order))
	hint := 0
	for k, i := range order {
		h, sound := table.claim(owned, in.Members[i].Target, &hint)
		if !sound {
			return nil, a.unsound(in, table, order)
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

	out := make([][]Share, n)
	b := targetBuilder{table: table, shelf: shelf{left: changed}, numbers: make([]int32, changed)}
	var own []int32
	for k, i := range order {
		m := &in.Members[i]
		var gets []int32
		if len(needs) > 0 && needs[0].place == int32(k) {
			gets, pool = pool[:needs[0].lacks], pool[needs[0].lacks:]
			needs = needs[1:]
		}
		if len(gets) == 0 && keep[k] == holds[k].count && !holds[k].stale && m.Target != nil {
			continue
		}
		var kept []int32
		if len(rests) > 0 && rests[0].place == int32(k) {
			kept, rests = rests[0].kept, rests[1:]
		} else if keep[k] > 0 {
			own = table.indices(m.Target, own[:0])
			kept = own
		}
		out[i] = b.build(kept, gets)
	}
	return out, nil
}

// claim marks what a target holds and tells whether it is sound: there is each partition, and nobody held it before. Else whoever made
// such targets is broken, as the leader of a classic group may be that becomes a consumer group, and Kafka's own computation fails there too.
//
// Neighbours often hold partitions of one topic and no other, so the hint, the topic found last, is tried first: a look-up costs
// half of what walking the map does.
func (t *topicTable) claim(owned bitset, target Partitions, hint *int) (h held, sound bool) {
	if len(target) == 1 && *hint < len(t.ids) {
		if ps, ok := target[t.ids[*hint]]; ok {
			sound = t.mark(owned, *hint, ps, &h)
			return h, sound
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

func (t *topicTable) mark(owned bitset, place int, ps []int32, h *held) (sound bool) {
	first, count := t.first[place], t.counts[place]
	for _, p := range ps {
		if uint32(p) >= uint32(count) || owned.set(int(first+p)) {
			return false
		}
		h.count++
	}
	return true
}

// unsound names the first partition that isn't there, or else the first that two targets list, or one lists twice.
func (a uniform) unsound(in ServerInput, table *topicTable, order []int32) error {
	for _, i := range order {
		m := &in.Members[i]
		for _, share := range m.Target.Shares() {
			if !slices.Contains(m.Topics, share.Topic) {
				continue
			}
			count := table.counts[table.find(&share.Topic)]
			for _, p := range share.Partitions {
				if uint32(p) >= uint32(count) {
					return fmt.Errorf("assignors: uniform: the previous target gives partition %d of topic %s to %q; the topic has %d", p, in.topicName(share.Topic), m.ID, count)
				}
			}
		}
	}
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
