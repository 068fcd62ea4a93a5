package fakekafka

import (
	"cmp"
	"context"
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

// GroupState is a group as it stands at one moment, of either protocol; see the groups package for its fields.
type GroupState = groups.State

// MemberState is one member of a [GroupState].
type MemberState = groups.MemberState

// Event is one thing that happened to a group or to the cluster; see the groups package for its kinds.
type Event = groups.Event

// Assignment says who owns what: member, topic, partitions. Members are named by client id, or by group.instance.id or member id where that is
// what the test gives.
type Assignment map[string]map[string][]int32

// Group is the handle of a consumer group. The group need not exist yet.
type Group struct {
	k  *Cluster
	id string
}

// Group gives the handle of a group.
func (k *Cluster) Group(id string) *Group { return &Group{k, id} }

// ID is the group's id.
func (g *Group) ID() string { return g.id }

// nameless refuses to steer the group of no name, which no member can join.
func (g *Group) nameless() error {
	if g.id == "" {
		return errors.New("the group has no name: give its group.id to Group or Join")
	}
	return nil
}

// State is the group as it stands between two steps of the coordinator. For a group that doesn't exist it has no Protocol and no State.
func (g *Group) State() GroupState {
	s := GroupState{ID: g.id}
	g.k.b.Look(func() {
		if have, ok := g.k.b.GroupState(g.id); ok {
			s = have
		}
	})
	return s
}

// History is what happened to the group so far, in order.
func (g *Group) History() []Event { return g.k.b.History(g.id) }

// failed gives an error the group's name and its timeline.
func (g *Group) failed(err error) error {
	if err == nil {
		return nil
	}
	events := g.History()
	stopped := ""
	for i, s := range g.k.b.StoppedScripts(g.id) {
		if i == summaryMembers {
			stopped += "\n    …"
			break
		}
		stopped += "\n    scripted member " + s
	}
	return &groupError{g, fmt.Errorf("fakekafka: group %s: %w%s\n%s", g.id, err, stopped, g.recent(events, 0)), len(events)}
}

// groupError is an error that shows a group's timeline.
type groupError struct {
	g *Group
	error
	events int // of the timeline
}

func (e *groupError) Unwrap() error { return e.error }

// check fails the test at once if there is an error.
func check(tb testing.TB, err error) {
	tb.Helper()
	if err == nil {
		return
	}
	var of *groupError
	if errors.As(err, &of) {
		of.g.k.shown.add(of.g.id, of.events)
	}
	tb.Fatal(err)
}

// stable tells whether the group has settled with n members: all of them have what they shall have and know it.
func (g *Group) stable(n int) (bool, string) {
	s, ok := g.k.b.GroupState(g.id)
	if !ok {
		return n == 0, "no such group"
	}
	if n == 0 {
		return len(s.Members) == 0, summary(s)
	}
	return s.State == "Stable" && len(s.Members) == n && !slices.ContainsFunc(s.Members, unsettled), summary(s)
}

// unsettled tells whether a member of a group that calls itself Stable still has a step to go: to ask for its assignment, or
// to confirm it.
func unsettled(m MemberState) bool {
	if m.ParkedIn == "join" || m.ParkedIn == "sync" || len(m.Revoking) > 0 || m.State == "Syncing" || m.State == "Joining" {
		return true
	}
	return m.Protocol == "consumer" && !samePartitions(m.Target, m.Owned)
}

// summaryMembers is how many members of a group a message lists.
const summaryMembers = 40

// summary is a group in one or more lines, for messages. Of a large group it lists those first that still have a step to go.
func summary(s GroupState) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s protocol, epoch %d, %s", s.State, s.Protocol, s.Epoch, count(len(s.Members), "member"))
	listed := s.Members
	if len(listed) > summaryMembers {
		listed = slices.Clone(listed)
		slices.SortStableFunc(listed, func(x, y MemberState) int { return -cmp.Compare(step(x), step(y)) })
		listed = listed[:summaryMembers]
	}
	for _, m := range listed {
		fmt.Fprintf(&b, "\n    %s: epoch %d, owns %s", memberLabel(m), m.Epoch, partitionsText(m.Owned))
		if samePartitions(m.Owned, nil) && len(m.Subscribed) > 0 {
			fmt.Fprintf(&b, ", subscribes to %s", strings.Join(m.Subscribed, ", "))
		}
		if len(m.Revoking) > 0 {
			fmt.Fprintf(&b, ", is to give up %s", partitionsText(m.Revoking))
		}
		if m.Protocol == "consumer" && !samePartitions(m.Owned, m.Target) {
			fmt.Fprintf(&b, ", shall own %s", partitionsText(m.Target))
		}
		if m.ParkedIn != "" && m.ParkedIn != "heartbeat" {
			fmt.Fprintf(&b, ", waits in %s", m.ParkedIn)
		}
	}
	if more := len(s.Members) - len(listed); more > 0 {
		fmt.Fprintf(&b, "\n    … and %d more", more)
	}
	return b.String()
}

// step is 1 for a member that has one to go.
func step(m MemberState) int {
	if unsettled(m) {
		return 1
	}
	return 0
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// memberLabel is how messages name a member: client id, with the instance id where it has one.
func memberLabel(m MemberState) string {
	name := m.ClientID
	if name == "" {
		name = m.ID
	}
	if m.InstanceID != "" && m.InstanceID != name {
		name += " (instance " + m.InstanceID + ")"
	}
	return name
}

// partitionsText is a set of partitions for messages: "orders 0-2 5, refunds 1".
func partitionsText(p map[string][]int32) string {
	var topics []string
	for _, t := range slices.Sorted(maps.Keys(p)) {
		if len(p[t]) > 0 {
			topics = append(topics, t+" "+ranges(p[t]))
		}
	}
	if len(topics) == 0 {
		return "nothing"
	}
	return strings.Join(topics, ", ")
}

// ranges writes numbers with runs as from-to.
func ranges(ps []int32) string {
	ps = slices.Sorted(slices.Values(ps))
	var out []string
	for i := 0; i < len(ps); {
		j := i
		for j+1 < len(ps) && ps[j+1] == ps[j]+1 {
			j++
		}
		switch {
		case j == i:
			out = append(out, fmt.Sprint(ps[i]))
		case j == i+1:
			out = append(out, fmt.Sprint(ps[i]), fmt.Sprint(ps[j]))
		default:
			out = append(out, fmt.Sprintf("%d-%d", ps[i], ps[j]))
		}
		i = j + 1
	}
	return strings.Join(out, " ")
}

// samePartitions compares sets; a topic without partitions counts as absent.
func samePartitions(a, b map[string][]int32) bool {
	return partitionsText(a) == partitionsText(b)
}

// Stable waits until the group is stable with n members; the context bounds the wait.
func (g *Group) Stable(ctx context.Context, n int) error {
	if n < 0 {
		return g.failed(fmt.Errorf("wanted a stable group of %d members: give a number from 0 on", n))
	}
	return g.failed(g.k.await(ctx, "a stable group of "+count(n, "member"), func() (bool, string) { return g.stable(n) }))
}

// AwaitStable waits until the group is stable with n members: every one of them has what it shall have, and knows it. It says nothing about
// whether they fetch already: see AwaitFetching. With n = 0 it waits until the group has no members.
func (g *Group) AwaitStable(tb testing.TB, n int) {
	tb.Helper()
	g.k.within(tb, func(ctx context.Context) error { return g.Stable(ctx, n) })
}

// Assignment is who owns what now, members named by client id (by member id where two share a client id).
func (g *Group) Assignment() Assignment { return assignmentOf(g.State()) }

func assignmentOf(s GroupState) Assignment {
	names := map[string]int{}
	for _, m := range s.Members {
		names[m.ClientID]++
	}
	a := Assignment{}
	for _, m := range s.Members {
		name := m.ClientID
		if names[name] > 1 || name == "" {
			name = m.ID
		}
		a[name] = m.Owned
	}
	return a
}

// matches compares what is wanted with the group; saw is a diff, a line a member.
func (want Assignment) matches(s GroupState) (bool, string) {
	ok := true
	var lines []string
	used := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		m, err := broker.ResolveMember(s, name)
		if err != nil {
			ok = false
			lines = append(lines, fmt.Sprintf("    %s: wanted %s; %v", name, partitionsText(want[name]), err))
			continue
		}
		used[m.ID] = true
		if samePartitions(want[name], m.Owned) {
			line := fmt.Sprintf("    %s: %s, as wanted", name, partitionsText(m.Owned))
			if unsettled(m) {
				line += fmt.Sprintf(", but it is not settled: %s (AwaitAssignment waits for it)", cmp.Or(m.State, "it has a step to go"))
			}
			lines = append(lines, line)
			continue
		}
		ok = false
		lines = append(lines, fmt.Sprintf("    %s: wanted %s; owns %s", name, partitionsText(want[name]), partitionsText(m.Owned)))
	}
	for _, m := range s.Members {
		if !used[m.ID] {
			ok = false
			lines = append(lines, fmt.Sprintf("    %s: not wanted in the group; owns %s", memberLabel(m), partitionsText(m.Owned)))
		}
	}
	return ok, fmt.Sprintf("%s, epoch %d\n%s", s.State, s.Epoch, strings.Join(lines, "\n"))
}

func (g *Group) hasAssignment(want Assignment) func() (bool, string) {
	return func() (bool, string) {
		s, ok := g.k.b.GroupState(g.id)
		if !ok {
			return false, "no such group"
		}
		same, saw := want.matches(s)
		if !same {
			saw += g.misnamedIn(want)
		}
		return same && s.State == "Stable" && !slices.ContainsFunc(s.Members, unsettled), saw
	}
}

// Assigned waits until the group is stable with just this assignment.
func (g *Group) Assigned(ctx context.Context, want Assignment) error {
	return g.failed(g.k.await(ctx, "this assignment", g.hasAssignment(want)))
}

// AwaitAssignment waits until the group is stable with just this assignment; members not named must not be there.
func (g *Group) AwaitAssignment(tb testing.TB, want Assignment) {
	tb.Helper()
	g.k.within(tb, func(ctx context.Context) error { return g.Assigned(ctx, want) })
}

// RequireAssignment fails the test, with a diff and the group's timeline, unless the group is stable with just this assignment now.
func (g *Group) RequireAssignment(tb testing.TB, want Assignment) {
	tb.Helper()
	check(tb, g.failed(g.k.now("this assignment", g.hasAssignment(want))))
}

// Owner names the member that owns a partition now, by client id; ok is false where nobody does.
func (g *Group) Owner(topic string, partition int32) (member string, ok bool) {
	m, ok := ownerIn(g.State(), topic, partition)
	if !ok {
		return "", false
	}
	return memberLabel(m), true
}

func ownerIn(s GroupState, topic string, partition int32) (MemberState, bool) {
	for _, m := range s.Members {
		if slices.Contains(m.Owned[topic], partition) || slices.Contains(m.Revoking[topic], partition) {
			return m, true
		}
	}
	return MemberState{}, false
}

// misnamed says that a partition isn't there, for messages; "" where it is.
func (g *Group) misnamed(topic string, partition int32) string {
	switch n, err := g.k.b.Partitions(topic); {
	case err != nil:
		return "; " + err.Error()
	case partition < 0 || partition >= n:
		return fmt.Sprintf("; topic %q has no partition %d; it has %d", topic, partition, n)
	}
	return ""
}

// misnamedIn says which partitions of an assignment aren't there, a line each; "" where all are. Of a topic it tells the last one only.
func (g *Group) misnamedIn(a Assignment) string {
	last := map[string]int32{}
	for _, topics := range a {
		for topic, ps := range topics {
			for _, p := range ps {
				last[topic] = max(last[topic], p)
			}
		}
	}
	text := ""
	for _, topic := range slices.Sorted(maps.Keys(last)) {
		if what, found := strings.CutPrefix(g.misnamed(topic, last[topic]), "; "); found {
			text += "\n    " + what
		}
	}
	return text
}

func (g *Group) hasOwner(topic string, partition int32, member string) func() (bool, string) {
	return func() (bool, string) {
		s, ok := g.k.b.GroupState(g.id)
		if !ok {
			return false, "no such group"
		}
		owner, owned := ownerIn(s, topic, partition)
		if owned && (owner.ClientID == member || owner.InstanceID == member && member != "" || owner.ID == member) {
			return true, ""
		}
		saw := "nobody owns it"
		if owned {
			saw = memberLabel(owner) + " owns it"
		}
		saw += g.misnamed(topic, partition)
		if !slices.ContainsFunc(s.Members, func(m MemberState) bool {
			return m.ClientID == member || m.InstanceID == member && member != "" || m.ID == member
		}) {
			saw += fmt.Sprintf("; no member is called %q", member)
		}
		return false, saw + ": " + summary(s)
	}
}

// Owned waits until a member owns a partition.
func (g *Group) Owned(ctx context.Context, topic string, partition int32, member string) error {
	return g.failed(g.k.await(ctx, fmt.Sprintf("%s-%d owned by %s", topic, partition, member), g.hasOwner(topic, partition, member)))
}

// AwaitOwner waits until a member, named by client id, instance id or member id, owns a partition.
func (g *Group) AwaitOwner(tb testing.TB, topic string, partition int32, member string) {
	tb.Helper()
	g.k.within(tb, func(ctx context.Context) error { return g.Owned(ctx, topic, partition, member) })
}

// RequireOwner fails the test unless the member owns the partition now.
func (g *Group) RequireOwner(tb testing.TB, topic string, partition int32, member string) {
	tb.Helper()
	check(tb, g.failed(g.k.now(fmt.Sprintf("%s-%d owned by %s", topic, partition, member), g.hasOwner(topic, partition, member))))
}

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

func (g *Group) hasCommitted(topic string, partition int32, offset int64) func() (bool, string) {
	return func() (bool, string) {
		s, ok := g.k.b.GroupState(g.id)
		if !ok {
			return false, "no such group"
		}
		have, ok := committedIn(s, topic, partition)
		if !ok {
			return false, "no committed offset" + g.misnamed(topic, partition)
		}
		return have >= offset, fmt.Sprintf("offset %d", have)
	}
}

// CommittedAt waits until the committed offset of a partition is at least offset.
func (g *Group) CommittedAt(ctx context.Context, topic string, partition int32, offset int64) error {
	return g.failed(g.k.await(ctx, fmt.Sprintf("%s-%d committed up to offset %d", topic, partition, offset), g.hasCommitted(topic, partition, offset)))
}

// AwaitCommitted waits until the group's committed offset of a partition is at least offset: the next record to be read, as Kafka counts it.
func (g *Group) AwaitCommitted(tb testing.TB, topic string, partition int32, offset int64) {
	tb.Helper()
	g.k.within(tb, func(ctx context.Context) error { return g.CommittedAt(ctx, topic, partition, offset) })
}

// RequireCommitted fails the test unless the committed offset of a partition is exactly offset now.
func (g *Group) RequireCommitted(tb testing.TB, topic string, partition int32, offset int64) {
	tb.Helper()
	check(tb, g.failed(g.k.now(fmt.Sprintf("%s-%d committed at offset %d", topic, partition, offset), func() (bool, string) {
		s, _ := g.k.b.GroupState(g.id)
		have, ok := committedIn(s, topic, partition)
		if !ok {
			return false, "no committed offset" + g.misnamed(topic, partition)
		}
		return have == offset, fmt.Sprintf("offset %d", have)
	})))
}

// Lag is how many records the group has still to commit: over every partition that it has committed, or that a member owns or subscribes to by name, the log's
// end less the committed offset (less the log's start where none is committed). Where nothing but markers of transactions is left, which
// no consumer is given, there is no lag.
func (g *Group) Lag() int64 {
	var lag int64
	g.k.b.Look(func() { lag, _ = g.lag() })
	return lag
}

// lag is Lag on the loop, with a line for each partition that lags.
func (g *Group) lag() (int64, string) {
	s, _ := g.k.b.GroupState(g.id)
	type tp struct {
		topic string
		p     int32
	}
	at := map[tp]int64{}
	for _, m := range s.Members {
		for _, t := range m.Subscribed { // in a rebalance nobody may own them
			n, _ := g.k.b.Partitions(t)
			for p := range n {
				at[tp{t, p}] = -1
			}
		}
		for t, ps := range m.Owned {
			for _, p := range ps {
				at[tp{t, p}] = -1
			}
		}
	}
	for _, o := range s.Offsets {
		at[tp{o.Topic, o.Partition}] = o.Offset
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
			lines = append(lines, fmt.Sprintf("%s-%d: %d (%s, end %d)", k.topic, k.p, d, committed, end))
		}
	}
	if len(lines) == 0 {
		return 0, "a lag of 0"
	}
	return total, fmt.Sprintf("a lag of %d: %s", total, strings.Join(lines, ", "))
}

// LagAtMost waits until the lag is at most n. A group that doesn't exist yet lags behind everything.
func (g *Group) LagAtMost(ctx context.Context, n int64) error {
	return g.failed(g.k.await(ctx, fmt.Sprintf("a lag of at most %d", n), func() (bool, string) {
		if _, ok := g.k.b.GroupState(g.id); !ok {
			return false, "no such group"
		}
		lag, saw := g.lag()
		return lag <= n, saw
	}))
}

// AwaitLag waits until the group's lag is at most n; 0 is "everything is committed".
func (g *Group) AwaitLag(tb testing.TB, n int64) {
	tb.Helper()
	g.k.within(tb, func(ctx context.Context) error { return g.LagAtMost(ctx, n) })
}

// RequireLag fails the test unless the group's lag is exactly n now. A group that doesn't exist lags behind everything.
func (g *Group) RequireLag(tb testing.TB, n int64) {
	tb.Helper()
	check(tb, g.failed(g.k.now(fmt.Sprintf("a lag of %d", n), func() (bool, string) {
		if _, ok := g.k.b.GroupState(g.id); !ok {
			return false, "no such group"
		}
		lag, saw := g.lag()
		return lag == n, saw
	})))
}

// RequireBalanced fails the test unless the members' numbers of partitions differ by at most one.
func (g *Group) RequireBalanced(tb testing.TB) {
	tb.Helper()
	check(tb, g.failed(g.k.now("partitions spread evenly", func() (bool, string) {
		s, ok := g.k.b.GroupState(g.id)
		if !ok {
			return false, "no such group"
		}
		least, most := -1, 0
		for _, m := range s.Members {
			n := 0
			for _, ps := range m.Owned {
				n += len(ps)
			}
			if least < 0 || n < least {
				least = n
			}
			most = max(most, n)
		}
		return most-least <= 1, summary(s)
	})))
}

// ExpectMembers makes the group's first assignment wait until n members have joined, so that N workers that race make one generation
// (or one target, in the consumer protocol). After WaitLimit it goes on with those that came; the timeline says so.
func (g *Group) ExpectMembers(n int) error {
	g.k.mark.Helper()
	if err := g.nameless(); err != nil {
		return g.k.steered("ExpectMembers", err)
	}
	if n < 1 {
		return g.k.steered("ExpectMembers", fmt.Errorf("%d members: give a number from 1 on", n))
	}
	return g.k.steered("ExpectMembers", g.k.b.ExpectMembers(g.id, n, g.k.o.waitLimit))
}

// Rebalance starts a rebalance: a classic group enters PreparingRebalance, a consumer group's epoch is raised.
func (g *Group) Rebalance() error {
	g.k.mark.Helper()
	return g.k.steered("Rebalance of group "+g.id, g.k.b.SteerGroup(g.id, func(now time.Time, s *groups.Shard) (groups.Effects, error) {
		if _, ok := s.State(g.id); !ok {
			return groups.Effects{}, fmt.Errorf("there is no such group; of groups there %s", listed(g.k.b.GroupIDs()))
		}
		return s.Rebalance(now, g.id, "asked for by the test")
	}))
}

// MoveCoordinator makes another broker the group's coordinator. Its members are told NOT_COORDINATOR, find the new one and go on at
// the same generation or epoch. If the broker is the coordinator already, nothing happens: a test can so make sure where it is. ReloadCoordinator is the same on one broker.
func (g *Group) MoveCoordinator(broker int) error {
	g.k.mark.Helper()
	return g.k.steered("MoveCoordinator of group "+g.id, g.k.b.MoveCoordinator(g.id, int32(broker)))
}

// ReloadCoordinator makes the group's coordinator forget what it has in memory and load it again from __consumer_offsets, as a restarted
// broker does: what was waiting is answered NOT_COORDINATOR, members go on at the same generation or epoch.
func (g *Group) ReloadCoordinator() error {
	g.k.mark.Helper()
	return g.k.steered("ReloadCoordinator of group "+g.id, g.k.b.ReloadCoordinator(g.id))
}
