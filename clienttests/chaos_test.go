package clienttests

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// TestChaos: consumers come, go, crash and are thrown out while brokers restart, leaders and the coordinator move and fetch sessions are forgotten. What was
// acknowledged is in the log once, in order, and was consumed at least once; no partition had two owners. FAKEKAFKA_CHAOS says how long
// (default 2s).
func TestChaos(t *testing.T) {
	if os.Getenv("FAKEKAFKA_BOOTSTRAP") != "" {
		t.Skip("a real broker can't be told to do all this")
	}
	t.Parallel()
	long := 2 * time.Second
	if s := os.Getenv("FAKEKAFKA_CHAOS"); s != "" {
		var err error
		long, err = time.ParseDuration(s)
		require.NoError(t, err)
	}
	for name, opts := range map[string][]kgo.Opt{
		"eager":       {kgo.Balancers(kgo.RangeBalancer())},
		"cooperative": {kgo.Balancers(kgo.CooperativeStickyBalancer())},
		"KIP-848":     {kgo.Balancers(kgo.StickyBalancer()), kgo.ServerSideBalancer()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chaos(t, long, rand.Uint64(), opts)
		})
	}
}

func chaos(t *testing.T, long time.Duration, seed uint64, opts []kgo.Opt) {
	t.Logf("seed %d", seed)
	const parts = 6
	k := fakekafka.Start(t, fakekafka.Brokers(3), fakekafka.Topic("orders", parts, fakekafka.Replicas(3)), fakekafka.WaitLimit(30*time.Second), fakekafka.Seed(seed|1))
	stop, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := &ledger{}
	var crew sync.WaitGroup
	hire := func(id string, ctx context.Context) *consumer {
		w, err := newConsumer(k, id, opts)
		require.NoError(t, err)
		crew.Go(func() { w.work(ctx, seen) })
		return w
	}
	stay := hire("stays", stop)
	defer stay.cl.Close()

	sent := make(chan int, 1)
	go func() { sent <- produceUntil(t, stop, k) }()
	r := rand.New(rand.NewPCG(seed, 1))
	g := k.Group("workers")
	var temps, crashed []*consumer
	for i, end := 0, time.Now().Add(long); time.Now().Before(end); i++ {
		id := r.IntN(3) + 1
		switch r.IntN(9) {
		case 0:
			require.NoError(t, k.Broker(id).Restart())
		case 1:
			require.NoError(t, k.Broker(id).Kill())
			require.NoError(t, k.Broker(id).Start())
		case 2:
			require.NoError(t, k.Topic("orders").MoveLeader(int32(r.IntN(parts)), id))
		case 3:
			require.NoError(t, g.MoveCoordinator(id))
		case 4:
			require.NoError(t, g.ReloadCoordinator())
		case 5:
			k.FetchSessions().EvictAll()
		case 6:
			require.NoError(t, g.MoveCoordinator(id%3+1))
			require.NoError(t, k.Topic("orders").MoveLeader(int32(r.IntN(parts)), id))
		case 7:
			if len(temps) < 3 {
				temps = append(temps, hire(fmt.Sprintf("temp-%d", i), stop))
			}
		case 8:
			if len(temps) > 0 {
				w := temps[0]
				temps = temps[1:]
				if r.IntN(2) == 0 {
					w.cutOff(true)
					w.cancel()
					crashed = append(crashed, w)
				} else {
					crew.Go(w.leave)
				}
			}
		}
		time.Sleep(time.Duration(r.IntN(40)) * time.Millisecond) // the dose, not a wait for anything
	}
	for _, w := range temps {
		crew.Go(w.leave)
	}
	require.NoError(t, k.FastForward(time.Minute)) // those that crashed are members until their sessions end, and hold up rebalances
	cancel()
	n := <-sent
	crew.Wait()
	last, err := newConsumer(k, "last", opts)
	require.NoError(t, err)
	end, over := context.WithCancel(t.Context())
	defer over()
	crew.Go(func() { last.work(end, seen) })
	stay.cl.Close()
	require.NoError(t, k.FastForward(time.Minute)) // as did those that were closed while they joined: they didn't know yet as whom
	g.AwaitStable(t, 1)                            // who owns nothing yet lags behind nothing
	g.AwaitLag(t, 0)
	over()
	for _, w := range crashed {
		w.cutOff(false) // the client would try to leave for as long as its session lasts
		crew.Go(w.leave)
	}
	crew.Wait()
	last.cl.Close()

	require.Positive(t, n)
	inLog, at := map[string]int{}, map[string]fakekafka.Record{}
	for _, rec := range k.Topic("orders").Records() {
		inLog[string(rec.Value)]++
		at[string(rec.Value)] = rec
	}
	var lost []string
	for i := range n {
		v := fmt.Sprint(i)
		require.Equal(t, 1, inLog[v], "record %s in the log: it was acknowledged to an idempotent producer", v)
		if seen.times(v) == 0 {
			offset, _ := g.Committed("orders", at[v].Partition)
			lost = append(lost, fmt.Sprintf("%s at %d-%d (committed: %d)", v, at[v].Partition, at[v].Offset, offset))
		}
	}
	require.Len(t, inLog, n, "records in the log")
	require.Empty(t, lost, "acknowledged and committed, but consumed by nobody; skipped: %s", g.Skipped())
	g.RequireNoDoubleOwner(t)
	t.Logf("%d records, consumed %d times", n, seen.all())
}

// produceUntil sends 0, 1, 2, ... and answers how many; each has been acknowledged.
func produceUntil(t *testing.T, stop context.Context, k *fakekafka.Cluster) int {
	cl, err := kgo.NewClient(append(quick(k), kgo.ClientID("producer"), kgo.DefaultProduceTopic("orders"))...)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer cl.Close()
	n := 0
	for stop.Err() == nil {
		var batch []*kgo.Record
		for range 10 {
			batch = append(batch, kgo.StringRecord(fmt.Sprint(n)))
			n++
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(stop), 30*time.Second)
		if err := cl.ProduceSync(ctx, batch...).FirstErr(); err != nil {
			t.Errorf("produce: %v", err)
		}
		cancel()
		time.Sleep(time.Millisecond) // the dose
	}
	return n
}

// quick are options of a client that doesn't wait long before it tries again.
func quick(k *fakekafka.Cluster) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(k.Addrs()...), kgo.MetadataMinAge(10 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 10 * time.Millisecond }),
	}
}

type ledger struct {
	mu sync.Mutex
	n  map[string]int
}

func (l *ledger) note(v string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n == nil {
		l.n = map[string]int{}
	}
	l.n[v]++
}

func (l *ledger) times(v string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n[v]
}

func (l *ledger) all() (sum int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.n {
		sum += n
	}
	return sum
}

// consumer commits what it has consumed, until it leaves or crashes.
type consumer struct {
	cl     *kgo.Client
	mu     sync.Mutex
	conns  []net.Conn
	gone   bool
	cancel context.CancelFunc
	ctx    context.Context
	idle   chan struct{} // closed when work has ended
}

func newConsumer(k *fakekafka.Cluster, id string, opts []kgo.Opt) (*consumer, error) {
	w := &consumer{idle: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	cl, err := kgo.NewClient(append(append(quick(k), kgo.ClientID(id), kgo.ConsumerGroup("workers"), kgo.ConsumeTopics("orders"), kgo.DisableAutoCommit(),
		kgo.FetchMaxWait(100*time.Millisecond), kgo.HeartbeatInterval(100*time.Millisecond), kgo.Dialer(w.dial)), opts...)...)
	w.cl = cl
	return w, err
}

func (w *consumer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		nc.Close()
		return nil, errors.New("the process has crashed")
	}
	w.conns = append(w.conns, nc)
	return nc, nil
}

// cutOff makes it vanish from the network, as when its process crashes: it neither commits nor says goodbye.
func (w *consumer) cutOff(gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = gone
	for _, nc := range w.conns {
		nc.Close()
	}
}

func (w *consumer) work(stop context.Context, seen *ledger) {
	defer close(w.idle)
	defer w.cancel()
	defer context.AfterFunc(stop, w.cancel)()
	for w.ctx.Err() == nil {
		fs := w.cl.PollFetches(w.ctx)
		if w.ctx.Err() != nil {
			return // kgo may have counted records as polled that it didn't hand out: they must not be committed
		}
		fs.EachRecord(func(r *kgo.Record) { seen.note(string(r.Value)) })
		_ = w.cl.CommitUncommittedOffsets(w.ctx) // what isn't committed comes again
	}
}

func (w *consumer) leave() {
	w.cancel()
	<-w.idle
	w.cl.Close()
}
