package fakekafka

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fakekafka/fakekafka/internal/broker"
)

// Assignment says who owns what: member, topic, partitions. Members are named as in [Group.Member]: by client id, or by group.instance.id or member id where that is
// what the test gives.
type Assignment map[string]map[string][]int32

// Assignment is who owns what now, members named by client id (by member id where that name fits two). Of a group whose protocol type isn't "consumer", such as that of Kafka Connect's
// workers, no partitions are known: [GroupState] has each member's assignment as it is, in bytes.
func (g *Group) Assignment() Assignment { return assignmentOf(g.State()) }

func assignmentOf(s GroupState) Assignment {
	a, names := Assignment{}, memberNames(s)
	for _, m := range s.Members {
		a[names[m.ID]] = m.Owned
	}
	return a
}

// memberNames are names, by member id, that fit no other member of the group: the client id, or the member id where another is called that, too, or there is none.
func memberNames(s GroupState) map[string]string {
	called, names := broker.TimesCalled(s), map[string]string{}
	for _, m := range s.Members {
		names[m.ID] = m.ClientID
		if called[m.ClientID] > 1 || m.ClientID == "" {
			names[m.ID] = m.ID
		}
	}
	return names
}

func (want Assignment) members() []string { return slices.Sorted(maps.Keys(want)) }

// matches compares what is wanted with the group; saw is a diff, a line a member.
func (want Assignment) matches(s GroupState) (bool, string) {
	ok, listed := true, false
	var lines []string
	used := map[string]bool{}
	for _, name := range want.members() {
		if !named(s, name) {
			ok = false
			why := "no member is called so"
			if !listed { // the members: once is enough
				why = broker.NoMember(s, name).Error()
			}
			listed = true
			lines = append(lines, fmt.Sprintf("    %s: wanted %s; %s", broker.Shown(name), partitionsText(want[name]), why))
			continue
		}
		m, err := broker.ResolveMember(s, name)
		if err != nil {
			ok = false
			lines = append(lines, fmt.Sprintf("    %s: wanted %s; %v", broker.Shown(name), partitionsText(want[name]), err))
			continue
		}
		used[m.ID] = true
		if samePartitions(want[name], m.Owned) {
			line := fmt.Sprintf("    %s: %s, as wanted", broker.Shown(name), partitionsText(m.Owned))
			if unsettled(m) {
				line += fmt.Sprintf(", but it is not settled: %s (AwaitAssignment waits for it)", cmp.Or(m.State, "it has a step to go"))
			}
			lines = append(lines, line)
			continue
		}
		ok = false
		lines = append(lines, fmt.Sprintf("    %s: wanted %s; %s%s", broker.Shown(name), partitionsText(want[name]), ownsText(s, m), stepText(s, m)))
	}
	unwanted := 0
	for _, m := range s.Members {
		if !used[m.ID] {
			ok = false
			if unwanted++; unwanted > summaryMembers {
				continue
			}
			lines = append(lines, fmt.Sprintf("    %s: not wanted in the group; %s%s", memberLabel(m), ownsText(s, m), stepText(s, m)))
		}
	}
	if more := unwanted - summaryMembers; more > 0 {
		lines = append(lines, fmt.Sprintf("    … and %d more that are not wanted", more))
	}
	return ok, fmt.Sprintf("%s, epoch %d%s\n%s", s.State, s.Epoch, heldText(s), strings.Join(lines, "\n"))
}

func (g *Group) hasAssignment(want Assignment) func() (bool, string) {
	return func() (bool, string) {
		s, ok := g.k.b.GroupState(g.id)
		if !ok {
			return false, g.nothing()
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
	if err := g.nameless(); err != nil {
		return g.failed(fmt.Errorf("wanted an assignment: %w", err))
	}
	return g.unmet(g.k.await(ctx, "this assignment", g.hasAssignment(want)), len(want), want.members()...)
}

// AwaitAssignment waits until the group is stable with just this assignment; members not named must not be there.
func (g *Group) AwaitAssignment(tb testing.TB, want Assignment) {
	tb.Helper()
	g.k.within(tb, func(ctx context.Context) error { return g.Assigned(ctx, want) })
}

// RequireAssignment fails the test, with a diff and the group's timeline, unless the group is stable with just this assignment now.
func (g *Group) RequireAssignment(tb testing.TB, want Assignment) {
	tb.Helper()
	check(tb, g.unmet(g.k.now("this assignment", g.hasAssignment(want)), len(want), want.members()...))
}

// Owner names the member that owns a partition now, by client id (by member id where that name fits two); ok is false where nobody does.
func (g *Group) Owner(topic string, partition int32) (member string, ok bool) {
	s := g.State()
	m, ok := ownerIn(s, topic, partition)
	if !ok {
		return "", false
	}
	return memberNames(s)[m.ID], true
}

func ownerIn(s GroupState, topic string, partition int32) (MemberState, bool) {
	for _, m := range s.Members {
		if slices.Contains(m.Owned[topic], partition) || slices.Contains(m.Revoking[topic], partition) {
			return m, true
		}
	}
	return MemberState{}, false
}

func negativePartition(topic string, partition int32) error {
	return fmt.Errorf("wanted partition %d of %s: give a number from 0 on", partition, topic)
}

// misnamed says that a partition isn't there, for messages; "" where it is.
func (g *Group) misnamed(topic string, partition int32) string {
	if err := g.k.b.CheckPartition(topic, partition); err != nil {
		return "; " + err.Error()
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
		if err := g.k.b.CheckPartition(topic, last[topic]); err != nil {
			text += "\n    " + err.Error()
		}
	}
	return text
}

func (g *Group) hasOwner(topic string, partition int32, member string) func() (bool, string) {
	return func() (bool, string) {
		s, ok := g.k.b.GroupState(g.id)
		if !ok {
			return false, g.nothing()
		}
		owner, owned := ownerIn(s, topic, partition)
		called := broker.MembersCalled(s, member)
		if owned && len(called) == 1 && called[0].ID == owner.ID {
			return true, ""
		}
		saw := "nobody owns it"
		switch {
		case owned && len(called) > 1:
			saw = broker.Shown(owner.ID) + " owns it"
		case owned:
			saw = memberLabel(owner) + " owns it"
		}
		saw += g.misnamed(topic, partition)
		if len(called) > 1 {
			_, err := broker.ResolveMember(s, member)
			saw += "; " + err.Error()
		}
		return false, saw + ": " + summary(s)
	}
}

// unmetOwner is unmet of what a member of this name would have met. Of a client whose place another one has, that says who it is.
func (g *Group) unmetOwner(err error, member string) error {
	if err == nil {
		return nil
	}
	if s := g.State(); len(s.Members) > 0 && !named(s, member) && g.successor(s, member, g.out()[broker.LoggedName(member)]) == "" {
		err = fmt.Errorf("%w\n    no member is called %q", err, broker.LoggedName(member))
	}
	return g.unmet(err, 0, member)
}

// Owned waits until a member owns a partition.
func (g *Group) Owned(ctx context.Context, topic string, partition int32, member string) error {
	switch err := g.nameless(); {
	case err != nil:
		return g.failed(fmt.Errorf("wanted an owner: %w", err))
	case partition < 0:
		return g.failed(negativePartition(topic, partition))
	case member == "":
		return g.failed(fmt.Errorf("wanted %s-%d owned by a member without a name: give its client id, instance id or member id", topic, partition))
	}
	return g.unmetOwner(g.k.await(ctx, fmt.Sprintf("%s-%d owned by %s", topic, partition, member), g.hasOwner(topic, partition, member)), member)
}

// AwaitOwner waits until a member, named by client id, instance id or member id, owns a partition. A name that fits two members names neither: the wait goes on, for
// one of them may be about to leave.
func (g *Group) AwaitOwner(tb testing.TB, topic string, partition int32, member string) {
	tb.Helper()
	g.k.within(tb, func(ctx context.Context) error { return g.Owned(ctx, topic, partition, member) })
}

// RequireOwner fails the test unless the member, named as in AwaitOwner, owns the partition now.
func (g *Group) RequireOwner(tb testing.TB, topic string, partition int32, member string) {
	tb.Helper()
	check(tb, g.unmetOwner(g.k.now(fmt.Sprintf("%s-%d owned by %s", topic, partition, member), g.hasOwner(topic, partition, member)), member))
}

// RequireBalanced fails the test unless the members' numbers of partitions differ by at most one; and where nobody owns any.
func (g *Group) RequireBalanced(tb testing.TB) {
	tb.Helper()
	check(tb, g.unmet(g.k.now("partitions spread evenly", func() (bool, string) {
		s, ok := g.k.b.GroupState(g.id)
		if !ok {
			return false, g.nothing()
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
		if most == 0 {
			return false, "nobody owns a partition: " + summary(s)
		}
		return most-least <= 1, summary(s)
	}), 1))
}
