package assignors

import "math/bits"

// ladder keeps the members in the order of (load, place) and finds the first subscriber of a topic in it. Members with equal
// loads stand on one rung, a set of bits; so is a topic's set of subscribers, and 64 members are looked at in one step.
type ladder struct {
	r           *round
	count       []int32  // by member
	rungs       []bitset // by load; nil where nobody stands
	standing    []int32  // by load: members on the rung
	least       int32    // the lowest rung with somebody on it
	subscribers []bitset // by topic
	spare       []bitset
}

// scanInstead is the number of subscribers up to which looking at each is quicker than looking at sets.
const scanInstead = 24

func newLadder(r *round, count []int32) *ladder {
	l := &ladder{r: r, count: count, subscribers: make([]bitset, len(r.topics))}
	for t, list := range r.subscribers {
		if len(list) > scanInstead {
			set := newBitset(len(count))
			for _, m := range list {
				set.set(int(m))
			}
			l.subscribers[t] = set
		}
	}
	for m, n := range count {
		l.stand(int32(m), n)
	}
	for l.standing[l.least] == 0 {
		l.least++
	}
	return l
}

func (l *ladder) stand(m, n int32) {
	for int(n) >= len(l.rungs) {
		l.rungs, l.standing = append(l.rungs, nil), append(l.standing, 0)
	}
	if l.rungs[n] == nil {
		if k := len(l.spare); k > 0 {
			l.rungs[n], l.spare = l.spare[k-1], l.spare[:k-1]
		} else {
			l.rungs[n] = newBitset(len(l.count))
		}
	}
	l.rungs[n].set(int(m))
	l.standing[n]++
}

// add moves a member up or down.
func (l *ladder) add(m, by int32) {
	was := l.count[m]
	now := was + by
	l.count[m] = now
	l.rungs[was].clear(int(m))
	if l.standing[was]--; l.standing[was] == 0 {
		l.spare, l.rungs[was] = append(l.spare, l.rungs[was]), nil
	}
	l.stand(m, now)
	l.least = min(l.least, now)
	for l.standing[l.least] == 0 {
		l.least++
	}
}

// first answers the first subscriber of a topic that is in among (nil: all members), -1 if there is none.
func (l *ladder) first(t int32, among bitset) int32 {
	subscribers := l.subscribers[t]
	if subscribers == nil {
		return l.scan(t, among)
	}
	// With many rungs below the subscribers, looking at each of them is quicker after all.
	budget := len(l.r.subscribers[t]) + 2*len(subscribers)
	for n := int(l.least); n < len(l.rungs); n++ {
		rung := l.rungs[n]
		if budget--; budget < 0 {
			return l.scan(t, among)
		}
		if rung == nil {
			continue
		}
		budget -= len(rung)
		for i, w := range rung {
			if w &= subscribers[i]; w != 0 {
				if among != nil {
					if w &= among[i]; w == 0 {
						continue
					}
				}
				return int32(i<<6 + bits.TrailingZeros64(w))
			}
		}
	}
	return -1
}

func (l *ladder) scan(t int32, among bitset) int32 {
	best := int32(-1)
	for _, m := range l.r.subscribers[t] {
		if (best < 0 || l.count[m] < l.count[best]) && (among == nil || among.has(int(m))) {
			best = m
		}
	}
	return best
}

// rackSets answers which members match a partition's racks.
type rackSets struct {
	none   bitset   // members without a rack match everything
	inRack []bitset // by rack
	union  bitset
}

func newRackSets(x *rackTable, members int) *rackSets {
	s := &rackSets{none: newBitset(members), inRack: make([]bitset, len(x.size)), union: newBitset(members)}
	for m, rack := range x.of {
		if rack < 0 {
			s.none.set(m)
			continue
		}
		if s.inRack[rack] == nil {
			s.inRack[rack] = newBitset(members)
		}
		s.inRack[rack].set(m)
	}
	return s
}

// matching is valid until the next call.
func (s *rackSets) matching(x *rackTable, p int32) bitset {
	copy(s.union, s.none)
	for rack := range eachBit(x.set(p)) {
		for i, w := range s.inRack[rack] {
			s.union[i] |= w
		}
	}
	return s.union
}
