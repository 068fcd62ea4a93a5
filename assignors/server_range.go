package assignors

import "slices"

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

func (serverRange) homogeneous(in ServerInput, table *topicTable, order []int32, out map[string]Partitions) {
	most := int32(0)
	for _, c := range table.counts {
		most = max(most, c)
	}
	numbers, n := upTo(most), int32(len(order))
	for k, i := range order {
		m := &in.Members[i]
		share := func(t int) []int32 {
			from, to := run(table.counts[t], n, int32(k))
			return numbers[from:to:to]
		}
		out[m.ID] = rangeTarget(m.Target, len(table.ids), func(j int) int { return j }, table.ids, share)
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
	for _, id := range ids {
		if p := t.find(id); p >= 0 {
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
