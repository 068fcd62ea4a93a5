package clienttests

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// The life of a group: its members come, go, crash, are restarted one after the other, and its coordinator moves, while a
// producer sends. Whatever happens, no partition has two owners, and every record reaches a member.

// lifeKind starts a member of one client in one protocol. A topic that begins with ^ is a regular expression.
type lifeKind struct {
	name     string
	protocol fakekafka.Protocol
	start    func(addr, group, topic, clientID, instanceID string) (*worker, error)
}

func lifeKinds() []lifeKind {
	return append([]lifeKind{
		{"franz-go cooperative-sticky", fakekafka.Classic, franzLife(kgo.Balancers(kgo.CooperativeStickyBalancer()))},
		{"franz-go KIP-848", fakekafka.Consumer, franzLife(kgo.Balancers(kgo.StickyBalancer()), kgo.ServerSideBalancer())},
	}, confluentLifeKinds()...)
}

func franzLife(opts ...kgo.Opt) func(addr, group, topic, clientID, instanceID string) (*worker, error) {
	return func(addr, group, topic, clientID, instanceID string) (*worker, error) {
		all := append(slices.Clone(opts), kgo.ClientID(clientID))
		if instanceID != "" {
			all = append(all, kgo.InstanceID(instanceID))
		}
		if topic[0] == '^' { // it looks for new topics when it refreshes its metadata
			all = append(all, kgo.ConsumeRegex(), kgo.MetadataMinAge(50*time.Millisecond), kgo.MetadataMaxAge(100*time.Millisecond))
		}
		return franzWorker(all...)(addr, group, topic)
	}
}

// life is a group whose members come and go.
type life struct {
	*testing.T
	ctx     context.Context
	kind    lifeKind
	k       *fakekafka.Cluster
	g       *fakekafka.Group
	topic   string
	members map[string]*worker // by client id
	gone    []*worker
	static  bool
}

func newLife(t *testing.T, kind lifeKind, topic string) *life {
	if os.Getenv("FAKEKAFKA_BOOTSTRAP") != "" {
		t.Skip("a real broker can't be steered")
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	k := fakekafka.Start(t, fakekafka.Brokers(3), fakekafka.Topic("orders-eu", 6), fakekafka.WaitLimit(40*time.Second))
	l := &life{T: t, ctx: ctx, kind: kind, k: k, g: k.Group("billing"), topic: topic, members: map[string]*worker{}}
	t.Cleanup(func() {
		for _, w := range l.members {
			_ = w.close()
		}
	})
	return l
}

// join lets members come, and waits until the group has settled.
func (l *life) join(names ...string) {
	l.Helper()
	for _, name := range names {
		instance := ""
		if l.static {
			instance = "instance-of-" + name
		}
		w, err := l.kind.start(l.k.Bootstrap(), l.g.ID(), l.topic, name, instance)
		require.NoError(l, err)
		l.members[name] = w
	}
	l.settled(len(l.members))
}

// leave closes a member.
func (l *life) leave(name string) {
	l.Helper()
	require.NoError(l, l.members[name].close())
	l.gone = append(l.gone, l.members[name])
	delete(l.members, name)
}

func (l *life) settled(n int) {
	l.Helper()
	l.g.AwaitStable(l, n)
	l.g.AwaitFetching(l)
	l.g.RequireBalanced(l)
}

// during runs a story while a producer sends, and then looks at what became of the records.
func (l *life) during(story func()) {
	l.Helper()
	stop := make(chan struct{})
	sent := produceSteadily(l.ctx, l.k.Bootstrap(), "orders-eu", stop)
	story()
	close(stop)
	<-sent.done
	require.NoError(l, sent.err)
	require.NotEmpty(l, sent.values)
	missing := func() (lost []string) {
		for _, v := range sent.values {
			n := 0
			for _, w := range l.gone {
				n += w.received(v)
			}
			for _, w := range l.members {
				n += w.received(v)
			}
			if n == 0 {
				lost = append(lost, v)
			}
		}
		return lost
	}
	ctx, cancel := context.WithTimeout(l.ctx, 20*time.Second)
	defer cancel()
	require.NoError(l, (&env{}).until(ctx, func() error {
		if lost := missing(); len(lost) > 0 {
			return fmt.Errorf("%d of %d records reached nobody: %v", len(lost), len(sent.values), lost)
		}
		return nil
	}), "%s", l.g.Timeline())
	l.g.RequireNoDoubleOwner(l)
	l.g.RequireNothingSkipped(l)
}

func TestGroupLife(t *testing.T) {
	for _, kind := range lifeKinds() {
		t.Run(kind.name, func(t *testing.T) {
			t.Run("scale", func(t *testing.T) { scale(newLife(t, kind, "orders-eu")) })
			t.Run("crash", func(t *testing.T) { crash(newLife(t, kind, "orders-eu")) })
			t.Run("rolling restart", func(t *testing.T) { rollingRestart(newLife(t, kind, "orders-eu")) })
			// franz-go 1.22.3 leaves with epoch -2 but without its instance id. Apache Kafka refuses that, too ("InstanceId can't be
			// null."), so that nobody gets its place before the session is over.
			if kind.name != "franz-go KIP-848" {
				t.Run("rolling restart of static members", func(t *testing.T) { staticRestart(newLife(t, kind, "orders-eu")) })
			}
			if kind.name == "librdkafka KIP-848" { // it waits a second for the answer of a heartbeat, others at least ten
				t.Run("late answer", func(t *testing.T) { lateAnswer(newLife(t, kind, "orders-eu")) })
			}
			t.Run("regular expression", func(t *testing.T) { regularExpression(newLife(t, kind, "^orders-.*")) })
			t.Run("coordinator", func(t *testing.T) { coordinatorMoves(newLife(t, kind, "orders-eu")) })
		})
	}
}

func scale(l *life) {
	l.during(func() {
		l.join("worker-1")
		l.join("worker-2")
		l.join("worker-3")
		l.g.RequireSticky(l)
		l.leave("worker-2")
		l.settled(2)
		l.join("worker-4", "worker-5")
		l.leave("worker-1")
		l.leave("worker-3")
		l.settled(2)
	})
}

// lateAnswer keeps the answer that tells a member to give partitions up until its client has given the heartbeat up, as a machine does that is busy with
// other things. Its next heartbeat, by another connection, is told.
func lateAnswer(l *life) {
	l.during(func() {
		l.join("worker-1")
		require.NoError(l, l.g.Member("worker-1").Pause(fakekafka.GroupTraffic))
		w, err := l.kind.start(l.k.Bootstrap(), l.g.ID(), l.topic, "worker-2", "")
		require.NoError(l, err)
		l.members["worker-2"] = w
		beats := l.k.Requests(fakekafka.ConsumerGroupHeartbeat)
		beats.From("worker-2").AwaitCount(l, 1)
		late := l.k.On(fakekafka.ConsumerGroupHeartbeat).From("worker-1").Times(1).HoldReply()
		require.NoError(l, l.g.Member("worker-1").Resume())
		late.Await(l)
		beats = l.k.Requests(fakekafka.ConsumerGroupHeartbeat).From("worker-1")
		beats.AwaitCount(l, beats.Count()+1)
		late.Release()
		l.settled(2)
	})
}

// crash lets a member fall silent until its session is over, and come back as if nothing had happened.
func crash(l *life) {
	l.during(func() {
		l.join("worker-1", "worker-2", "worker-3")
		require.NoError(l, l.g.Member("worker-2").Pause())
		require.NoError(l, l.k.FastForward(46*time.Second))
		l.settled(2)
		require.NoError(l, l.g.Member("worker-2").Resume())
		l.settled(3)
	})
}

func rollingRestart(l *life) {
	l.during(func() {
		l.join("worker-1", "worker-2", "worker-3")
		for i := range 3 {
			name := fmt.Sprintf("worker-%d", i+1)
			l.leave(name)
			l.settled(2)
			l.join(name)
		}
	})
}

// staticRestart restarts static members: each finds its partitions again, and no other notices.
func staticRestart(l *life) {
	l.static = true
	l.during(func() {
		l.join("worker-1", "worker-2", "worker-3")
		had, epoch := l.g.Assignment(), l.g.State().Epoch
		for i := range 3 {
			name := fmt.Sprintf("worker-%d", i+1)
			l.leave(name)
			l.join(name)
			// A classic member doesn't say when it goes: the broker may learn of the restart only now.
			l.g.AwaitAssignment(l, had)
		}
		require.Equal(l, epoch, l.g.State().Epoch, "no rebalance\n%s", l.g.Timeline())
	})
}

func regularExpression(l *life) {
	l.during(func() {
		l.join("worker-1", "worker-2")
		require.NoError(l, l.k.Topic("orders-us").Create(4))
		l.g.AwaitOwner(l, "orders-us", 0, l.ownerOf("orders-us", 0))
		l.settled(2)
	})
}

// ownerOf waits until somebody owns a partition.
func (l *life) ownerOf(topic string, partition int32) (owner string) {
	l.Helper()
	require.NoError(l, (&env{}).until(l.ctx, func() error {
		var ok bool
		if owner, ok = l.g.Owner(topic, partition); !ok {
			return fmt.Errorf("nobody owns %s-%d\n%s", topic, partition, l.g.Timeline())
		}
		return nil
	}))
	return owner
}

// coordinatorMoves restarts the coordinator in every way: the members go on at the same epoch.
func coordinatorMoves(l *life) {
	l.during(func() {
		l.join("worker-1", "worker-2", "worker-3")
		had, epoch := l.g.Assignment(), l.g.State().Epoch
		same := func() {
			l.Helper()
			l.settled(3)
			l.g.RequireAssignment(l, had)
			require.Equal(l, epoch, l.g.State().Epoch, "no rebalance\n%s", l.g.Timeline())
		}
		require.NoError(l, l.g.ReloadCoordinator())
		same()
		for b := range 3 {
			require.NoError(l, l.g.MoveCoordinator(b+1))
			same()
		}
		require.NoError(l, l.k.Broker(3).Restart())
		same()
	})
}
