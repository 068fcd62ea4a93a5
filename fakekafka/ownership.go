package fakekafka

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/broker"
)

// Who owned what and since when, read from a group's history. A member owns a partition from the answer that gave it until it says that it gave it up (or joins
// again without it, leaves, or is removed).

// partition is one partition of one topic.
type partition struct {
	topic string
	index int32
}

func (p partition) String() string { return fmt.Sprintf("%s-%d", broker.Shown(p.topic), p.index) }

func comparePartitions(a, b partition) int {
	return cmp.Or(strings.Compare(a.topic, b.topic), cmp.Compare(a.index, b.index))
}

// tenure is a member's ownership of one partition over a time.
type tenure struct {
	partition
	member string // member id
	name   string // client id, or the instance id of a static member
	from   time.Time
	to     time.Time // zero: until now
	cause  string    // why it ended
}

// ownerships replays a history.
type ownerships struct {
	open    map[partition][]*tenure // who owns it now; more than one is a double owner
	all     []*tenure
	doubles []string
	names   map[string]string
	changes changes
}

func replayOwnership(events []Event) *ownerships {
	o := &ownerships{open: map[partition][]*tenure{}, names: map[string]string{}, changes: newChanges()}
	for _, e := range events {
		o.apply(e)
		o.changes.apply(e, o.open)
	}
	return o
}

func (o *ownerships) apply(e Event) {
	if e.Member != "" {
		o.names[e.Member] = cmp.Or(e.InstanceID, e.ClientID, o.names[e.Member], e.Member)
	}
	switch e.Kind {
	case groups.EventAssigned:
		o.assign(e)
	case groups.EventRevoked:
		o.drop(e, func(t *tenure) bool { return slices.Contains(e.Partitions[t.topic], t.index) })
	case groups.EventRejoined:
		// Of a classic member: it has given up all that it doesn't claim. A consumer member is answered with what it has.
		if e.Cause == "" || !strings.HasPrefix(e.Cause, "joined again at epoch") {
			o.drop(e, func(t *tenure) bool { return !slices.Contains(e.Partitions[t.topic], t.index) })
		}
	case groups.EventLeft, groups.EventExpired, groups.EventEvicted:
		o.drop(e, func(*tenure) bool { return true })
	case groups.EventReplaced:
		o.replace(e)
	case groups.EventGroupDeleted:
		for _, p := range slices.SortedFunc(maps.Keys(o.open), comparePartitions) {
			for _, t := range o.open[p] {
				t.to, t.cause = e.At, "the group was deleted"
			}
		}
		clear(o.open)
	}
}

// assign takes an assignment, which lists all that the member owns apart from what it has still to give up.
func (o *ownerships) assign(e Event) {
	for _, topic := range slices.Sorted(maps.Keys(e.Partitions)) {
		for _, index := range e.Partitions[topic] {
			p := partition{topic, index}
			if slices.ContainsFunc(o.open[p], func(t *tenure) bool { return t.member == e.Member }) {
				continue
			}
			t := &tenure{partition: p, member: e.Member, name: o.names[e.Member], from: e.At}
			for _, other := range o.open[p] {
				o.doubles = append(o.doubles, fmt.Sprintf("%s was given to %s (%s) while %s (%s) still owned it", p, broker.Shown(t.name), broker.Shown(t.member), broker.Shown(other.name), broker.Shown(other.member)))
			}
			o.open[p] = append(o.open[p], t)
			o.all = append(o.all, t)
		}
	}
}

// drop ends a member's tenures.
func (o *ownerships) drop(e Event, which func(*tenure) bool) {
	for _, p := range slices.SortedFunc(maps.Keys(o.open), comparePartitions) {
		kept := o.open[p][:0]
		for _, t := range o.open[p] {
			if t.member == e.Member && which(t) {
				t.to, t.cause = e.At, fmt.Sprintf("%s %s", broker.LoggedName(t.name), e.Kind)
				if e.Cause != "" {
					t.cause += ": " + e.Cause
				}
				continue
			}
			kept = append(kept, t)
		}
		o.open[p] = kept
		if len(kept) == 0 {
			delete(o.open, p)
		}
	}
}

// replace hands a static member's partitions to its new member id.
func (o *ownerships) replace(e Event) {
	for _, ts := range o.open {
		for _, t := range ts {
			if t.member == e.Replaces {
				t.member = e.Member
			}
		}
	}
}

// Interruption is a time in which a partition that had an owner had none: nobody was to consume it.
type Interruption struct {
	Topic     string
	Partition int32
	From      string    // who owned it before: client id, or group.instance.id
	To        string    // who owned it after; "" while nobody does
	Lost      time.Time // by the brokers' clock
	Regained  time.Time // zero while nobody owns it
	Cause     string    // how the owner before lost it
	// FastForwarded is how much of Duration FastForward moved: where a test only passes over a session timeout nobody was without an owner for that long. Under
	// ManualClock it is all.
	FastForwarded time.Duration
}

// Duration is how long nobody owned the partition; 0 while it isn't over.
func (i Interruption) Duration() time.Duration {
	if i.Regained.IsZero() {
		return 0
	}
	return i.Regained.Sub(i.Lost)
}

// String is the interruption in a line.
func (i Interruption) String() string {
	if i.Regained.IsZero() {
		return fmt.Sprintf("%s-%d: nobody since %s lost it (%s)", broker.Shown(i.Topic), i.Partition, broker.Shown(i.From), broker.OneLine(i.Cause))
	}
	moved := ""
	if i.FastForwarded > 0 && i.FastForwarded < i.Duration() { // with ManualClock it goes without saying
		moved = fmt.Sprintf(", of which FastForward moved %s", i.FastForwarded)
	}
	return fmt.Sprintf("%s-%d: nobody for %s%s, from %s to %s (%s)", broker.Shown(i.Topic), i.Partition, i.Duration(), moved, broker.Shown(i.From), broker.Shown(i.To), broker.OneLine(i.Cause))
}

// Interruptions lists the times in which a partition had no owner between two owners (or has none now), over the whole history, in the order in which they
// began. A partition that moves in one step of the coordinator, or that stays with its owner through a rebalance, is not among them; in an eager classic rebalance
// every partition is, for its owner gives it up when it joins again. One that took no time by the brokers' clock isn't listed: in a synctest bubble, or under ManualClock, let a
// step take some (BrokerHandle.Latency).
func (g *Group) Interruptions() []Interruption {
	all := interruptions(replayOwnership(g.History()))
	for i := range all {
		if !all[i].Regained.IsZero() {
			all[i].FastForwarded = g.k.moved.between(all[i].Lost, all[i].Regained)
		}
	}
	return all
}

func interruptions(o *ownerships) []Interruption {
	byPartition := map[partition][]*tenure{}
	for _, t := range o.all {
		byPartition[t.partition] = append(byPartition[t.partition], t)
	}
	var all []Interruption
	for _, p := range slices.SortedFunc(maps.Keys(byPartition), comparePartitions) {
		ts := byPartition[p]
		for i, t := range ts {
			if t.to.IsZero() {
				continue
			}
			in := Interruption{Topic: p.topic, Partition: p.index, From: t.name, Lost: t.to, Cause: t.cause}
			if i+1 < len(ts) {
				next := ts[i+1]
				if !next.from.After(t.to) {
					continue
				}
				in.To, in.Regained = next.name, next.from
			}
			all = append(all, in)
		}
	}
	slices.SortStableFunc(all, func(a, b Interruption) int { return a.Lost.Compare(b.Lost) })
	return all
}

// DoubleOwners lists, over the whole history, each time a partition was given to a member while another still owned it.
func (g *Group) DoubleOwners() []string { return replayOwnership(g.History()).doubles }

// judged wants a history to judge: of a group that never was, such as one whose name has a slip of the pen, nothing is proved.
func (g *Group) judged() error {
	if len(g.History()) > 0 {
		return nil
	}
	return g.unmet(errors.New("wanted a history to judge; there was: no such group"), 1)
}

// RequireNoDoubleOwner fails the test if ever, over the whole history, a partition was given to a member while another still owned it; and where the group has no history.
func (g *Group) RequireNoDoubleOwner(tb testing.TB) {
	tb.Helper()
	check(tb, g.judged())
	if d := g.DoubleOwners(); len(d) > 0 {
		check(tb, g.failed(fmt.Errorf("wanted never two owners of a partition; there was: %s", strings.Join(d, "; "))))
	}
}

// Skipped lists the times when a new owner began to fetch behind records that the group had not committed: they are lost to the group, which is what
// auto.offset.reset=latest does to a group without a committed offset.
func (g *Group) Skipped() []string {
	var skipped []string
	for _, e := range g.History() {
		if e.Kind == eventSkipped {
			skipped = append(skipped, fmt.Sprintf("+%.3fs %s: %s", e.At.Sub(g.k.b.StartedAt()).Seconds(), broker.Shown(e.ClientID), broker.OneLine(e.Cause)))
		}
	}
	return skipped
}

// RequireNothingSkipped fails the test if ever a new owner began to fetch behind records that the group had not committed; and where the group has no history.
func (g *Group) RequireNothingSkipped(tb testing.TB) {
	tb.Helper()
	check(tb, g.judged())
	if s := g.Skipped(); len(s) > 0 {
		check(tb, g.failed(fmt.Errorf("wanted every record to be offered to an owner; skipped were: %s", strings.Join(s, "; "))))
	}
}
