package assignors

import (
	"math"
	"slices"
)

// NewServerRange is the server-side range assignor: each topic by itself is cut into one run of consecutive partitions per
// subscriber, static members first; the first P mod n subscribers get one more. Nothing of the past is used, nor any rack.
func NewServerRange() ServerAssignor { return serverRange{} }

type serverRange struct{}

func (serverRange) Name() string { return "range" }

func (a serverRange) Assign(in ServerInput) (map[string]Partitions, error) {
	shares, err := a.AssignOrdered(in)
	if err != nil {
		return nil, err
	}
	return targets(in, shares), nil
}

// AssignOrdered is here for its shares; the past, in whatever order, is only compared with.
func (a serverRange) AssignOrdered(in ServerInput) ([][]Share, error) {
	if len(in.Members) == 0 {
		return nil, nil
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
		return a.homogeneous(in, table, order), nil
	}
	return a.mixed(in, table, order), nil
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

// homogeneous: the subscriber at position k gets something of each topic with more than k partitions, and topics with equally many
// partitions are cut alike.
func (serverRange) homogeneous(in ServerInput, table *topicTable, order []int32) [][]Share {
	n, most, total := int32(len(order)), int32(0), 0
	list, counts := make([]Share, len(table.ids)), slices.Clone(table.counts) // what the member at hand gets, and of how many
	for t, id := range table.ids {
		list[t].Topic = id
		most = max(most, counts[t])
		total += int(min(counts[t], n))
	}
	numbers, out, shelf := upTo(most), make([][]Share, len(order)), shelf{left: total}
	least := int32(0)
	for k, i := range order {
		if least <= int32(k) {
			list, counts, least = dropSmall(list, counts, int32(k))
		}
		for t := range list {
			if t > 0 && counts[t] == counts[t-1] {
				list[t].Partitions = list[t-1].Partitions
				continue
			}
			from, to := run(counts[t], n, int32(k))
			list[t].Partitions = numbers[from:to:to]
		}
		if !in.Members[i].Target.is(list) {
			out[i] = append(shelf.take(len(list)), list...)
		}
	}
	return out
}

// dropSmall leaves out the topics that have no more than k partitions, and answers the least of the other counts.
func dropSmall(list []Share, counts []int32, k int32) (rest []Share, restCounts []int32, least int32) {
	rest, restCounts, least = list[:0], counts[:0], math.MaxInt32
	for t, c := range counts {
		if c > k {
			rest, restCounts, least = append(rest, list[t]), append(restCounts, c), min(least, c)
		}
	}
	return rest, restCounts, least
}

// is tells whether a previous target, if there is one, lists just these shares.
func (p Partitions) is(shares []Share) bool {
	if p == nil || len(p) != len(shares) {
		return false
	}
	for i := range shares {
		if !slices.Equal(p[shares[i].Topic], shares[i].Partitions) {
			return false
		}
	}
	return true
}

func (serverRange) mixed(in ServerInput, table *topicTable, order []int32) [][]Share {
	most := int32(0)
	for _, c := range table.counts {
		most = max(most, c)
	}
	numbers := upTo(most)
	subscriptions := table.subscriptions(in, order)
	// cut is where the next subscriber's run of a topic begins, and how long the runs are.
	type cut struct{ next, base, extras int32 }
	cuts, total := make([]cut, len(table.ids)), 0
	for _, places := range subscriptions {
		total += len(places)
		for _, t := range places {
			cuts[t].next++ // for now the number of subscribers
		}
	}
	for t := range cuts {
		if n := cuts[t].next; n > 0 {
			cuts[t] = cut{base: table.counts[t] / n, extras: table.counts[t] % n}
		}
	}
	out, shelf := make([][]Share, len(order)), shelf{left: total}
	var list []Share
	for k, i := range order {
		list = list[:0]
		for _, t := range subscriptions[k] {
			c := &cuts[t]
			from := c.next
			c.next += c.base
			if c.extras > 0 {
				c.next++
				c.extras--
			}
			if from < c.next {
				list = append(list, Share{table.ids[t], numbers[from:c.next:c.next]})
			}
		}
		if !in.Members[i].Target.is(list) {
			out[i] = append(shelf.take(len(list)), list...)
		}
	}
	return out
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
