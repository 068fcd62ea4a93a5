package nightmares

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// journal is what workers did, in order: "worker-1 processed a".
type journal struct {
	mu    sync.Mutex
	lines []string
	more  chan struct{} // capacity 1
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
	j.mu.Unlock()
	select {
	case j.more <- struct{}{}:
	default:
	}
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.lines)
}

// await waits until a line is in the journal.
func (j *journal) await(t *testing.T, line string) {
	t.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	for !slices.Contains(j.all(), line) {
		select {
		case <-j.more:
		case <-limit.C:
			require.Contains(t, j.all(), line)
		}
	}
}

func setup(t *testing.T, partitions int, opts ...fakekafka.Option) (*fakekafka.Cluster, *fakekafka.Group, *journal) {
	k := fakekafka.Start(t, append([]fakekafka.Option{fakekafka.Topic("orders", partitions)}, opts...)...)
	return k, k.Group("billing"), &journal{more: make(chan struct{}, 1)}
}

// start runs a worker until the end of the test, or until stop.
func start(t *testing.T, k *fakekafka.Cluster, j *journal, name string, opts ...kgo.Opt) (stop func()) {
	t.Helper()
	w, err := New(k.Bootstrap(), name,
		func(r *kgo.Record) { j.add("%s processed %s", name, r.Value) },
		func(error) { j.add("%s could not commit", name) }, opts...)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			require.NoError(t, <-ended)
			w.Close()
		})
	}
	t.Cleanup(stop)
	return stop
}

// eachProtocol runs a story in the classic protocol and in that of KIP-848.
func eachProtocol(t *testing.T, story func(t *testing.T, opts ...kgo.Opt)) {
	t.Run("classic", func(t *testing.T) { story(t) })
	t.Run("consumer", func(t *testing.T) { story(t, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer())) })
}

// A worker's commit is on its way when its partition goes to another worker. It must not undo what that one has committed.
func TestCommitAfterRevoke(t *testing.T) { eachProtocol(t, commitAfterRevoke) }

func commitAfterRevoke(t *testing.T, opts ...kgo.Opt) {
	k, g, j := setup(t, 1)
	start(t, k, j, "worker-1", opts...)
	g.AwaitStable(t, 1)

	commit := g.Hold(fakekafka.Commit)
	require.NoError(t, k.Topic("orders").Produce(fakekafka.V("a")))
	commit.Await(t) // worker-1 has processed a; its commit is sent and not handled
	require.NoError(t, g.Member("worker-1").Pause(), "or it would join again at once")
	require.NoError(t, g.Member("worker-1").Evict())

	start(t, k, j, "worker-2", opts...)
	g.AwaitOwner(t, "orders", 0, "worker-2")
	j.await(t, "worker-2 processed a") // nobody had committed it
	commit.Release()
	g.AwaitCommitted(t, "orders", 0, 1)
	require.NoError(t, k.Topic("orders").Produce(fakekafka.V("b")))
	g.AwaitCommitted(t, "orders", 0, 2)

	require.NoError(t, g.Member("worker-1").Resume())
	j.await(t, "worker-1 could not commit")
	g.RequireCommitted(t, "orders", 0, 2)
}

// A worker hangs (a long garbage collection, a suspended machine), is declared dead, and goes on as if nothing had happened.
func TestZombieAfterPause(t *testing.T) { eachProtocol(t, zombieAfterPause) }

func zombieAfterPause(t *testing.T, opts ...kgo.Opt) {
	k, g, j := setup(t, 1)
	start(t, k, j, "worker-1", opts...)
	g.AwaitStable(t, 1)
	require.NoError(t, k.Topic("orders").Produce(fakekafka.V("a")))
	g.AwaitCommitted(t, "orders", 0, 1)
	start(t, k, j, "worker-2", opts...)
	g.AwaitStable(t, 2)
	owner, _ := g.Owner("orders", 0)
	other := map[string]string{"worker-1": "worker-2", "worker-2": "worker-1"}[owner]

	require.NoError(t, g.Member(owner).Pause())
	require.NoError(t, k.Topic("orders").Produce(fakekafka.V("b")))
	require.NoError(t, k.FastForward(46*time.Second)) // past the session timeout
	g.AwaitOwner(t, "orders", 0, other)
	j.await(t, other+" processed b")
	g.AwaitCommitted(t, "orders", 0, 2)

	require.NoError(t, g.Member(owner).Resume())
	g.AwaitStable(t, 2)
	g.RequireCommitted(t, "orders", 0, 2)
	g.RequireNoDoubleOwner(t)
}

// A third worker comes while the second one is still being let in: one rebalance in the middle of another.
func TestDoubleRebalance(t *testing.T) {
	k, g, j := setup(t, 6)
	start(t, k, j, "worker-1")
	g.AwaitStable(t, 1)

	sync := g.Hold(fakekafka.Sync)
	start(t, k, j, "worker-2")
	sync.Await(t) // both have joined; the leader's assignment is not handed out
	start(t, k, j, "worker-3")
	require.NoError(t, g.Rebalance()) // the next round begins before the first has ended
	sync.Release()

	g.AwaitStable(t, 3)
	g.RequireBalanced(t)
	g.RequireNoDoubleOwner(t)
}

// A worker dies after it has processed a record and before its commit: the record is processed again.
func TestCrashBetweenProcessAndCommit(t *testing.T) { eachProtocol(t, crashBetweenProcessAndCommit) }

func crashBetweenProcessAndCommit(t *testing.T, opts ...kgo.Opt) {
	k, g, j := setup(t, 1)
	start(t, k, j, "worker-1", opts...)
	g.AwaitStable(t, 1)
	crash := k.On(fakekafka.OffsetCommit).From("worker-1").Hold()
	require.NoError(t, k.Topic("orders").Produce(fakekafka.V("a")))
	crash.Await(t)
	require.NoError(t, g.Member("worker-1").Pause()) // nothing of it gets through any more
	k.DropConnections("worker-1")
	crash.Release()

	start(t, k, j, "worker-2", opts...)
	require.NoError(t, k.FastForward(46*time.Second))
	j.await(t, "worker-2 processed a")
	g.AwaitCommitted(t, "orders", 0, 1)
	require.Equal(t, []string{"worker-1 processed a", "worker-2 processed a"}, j.all())
	require.NoError(t, g.Member("worker-1").Resume())
}

// The leader of a classic group has to hand out the assignment, and dies before it does. The others must not wait for it for ever.
func TestLeaderDiesBeforeSync(t *testing.T) {
	k, g, j := setup(t, 6)
	g.ExpectMembers(2)
	sync := g.Hold(fakekafka.Sync)
	start(t, k, j, "worker-1")
	start(t, k, j, "worker-2")
	sync.Await(t)
	leader := leaderOf(g)
	other := map[string]string{"worker-1": "worker-2", "worker-2": "worker-1"}[leader]
	require.NoError(t, g.Member(leader).Pause())
	sync.Release()
	require.NoError(t, k.FastForward(46*time.Second)) // its session ends; its assignment never came

	g.AwaitAssignment(t, fakekafka.Assignment{other: {"orders": {0, 1, 2, 3, 4, 5}}})
	require.NoError(t, g.Member(leader).Resume())
	g.AwaitStable(t, 2)
	g.RequireBalanced(t)
	g.RequireNoDoubleOwner(t)
}

func leaderOf(g *fakekafka.Group) string {
	s := g.State()
	for _, m := range s.Members {
		if m.ID == s.Leader {
			return m.ClientID
		}
	}
	return ""
}
