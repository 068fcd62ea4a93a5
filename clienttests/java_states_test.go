package clienttests

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// stateTest is one Java consumer of a KIP-848 group with a broker of its own, both steered by the test.
type stateTest struct {
	*testing.T
	ctx context.Context
	j   *jvm
	k   *fakekafka.Cluster
	g   *fakekafka.Group
	m   *javaMember
}

// TestJavaStates brings the Java consumer into each of its ten states and has it stand there, or pass, while the test looks.
func TestJavaStates(t *testing.T) {
	if os.Getenv("FAKEKAFKA_BOOTSTRAP") != "" {
		t.Skip("a real broker can't be steered")
	}
	t.Parallel()
	j := startJVM(t)
	for name, test := range map[string]func(*stateTest){
		"unsubscribed": unsubscribed, "joining": joining, "reconciling": reconciling, "acknowledging": acknowledging, "stable": stable,
		"fenced": fenced, "prepare-leaving": prepareLeaving, "leaving": leaving, "stale": stale, "fatal": fatal,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			t.Cleanup(cancel)
			k := fakekafka.Start(t, fakekafka.Topic("orders", 4), fakekafka.WaitLimit(limit/2))
			test(&stateTest{T: t, ctx: ctx, j: j, k: k, g: k.Group("billing")})
		})
	}
}

// join starts the consumer and holds its first heartbeat, until it has the metadata of the topic: without it, it would go through RECONCILING and ACKNOWLEDGING
// once with each answer, with nothing. It is closed with the test, before the broker.
func (s *stateTest) join(settings ...string) *fakekafka.Hold {
	s.Helper()
	hold := s.g.Hold(fakekafka.Join)
	var err error
	s.m, err = s.j.start("java-"+s.Name()[len("TestJavaStates/"):], s.k.Bootstrap(), s.g.ID(), "orders", append(settings, "group.protocol=consumer")...)
	require.NoError(s, err)
	s.Cleanup(func() { _ = s.m.close() })
	hold.Await(s)
	require.NoError(s, s.m.until(s.ctx, "the metadata of orders", func() bool { return s.m.known["orders"] }))
	return hold
}

// came waits until the consumer's states, from the first on, end with these.
func (s *stateTest) came(states ...string) {
	s.Helper()
	require.NoError(s, s.m.until(s.ctx, fmt.Sprint("the states ", states), func() bool {
		n := len(s.m.transitions) - len(states)
		return n >= 0 && slices.Equal(s.m.transitions[n:], states)
	}))
}

// passed waits until the consumer has gone through these states, one after the other, wherever it is now.
func (s *stateTest) passed(states ...string) {
	s.Helper()
	require.NoError(s, s.m.until(s.ctx, fmt.Sprint("having passed the states ", states), func() bool {
		for i := range s.m.transitions {
			if rest := s.m.transitions[i:]; len(rest) >= len(states) && slices.Equal(rest[:len(states)], states) {
				return true
			}
		}
		return false
	}))
}

// owns waits until the consumer was told so many partitions.
func (s *stateTest) owns(n int) {
	s.Helper()
	require.NoError(s, s.m.until(s.ctx, fmt.Sprint(n, " partitions"), func() bool { return s.m.owned == n }))
}

// joined starts the consumer and waits until it has everything.
func (s *stateTest) joined(settings ...string) {
	s.Helper()
	s.join(settings...).Release()
	s.owns(4)
	s.g.AwaitFetching(s)
	s.came("JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE")
}

// second lets a scripted member come, for which the consumer has to give up two partitions.
func (s *stateTest) second() {
	s.k.Join(s.g.ID(), fakekafka.Member{ClientID: "second", Topics: []string{"orders"}, Protocol: fakekafka.Consumer})
}

func unsubscribed(s *stateTest) {
	s.joined()
	require.NoError(s, s.m.do(s.ctx, "unsubscribe"))
	s.came("LEAVING", "UNSUBSCRIBED")
	s.owns(0)
	s.g.AwaitStable(s, 0)
	require.NoError(s, s.m.do(s.ctx, "subscribe"))
	s.came("UNSUBSCRIBED", "JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE")
	s.g.AwaitStable(s, 1)
}

func joining(s *stateTest) {
	hold := s.join()
	s.came("JOINING")
	require.Empty(s, s.g.State().Members)
	hold.Release()
	s.came("JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE")
	s.g.AwaitStable(s, 1)
}

// Before it gives partitions up the consumer commits, and it stays in this state while that takes.
func reconciling(s *stateTest) {
	s.joined()
	require.NoError(s, s.k.Topic("orders").Produce(fakekafka.KV("a", "1"), fakekafka.KV("b", "2")))
	require.NoError(s, s.m.until(s.ctx, "the records", func() bool { return s.m.seen["1"]+s.m.seen["2"] == 2 }))
	hold := s.g.Hold(fakekafka.Commit)
	s.second()
	hold.Await(s)
	s.came("STABLE", "RECONCILING")
	require.Len(s, s.state().Revoking["orders"], 2, s.g.Timeline())
	hold.Release()
	s.came("STABLE", "RECONCILING", "ACKNOWLEDGING", "STABLE")
	s.g.AwaitStable(s, 2)
	s.owns(2)
}

// The consumer counts an acknowledgement as done when it sends it.
func acknowledging(s *stateTest) {
	s.joined()
	hold := s.g.Hold(fakekafka.RevokeAck)
	s.second()
	hold.Await(s)
	s.came("RECONCILING", "ACKNOWLEDGING", "STABLE")
	s.owns(2)
	require.Len(s, s.state().Revoking["orders"], 2, "the broker has not heard it yet\n%s", s.g.Timeline())
	hold.Release()
	s.g.AwaitStable(s, 2)
}

func stable(s *stateTest) {
	s.joined()
	s.g.AwaitStable(s, 1)
	state := s.state()
	require.Equal(s, s.g.State().Epoch, state.Epoch)
	require.Len(s, state.Owned["orders"], 4)
}

func fenced(s *stateTest) {
	s.joined()
	id := s.state().ID
	require.NoError(s, s.g.Member(s.m.name).Fence())
	s.came("STABLE", "FENCED", "JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE")
	s.g.AwaitStable(s, 1)
	require.Equal(s, id, s.state().ID, "it comes back under the same member id")
	s.owns(4)
}

func prepareLeaving(s *stateTest) {
	s.joined()
	require.NoError(s, s.m.do(s.ctx, "unsubscribe"))
	s.came("STABLE", "PREPARE_LEAVING", "LEAVING", "UNSUBSCRIBED")
	s.g.AwaitStable(s, 0)
}

// A heartbeat of the consumer's is not answered, so what it says next, that it leaves, doesn't reach the broker. It doesn't wait for that: how long it shows
// LEAVING is up to its threads.
func leaving(s *stateTest) {
	s.joined()
	hold := s.g.Hold(fakekafka.Beat)
	hold.Await(s)
	require.NoError(s, s.j.say("unsubscribe", s.m.name))
	s.passed("STABLE", "PREPARE_LEAVING", "LEAVING")
	s.owns(0)
	require.Len(s, s.state().Owned["orders"], 4, "the broker has not heard it yet")
	hold.Release()
	s.came("LEAVING", "UNSUBSCRIBED")
	s.g.AwaitStable(s, 0)
}

// A consumer that isn't polled for max.poll.interval.ms leaves, and comes back when it is polled again.
func stale(s *stateTest) {
	s.joined("max.poll.interval.ms=1500")
	require.NoError(s, s.m.do(s.ctx, "stall"))
	s.came("STABLE", "PREPARE_LEAVING", "LEAVING", "STALE")
	s.g.AwaitStable(s, 0)
	// It doesn't wait for what the coordinator answers to its leaving, and to the heartbeat before: were it to join amid that, it would take the old epoch for the new
	// one. This goes by the same connection.
	require.NoError(s, s.m.do(s.ctx, "committed"))
	require.NoError(s, s.m.do(s.ctx, "go"))
	s.came("STALE", "JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE")
	s.g.AwaitStable(s, 1)
}

func fatal(s *stateTest) {
	s.joined()
	s.k.On(fakekafka.ConsumerGroupHeartbeat).From(s.m.name).Times(1).Fail(fakekafka.GroupAuthorizationFailed)
	s.came("STABLE", "FATAL")
	require.NoError(s, s.m.until(s.ctx, "its failure", func() bool { return s.m.failed != "" }))
	require.Contains(s, s.m.failed, "GroupAuthorization")
}

func (s *stateTest) state() fakekafka.MemberState {
	s.Helper()
	state, err := s.g.Member(s.m.name).State()
	require.NoError(s, err)
	return state
}
