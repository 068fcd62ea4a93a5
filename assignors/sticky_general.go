package assignors

import (
	"cmp"
	"slices"
)

// generalState is the state of the general algorithm, for members with different subscriptions.
type generalState struct {
	r       *round
	load    *ladder
	topicOf []int32
	before  []int32 // by partition: the member that had it in an older generation, -1 none
	moves   moveRecords
}

// general assigns with different subscriptions: what is free goes to the least loaded subscriber, then partitions move from
// more to less loaded members until nothing gets better.
func general(r *round, c *claims) {
	g := &generalState{r: r, topicOf: r.topicOf(), before: earlierHolders(c, len(r.owner))}
	g.moves.init(len(r.owner))
	count := make([]int32, len(r.members))
	revocation := g.keep(c, count)
	initializing := true
	for _, n := range count {
		initializing = initializing && n == 0
	}
	g.load = newLadder(r, count)

	topics := g.topicOrder()
	free := g.free(topics)
	g.deal(free)

	// Partitions of a topic with one possible consumer stay where they are.
	shared := slices.DeleteFunc(topics, func(t int32) bool { return len(r.subscribers[t]) < 2 })
	free = slices.DeleteFunc(free, func(p int32) bool { return len(r.subscribers[g.topicOf[p]]) < 2 })
	all := make([]int32, 0, len(r.owner))
	for _, t := range shared {
		for p := r.first[t]; p < r.first[t+1]; p++ {
			all = append(all, p)
		}
	}
	start := g.save()
	changed, ends := g.rebalance(free, all, revocation)
	if !ends {
		// Kafka's leader never comes back from such a group. The records that led round in a circle are left out, so every move
		// makes a less loaded member catch up.
		g.restore(start)
		g.moves.off = true
		changed, _ = g.rebalance(free, all, revocation)
	}
	if changed && !initializing {
		takesPart := g.participants()
		if imbalance(g.load.count, takesPart) >= imbalance(start.count, takesPart) {
			g.restore(start)
		}
	}
}

// rebalance answers whether the walk over all partitions changed something, and false if a walk would never end.
func (g *generalState) rebalance(free, all []int32, revocation bool) (changed, ends bool) {
	if !revocation {
		if _, ends := g.improve(free); !ends {
			return false, false
		}
	}
	return g.improve(all)
}

// snapshot is who has what, and since which step.
type snapshot struct {
	owner, count []int32
	why          []why
}

func (g *generalState) save() snapshot {
	return snapshot{slices.Clone(g.r.owner), slices.Clone(g.load.count), slices.Clone(g.r.why)}
}

func (g *generalState) restore(p snapshot) {
	copy(g.r.owner, p.owner)
	copy(g.r.why, p.why)
	g.load = newLadder(g.r, slices.Clone(p.count))
}

// earlierHolders finds who claims a partition for an older generation than the latest; the newest of those claims wins, the first
// member's among equals.
func earlierHolders(c *claims, partitions int) []int32 {
	before, when := make([]int32, partitions), make([]int32, partitions)
	for p := range before {
		before[p], when[p] = -1, -2
	}
	for m, mem := range c.memories {
		if mem.generation >= c.latest {
			continue
		}
		for _, p := range mem.owned {
			if mem.generation > when[p] {
				before[p], when[p] = int32(m), mem.generation
			}
		}
	}
	return before
}

// keep leaves with everyone what it had of topics it still subscribes to, and tells whether something had to be given up.
func (g *generalState) keep(c *claims, count []int32) (revocation bool) {
	for p, m := range c.holder {
		if m < 0 {
			continue
		}
		if !g.r.subscribed(m, g.topicOf[p]) || g.r.match != nil && g.r.match.mismatch(m, int32(p)) {
			revocation = true
			continue
		}
		g.r.give(int32(p), m, whyKept)
		count[m]++
	}
	return revocation
}

// topicOrder puts first the topics with the fewest possible consumers, ties by name.
func (g *generalState) topicOrder() []int32 {
	topics := upTo(int32(len(g.r.topics)))
	slices.SortFunc(topics, func(a, b int32) int {
		if c := cmp.Compare(len(g.r.subscribers[a]), len(g.r.subscribers[b])); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	return topics
}

func (g *generalState) free(topics []int32) []int32 {
	var free []int32
	for _, t := range topics {
		for p := g.r.first[t]; p < g.r.first[t+1]; p++ {
			if g.r.owner[p] < 0 {
				free = append(free, p)
			}
		}
	}
	return free
}

// deal gives the free partitions to the least loaded subscribers; with racks, first those that match somebody's.
func (g *generalState) deal(free []int32) {
	if x := g.r.match; x != nil {
		byRack := newRackSets(x, len(g.r.members))
		for _, p := range free {
			if m := g.load.first(g.topicOf[p], byRack.matching(x, p)); m >= 0 {
				g.r.give(p, m, whyLeastRack)
				g.load.add(m, 1)
			}
		}
	}
	for _, p := range free {
		if g.r.owner[p] >= 0 {
			continue
		}
		m := g.load.first(g.topicOf[p], nil)
		g.r.give(p, m, whyLeast)
		g.load.add(m, 1)
	}
}

// improve walks the list until nothing moves any more: a partition goes back to a member that had it in an older generation, or to
// the least loaded subscriber, if that has at least two fewer than its owner. (Kafka ends a walk as soon as the whole is balanced;
// that is just when no partition can move, so it makes no difference here.)
//
// Kafka gives partitions back also to members that no longer subscribe to the topic; that defect is not copied.
//
// It answers false for ends if the walks would go on for ever, as Kafka's do: a record of a reverse move can divert one to a member
// that is no better off, and such moves can chase each other.
func (g *generalState) improve(list []int32) (changed, ends bool) {
	var seen circle
	budget := 64 * (len(list) + 1) // in case the circle is a very long one
	for {
		moved, astray := false, false
		for _, p := range list {
			c, t := g.r.owner[p], g.topicOf[p]
			has := g.load.count[c]
			if has <= g.load.least+1 {
				continue
			}
			to, w := g.before[p], whyReturned
			if to < 0 || has <= g.load.count[to]+1 || !g.r.subscribed(to, t) {
				to, w = g.load.first(t, nil), whyBalance
				if has <= g.load.count[to]+1 {
					continue
				}
			}
			moved = true
			if !g.move(p, to, w) {
				astray = true
			}
			if budget--; budget == 0 && !g.moves.off {
				return true, false
			}
		}
		if !moved {
			return changed, true
		}
		changed = true
		if astray && seen.closed(g.r.owner, &g.moves) {
			return true, false
		}
	}
}

// move moves p to d. If a partition of the same topic went the other way before, that one is moved back in p's stead. Its owner may be
// another than p's, and no more loaded than d; move answers whether the loads are more even for it.
func (g *generalState) move(p, d int32, w why) (improves bool) {
	if q := g.moves.reverse(g.r, g.topicOf[p], p, g.r.owner[p], d); q >= 0 {
		p = q
	}
	c := g.r.owner[p]
	improves = g.load.count[c] > g.load.count[d]+1
	g.moves.record(g.topicOf[p], p, c, d)
	g.r.give(p, d, w)
	g.load.add(c, -1)
	g.load.add(d, 1)
	return improves
}

// circle notices when walks come back to where they were. It keeps one state, and replaces it after 1, 2, 4, ... looks, so that it
// finds a circle of any length in a number of looks proportional to that.
//
// A circle has at least one move in it that improves nothing, so only after walks with such a move there is something to look at.
type circle struct {
	owner, from, to []int32
	looks, renew    int
}

func (c *circle) closed(owner []int32, v *moveRecords) bool {
	if slices.Equal(c.owner, owner) && slices.Equal(c.from, v.from) && slices.Equal(c.to, v.to) {
		return true
	}
	if c.looks++; c.looks > c.renew {
		c.renew = 2*c.renew + 1
		c.owner, c.from, c.to = append(c.owner[:0], owner...), append(c.from[:0], v.from...), append(c.to[:0], v.to...)
	}
	return false
}

// participants are the members that can gain or lose something: not those that hold all they could ever hold, none of it in a
// topic with another possible consumer.
func (g *generalState) participants() []bool {
	takesPart := make([]bool, len(g.r.members))
	for m, topics := range g.r.subs {
		for _, t := range topics {
			takesPart[m] = takesPart[m] || len(g.r.subscribers[t]) >= 2
		}
	}
	return takesPart
}

// imbalance is the sum of the differences between the loads of all pairs of members.
func imbalance(count []int32, takesPart []bool) int64 {
	loads := make([]int32, 0, len(count))
	for m, n := range count {
		if takesPart[m] {
			loads = append(loads, n)
		}
	}
	slices.Sort(loads)
	sum, score := int64(0), int64(0)
	for i, n := range loads {
		score += int64(n)*int64(i) - sum
		sum += int64(n)
	}
	return score
}

// moveRecords remembers what moved in this computation, so that two members do not swap partitions of one topic.
type moveRecords struct {
	from, to []int32 // by partition, -1 none
	pairs    map[movePair]int32
	off      bool // nothing is recorded
}

type movePair struct{ topic, from, to int32 }

func (v *moveRecords) init(partitions int) {
	v.from, v.to = make([]int32, partitions), make([]int32, partitions)
	for p := range v.from {
		v.from[p], v.to[p] = -1, -1
	}
	v.pairs = map[movePair]int32{}
}

// reverse answers the lowest partition of the topic that moved from d to where p comes from, -1 if none did.
func (v *moveRecords) reverse(r *round, topic, p, c, d int32) int32 {
	if v.off {
		return -1
	}
	if v.from[p] >= 0 {
		c = v.from[p]
	}
	if len(v.pairs) == 0 || v.pairs[movePair{topic, d, c}] == 0 {
		return -1
	}
	for q := r.first[topic]; q < r.first[topic+1]; q++ {
		if v.from[q] == d && v.to[q] == c {
			return q
		}
	}
	return -1
}

func (v *moveRecords) record(topic, p, c, d int32) {
	if v.off {
		return
	}
	if from := v.from[p]; from >= 0 {
		v.drop(movePair{topic, from, v.to[p]})
		v.from[p], v.to[p] = -1, -1
		if from == d {
			return
		}
		c = from
	}
	v.from[p], v.to[p] = c, d
	v.pairs[movePair{topic, c, d}]++
}

func (v *moveRecords) drop(pair movePair) {
	if v.pairs[pair]--; v.pairs[pair] == 0 {
		delete(v.pairs, pair)
	}
}
