package fakekafka

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/broker"
)

// changes is what to measure a group's moves by: who owned what when the group was last at rest before its members changed, and which members each run
// of the assignor had since then. Members that come or go while the group still rebalances belong to the same change: what a partition's way over
// several of these runs was can't be seen, only where it began and ended.
type changes struct {
	before map[partition]string
	runs   [][]string

	members []string
	// rest is who owned what when the group was last at rest; rested: it has been since its members changed.
	rest   map[partition]string
	rested bool

	// Of a classic generation: whether the leader's assignment is stored, who doesn't know its own yet, and what the others know.
	stored bool
	untold map[string]bool
	told   map[string]map[string][]int32
}

func newChanges() changes {
	return changes{rested: true, untold: map[string]bool{}, told: map[string]map[string][]int32{}}
}

// apply takes an event; open is who owns what after it.
func (c *changes) apply(e Event, open map[partition][]*tenure) {
	switch e.Kind {
	case groups.EventJoined:
		c.begin()
		c.members = append(c.members, e.Member)
	case groups.EventLeft, groups.EventExpired, groups.EventEvicted:
		if slices.Contains(c.members, e.Member) { // else it was a mere id
			c.begin()
			c.members = slices.DeleteFunc(slices.Clone(c.members), func(m string) bool { return m == e.Member })
			delete(c.untold, e.Member)
		}
	case groups.EventReplaced:
		c.replace(e.Replaces, e.Member)
	case groups.EventTarget:
		c.runs = append(c.runs, slices.Clone(c.members))
	case groups.EventGeneration:
		c.runs = append(c.runs, slices.Clone(c.members))
		c.stored = false
		clear(c.told)
		for _, m := range c.members {
			c.untold[m] = true
		}
	case groups.EventAssigned:
		c.told[e.Member] = e.Partitions
		delete(c.untold, e.Member)
		if c.stored && len(c.untold) == 0 && !c.owed(open) {
			c.settle(open)
		}
	case groups.EventStable:
		if c.stored = e.Member != ""; !c.stored {
			c.settle(open) // of a consumer group: all are at their target
		}
	case groups.EventEmpty:
		c.settle(open)
	case groups.EventConverted:
		c.stored = false
		clear(c.untold)
	}
}

// begin begins a change, unless one goes on.
func (c *changes) begin() {
	if c.rested {
		c.before, c.runs, c.rested = c.rest, nil, false
	}
}

// owed says whether a classic member still owns what its assignment of a cooperative round takes from it.
func (c *changes) owed(open map[partition][]*tenure) bool {
	for p, ts := range open {
		for _, t := range ts {
			if !slices.Contains(c.told[t.member][p.topic], p.index) {
				return true
			}
		}
	}
	return false
}

// settle notes that the group is at rest.
func (c *changes) settle(open map[partition][]*tenure) {
	c.rested = true
	c.rest = make(map[partition]string, len(open))
	for p, ts := range open {
		for _, t := range ts {
			c.rest[p] = t.member
		}
	}
}

// replace renames a static member that came back.
func (c *changes) replace(old, id string) {
	for _, owners := range []map[partition]string{c.before, c.rest} {
		for p, m := range owners {
			if m == old {
				owners[p] = id
			}
		}
	}
	for _, members := range append(c.runs, c.members) {
		if i := slices.Index(members, old); i >= 0 {
			members[i] = id
		}
	}
	if c.untold[old] {
		delete(c.untold, old)
		c.untold[id] = true
	}
	c.told[id] = c.told[old]
}

// least is how many partitions at least had to leave a member that stayed, for the spread to be at most one after each run of the assignor.
func (c *changes) least(total int) int {
	had := map[string]int{}
	for _, m := range c.before {
		had[m]++
	}
	least := 0
	var run []string
	var shares []int // of that run, most first
	for i, members := range c.runs {
		if len(members) == 0 {
			run, shares = nil, nil
			continue
		}
		var counts []int
		for _, m := range members {
			switch {
			case i == 0:
				counts = append(counts, had[m])
			case slices.Contains(run, m):
				counts = append(counts, shares[len(counts)]) // which members had the larger shares is not known
			}
		}
		slices.SortFunc(counts, func(a, b int) int { return b - a })
		run, shares = members, evenShares(total, len(members))
		for j, n := range counts {
			least += max(0, n-shares[j])
		}
	}
	return least
}

// evenShares spreads partitions over members, the larger shares first.
func evenShares(partitions, members int) []int {
	shares := make([]int, members)
	for i := range shares {
		shares[i] = partitions / members
		if i < partitions%members {
			shares[i]++
		}
	}
	return shares
}

// Moved is a partition that has another owner than before.
type Moved struct {
	Topic     string
	Partition int32
	From, To  string // client id, or group.instance.id; To is "" where nobody owns it
}

// Moved lists the partitions whose owner is another one than when the group was last at rest before a member came or went, without those whose owner then is
// gone. Members that come and go while the group still rebalances make one change.
func (g *Group) Moved() []Moved {
	o := replayOwnership(g.History())
	return movedIn(o, memberIDs(g.State()))
}

func memberIDs(s GroupState) []string {
	ids := make([]string, len(s.Members))
	for i, m := range s.Members {
		ids[i] = m.ID
	}
	return ids
}

func movedIn(o *ownerships, members []string) []Moved {
	var moved []Moved
	before := o.changes.before
	for _, p := range slices.SortedFunc(maps.Keys(before), comparePartitions) {
		was := before[p]
		if !slices.Contains(members, was) {
			continue
		}
		to := ""
		for _, t := range o.open[p] {
			to = t.member
		}
		if to != was {
			moved = append(moved, Moved{p.topic, p.index, o.names[was], o.names[to]})
		}
	}
	return moved
}

// leastMoved is how many partitions at least had to leave a member that stayed.
func leastMoved(o *ownerships) int {
	total := len(o.changes.before)
	for p := range o.open {
		if _, known := o.changes.before[p]; !known {
			total++
		}
	}
	return o.changes.least(total)
}

// RequireSticky fails the test if, since the group was last at rest before a member came or went, more partitions have left a member that stayed than an even
// spread asks for. Where members came or went while the group still rebalanced, that is what each run of the assignor had to move, added up: a partition that had to
// move for the first of them need not be where it would have gone had all come at once. It is meant for groups whose members subscribe to the same topics, and
// fails where the group has no history.
func (g *Group) RequireSticky(tb testing.TB) {
	tb.Helper()
	check(tb, g.judged())
	o := replayOwnership(g.History())
	moved, least := movedIn(o, memberIDs(g.State())), leastMoved(o)
	if len(moved) <= least {
		return
	}
	var lines []string
	for _, m := range moved {
		lines = append(lines, fmt.Sprintf("    %s-%d: from %s to %s", broker.Shown(m.Topic), m.Partition, broker.Shown(m.From), broker.Shown(cmp.Or(m.To, "nobody"))))
	}
	check(tb, g.failed(fmt.Errorf("wanted at most %s to leave a member that stayed; there was %d:\n%s", count(least, "partition"), len(moved), strings.Join(lines, "\n"))))
}
