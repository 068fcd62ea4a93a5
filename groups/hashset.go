package groups

import (
	"slices"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/javatext"
)

// Kafka's coordinator keeps the partitions of a target in Java's HashSet<Integer>, and the uniform assignor walks them: who has
// more than a share gives up what comes last. So the order of those sets is visible in assignments, and it is reproduced here.
// The answers list partitions in that order too. Members are shown to the assignor in a HashMap, whose order decides who has one more than others.
// What the coordinator stores itself has an order of its own (stored_table.go).

// hashSet is a set as Java orders it: by bucket (number modulo capacity, which is a power of two), and within a bucket as the
// numbers came.
type hashSet struct {
	capacity int
	numbers  []int32 // in the order of their insertion, or of the last growth
}

// hashSetOf is new HashSet<>(list).
func hashSetOf(list []int32) hashSet {
	return hashSet{javatext.SetBuckets(len(list)), slices.Clone(list)}
}

// add inserts a number that is not in the set; above three quarters of its capacity a set doubles.
func (s *hashSet) add(n int32) {
	s.numbers = append(s.numbers, n)
	if len(s.numbers)*4 > s.capacity*3 {
		s.numbers = s.inOrder()
		s.capacity *= 2
	}
}

// inOrder is the set as an iterator walks it.
func (s *hashSet) inOrder() []int32 {
	out := slices.Clone(s.numbers)
	slices.SortStableFunc(out, func(a, b int32) int { return s.bucket(a) - s.bucket(b) })
	return out
}

// bucket is where a hash code is kept.
func (s *hashSet) bucket(hash int32) int { return javatext.Bucket(hash, s.capacity) }

// iterationOrder are the lists of a target record as the sets made of them are walked. Where nothing differs from the ascending
// set it answers nil.
func iterationOrder(lists partitionSet) partitionSet {
	differs := false
	out := make(partitionSet, len(lists))
	for id, list := range lists {
		if n := len(list); n > 0 && slices.IsSorted(list) && list[0] >= 0 {
			if s := hashSetOf(nil); int(list[n-1]) < s.capacity {
				out[id] = list
				continue
			}
		}
		s := hashSetOf(list)
		out[id] = s.inOrder()
		differs = differs || !slices.IsSorted(out[id])
	}
	if !differs {
		return nil
	}
	return out
}

// tableOrder lists ascending numbers as a table filled in the given order would be walked; numbers it lacks come last.
func tableOrder(ascending, order []int32) []int32 {
	if n := len(ascending); n == 0 || int(ascending[n-1]) < hashSetOf(nil).capacity {
		return ascending
	}
	list := make([]int32, 0, len(ascending))
	listed := make(map[int32]struct{}, len(order))
	for _, n := range order {
		if _, ok := slices.BinarySearch(ascending, n); ok {
			list = append(list, n)
			listed[n] = struct{}{}
		}
	}
	for _, n := range ascending {
		if _, ok := listed[n]; !ok {
			list = append(list, n)
		}
	}
	s := hashSetOf(list)
	return s.inOrder()
}

// recordOrder are the lists of a new target as Kafka writes them: the order of sets that were copied from the old target's, lost
// what the member gives up, and were filled with what it gains.
func recordOrder(old partitionSet, target []assignors.Share) []assignors.Share {
	out := make([]assignors.Share, len(target))
	for i, share := range target {
		s := hashSetOf(old[share.Topic])
		s.numbers = s.numbers[:0]
		for _, n := range share.Partitions {
			s.add(n)
		}
		out[i] = assignors.Share{Topic: share.Topic, Partitions: s.inOrder()}
	}
	return out
}

// inMapOrder lists the members in the order of the Java hash map that Kafka keeps them in. It never shrinks.
func (c *classicGroup) inMapOrder() []*classicMember {
	table := hashMapUpTo(c.most)
	out := slices.Clone(c.order)
	slices.SortStableFunc(out, func(a, b *classicMember) int {
		return table.bucket(javatext.HashCode(a.id)) - table.bucket(javatext.HashCode(b.id))
	})
	return out
}

// hashMapUpTo is the table of a Java hash map that was filled one by one up to n entries.
func hashMapUpTo(n int) hashSet {
	return hashSet{capacity: javatext.MapBuckets(n)}
}
