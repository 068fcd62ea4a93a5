package assignors

import "math/bits"

// bitset is a set of small numbers.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64+1) }

// set sets a bit and tells whether it was set before.
func (b bitset) set(i int) bool {
	w, m := &b[i>>6], uint64(1)<<(i&63)
	was := *w&m != 0
	*w |= m
	return was
}

func (b bitset) clear(i int)    { b[i>>6] &^= 1 << (i & 63) }
func (b bitset) has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }

// zerosBelow lists the bits below n that are not set, ascending.
func (b bitset) zerosBelow(n int) []int32 {
	free := n
	for _, w := range b {
		free -= bits.OnesCount64(w)
	}
	if free == 0 {
		return nil
	}
	out := make([]int32, 0, free)
	for i, w := range b {
		for w = ^w; w != 0; w &= w - 1 {
			if bit := i<<6 + bits.TrailingZeros64(w); bit < n {
				out = append(out, int32(bit))
			}
		}
	}
	return out
}
