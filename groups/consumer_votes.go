package groups

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/javatext"
)

// Which assignor a group uses: the one that most members name, or else the first configured. Where two have as many votes Kafka takes
// the one that its hash map's iterator comes to first; one that counts for describing, and a copy of it that counts for computing a
// target. Both orders are reproduced here, for "range" and "uniform" share their place in the copy: there the request decides that computes
// the target.

// vote is the assignor that a member named before its request, and the one it names with it; nil: none.
type vote struct{ was, is *string }

// chosenAssignor is the winner as a description shows it; nil without any assignor.
func (s *Shard) chosenAssignor(g *consumerGroup) assignors.ServerAssignor {
	return s.mostVoted(storedOrder(g.votes), g.votes)
}

// assignorFor is the winner for a target that is computed by a request that brings a vote. Kafka counts its member out and in again.
// An assignor that nobody else names leaves the map by that, and comes back as the first at its place.
func (s *Shard) assignorFor(g *consumerGroup, v vote) assignors.ServerAssignor {
	before := maps.Clone(g.votes) // which has the new vote already
	if v.is != nil {
		count(before, *v.is, -1)
	}
	if v.was != nil {
		count(before, *v.was, 1)
	}
	names := storedOrder(before)
	table := hashMapFor(len(names))
	if v.was != nil {
		if count(before, *v.was, -1); before[*v.was] == 0 {
			names = slices.DeleteFunc(names, func(n string) bool { return n == *v.was })
		}
	}
	if v.is != nil && before[*v.is] == 0 {
		if len(names)*4 > table.capacity*3 {
			table.capacity *= 2
		}
		names = slices.Insert(names, 0, *v.is)
	}
	slices.SortStableFunc(names, func(a, b string) int { return table.bucket(javatext.HashCode(a)) - table.bucket(javatext.HashCode(b)) })
	return s.mostVoted(names, g.votes)
}

// mostVoted is the first of those with the most votes.
func (s *Shard) mostVoted(names []string, votes map[string]int) assignors.ServerAssignor {
	var best assignors.ServerAssignor
	for _, name := range names {
		if a := s.cfg.assignorNamed(name); a != nil && (best == nil || votes[name] > votes[best.Name()]) {
			best = a
		}
	}
	if best == nil && len(s.cfg.Assignors) > 0 {
		return s.cfg.Assignors[0]
	}
	return best
}

// storedOrder are the names in the order of the table that Kafka's coordinator keeps its state in: by Fibonacci hashing, of which a table of
// any size takes the uppermost bits.
func storedOrder(votes map[string]int) []string {
	return slices.SortedStableFunc(slices.Values(slices.Sorted(maps.Keys(votes))), func(a, b string) int {
		return cmp.Compare(storedAt(javatext.HashCode(a)), storedAt(javatext.HashCode(b)))
	})
}

// hashMapFor is the table of a Java hash map made as a copy of one with n entries.
func hashMapFor(n int) hashSet {
	if n == 0 {
		return hashSet{capacity: 16}
	}
	capacity := 1
	for capacity < n*4/3+1 {
		capacity *= 2
	}
	return hashSet{capacity: capacity}
}
