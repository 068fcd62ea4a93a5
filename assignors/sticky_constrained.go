package assignors

import (
	"cmp"
	"fmt"
	"slices"
)

// quotas is the state of the constrained algorithm: all members subscribe to the same topics, so everyone ends with min or max
// partitions, and exactly extras members with max (if that differs from min).
type quotas struct {
	r         *round
	min, max  int32
	extras    int32
	over      int32 // members that have max
	count     []int32
	under     []int32 // members below min
	atMin     []int32 // members with min that may get one of the extras
	revoked   []int32 // by partition: the member that had it and may not keep it, -1 none
	doubly    bitset
	transfers []int32 // given to another member than the one that had it
}

// constrained assigns with equal subscriptions. x orders what is dealt, even where racks don't decide (round.match). It answers the partitions that
// pass from one member to another.
func constrained(r *round, c *claims, x *rackTable) (transfers []int32, err error) {
	total, n := int32(len(r.owner)), int32(len(r.members))
	q := &quotas{r: r, min: total / n, max: (total + n - 1) / n, extras: total % n, count: make([]int32, n), doubly: c.doubly}
	q.revoked = make([]int32, total)
	for p := range q.revoked {
		q.revoked[p] = -1
	}
	q.keep(c)
	pool := q.pool(x)
	if r.match != nil {
		pool = q.dealByRack(pool, x)
	}
	if err := q.deal(pool); err != nil {
		return nil, err
	}
	if len(q.under) > 0 {
		return nil, fmt.Errorf("assignors: %s: no partitions are left for member %q, which has %d of at least %d", r.name, r.member(q.under[0]).ID, q.count[q.under[0]], q.min)
	}
	return q.transfers, nil
}

// keep leaves with each member what it had, up to min, or to max for as many as may have more. Partitions on other racks than
// the member's are not kept. The order is that of partition numbers, so co-partitioned ones stay together.
func (q *quotas) keep(c *claims) {
	match := q.r.match
	var topicOf []int32
	var owned []int32
	for k := range q.r.members {
		m := int32(k)
		owned = owned[:0]
		for _, p := range c.memories[m].owned {
			if c.holder[p] != m {
				continue
			}
			if match != nil && match.mismatch(m, p) {
				q.revoked[p] = m
				continue
			}
			if c.contest && c.doubly.has(int(p)) {
				continue
			}
			c.holder[p] = -1 // a claim listed twice counts once
			owned = append(owned, p)
		}
		n := int32(len(owned))
		keep := q.min
		switch {
		case n < q.min:
			keep = n
			q.under = append(q.under, m)
		case n >= q.max && q.over < q.extras:
			keep = q.max
			if q.over++; q.over == q.extras {
				q.atMin = q.atMin[:0]
			}
		case q.over < q.extras:
			q.atMin = append(q.atMin, m)
		}
		if keep < n {
			if topicOf == nil {
				topicOf = q.r.topicOf()
			}
			first := q.r.first
			slices.SortFunc(owned, func(a, b int32) int {
				ta, tb := topicOf[a], topicOf[b]
				if c := cmp.Compare(a-first[ta], b-first[tb]); c != 0 {
					return c
				}
				return cmp.Compare(ta, tb)
			})
			for _, p := range owned[keep:] {
				q.revoked[p] = m
			}
		}
		for _, p := range owned[:keep] {
			q.r.give(p, m, whyKept)
		}
		q.count[m] = keep
	}
}

// pool lists what nobody kept, the partitions with the fewest members in their racks first.
func (q *quotas) pool(x *rackTable) []int32 {
	free := 0
	for _, m := range q.r.owner {
		if m < 0 {
			free++
		}
	}
	pool := make([]int32, 0, free)
	for p, m := range q.r.owner {
		if m < 0 {
			pool = append(pool, int32(p))
		}
	}
	if x != nil {
		weight := make([]int32, len(q.r.owner))
		for _, p := range pool {
			weight[p] = x.weight(p)
		}
		slices.SortStableFunc(pool, func(a, b int32) int { return cmp.Compare(weight[a], weight[b]) })
	}
	return pool
}

func (q *quotas) give(p, m int32, w why) {
	if had := q.revoked[p]; had >= 0 && had != m || q.doubly.has(int(p)) {
		q.transfers = append(q.transfers, p)
	}
	q.r.give(p, m, w)
	q.count[m]++
}

// deal goes round the members below min; then each of those at min gets one of the extras, in the order in which they got there.
func (q *quotas) deal(pool []int32) error {
	head := 0
	for len(pool) > 0 && len(q.under) > 0 {
		still := q.under[:0]
		for i, m := range q.under {
			if len(pool) == 0 {
				still = append(still, q.under[i:]...)
				break
			}
			q.give(pool[0], m, whyShare)
			pool = pool[1:]
			switch {
			case q.count[m] < q.min:
				still = append(still, m)
			default:
				q.atMin = append(q.atMin, m)
			}
		}
		q.under = still
	}
	for _, p := range pool {
		if head == len(q.atMin) {
			return fmt.Errorf("assignors: %s: nobody has room for partition %s", q.r.name, q.r.tp(p))
		}
		q.give(p, q.atMin[head], whyExtra)
		q.over++
		head++
	}
	return nil
}

// dealByRack gives partitions to members of their racks: to those below min in turn, else to the first at min.
func (q *quotas) dealByRack(pool []int32, x *rackTable) (left []int32) {
	turn := newRackTurn(x, q.under)
	waiting := newRackWaiting(x, q.atMin)
	left = pool[:0]
	for _, p := range pool {
		if k := turn.next(x.set(p)); k >= 0 {
			m := q.under[k]
			q.give(p, m, whyShareRack)
			turn.cursor = k + 1
			if q.count[m] >= q.min {
				turn.remove(k)
				if q.count[m] < q.max && q.over < q.extras {
					waiting.add(m)
				}
			}
			continue
		}
		if m := waiting.take(x.set(p)); m >= 0 {
			q.give(p, m, whyExtraRack)
			if q.over++; q.over == q.extras {
				waiting.clear()
			}
			continue
		}
		left = append(left, p)
	}
	under := q.under[:0]
	for k, m := range q.under {
		if !turn.gone[k] {
			under = append(under, m)
		}
	}
	q.under, q.atMin = under, waiting.rest()
	return left
}

// rackTurn goes round a list of members and finds the next one of given racks. Members leave when they are full.
type rackTurn struct {
	inRack [][]int32 // by rack: positions in the list, ascending
	alive  [][]int32 // by rack: for each of those, where the next one still there may be (union-find)
	gone   []bool
	place  []int32 // by position: its place in inRack
	rack   []int32 // by position
	cursor int32
}

func newRackTurn(x *rackTable, list []int32) *rackTurn {
	t := &rackTurn{inRack: make([][]int32, len(x.size)), alive: make([][]int32, len(x.size)), gone: make([]bool, len(list)),
		place: make([]int32, len(list)), rack: make([]int32, len(list))}
	for k, m := range list {
		rack := x.of[m]
		t.rack[k] = rack
		if rack >= 0 {
			t.place[k] = int32(len(t.inRack[rack]))
			t.inRack[rack] = append(t.inRack[rack], int32(k))
		}
	}
	for rack, positions := range t.inRack {
		t.alive[rack] = upTo(int32(len(positions)) + 1)
	}
	return t
}

func (t *rackTurn) find(rack int, i int32) int32 {
	a := t.alive[rack]
	for a[i] != i {
		a[i] = a[a[i]]
		i = a[i]
	}
	return i
}

func (t *rackTurn) remove(k int32) {
	t.gone[k] = true
	if rack := t.rack[k]; rack >= 0 {
		t.alive[rack][t.place[k]]++
	}
}

// next answers the first position from the cursor on, round the end, of a member in one of the racks; -1 if there is none.
func (t *rackTurn) next(racks []uint64) int32 {
	ahead, around := int32(-1), int32(-1)
	for rack := range eachBit(racks) {
		positions := t.inRack[rack]
		if i := t.find(rack, 0); i < int32(len(positions)) && (around < 0 || positions[i] < around) {
			around = positions[i]
		}
		from, _ := slices.BinarySearch(positions, t.cursor)
		if i := t.find(rack, int32(from)); i < int32(len(positions)) && (ahead < 0 || positions[i] < ahead) {
			ahead = positions[i]
		}
	}
	if ahead >= 0 {
		return ahead
	}
	return around
}

// rackWaiting is a queue of members from which the first one of given racks can be taken.
type rackWaiting struct {
	x      *rackTable
	queue  []int32
	taken  []bool
	inRack [][]int32 // by rack: places in the queue
}

func newRackWaiting(x *rackTable, list []int32) *rackWaiting {
	w := &rackWaiting{x: x, inRack: make([][]int32, len(x.size))}
	for _, m := range list {
		w.add(m)
	}
	return w
}

func (w *rackWaiting) add(m int32) {
	if rack := w.x.of[m]; rack >= 0 {
		w.inRack[rack] = append(w.inRack[rack], int32(len(w.queue)))
	}
	w.queue, w.taken = append(w.queue, m), append(w.taken, false)
}

func (w *rackWaiting) take(racks []uint64) int32 {
	first, of := int32(-1), 0
	for rack := range eachBit(racks) {
		if q := w.inRack[rack]; len(q) > 0 && (first < 0 || q[0] < first) {
			first, of = q[0], rack
		}
	}
	if first < 0 {
		return -1
	}
	w.inRack[of] = w.inRack[of][1:]
	w.taken[first] = true
	return w.queue[first]
}

func (w *rackWaiting) clear() {
	for i := range w.taken {
		w.taken[i] = true
	}
	clear(w.inRack)
}

func (w *rackWaiting) rest() []int32 {
	var rest []int32
	for i, m := range w.queue {
		if !w.taken[i] {
			rest = append(rest, m)
		}
	}
	return rest
}
