package assignors

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// compareJava orders strings as Java's String.compareTo does: by UTF-16 code unit. Every tie between members and every
// walk over topics is decided by it. It is byte order, except that a character above U+FFFF (a surrogate pair in UTF-16,
// a lead byte of 0xF0 or more in UTF-8) comes before those from U+E000 to U+FFFF (lead bytes 0xEE and 0xEF).
func compareJava(a, b string) int {
	k := commonPrefix(a, b)
	if k == len(a) || k == len(b) {
		return cmp.Compare(len(a), len(b))
	}
	return cmp.Compare(javaRank(a[k]), javaRank(b[k]))
}

func commonPrefix(a, b string) int {
	k, n := 0, min(len(a), len(b))
	for k < n && a[k] == b[k] {
		k++
	}
	return k
}

// javaRank maps a UTF-8 byte to its place in Java's order, so that whole words of ranks can be compared.
func javaRank(b byte) byte {
	switch {
	case b >= 0xF0:
		return b - 2
	case b >= 0xEE:
		return b + 16
	}
	return b
}

// javaOrder answers the indices 0..n-1 in Java's order of their strings, ties by index, and whether no two strings are equal. Member
// ids share long prefixes ("consumer-..."), so it compares eight bytes behind the common prefix before it looks at whole strings.
func javaOrder(n int, at func(int) string) (order []int32, distinct bool) {
	order = upTo(int32(n))
	if n == 0 {
		return order, true
	}
	sorted, prefix, last := true, len(at(0)), 0
	for i := 1; i < n; i++ {
		a, b := at(i-1), at(i)
		// Neighbours of a sorted list mostly share as much as the two before them did.
		k := last
		if k > min(len(a), len(b)) || a[:k] != b[:k] {
			k = 0
		}
		k += commonPrefix(a[k:], b[k:])
		last, prefix = k, min(prefix, k)
		sorted = sorted && k < len(b) && (k == len(a) || javaRank(a[k]) < javaRank(b[k]))
	}
	if sorted {
		return order, true
	}
	type keyed struct {
		key uint64
		i   int32
	}
	keys := make([]keyed, n)
	for i := range keys {
		var w [8]byte
		rest := at(i)[prefix:]
		for j := 0; j < len(w) && j < len(rest); j++ {
			w[j] = javaRank(rest[j])
		}
		keys[i] = keyed{binary.BigEndian.Uint64(w[:]), int32(i)}
	}
	slices.SortFunc(keys, func(a, b keyed) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		if c := compareJava(at(int(a.i)), at(int(b.i))); c != 0 {
			return c
		}
		return cmp.Compare(a.i, b.i)
	})
	distinct = true
	for i, k := range keys {
		order[i] = k.i
		distinct = distinct && (i == 0 || at(int(k.i)) != at(int(keys[i-1].i)))
	}
	return order, distinct
}

// twin answers the first string that stands twice in an order.
func twin(order []int32, at func(int) string) string {
	for k := 1; k < len(order); k++ {
		if id := at(int(order[k])); id == at(int(order[k-1])) {
			return id
		}
	}
	return ""
}

// compareTopicIDs orders topic ids as Java's Uuid does: two signed 64-bit halves, the most significant one first.
func compareTopicIDs(a, b TopicID) int {
	if c := cmp.Compare(int64(binary.BigEndian.Uint64(a[:8])), int64(binary.BigEndian.Uint64(b[:8]))); c != 0 {
		return c
	}
	return cmp.Compare(int64(binary.BigEndian.Uint64(a[8:])), int64(binary.BigEndian.Uint64(b[8:])))
}
