package assignors

import "slices"

// NewRange is the client-side range assignor: each topic by itself is cut into runs of consecutive partitions, static members
// first; the first P mod n subscribers get one more, once per topic. Topics with equal partition counts and subscribers stay
// co-partitioned. Where members and replicas have racks, partitions go to members of their rack first. It has no memory.
func NewRange() Assignor { return clientRange{} }

type clientRange struct{}

func (clientRange) Name() string { return "range" }

func (a clientRange) Assign(g Group) (map[string][]TopicPartition, error) { return assign(a, &g) }

func (clientRange) compute(r *round) error {
	order := r.staticFirst()
	lists := r.inOrder(order)
	shares := make([]*topicShare, len(r.topics))
	if x := r.racks(); x != nil {
		matchRacks(r, x, lists, shares)
	}
	for t, list := range lists {
		if shares[t] != nil {
			shares[t].fill(r)
			continue
		}
		p, n := r.first[t], int32(len(list))
		for k, m := range list {
			for from, to := run(r.counts[t], n, int32(k)); from < to; from++ {
				r.give(p, m, whyRun)
				p++
			}
			if p == r.first[t+1] {
				break
			}
		}
	}
	return nil
}

// inOrder answers each topic's subscribers in the given order of members.
func (r *round) inOrder(order []int32) [][]int32 {
	if slices.IsSorted(order) {
		return r.subscribers
	}
	lists := make([][]int32, len(r.topics))
	if r.oneSub {
		for t := range lists {
			lists[t] = order
		}
		return lists
	}
	for t := range lists {
		lists[t] = make([]int32, 0, len(r.subscribers[t]))
	}
	for _, m := range order {
		for _, t := range r.subs[m] {
			lists[t] = append(lists[t], m)
		}
	}
	return lists
}

// topicShare keeps the books of one topic while partitions are matched by rack: how many each subscriber has and how many of
// those with one more are left.
type topicShare struct {
	topic        int
	list         []int32 // subscribers in order
	got          []int32 // by position in list
	base, extras int32
}

func newTopicShare(r *round, t int, list []int32) *topicShare {
	n := int32(len(list))
	return &topicShare{topic: t, list: list, got: make([]int32, n), base: r.counts[t] / n, extras: r.counts[t] % n}
}

// room is how many more the subscriber at position k may get. It never grows.
func (s *topicShare) room(k int32) int32 {
	room := s.base - s.got[k]
	if s.extras > 0 {
		room++
	}
	return max(room, 0)
}

func (s *topicShare) took(k, n int32) {
	if n == 0 {
		return
	}
	s.got[k] += n
	if s.got[k] > s.base {
		s.extras--
	}
}

// fill is the plain pass: each subscriber in order takes as many of the lowest free partitions as it has room for.
func (s *topicShare) fill(r *round) {
	p, end := r.first[s.topic], r.first[s.topic+1]
	for k, m := range s.list {
		n := int32(0)
		for room := s.room(int32(k)); n < room && p < end; p++ {
			if r.owner[p] < 0 {
				r.give(p, m, whyRunRest)
				n++
			}
		}
		s.took(int32(k), n)
	}
}

// matchRacks runs the rack passes. Topics with the same subscribers and the same number of partitions are matched jointly, as
// long as somebody among the subscribers has a rack at all.
func matchRacks(r *round, x *rackTable, lists [][]int32, shares []*topicShare) {
	needed, any := make([]bool, len(lists)), false
	for t := range lists {
		needed[t] = x.useRacks(lists[t], r.first[t], r.first[t+1])
		any = any || needed[t]
	}
	if !any {
		return
	}
	for _, topics := range coPartitioned(r, x, lists) {
		switch {
		case len(topics) > 1:
			for _, t := range topics {
				shares[t] = newTopicShare(r, t, lists[t])
			}
			matchJointly(r, x, topics, shares)
		case needed[topics[0]]:
			t := topics[0]
			shares[t] = newTopicShare(r, t, lists[t])
			matchAlone(r, x, shares[t])
		}
	}
}

// coPartitioned groups the topics by subscribers and partition count.
func coPartitioned(r *round, x *rackTable, lists [][]int32) [][]int {
	type key struct {
		subscribers string
		count       int32
	}
	place := map[key]int{}
	var groups [][]int
	var b []byte
	for t, list := range lists {
		k := key{count: r.counts[t]}
		if !r.oneSub {
			b = b[:0]
			for _, m := range r.subscribers[t] {
				b = append(b, byte(m), byte(m>>8), byte(m>>16), byte(m>>24))
			}
			k.subscribers = string(b)
		}
		if !slices.ContainsFunc(list, func(m int32) bool { return x.of[m] >= 0 }) {
			continue
		}
		at, ok := place[k]
		if !ok {
			at = len(groups)
			place[k] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], t)
	}
	return groups
}

// matchJointly keeps co-partitioning: partition p of every topic of the group goes to the first subscriber with room whose rack
// holds p of all of them. The books of these topics are alike, so the first one's stand for all.
func matchJointly(r *round, x *rackTable, topics []int, shares []*topicShare) {
	s := shares[topics[0]]
	queues := newRackQueues(x, s.list)
	common := make([]uint64, x.words)
	for p := range r.counts[topics[0]] {
		copy(common, x.set(r.first[topics[0]]+p))
		for _, t := range topics[1:] {
			for i, w := range x.set(r.first[t] + p) {
				common[i] &= w
			}
		}
		k := queues.first(queues.none, func(k int32) bool { return s.room(k) > 0 })
		for rack := range eachBit(common) {
			if c := queues.first(rack, func(k int32) bool { return s.room(k) > 0 }); c >= 0 && (k < 0 || c < k) {
				k = c
			}
		}
		if k < 0 {
			continue
		}
		for _, t := range topics {
			r.give(r.first[t]+p, s.list[k], whyRunRack)
			shares[t].took(k, 1)
		}
	}
}

// rackQueues holds positions of members by rack, in order; members without a rack are in a queue of their own.
type rackQueues struct {
	none  int
	lists [][]int32
}

func newRackQueues(x *rackTable, list []int32) *rackQueues {
	q := &rackQueues{none: len(x.size), lists: make([][]int32, len(x.size)+1)}
	for k, m := range list {
		rack := q.none
		if x.of[m] >= 0 {
			rack = int(x.of[m])
		}
		q.lists[rack] = append(q.lists[rack], int32(k))
	}
	return q
}

// first answers the first position of a rack that still takes something, -1 if there is none; those that take nothing now
// never will.
func (q *rackQueues) first(rack int, takes func(int32) bool) int32 {
	for len(q.lists[rack]) > 0 {
		if k := q.lists[rack][0]; takes(k) {
			return k
		}
		q.lists[rack] = q.lists[rack][1:]
	}
	return -1
}

// matchAlone lets each subscriber in order take the lowest free partitions of its rack; who has no rack takes any.
func matchAlone(r *round, x *rackTable, s *topicShare) {
	first, end := r.first[s.topic], r.first[s.topic+1]
	inRack := make([][]int32, len(x.size)) // what is left of each rack's partitions; the given ones are dropped on the way
	for p := first; p < end; p++ {
		for rack := range eachBit(x.set(p)) {
			inRack[rack] = append(inRack[rack], p)
		}
	}
	anywhere := make([]int32, 0, end-first)
	for p := first; p < end; p++ {
		anywhere = append(anywhere, p)
	}
	for k, m := range s.list {
		left := &anywhere
		if x.of[m] >= 0 {
			left = &inRack[x.of[m]]
		}
		n := int32(0)
		for room := s.room(int32(k)); n < room && len(*left) > 0; *left = (*left)[1:] {
			if p := (*left)[0]; r.owner[p] < 0 {
				r.give(p, m, whyRunRack)
				n++
			}
		}
		s.took(int32(k), n)
	}
}
