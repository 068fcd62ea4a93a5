package fakekafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// Group is the handle of a consumer group. The group need not exist yet.
type Group struct {
	k  *Cluster
	id string
}

// Group gives the handle of a group.
func (k *Cluster) Group(id string) *Group { return &Group{k, id} }

// ID is the group's id.
func (g *Group) ID() string { return g.id }

// nameless refuses to steer, or to wait for, the group of no name, which no member can join.
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

// failed gives an error the group's name, what is in the way, and the timeline.
func (g *Group) failed(err error, hints ...string) error {
	if err == nil {
		return nil
	}
	events := g.k.b.HistoryAround(g.id)
	stopped := ""
	for i, s := range g.k.b.StoppedScripts(g.id) {
		if i == summaryMembers {
			stopped += "\n    …"
			break
		}
		stopped += "\n    scripted member " + s
	}
	stopped += lines(g.k.inTheWay()) + lines(hints)
	return &groupError{g, fmt.Errorf("fakekafka: group %s: %w%s\n%s", broker.Shown(g.id), err, stopped, g.recent(events, 0)), len(events)}
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

// nothing says why there is no state of the group. On the loop.
func (g *Group) nothing() string {
	if g.k.b.Unled(g.id) {
		return "nothing, as the group's coordinator doesn't run: it is loaded again when a broker that can lead its partition of __consumer_offsets starts"
	}
	return "no such group"
}

// stable tells whether the group has settled with n members: all of them have what they shall have and know it.
func (g *Group) stable(n int) (bool, string) {
	s, ok := g.k.b.GroupState(g.id)
	if !ok {
		return n == 0 && !g.k.b.Unled(g.id), g.nothing()
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

// Stable waits until the group is stable with n members; the context bounds the wait.
func (g *Group) Stable(ctx context.Context, n int) error {
	if n < 0 {
		return g.failed(fmt.Errorf("wanted a stable group of %d members: give a number from 0 on", n))
	}
	if err := g.nameless(); err != nil {
		return g.failed(fmt.Errorf("wanted a stable group: %w", err))
	}
	return g.unmet(g.k.await(ctx, "a stable group of "+count(n, "member"), func() (bool, string) { return g.stable(n) }), n)
}

// AwaitStable waits until the group is stable with n members: every one of them has what it shall have, and knows it. It says nothing about
// whether they fetch already: see AwaitFetching. With n = 0 it waits until the group has no members, and one that doesn't exist has none.
func (g *Group) AwaitStable(tb testing.TB, n int) {
	tb.Helper()
	g.k.within(tb, func(ctx context.Context) error { return g.Stable(ctx, n) })
}

// ExpectMembers makes the group's next assignment, which is the first one if it is called before the workers start, wait until the group has n members, so that
// N workers that race make one generation (or one target, in the consumer protocol). After WaitLimit it goes on with those that came; the timeline says so, and the
// first line of what then fails for want of members.
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
