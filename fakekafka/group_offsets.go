package fakekafka

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fakekafka/fakekafka/internal/broker"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// Committed is the group's committed offset of a partition; ok is false where there is none.
func (g *Group) Committed(topic string, partition int32) (offset int64, ok bool) {
	return committedIn(g.State(), topic, partition)
}

func committedIn(s GroupState, topic string, partition int32) (int64, bool) {
	for _, o := range s.Offsets {
		if o.Topic == topic && o.Partition == partition {
			return o.Offset, true
		}
	}
	return 0, false
}

// offsetText says which offset is committed, and where the log ends: at the offset that a group has committed that has read all.
func (g *Group) offsetText(topic string, partition int32, offset int64) string {
	if _, end, ok := g.k.b.LogEnds(topic, partition); ok {
		return fmt.Sprintf("offset %d, of a log that ends at %d", offset, end)
	}
	return fmt.Sprintf("offset %d", offset)
}

// uncommittedText says that there is no committed offset, and whether there can be one.
func (g *Group) uncommittedText(s GroupState, topic string, partition int32) string {
	if _, end, ok := g.k.b.LogEnds(topic, partition); ok {
		return fmt.Sprintf("no committed offset, of a log that ends at %d%s", end, unownedText(s, topic, partition))
	}
	return "no committed offset" + g.misnamed(topic, partition)
}

// unownedText says that no member owns a partition, and what they own instead; "" where one does, or there is none.
func unownedText(s GroupState, topic string, partition int32) string {
	if len(s.Members) == 0 || s.Type != "consumer" {
		return ""
	}
	var owned []string
	for _, m := range s.Members {
		if slices.Contains(m.Owned[topic], partition) {
			return ""
		}
		owned = append(owned, fmt.Sprintf("%s owns %s", memberLabel(m), partitionsText(m.Owned)))
	}
	return "; nobody owns it: " + strings.Join(few(owned, "members"), ", ")
}

func (g *Group) hasCommitted(topic string, partition int32, offset int64) func() (bool, string) {
	return func() (bool, string) {
		s, ok := g.k.b.GroupState(g.id)
		if !ok {
			return false, g.nothing()
		}
		have, ok := committedIn(s, topic, partition)
		if !ok {
			return false, g.uncommittedText(s, topic, partition)
		}
		return have >= offset, g.offsetText(topic, partition, have)
	}
}

// CommittedAt waits until the committed offset of a partition is at least offset.
func (g *Group) CommittedAt(ctx context.Context, topic string, partition int32, offset int64) error {
	switch {
	case partition < 0:
		return g.failed(negativePartition(topic, partition))
	case offset < 0:
		return g.failed(fmt.Errorf("wanted %s-%d committed up to offset %d: give a number from 0 on", topic, partition, offset))
	}
	err := g.k.await(ctx, fmt.Sprintf("%s-%d committed up to offset %d", topic, partition, offset), g.hasCommitted(topic, partition, offset))
	return g.unmetCommit(err)
}

// uncommitted says that nobody has committed anything, in a group that has members.
func (g *Group) uncommitted() []string {
	if g.commits() > 0 || len(g.State().Members) == 0 {
		return nil
	}
	return []string{"its clients have sent no commit yet: is there a record to read, and do they commit what they have read? Auto-commit does after its interval, 5 s by default"}
}

// commits is how many commits clients have sent for the group.
func (g *Group) commits() (sent int) {
	for _, key := range []wire.Key{wire.OffsetCommit, wire.TxnOffsetCommit} {
		n, _ := g.k.b.Requests(broker.RequestQuery{Key: key, Group: g.id})
		sent += n
	}
	return sent
}

// unmetCommit is unmet of what commits would have met.
func (g *Group) unmetCommit(err error) error {
	if err != nil {
		err = fmt.Errorf("%w%s", err, lines(append(g.uncommitted(), g.unwritten()...)))
	}
	return g.unmet(err, 1)
}

// AwaitCommitted waits until the group's committed offset of a partition is at least offset: the next record to be read, as Kafka counts it.
func (g *Group) AwaitCommitted(tb testing.TB, topic string, partition int32, offset int64) {
	tb.Helper()
	g.k.within(tb, func(ctx context.Context) error { return g.CommittedAt(ctx, topic, partition, offset) })
}

// RequireCommitted fails the test unless the committed offset of a partition is exactly offset now.
func (g *Group) RequireCommitted(tb testing.TB, topic string, partition int32, offset int64) {
	tb.Helper()
	check(tb, g.unmetCommit(g.k.now(fmt.Sprintf("%s-%d committed at offset %d", topic, partition, offset), func() (bool, string) {
		s, _ := g.k.b.GroupState(g.id)
		have, ok := committedIn(s, topic, partition)
		if !ok {
			return false, g.uncommittedText(s, topic, partition)
		}
		return have == offset, g.offsetText(topic, partition, have)
	})))
}

// Lag is how many records the group has still to commit: over every partition that it has committed, or that a member owns or subscribes to by name, the log's
// end less the committed offset (less the log's start where none is committed). Where nothing but markers of transactions is left, which
// no consumer is given, there is no lag. A group that doesn't exist, or has read nothing yet, has none either: a check that must notice that is RequireLag.
func (g *Group) Lag() int64 {
	var lag int64
	g.k.b.Look(func() { lag, _, _ = g.lag() })
	return lag
}

// lag is Lag on the loop, with a line for each partition that lags. It is ok where there is something to judge: a client whose member id was just given makes a group
// that has nothing to read yet.
func (g *Group) lag() (n int64, saw string, ok bool) {
	s, exists := g.k.b.GroupState(g.id)
	if !exists {
		return 0, g.nothing(), false
	}
	type tp struct {
		topic string
		p     int32
	}
	at, owners := map[tp]int64{}, map[tp]string{}
	for _, m := range s.Members {
		for _, t := range m.Subscribed { // in a rebalance nobody may own them
			n, _ := g.k.b.Partitions(t)
			for p := range n {
				at[tp{t, p}] = -1
			}
		}
		for t, ps := range m.Owned {
			for _, p := range ps {
				at[tp{t, p}], owners[tp{t, p}] = -1, ", owned by "+memberLabel(m)
			}
		}
	}
	for _, o := range s.Offsets {
		at[tp{o.Topic, o.Partition}] = o.Offset
	}
	if len(at) == 0 {
		saw = "a group without members and committed offsets"
		if len(s.Members) > 0 {
			saw = "a group that has no partition to read, and no committed offset"
		}
		return 0, saw, false
	}
	keys := slices.SortedFunc(maps.Keys(at), func(a, b tp) int {
		if c := strings.Compare(a.topic, b.topic); c != 0 {
			return c
		}
		return int(a.p - b.p)
	})
	var total int64
	var lines []string
	for _, k := range keys {
		start, end, ok := g.k.b.LogEnds(k.topic, k.p)
		if !ok {
			continue
		}
		from := max(at[k], start)
		if d := end - from; d > 0 && !g.k.b.OnlyMarkers(k.topic, k.p, from) {
			total += d
			committed := "nothing committed"
			if at[k] >= 0 {
				committed = fmt.Sprintf("committed %d", at[k])
			}
			behind := ""
			if stable, _ := g.k.b.LastStable(k.topic, k.p); stable < end {
				behind = fmt.Sprintf(", for read_committed consumers %d", stable)
			}
			lines = append(lines, fmt.Sprintf("%s-%d: %d (%s, end %d%s%s)", k.topic, k.p, d, committed, end, behind, owners[k]))
		}
	}
	if len(lines) == 0 {
		return 0, "a lag of 0", true
	}
	return total, fmt.Sprintf("a lag of %d: %s", total, strings.Join(lines, ", ")), true
}

// LagAtMost waits until the lag is at most n. A group that doesn't exist yet, or has neither members nor committed offsets, lags behind everything.
func (g *Group) LagAtMost(ctx context.Context, n int64) error {
	if n < 0 {
		return g.failed(fmt.Errorf("wanted a lag of at most %d: give a number from 0 on", n))
	}
	return g.unmetCommit(g.k.await(ctx, fmt.Sprintf("a lag of at most %d", n), func() (bool, string) {
		lag, saw, ok := g.lag()
		return ok && lag <= n, saw
	}))
}

// AwaitLag waits until the group's lag is at most n; 0 is "everything is committed". A group that doesn't exist yet, or has neither members nor committed offsets,
// lags behind everything.
func (g *Group) AwaitLag(tb testing.TB, n int64) {
	tb.Helper()
	g.k.within(tb, func(ctx context.Context) error { return g.LagAtMost(ctx, n) })
}

// RequireLag fails the test unless the group's lag is exactly n now. A group that doesn't exist, or has neither members nor committed offsets, lags behind
// everything.
func (g *Group) RequireLag(tb testing.TB, n int64) {
	tb.Helper()
	check(tb, g.unmetCommit(g.k.now(fmt.Sprintf("a lag of %d", n), func() (bool, string) {
		lag, saw, ok := g.lag()
		return ok && lag == n, saw
	})))
}
