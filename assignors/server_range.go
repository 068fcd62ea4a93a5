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
	places := make([][]int32, len(order)) // by position: the topics of the member
	subscribers, position := make([]int32, len(table.ids)), make([]int32, len(table.ids))
	for k, i := range order {
		places[k] = table.places(in.Members[i].Topics)
		for _, t := range places[k] {
			subscribers[t]++
		}
	}
	for k, i := range order {
		m := &in.Members[i]
		share := func(t int) []int32 {
			from, to := run(table.counts[t], subscribers[t], position[t])
			return numbers[from:to:to]
		}
		out[m.ID] = rangeTarget(m.Target, len(places[k]), func(j int) int { return int(places[k][j]) }, table.ids, share)
		for _, t := range places[k] {
			position[t]++
		}
	}
}

// rangeTarget answers the previous target itself where nothing changes, so that the coordinator sees it at a glance.
func rangeTarget(previous Partitions, n int, place func(int) int, ids []TopicID, share func(int) []int32) Partitions {
	size, same := 0, previous != nil
	for j := range n {
		t := place(j)
		if s := share(t); len(s) > 0 {
			size++
			same = same && slices.Equal(previous[ids[t]], s)
		}
	}
	if same && size == len(previous) {
		return previous
	}
	target := make(Partitions, size)
	for j := range n {
		t := place(j)
		if s := share(t); len(s) > 0 {
			target[ids[t]] = s
		}
	}
	return target
}

// places answers a subscription as places in the table, ascending, each once.
func (t *topicTable) places(ids []TopicID) []int32 {
	out := make([]int32, 0, len(ids))
	for i := range ids {
		if p := t.find(&ids[i]); p >= 0 {
			out = append(out, int32(p))
		}
	}
	if !slices.IsSorted(out) {
		slices.Sort(out)
	}
	return slices.Compact(out)
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
