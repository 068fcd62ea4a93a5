package assignors

import (
	"cmp"
	"maps"
	"slices"
)

// NewServerRange is the server-side range assignor: each topic by itself is cut into one run of consecutive partitions per
// subscriber, static members first; the first P mod n subscribers get one more. Nothing of the past is used, nor any rack.
func NewServerRange() ServerAssignor { return serverRange{} }

type serverRange struct{}

func (serverRange) Name() string { return "range" }

func (a serverRange) Assign(in ServerInput) (map[string]Partitions, error) {
	out := make(map[string]Partitions, len(in.Members))
	if len(in.Members) == 0 {
		return out, nil
	}
	byID, err := membersByID(a.Name(), in.Members)
	if err != nil {
		return nil, err
	}
	in.Homogeneous = in.Homogeneous && homogeneous(in.Members)
	table, err := newTopicTable(a.Name(), in)
	if err != nil {
		return nil, err
	}
	order := staticFirst(byID, func(i int32) (string, bool) {
		if id := in.Members[i].InstanceID; id != nil {
			return *id, true
		}
		return "", false
	})
	if in.Homogeneous {
		a.homogeneous(in, table, order, out)
	} else {
		a.mixed(in, table, order, out)
	}
	return out, nil
}

// run is what the subscriber at position k of n gets of p partitions.
func run(p, n, k int32) (from, to int32) {
	base, extras := p/n, p%n
	from = base*k + min(k, extras)
	to = from + base
	if k < extras {
		to++
	}
	return from, to
}

// homogeneous: the subscriber at position k gets something of each topic with more than k partitions, so with the largest topics
// first it is a prefix of the list; and topics with equally many partitions are cut alike.
func (serverRange) homogeneous(in ServerInput, table *topicTable, order []int32, out map[string]Partitions) {
	type topic struct {
		id    TopicID
		count int32
	}
	topics := make([]topic, len(table.ids))
	for t, id := range table.ids {
		topics[t] = topic{id, table.counts[t]}
	}
	slices.SortStableFunc(topics, func(a, b topic) int { return cmp.Compare(b.count, a.count) })
	var numbers []int32
	if len(topics) > 0 {
		numbers = upTo(topics[0].count)
	}
	shares := make([][]int32, len(topics))
	size := len(topics)
	var like Partitions // a target of as many topics: copying it and changing the values is quicker than building another
	for k, i := range order {
		for size > 0 && topics[size-1].count <= int32(k) {
			size--
			like = nil
		}
		for t := range topics[:size] {
			if t > 0 && topics[t].count == topics[t-1].count {
				shares[t] = shares[t-1]
				continue
			}
			from, to := run(topics[t].count, int32(len(order)), int32(k))
			shares[t] = numbers[from:to:to]
		}
		m := &in.Members[i]
		same := m.Target != nil && len(m.Target) == size
		for t := 0; same && t < size; t++ {
			same = slices.Equal(m.Target[topics[t].id], shares[t])
		}
		if same {
			out[m.ID] = m.Target
			continue
		}
		target := maps.Clone(like)
		if target == nil {
			target = make(Partitions, size)
		}
		for t := range topics[:size] {
			target[topics[t].id] = shares[t]
		}
		like = target
		out[m.ID] = target
	}
}

func (serverRange) mixed(in ServerInput, table *topicTable, order []int32, out map[string]Partitions) {
	most := int32(0)
	for _, c := range table.counts {
		most = max(most, c)
	}
	numbers := upTo(most)
	subscriptions := table.subscriptions(in, order)
	// cut is where the next subscriber's run of a topic begins, and how long the runs are.
	type cut struct{ next, base, extras int32 }
	cuts := make([]cut, len(table.ids))
	for _, places := range subscriptions {
		for _, t := range places {
			cuts[t].next++ // for now the number of subscribers
		}
	}
	for t := range cuts {
		if n := cuts[t].next; n > 0 {
			cuts[t] = cut{base: table.counts[t] / n, extras: table.counts[t] % n}
		}
	}
	var shares [][]int32
	for k, i := range order {
		m := &in.Members[i]
		shares = shares[:0]
		size, same := 0, m.Target != nil
		for _, t := range subscriptions[k] {
			c := &cuts[t]
			from := c.next
			c.next += c.base
			if c.extras > 0 {
				c.next++
				c.extras--
			}
			share := numbers[from:c.next:c.next]
			shares = append(shares, share)
			if len(share) > 0 {
				size++
				same = same && slices.Equal(m.Target[table.ids[t]], share)
			}
		}
		if same && size == len(m.Target) {
			out[m.ID] = m.Target
			continue
		}
		target := make(Partitions, size)
		for j, t := range subscriptions[k] {
			if len(shares[j]) > 0 {
				target[table.ids[t]] = shares[j]
			}
		}
		out[m.ID] = target
	}
}

// subscriptions answers by member, in the given order, its topics as places in the table, ascending, each once.
func (t *topicTable) subscriptions(in ServerInput, order []int32) [][]int32 {
	total := 0
	for i := range in.Members {
		total += len(in.Members[i].Topics)
	}
	all, lists := make([]int32, 0, total), make([][]int32, len(order))
	for k, i := range order {
		from := len(all)
		ids := in.Members[i].Topics
		for j := range ids {
			if p := t.find(&ids[j]); p >= 0 {
				all = append(all, int32(p))
			}
		}
		list := all[from:]
		if !slices.IsSorted(list) {
			slices.Sort(list)
		}
		list = slices.Compact(list)
		all = all[:from+len(list)]
		lists[k] = list[:len(list):len(list)]
	}
	return lists
}

// homogeneous checks what the coordinator says: a wrong flag must not give a partition to a member that did not ask for it.
func homogeneous(ms []ServerMember) bool {
	for i := 1; i < len(ms); i++ {
		if !equalTopics(ms[i-1].Topics, ms[i].Topics) {
			return false
		}
	}
	return true
}
