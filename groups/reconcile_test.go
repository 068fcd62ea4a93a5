package groups

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/assignors"
)

var deepWorlds = flag.Duration("worlds", 0, "how long TestReconcileSmallWorlds may walk; 0: a second or so")

// The exhaustive test walks worlds of three members and three partitions. A world holds both sides of the wire: what the
// coordinator has for each member, and what each client believes and really consumes.

const (
	worldMembers    = 3
	worldPartitions = 3
)

var worldTopic = assignors.TopicID{1}

// bits is a set of partitions.
type bits = uint8

type worldMember struct {
	present bool

	// The coordinator's side.
	epoch, previous   int8
	state             memberState
	assigned, pending bits
	since             [worldPartitions]int8 // assignment epochs

	// The client's side.
	knows int8 // its epoch
	told  bits // the assignment it was told last
	owns  bits // what it consumes
	full  bool // it lost an answer, so it says and asks for everything
}

// world is comparable: it is the key of what has been seen.
type world struct {
	members [worldMembers]worldMember
	epoch   int8 // of the target
	target  [worldMembers]bits
	retargs int8
}

func (w *world) holders(p int) int {
	n := 0
	for _, m := range w.members {
		if m.present && (m.assigned|m.pending)>>p&1 == 1 {
			n++
		}
	}
	return n
}

func set(b bits) partitionSet {
	var parts []int32
	for p := range worldPartitions {
		if b>>p&1 == 1 {
			parts = append(parts, int32(p))
		}
	}
	if parts == nil {
		return partitionSet{}
	}
	return partitionSet{worldTopic: parts}
}

func (m worldMember) ownership(b bits) ownership {
	var o ownership
	s := set(b)[worldTopic]
	epochs := make([]int32, len(s))
	for i, p := range s {
		epochs[i] = int32(m.since[p])
	}
	o.add(worldTopic, s, epochs)
	return o
}

func bitsOf(o ownership) (b bits, since [worldPartitions]int8) {
	o.each(func(_ assignors.TopicID, p, epoch int32) {
		b |= 1 << p
		since[p] = int8(epoch)
	})
	return b, since
}

// beat is one heartbeat of member i, as the coordinator handles it; lost: the client never sees the answer. It answers
// what is wrong with the new world, or "".
func (w *world) beat(i int, told, lost bool) string {
	m := &w.members[i]
	told = told || m.full || m.knows == 0
	if told {
		// A client that lists what it owns has done what it was told. (One that lists less than it is about to take, and loses
		// the answer, may consume for a moment what the coordinator gave away: so it is in Kafka.)
		w.act(i)
	}
	b := &beat{told: told, owned: set(m.owns)}
	now := memberAssignment{
		epoch: int32(m.epoch), previous: int32(m.previous), state: m.state,
		assigned: m.ownership(m.assigned), pending: m.ownership(m.pending),
	}
	if m.knows != 0 {
		if r := checkMemberEpoch(&consumerMember{memberAssignment: now}, int32(m.knows), b); r != nil {
			// Fenced: it drops everything and comes back as a new one.
			m.knows, m.told, m.owns, m.full = 0, 0, 0, false
			return ""
		}
	}
	next := now
	if now.state != memberStable || now.epoch != int32(w.epoch) {
		var ok bool
		next, ok = reconcile(now, reconciliation{
			targetEpoch: int32(w.epoch), target: set(w.target[i]), told: b.told, owned: b.owned,
			subscribed: func(assignors.TopicID) bool { return true },
			free:       func(_ assignors.TopicID, p int32) bool { return w.holders(int(p)) == 0 },
		})
		if !ok {
			return "fenced from a known state"
		}
	}
	if next.epoch < now.epoch {
		return "the member epoch went back"
	}
	if next.state == memberStable && (next.epoch != int32(w.epoch) || len(next.pending) > 0) {
		return "STABLE away from the target's epoch, or with partitions to revoke"
	}
	m.epoch, m.previous, m.state = int8(next.epoch), int8(next.previous), next.state
	var since, pendingSince [worldPartitions]int8
	m.assigned, since = bitsOf(next.assigned)
	m.pending, pendingSince = bitsOf(next.pending)
	if m.assigned&m.pending != 0 {
		return "a partition is both assigned and pending"
	}
	for p := range since {
		m.since[p] = max(since[p], pendingSince[p])
	}
	if lost {
		m.full = true
		return ""
	}
	if m.knows == 0 || m.full || !next.assigned.equal(now.assigned) {
		m.told = m.assigned
	}
	m.knows, m.full = m.epoch, false
	return ""
}

// act makes the client do what it was told: revoke, then take.
func (w *world) act(i int) { w.members[i].owns = w.members[i].told }

func (w *world) leave(i int) {
	w.members[i] = worldMember{}
	w.target[i] = 0
	w.epoch++
}

// unsafe says what is wrong with a world.
func (w *world) unsafe() string {
	for p := range worldPartitions {
		if w.holders(p) > 1 {
			return fmt.Sprintf("partition %d has two holders", p)
		}
		consumers := 0
		for _, m := range w.members {
			if m.present && m.owns>>p&1 == 1 {
				consumers++
			}
		}
		if consumers > 1 {
			return fmt.Sprintf("partition %d is consumed twice", p)
		}
	}
	for i, m := range w.members {
		if m.present && m.owns&^(m.assigned|m.pending) != 0 {
			return fmt.Sprintf("member %d consumes what the coordinator no longer holds for it", i)
		}
	}
	return ""
}

// canonical is the smallest of the worlds that differ from w by names alone: members are alike, and so are partitions.
func (w world) canonical() world {
	best, first := w, true
	for _, members := range permutations {
		for _, parts := range permutations {
			u := w
			for i, m := range members {
				from := w.members[m]
				to := from
				to.assigned, to.pending = renamed(from.assigned, parts), renamed(from.pending, parts)
				to.told, to.owns = renamed(from.told, parts), renamed(from.owns, parts)
				for p, q := range parts {
					to.since[q] = from.since[p]
				}
				u.members[i] = to
				u.target[i] = renamed(w.target[m], parts)
			}
			if first || u.less(&best) {
				best, first = u, false
			}
		}
	}
	return best
}

var permutations = [][worldMembers]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}

func renamed(b bits, parts [worldPartitions]int) (out bits) {
	for p, q := range parts {
		out |= (b >> p & 1) << q
	}
	return out
}

func (w *world) less(o *world) bool {
	for i := range w.members {
		a, b := &w.members[i], &o.members[i]
		if c := cmp.Or(
			cmp.Compare(w.target[i], o.target[i]), cmp.Compare(a.assigned, b.assigned), cmp.Compare(a.pending, b.pending),
			cmp.Compare(a.owns, b.owns), cmp.Compare(a.told, b.told), cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.previous, b.previous),
			cmp.Compare(a.knows, b.knows), cmp.Compare(a.state, b.state), slices.Compare(a.since[:], b.since[:]),
		); c != 0 {
			return c < 0
		}
		if a.present != b.present {
			return b.present
		}
		if a.full != b.full {
			return b.full
		}
	}
	return false
}

// settles says whether the members reach the target when each acts and beats in turn.
func (w world) settles(order [worldMembers]int) bool {
	for range 8 {
		for _, i := range order {
			if w.members[i].present {
				w.act(i)
				w.beat(i, true, false)
			}
		}
	}
	for i, m := range w.members {
		if m.present && (m.state != memberStable || m.epoch != w.epoch || m.assigned != w.target[i] || m.owns != w.target[i]) {
			return false
		}
	}
	return true
}

// targets are all ways to give each partition to a present member or to nobody.
func (w *world) targets(f func([worldMembers]bits)) {
	var give func(p int, t [worldMembers]bits)
	give = func(p int, t [worldMembers]bits) {
		if p == worldPartitions {
			f(t)
			return
		}
		give(p+1, t)
		for i, m := range w.members {
			if m.present {
				u := t
				u[i] |= 1 << p
				give(p+1, u)
			}
		}
	}
	give(0, [worldMembers]bits{})
}

// TestReconcileSmallWorlds plays every interleaving of joins, leaves, heartbeats with and without a list of what is owned,
// lost answers, clients that act late, and up to two changes of the target. In no world a partition has two holders or
// two consumers, and from every world each fair schedule reaches the target.
func TestReconcileSmallWorlds(t *testing.T) {
	t.Parallel()
	const retargets = 2
	limit := 300_000
	var deadline time.Time
	if *deepWorlds > 0 {
		limit, deadline = 1<<62, time.Now().Add(*deepWorlds)
	} else if testing.Short() {
		limit = 60_000
	}
	seen, tried := map[world]struct{}{}, map[world]struct{}{}
	var next []world
	steps := 0
	visit := func(w world, from world, what string, wrong string) {
		steps++
		if wrong == "" {
			wrong = w.unsafe()
		}
		if wrong != "" {
			t.Fatalf("%s\nafter %s in\n%+v\nwhich gave\n%+v", wrong, what, from, w)
		}
		if _, ok := tried[w]; ok {
			return
		}
		tried[w] = struct{}{}
		c := w.canonical()
		if _, ok := seen[c]; ok {
			return
		}
		seen[c] = struct{}{}
		next = append(next, c)
		for _, order := range permutations {
			if !c.settles(order) {
				t.Fatalf("schedule %v does not reach the target\nafter %s in\n%+v\nwhich gave\n%+v", order, what, from, w)
			}
		}
	}
	visit(world{epoch: 1}, world{}, "nothing", "")
	// To get further in the same time, it starts as well with three members that have one partition each.
	three := world{epoch: 1, target: [worldMembers]bits{1, 2, 4}}
	for i := range three.members {
		since := [worldPartitions]int8{}
		since[i] = 1
		three.members[i] = worldMember{present: true, epoch: 1, assigned: 1 << i, since: since, knows: 1, told: 1 << i, owns: 1 << i}
	}
	visit(three, world{}, "nothing", "")
	depth := 0
	for len(next) > 0 && steps < limit && (deadline.IsZero() || time.Now().Before(deadline)) {
		frontier := next
		next, tried = nil, map[world]struct{}{}
		depth++
		for _, w := range frontier {
			if steps >= limit || !deadline.IsZero() && time.Now().After(deadline) {
				break
			}
			absent := false
			for i, m := range w.members {
				if !m.present {
					// Members are alike: only the first absent one comes.
					if !absent {
						absent = true
						u := w
						u.members[i].present = true
						wrong := u.beat(i, true, false)
						visit(u, w, fmt.Sprintf("join of %d", i), wrong)
					}
					continue
				}
				for _, told := range []bool{false, true} {
					for _, lost := range []bool{false, true} {
						u := w
						wrong := u.beat(i, told, lost)
						visit(u, w, fmt.Sprintf("beat of %d, told %v, lost %v", i, told, lost), wrong)
					}
				}
				if m.owns != m.told {
					u := w
					u.act(i)
					visit(u, w, fmt.Sprintf("%d acts", i), "")
				}
				if w.retargs < retargets {
					u := w
					u.leave(i)
					u.retargs++
					visit(u, w, fmt.Sprintf("leave of %d", i), "")
				}
			}
			if w.retargs < retargets {
				w.targets(func(target [worldMembers]bits) {
					u := w
					u.target = target
					u.epoch++
					u.retargs++
					visit(u, w, fmt.Sprintf("target %v", target), "")
				})
			}
		}
	}
	t.Logf("%d worlds, %d steps, depth %d", len(seen), steps, depth)
	require.Greater(t, len(seen), 5_000)
}
