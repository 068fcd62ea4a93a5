package assignors

import (
	"cmp"
	"math"
	"slices"
)

// balanceRounds bounds the walks over all topics: topics that share subscribers can undo each other's balance.
const balanceRounds = 16

// mixedGroup is a group with different subscriptions. Members go by their number, which is their place in the order of ids.
type mixedGroup struct {
	table       *topicTable
	subscribers [][]int32 // by topic, ascending
	owner       []int32   // by partition index, -1 free
	count       []int32   // by member
	keys        []uint64  // scratch of sorted
	scratch     []int32   // its result
	hands       [][]int32 // scratch of byHolder
}

func (uniform) mixed(in ServerInput, table *topicTable, order []int32) ([][]Share, error) {
	g := &mixedGroup{table: table, subscribers: make([][]int32, len(table.ids)), owner: make([]int32, table.total()), count: make([]int32, len(order))}
	for i := range g.owner {
		g.owner[i] = -1
	}
	subscriptions := table.subscriptions(in, order)
	for k, places := range subscriptions {
		for _, t := range places {
			g.subscribers[t] = append(g.subscribers[t], int32(k))
		}
	}
	if !g.keep(in, order, subscriptions) {
		return nil, uniform{}.unsound(in, table, order)
	}
	topics := g.topicOrder()
	for _, t := range topics {
		g.deal(t)
	}
	g.balance(topics)
	return g.targets(in, order), nil
}

// keep leaves with everyone what they hold of topics they still subscribe to, however much it is. If two hold one partition, the
// first keeps it; Kafka would leave it with both. One that isn't there is an error, as in Kafka.
func (g *mixedGroup) keep(in ServerInput, order []int32, subscriptions [][]int32) (sound bool) {
	subscribed := make([]int32, len(g.table.ids)) // by topic: one more than the last member seen to subscribe to it
	for k, i := range order {
		for _, t := range subscriptions[k] {
			subscribed[t] = int32(k) + 1
		}
		m := &in.Members[i]
		for id, ps := range m.Target {
			t := g.table.find(&id)
			if t < 0 {
				continue
			}
			if subscribed[t] != int32(k)+1 {
				continue
			}
			for _, p := range ps {
				if uint32(p) >= uint32(g.table.counts[t]) {
					return false
				}
				if at := &g.owner[g.table.first[t]+p]; *at < 0 {
					*at = int32(k)
					g.count[k]++
				}
			}
		}
	}
	return true
}

// topicOrder puts first the topics that weigh most on each subscriber, then those with fewer subscribers, then by id.
func (g *mixedGroup) topicOrder() []int32 {
	topics := make([]int32, 0, len(g.table.ids))
	for t := range g.table.ids {
		if len(g.subscribers[t]) > 0 {
			topics = append(topics, int32(t))
		}
	}
	weight := func(t int32) float64 { return float64(g.table.counts[t]) / float64(len(g.subscribers[t])) }
	slices.SortFunc(topics, func(x, y int32) int {
		if c := cmp.Compare(weight(y), weight(x)); c != 0 {
			return c
		}
		if c := cmp.Compare(len(g.subscribers[x]), len(g.subscribers[y])); c != 0 {
			return c
		}
		return cmp.Compare(x, y)
	})
	return topics
}

// sorted puts a topic's subscribers in the order of load, ties by number.
func (g *mixedGroup) sorted(t int32) []int32 {
	g.keys = g.keys[:0]
	for _, m := range g.subscribers[t] {
		g.keys = append(g.keys, uint64(g.count[m])<<32|uint64(m))
	}
	slices.Sort(g.keys)
	g.scratch = g.scratch[:0]
	for _, key := range g.keys {
		g.scratch = append(g.scratch, int32(uint32(key)))
	}
	return g.scratch
}

// dealer draws the least loaded members first, like water filling a staircase: the lowest level is raised member by member,
// then joined by those who stand on the next one.
type dealer struct {
	sorted []int32
	count  []int32
	level  int32
	end    int
	next   int
}

func newDealer(sorted, count []int32) dealer {
	return dealer{sorted: sorted, count: count, level: count[sorted[0]] - 1}
}

func (d *dealer) draw() int32 {
	if d.next >= d.end {
		d.level++
		for d.end < len(d.sorted) && d.count[d.sorted[d.end]] == d.level {
			d.end++
		}
		d.next = 0
	}
	m := d.sorted[d.next]
	d.next++
	return m
}

// deal gives a topic's free partitions to its least loaded subscribers.
func (g *mixedGroup) deal(t int32) {
	var d *dealer
	for i := g.table.first[t]; i < g.table.first[t+1]; i++ {
		if g.owner[i] >= 0 {
			continue
		}
		if d == nil {
			n := newDealer(g.sorted(t), g.count)
			d = &n
		}
		m := d.draw()
		g.owner[i] = m
		g.count[m]++
	}
}

// balance levels topic after topic until a whole round has moved nothing.
func (g *mixedGroup) balance(topics []int32) {
	shared := slices.DeleteFunc(slices.Clone(topics), func(t int32) bool { return len(g.subscribers[t]) < 2 })
	last := -1
	for range balanceRounds {
		for i, t := range shared {
			if i == last {
				return
			}
			if g.balanceTopic(t) || last < 0 {
				last = i
			}
		}
	}
}

// taker draws the most loaded members first; it is the dealer's mirror image.
type taker struct {
	sorted     []int32
	count      []int32
	level      int32
	start, end int
	next       int
}

// draw answers the next most loaded member, -1 if there is none.
func (d *taker) draw() int32 {
	if d.next < d.start {
		if d.end <= d.start && d.start > 0 {
			d.level = d.count[d.sorted[d.start-1]]
		} else {
			d.level--
		}
		for d.start > 0 && d.count[d.sorted[d.start-1]] == d.level {
			d.start--
		}
		d.next = d.end - 1
	}
	if d.next < 0 {
		return -1
	}
	m := d.sorted[d.next]
	d.next--
	return m
}

// exclude takes the member drawn last out of the game: it has no partition of this topic left to give.
func (d *taker) exclude() {
	d.sorted[d.next+1], d.sorted[d.end-1] = d.sorted[d.end-1], d.sorted[d.next+1]
	d.end--
}

// balanceTopic moves partitions of one topic from its most to its least loaded subscribers, as long as that levels anything.
func (g *mixedGroup) balanceTopic(t int32) (moved bool) {
	least, most := int32(math.MaxInt32), int32(0)
	for _, m := range g.subscribers[t] {
		least, most = min(least, g.count[m]), max(most, g.count[m])
	}
	if most-least <= 1 {
		return false
	}
	sorted := g.sorted(t)
	low := newDealer(sorted, g.count)
	high := taker{sorted: sorted, count: g.count, level: most + 1, start: len(sorted), end: len(sorted), next: len(sorted) - 1}
	hand := g.byHolder(t)
	for high.level-low.level > 1 {
		from := high.draw()
		for from >= 0 && len(hand[from]) == 0 {
			high.exclude()
			from = high.draw()
		}
		if from < 0 {
			return moved
		}
		p := hand[from][len(hand[from])-1]
		hand[from] = hand[from][:len(hand[from])-1]
		to := low.draw()
		if high.level-low.level <= 1 {
			return moved
		}
		g.owner[p] = to
		g.count[from]--
		g.count[to]++
		moved = true
	}
	return moved
}

// byHolder lists by member which partitions of the topic it holds, ascending.
func (g *mixedGroup) byHolder(t int32) [][]int32 {
	first, end := g.table.first[t], g.table.first[t+1]
	if g.hands == nil {
		g.hands = make([][]int32, len(g.count))
	}
	for _, m := range g.subscribers[t] {
		g.hands[m] = g.hands[m][:0]
	}
	for p := first; p < end; p++ {
		m := g.owner[p]
		g.hands[m] = append(g.hands[m], p)
	}
	return g.hands
}

// targets turns owners into targets, nil where nothing changed.
func (g *mixedGroup) targets(in ServerInput, order []int32) [][]Share {
	lists := listsByOwner(g.owner, len(order))
	out := make([][]Share, len(order))
	b := targetBuilder{table: g.table, shelf: shelf{left: len(g.owner)}}
	for k, i := range order {
		m := &in.Members[i]
		if m.Target != nil && g.table.equals(m.Target, lists[k]) {
			continue
		}
		out[i] = b.target(lists[k])
	}
	return out
}

// listsByOwner answers the indices each of n owners has, ascending; -1 owns nothing.
func listsByOwner(owner []int32, n int) [][]int32 {
	ends := make([]int32, n+1)
	for _, m := range owner {
		ends[m+1]++
	}
	ends[0] = 0
	for m := range n {
		ends[m+1] += ends[m]
	}
	all := make([]int32, ends[n])
	next := slices.Clone(ends[:n])
	for i, m := range owner {
		if m >= 0 {
			all[next[m]] = int32(i)
			next[m]++
		}
	}
	lists := make([][]int32, n)
	for m := range lists {
		lists[m] = all[ends[m]:ends[m+1]:ends[m+1]]
	}
	return lists
}

// equals tells whether a target lists just these partition indices.
func (t *topicTable) equals(target Partitions, all []int32) bool {
	topics := 0
	for i := 0; i < len(all); topics++ {
		place := t.placeOf(all[i])
		first, end := t.first[place], t.first[place+1]
		for _, p := range target[t.ids[place]] {
			if i == len(all) || all[i] >= end || p != all[i]-first {
				return false
			}
			i++
		}
		if i < len(all) && all[i] < end {
			return false
		}
	}
	return topics == len(target)
}
