package fakekafka_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fakekafka"
	"github.com/fakekafka/fakekafka/groups"
)

// pod is a group in which a process "two" has the place that "one" had as static member "pod-1", beside a member "other".
func pod(t *testing.T, m fakekafka.Member) (*fakekafka.Cluster, *fakekafka.Group) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2), fakekafka.ManualClock(start), fakekafka.WaitLimit(5*time.Second))
	g := k.Group("billing")
	m.ClientID, m.InstanceID = "one", "pod-1"
	other := m
	other.ClientID, other.InstanceID = "other", ""
	one := k.JoinAll("billing", m, other)[0]
	g.AwaitStable(t, 2)
	if m.Protocol == fakekafka.Consumer {
		require.Equal(t, fakekafka.NoError, one.LeaveForAWhile())
	} else {
		require.NoError(t, one.FallSilent())
	}
	m.ClientID = "two"
	k.Join("billing", m)
	g.AwaitStable(t, 2)
	return k, g
}

// described is the client id that DescribeGroups shows of the static member of a classic group.
func described(t *testing.T, k *fakekafka.Cluster) string {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version, req.Groups = 5, []string{"billing"}
	for _, m := range dialRaw(t, k, "admin").ask(req).(*kmsg.DescribeGroupsResponse).Groups[0].Members {
		if m.InstanceID != nil {
			return m.ClientID
		}
	}
	return ""
}

// The name of a member is that of who speaks for it, in everything that a test can ask.
func TestAMemberIsCalledAsWhoSpeaksForIt(t *testing.T) {
	t.Parallel()
	for kind, m := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			k, g := pod(t, m)
			s, err := g.Member("two").State()
			require.NoError(t, err)
			require.Equal(t, "two", s.ClientID)
			require.Equal(t, "pod-1", s.InstanceID)
			if m.Protocol == fakekafka.Classic {
				require.Equal(t, "one", s.DescribedClientID)
				require.Equal(t, "one", described(t, k))
			} else {
				require.Equal(t, "two", s.DescribedClientID)
			}
			has := ""
			for p := range int32(2) {
				if owner, _ := g.Owner("orders", p); owner == "two" {
					has = owner
					g.RequireOwner(t, "orders", p, "two")
					g.RequireOwner(t, "orders", p, "pod-1")
					said := failure(t, func(tb testing.TB) { g.RequireOwner(tb, "orders", p, "one") })
					require.Contains(t, said, "there was: two (instance pod-1) owns it")
					headline, below, _ := strings.Cut(said, "\n")
					require.NotContains(t, headline, "taken")
					require.Contains(t, headline, "two (instance pod-1) owns it: Stable, ")
					require.NotContains(t, said, "no member is called")
					require.Regexp(t, `\n    client "one" is out of it since .*; client "two" has taken its place: name it "two"\n`, below)
					require.Equal(t, 1, strings.Count(said, "name it"), said)
				}
			}
			require.Equal(t, "two", has, "%s", g.Timeline())
			said := failure(t, func(tb testing.TB) {
				g.RequireAssignment(tb, fakekafka.Assignment{"one": s.Owned, "other": g.Assignment()["other"]})
			})
			require.Regexp(t, `\n    client "one" is out of it since .*; client "two" has taken its place: name it "two"\n`, said)
			require.Equal(t, 1, strings.Count(said, "name it"), said)
			g.RequireAssignment(t, fakekafka.Assignment{"pod-1": s.Owned, "other": g.Assignment()["other"]})
			require.Contains(t, g.Assignment(), "two")

			require.NoError(t, g.ReloadCoordinator())
			again, err := g.Member("two").State()
			require.NoError(t, err, "the log has Kafka's name only")
			require.Equal(t, s.DescribedClientID, again.DescribedClientID)

			require.NoError(t, g.Member("pod-1").Pause())
			require.NoError(t, k.FastForward(46*time.Second))
			g.AwaitStable(t, 1) // two was paused
			require.NoError(t, g.Member("pod-1").Resume(), "a pause is known by the name under which it was asked for, even without the member")
			g.AwaitStable(t, 2)
			require.NoError(t, g.Member("two").Evict())
			g.AwaitStable(t, 2)
		})
	}
}

// The history says who it was: each event names the process of its time.
func TestTheHistoryNamesWhoSpoke(t *testing.T) {
	t.Parallel()
	for kind, m := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			k, g := pod(t, m)
			require.NoError(t, g.Member("two").Pause())
			require.NoError(t, k.FastForward(46*time.Second))
			g.AwaitStable(t, 1)
			name := "one"
			for _, e := range g.History() {
				if e.InstanceID != "pod-1" {
					continue
				}
				if e.Kind == groups.EventReplaced {
					name = "two"
				}
				require.Equal(t, name, e.ClientID, "%v\n%s", e, g.Timeline())
			}
			require.Equal(t, "two", name)
			require.Contains(t, g.Timeline(), "paused: pause of two")
		})
	}
}

// What hangs when its place is taken hangs on, and is let go by the name by which it was stopped.
func TestAPauseStaysWithItsProcess(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1), fakekafka.ManualClock(start))
	g := k.Group("billing")
	m := fakekafka.Member{ClientID: "one", InstanceID: "pod-1", Topics: []string{"orders"}}
	one := k.Join("billing", m)
	g.AwaitStable(t, 1)
	require.NoError(t, g.Member("pod-1").Pause())
	m.ClientID = "two"
	k.Join("billing", m)
	g.AwaitOwner(t, "orders", 0, "two")
	require.NoError(t, one.Err(), "it knows nothing yet")
	require.NoError(t, g.Member("pod-1").Pause(), "of two: only one is paused so far")
	require.NoError(t, g.Member("pod-1").Resume(), "of both")
	require.Error(t, one.Err())
	g.RequireOwner(t, "orders", 0, "two")
	require.NoError(t, g.Member("two").Pause())
	require.NoError(t, g.Member("two").Resume())
}

// A name that fits nobody, or two, is an error that says who is there and what to do.
func TestNamesOfMembersThatFitNoneOrTwo(t *testing.T) {
	t.Parallel()
	k, g := pod(t, inRange)
	_, err := g.Member("one").State()
	require.ErrorContains(t, err, `has no member "one" by client id, instance id or member id; it has `)
	require.ErrorContains(t, err, `it has other (`)
	require.NotRegexp(t, `[0-9a-f]{12}`, err.Error())
	require.ErrorContains(t, err, `…), two (instance pod-1); client "two" has taken the place of client "one": name it "two"`)

	k.Join("billing", fakekafka.Member{ClientID: "one", Topics: inRange.Topics})
	g.AwaitStable(t, 3)
	s, err := g.Member("one").State()
	require.NoError(t, err, "the name is free for somebody else")
	require.Empty(t, s.InstanceID)

	k.Join("billing", fakekafka.Member{ClientID: "pod-1", Topics: inRange.Topics})
	g.AwaitStable(t, 4)
	_, err = g.Member("pod-1").State()
	require.ErrorContains(t, err, `has 2 members "pod-1": give each client a client.id of its own, or name the one you mean by another of its names: `)
	two, _ := g.Member("two").State()
	require.ErrorContains(t, err, two.ID+` (client "two", instance "pod-1")`, "another member has its name")
	for p := range int32(2) {
		if owner, owned := g.Owner("orders", p); owned {
			g.RequireOwner(t, "orders", p, owner)
		}
	}
	g.RequireAssignment(t, g.Assignment())
	require.Contains(t, failure(t, func(tb testing.TB) { g.RequireOwner(tb, "orders", 0, "pod-1") }), `group "billing" has 2 members "pod-1": give each client a client.id of its own, or name the one`)
}

// A static member of the classic protocol in a group of both is described as its last process, as every member of a consumer group.
func TestTakeOverInAGroupOfBothProtocols(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2), fakekafka.ManualClock(start))
	g := k.Group("billing")
	m := fakekafka.Member{ClientID: "one", InstanceID: "pod-1", Topics: []string{"orders"}}
	other := k.Join("billing", fakekafka.Member{ClientID: "other", Topics: m.Topics, Protocol: fakekafka.Consumer})
	one := k.Join("billing", m)
	g.AwaitStable(t, 2)
	had := g.Assignment()
	require.NoError(t, one.FallSilent())
	m.ClientID = "two"
	k.Join("billing", m)
	g.AwaitAssignment(t, fakekafka.Assignment{"two": had["one"], "other": had["other"]})
	s, err := g.Member("pod-1").State()
	require.NoError(t, err)
	require.Equal(t, "two", s.ClientID)
	require.Equal(t, "two", s.DescribedClientID)

	// Its last consumer member gone, the group is a classic one: who speaks for the rest is the same.
	require.Equal(t, fakekafka.NoError, other.Leave())
	g.AwaitAssignment(t, fakekafka.Assignment{"two": {"orders": {0, 1}}})
	require.Equal(t, "classic", g.State().Protocol)
	m.ClientID = "three"
	k.Join("billing", m)
	g.AwaitOwner(t, "orders", 0, "three")
	s, err = g.Member("three").State()
	require.NoError(t, err)
	require.Equal(t, "two", s.DescribedClientID)
}
