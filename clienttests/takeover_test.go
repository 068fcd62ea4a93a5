package clienttests

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fakekafka"
	"github.com/fakekafka/fakekafka/groups"
)

// A static member's place is taken by a process of another client.id. A classic group goes on to show the first one's (DescribeGroups), a consumer group the
// new one's; what the test calls and waits for is of the process that speaks for the member now.

func TestTakeOverByAnotherClient(t *testing.T) {
	for _, kind := range lifeKinds() {
		t.Run(kind.name, func(t *testing.T) {
			t.Run("the first was closed", func(t *testing.T) { takeOverOfClosed(newLife(t, kind, "orders-eu")) })
			// A consumer group refuses the second while the first has not gone. And librdkafka's Close may never return once the broker has fenced it.
			if kind.name == "franz-go cooperative-sticky" {
				t.Run("the first hangs", func(t *testing.T) { takeOverOfHanging(newLife(t, kind, "orders-eu")) })
			}
		})
	}
}

// joinAs lets a process come under an instance id.
func (l *life) joinAs(name, instance string) {
	l.Helper()
	w, err := l.kind.start(l.k.Bootstrap(), l.g.ID(), l.topic, name, instance)
	require.NoError(l, err)
	l.members[name] = w
}

// takenOver waits until the group has one member, which a process speaks for.
func (l *life) takenOver(by string) {
	l.Helper()
	l.g.AwaitOwner(l, "orders-eu", 0, by)
	l.g.AwaitStable(l, 1)
	l.g.AwaitFetching(l)
}

func takeOverOfClosed(l *life) {
	l.during(func() {
		l.joinAs("one", "pod-1")
		l.takenOver("one")
		l.leave("one")
		l.releases("pod-1")
		l.joinAs("two", "pod-1")
		l.takenOver("two")

		for _, name := range []string{"two", "pod-1"} {
			m, err := l.g.Member(name).State()
			require.NoError(l, err)
			require.Equal(l, "two", m.ClientID)
			require.Equal(l, l.described(), m.DescribedClientID)
			l.g.RequireOwner(l, "orders-eu", 0, name)
		}
		owner, _ := l.g.Owner("orders-eu", 0)
		require.Equal(l, "two", owner)
		require.Contains(l, l.g.Assignment(), "two")
		_, err := l.g.Member("one").State()
		require.ErrorContains(l, err, `has no member "one"`)
		ctx, cancel := context.WithTimeout(l.ctx, 10*time.Millisecond)
		defer cancel()
		err = l.g.Owned(ctx, "orders-eu", 0, "one")
		require.ErrorContains(l, err, "there was: two (instance pod-1) owns it")
		require.Regexp(l, `\n    client "one" is out of it since .*; client "two" has taken its place: name it "two"\n`, err.Error())

		require.NoError(l, l.g.Member("pod-1").Pause())
		require.NoError(l, l.g.Member("two").Resume())
		require.NoError(l, l.g.Member("two").Pause())
		require.NoError(l, l.k.FastForward(46*time.Second))
		l.g.AwaitStable(l, 0) // the new process is the one that was paused
		require.NoError(l, l.g.Member("two").Resume())
		l.takenOver("two")
	})
	for _, e := range l.g.History() {
		if e.Kind == groups.EventReplaced {
			require.Equal(l, "two", e.ClientID)
		}
	}
	require.Contains(l, l.g.Timeline(), "pause of two")
}

// takeOverOfHanging is how a zombie is made: the pause was of the first process, and is of it until it ends.
func takeOverOfHanging(l *life) {
	l.joinAs("one", "pod-1")
	l.takenOver("one")
	require.NoError(l, l.g.Member("pod-1").Pause())
	l.joinAs("two", "pod-1")
	l.takenOver("two")
	require.Equal(l, "one", l.described())

	require.NoError(l, l.g.Member("pod-1").Pause(), "of two")
	require.NoError(l, l.g.Member("two").Resume())
	require.NoError(l, l.g.Member("pod-1").Resume(), "of one, which was paused under this name")
	require.NoError(l, (&env{}).until(l.ctx, func() error {
		if !slices.ContainsFunc(l.g.History(), func(e fakekafka.Event) bool { return e.Kind == "refused" && e.ClientID == "one" }) {
			return fmt.Errorf("one was refused nothing\n%s", l.g.Timeline())
		}
		return nil
	}))
	l.takenOver("two")
}

// releases says what franz-go 1.22.3 means to say when it leaves as a static member of a consumer group: it forgets its instance id, which is refused.
func (l *life) releases(instance string) {
	l.Helper()
	if l.kind.name != "franz-go KIP-848" {
		return
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(l.k.Bootstrap()), kgo.ClientID("one"))
	require.NoError(l, err)
	defer cl.Close()
	m, err := l.g.Member(instance).State()
	require.NoError(l, err)
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.InstanceID, req.MemberEpoch = l.g.ID(), m.ID, &instance, -2
	resp, err := req.RequestWith(l.ctx, cl)
	require.NoError(l, err)
	require.Zero(l, resp.ErrorCode)
}

// described is the client id that an administrator is shown.
func (l *life) described() string {
	l.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(l.k.Bootstrap()), kgo.ClientID("admin"))
	require.NoError(l, err)
	defer cl.Close()
	if l.kind.protocol == fakekafka.Consumer {
		all, err := kadm.NewClient(cl).DescribeConsumerGroups(l.ctx, l.g.ID())
		require.NoError(l, err)
		require.Len(l, all[l.g.ID()].Members, 1)
		return all[l.g.ID()].Members[0].ClientID
	}
	all, err := kadm.NewClient(cl).DescribeGroups(l.ctx, l.g.ID())
	require.NoError(l, err)
	require.Len(l, all[l.g.ID()].Members, 1)
	return all[l.g.ID()].Members[0].ClientID
}
