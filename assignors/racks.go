package assignors

import (
	"math/bits"
	"slices"
)

// rackTable knows the racks of members and partitions by number.
type rackTable struct {
	of    []int32  // by member: rack, -1 none
	words int      // per set
	sets  []uint64 // by partition: the set of its replicas' racks, in sync or not
	size  []int32  // by rack: members in it
}

// racks answers nil if no member has a rack: then racks influence nothing.
func (r *round) racks() *rackTable {
	number := map[string]int32{}
	x := &rackTable{of: make([]int32, len(r.members))}
	for m := range r.members {
		x.of[m] = -1
		if rack := r.member(int32(m)).Rack; rack != nil && *rack != "" {
			if _, ok := number[*rack]; !ok {
				number[*rack] = int32(len(number))
				x.size = append(x.size, 0)
			}
			x.of[m] = number[*rack]
			x.size[x.of[m]]++
		}
	}
	if len(number) == 0 {
		return nil
	}
	for _, t := range r.topics {
		for _, racks := range r.group.Topics[t].Racks {
			for _, rack := range racks {
				if _, ok := number[rack]; !ok && rack != "" {
					number[rack] = int32(len(number))
					x.size = append(x.size, 0)
				}
			}
		}
	}
	x.words = (len(number) + 63) / 64
	x.sets = make([]uint64, x.words*len(r.owner))
	for t, topic := range r.topics {
		for p, racks := range r.group.Topics[topic].Racks {
			if p >= int(r.counts[t]) {
				break
			}
			set := x.set(r.first[t] + int32(p))
			for _, rack := range racks {
				if rack != "" {
					set[number[rack]>>6] |= 1 << (number[rack] & 63)
				}
			}
		}
	}
	return x
}

func (x *rackTable) set(p int32) []uint64 { return x.sets[int(p)*x.words : (int(p)+1)*x.words] }

// holds tells whether a partition has a replica in the rack.
func (x *rackTable) holds(p, rack int32) bool {
	return x.sets[int(p)*x.words+int(rack>>6)]&(1<<(rack&63)) != 0
}

// mismatch tells whether the member has a rack in which the partition has no replica.
func (x *rackTable) mismatch(m, p int32) bool { return x.of[m] >= 0 && !x.holds(p, x.of[m]) }

// weight is the number of members in the partition's racks: the fewer, the sooner it should be dealt.
func (x *rackTable) weight(p int32) int32 {
	w := int32(0)
	for rack := range eachBit(x.set(p)) {
		w += x.size[rack]
	}
	return w
}

// useRacks decides whether racks are looked at for these members and the partitions from..to: some member has a rack, some
// member and some partition share one, and not every partition is on all of them.
func (x *rackTable) useRacks(members []int32, from, to int32) bool {
	with := make([]uint64, x.words)
	some := false
	for _, m := range members {
		if x.of[m] >= 0 {
			some = true
			with[x.of[m]>>6] |= 1 << (x.of[m] & 63)
		}
	}
	if !some {
		return false
	}
	union := make([]uint64, x.words)
	for p := from; p < to; p++ {
		for i, w := range x.set(p) {
			union[i] |= w
		}
	}
	meet := false
	for i := range union {
		meet = meet || union[i]&with[i] != 0
	}
	if !meet {
		return false
	}
	for p := from; p < to; p++ {
		if !slices.Equal(x.set(p), union) {
			return true
		}
	}
	return false
}

func eachBit(set []uint64) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i, w := range set {
			for ; w != 0; w &= w - 1 {
				if !yield(i<<6 + bits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}
