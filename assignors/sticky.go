package assignors

import (
	"encoding/binary"
	"fmt"
)

// NewSticky is the client-side sticky assignor (eager): as balanced as subscriptions allow, and within that everyone keeps what
// it had. What a member had stands in its user data, which EncodeStickyUserData writes.
func NewSticky() Assignor { return sticky{} }

// NewCooperativeSticky is the client-side cooperative-sticky assignor: the sticky assignment, but what would pass from one
// member to another is withheld for a round, so that its owner can give it up first. What a member has stands in
// Subscription.Owned.
func NewCooperativeSticky() Assignor { return sticky{cooperative: true} }

type sticky struct{ cooperative bool }

func (a sticky) Name() string {
	if a.cooperative {
		return "cooperative-sticky"
	}
	return "sticky"
}

func (a sticky) Assign(g Group) (map[string][]TopicPartition, error) { return assign(a, &g) }

func (a sticky) compute(r *round) error {
	if len(r.members) == 0 {
		return nil
	}
	c := a.readClaims(r)
	x := r.racks()
	if x != nil && x.useRacks(upTo(int32(len(r.members))), 0, int32(len(r.owner))) {
		r.match = x
	}
	if !r.equalSubscriptions() {
		general(r, c)
		if a.cooperative {
			withholdClaimed(r)
		}
		return nil
	}
	transfers, err := constrained(r, c, x)
	if err != nil {
		return err
	}
	if a.cooperative {
		for _, p := range transfers {
			r.withhold(p)
		}
	}
	return nil
}

// equalSubscriptions compares the lists as sent, unknown topics included; a list that names a topic twice equals none (in Kafka it
// can equal one with another topic in that place).
// Kafka does not notice members with an empty subscription that it meets before the first other one, and then gives them
// partitions they did not ask for. Here they count as different, wherever they stand.
func (r *round) equalSubscriptions() bool {
	first := r.member(0).Topics
	set := make(map[string]struct{}, len(first))
	for _, t := range first {
		set[t] = struct{}{}
	}
	for m := 1; m < len(r.members); m++ {
		topics := r.member(int32(m)).Topics
		if len(topics) != len(set) {
			return false
		}
		if sameStrings(topics, first) {
			continue
		}
		seen := make(map[string]struct{}, len(topics))
		for _, t := range topics {
			if _, ok := set[t]; !ok {
				return false
			}
			seen[t] = struct{}{}
		}
		if len(seen) < len(topics) {
			return false
		}
	}
	return true
}

// memory is what a member says it had, and when.
type memory struct {
	generation int32 // -1: none
	owned      []int32
}

// claims is what the members' memories come to.
type claims struct {
	memories []memory
	latest   int32   // the highest generation ever seen by this leader
	holder   []int32 // by partition: whose claim counts, -1 nobody's
	doubly   bitset  // claimed by two members in one generation: nobody's
	contest  bool    // doubly is not empty
}

// readClaims lets the newest generation win. An old claim without a rival is honoured in full. The rival's generation is that of
// its subscription blob, as in Kafka, not the one in its user data; claims on partitions that do not exist are left out, which
// Kafka forgets.
func (a sticky) readClaims(r *round) *claims {
	c := &claims{memories: make([]memory, len(r.members)), latest: -1, holder: make([]int32, len(r.owner)), doubly: newBitset(len(r.owner))}
	if r.group.LedGeneration > 0 {
		c.latest = r.group.LedGeneration
	}
	claimer := make([]int32, len(r.owner))
	for p := range claimer {
		claimer[p], c.holder[p] = -1, -1
	}
	all := make([]int32, 0, len(r.owner))
	for k := range r.members {
		m := int32(k)
		mem := a.remember(r, m, all[len(all):])
		if len(mem.owned) <= cap(all)-len(all) {
			all = all[:len(all)+len(mem.owned)]
		}
		c.memories[m] = mem
		c.latest = max(c.latest, mem.generation)
		for _, p := range mem.owned {
			rival := claimer[p]
			switch {
			case rival == m: // listed twice
			case rival < 0:
				c.holder[p], claimer[p] = m, m
			case mem.generation == r.member(rival).generation():
				c.doubly.set(int(p))
				c.contest = true
				c.holder[p], claimer[p] = -1, m
			case mem.generation > r.member(rival).generation():
				c.holder[p], claimer[p] = m, m
			}
		}
	}
	return c
}

func (m *Member) generation() int32 { return max(m.Generation, -1) }

// remember reads a member's memory as the leader does, appending its partitions to to. Only what exists of it is kept.
func (a sticky) remember(r *round, m int32, to []int32) memory {
	s := &r.member(m).Subscription
	mem := memory{generation: max(s.Generation, -1)}
	if a.cooperative {
		if mem.generation < 0 {
			mem.generation = decodeCooperativeUserData(s.UserData)
		}
		mem.owned = r.indices(s.Owned, to)
		return mem
	}
	return r.stickyMemory(s.UserData, to)
}

// stickyMemory is DecodeStickyUserData without a string for each topic and a value for each partition.
func (r *round) stickyMemory(b []byte, to []int32) memory {
	if len(b) == 0 {
		return memory{generation: -1}
	}
	rd := reader{rest: b}
	for topics := rd.count(); topics > 0 && rd.err == nil; topics-- {
		t, known := r.byName[string(rd.rawStr())]
		for n := rd.count(); n > 0 && rd.err == nil; n-- {
			if p := rd.int32(); known && p >= 0 && p < r.counts[t] {
				to = append(to, r.first[t]+p)
			}
		}
	}
	switch {
	case rd.err != nil:
		return memory{generation: -1}
	case len(rd.rest) < 4:
		return memory{generation: -1, owned: to}
	}
	return memory{generation: max(rd.int32(), -1), owned: to}
}

// indices turns claims into partition indices, leaving out what does not exist.
func (r *round) indices(tps []TopicPartition, to []int32) []int32 {
	last, t, ok := "", int32(0), false
	for i, tp := range tps {
		if i == 0 || tp.Topic != last {
			last = tp.Topic
			t, ok = r.byName[last]
		}
		if ok && tp.Partition >= 0 && tp.Partition < r.counts[t] {
			to = append(to, r.first[t]+tp.Partition)
		}
	}
	return to
}

// withholdClaimed is the cooperative adjustment after the general algorithm: whatever is new to its owner and stands in the
// owned field of a member that does not get it, outdated claims included.
func withholdClaimed(r *round) {
	claimed, own := newBitset(len(r.owner)), newBitset(len(r.owner))
	var list []int32
	for k := range r.members {
		list = r.indices(r.member(int32(k)).Owned, list[:0])
		for _, p := range list {
			if r.owner[p] == int32(k) {
				own.set(int(p))
			} else {
				claimed.set(int(p))
			}
		}
	}
	for p := range r.owner {
		if r.owner[p] >= 0 && claimed.has(p) && !own.has(p) {
			r.withhold(int32(p))
		}
	}
}

// withhold takes a partition from its new owner for this round.
func (r *round) withhold(p int32) {
	if r.heir != nil {
		r.heir[p] = r.owner[p]
	}
	r.owner[p] = -1
}

// EncodeStickyUserData writes what a sticky member sends along: its partitions and the generation they are from. A member that
// never had an assignment sends nil instead. It fails on a topic name of more than 32,767 bytes.
func EncodeStickyUserData(owned []TopicPartition, generation int32) ([]byte, error) {
	w := &writer{}
	w.partitions(owned)
	w.int32(generation)
	if w.err != nil {
		return nil, fmt.Errorf("assignors: sticky user data: %w", w.err)
	}
	return w.b, nil
}

// DecodeStickyUserData reads what a sticky member sends along. The generation is -1 where there is none: in the oldest format and
// in empty user data, which is that of a new member.
func DecodeStickyUserData(b []byte) (owned []TopicPartition, generation int32, err error) {
	if len(b) == 0 {
		return nil, -1, nil
	}
	r := reader{rest: b}
	owned = r.partitions()
	if r.err != nil {
		return nil, -1, fmt.Errorf("assignors: sticky user data of %d bytes: %w", len(b), r.err)
	}
	if len(r.rest) < 4 {
		return owned, -1, nil
	}
	return owned, max(r.int32(), -1), nil
}

// EncodeCooperativeUserData writes what a cooperative-sticky member sends along: the generation of its assignment, -1 before the
// first one.
func EncodeCooperativeUserData(generation int32) []byte {
	return binary.BigEndian.AppendUint32(nil, uint32(generation))
}

// decodeCooperativeUserData answers -1 where nothing can be read.
func decodeCooperativeUserData(b []byte) int32 {
	if len(b) < 4 {
		return -1
	}
	return max(int32(binary.BigEndian.Uint32(b)), -1)
}
