package clienttests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fakekafka/fakekafka/fakekafka"
	"github.com/fakekafka/fakekafka/groups"
)

// fakekafka lets a heartbeat wait for news, so that a member with default settings hears of a rebalance at once. These tests hold it to that,
// client by client, and see to it that no client's consumption waits along.

// worker is a member that runs in the background with its library's default settings.
type worker struct {
	mu    sync.Mutex
	owned int            // partitions that its user was told it has
	seen  map[string]int // values received, and how often
	moved chan struct{}  // capacity 1: something changed
	close func() error   // leaves the group
}

func newWorker() *worker { return &worker{seen: map[string]int{}, moved: make(chan struct{}, 1)} }

func (w *worker) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	select {
	case w.moved <- struct{}{}:
	default:
	}
}

func (w *worker) has() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.owned
}

func (w *worker) received(value string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[value]
}

// workerKind is a client library with one of its strategies.
type workerKind struct {
	name  string
	start func(addr, group, topic string) (*worker, error)
	// held: it is in fakekafka's table of clients that bear a held heartbeat.
	held bool
}

func workerKinds() []workerKind {
	return append([]workerKind{
		{"kgo range", franzWorker(kgo.RangeBalancer()), true},
		{"kgo sticky", franzWorker(kgo.StickyBalancer()), true},
		{"kgo cooperative-sticky", franzWorker(kgo.CooperativeStickyBalancer()), true},
		// Its Close waits for the answer of the heartbeat under way.
		{"kafka-go range", kafkaGoWorker, true},
		{"sarama range", saramaWorker, false},
	}, confluentWorkers()...)
}

func franzWorker(balancer kgo.GroupBalancer) func(addr, group, topic string) (*worker, error) {
	return func(addr, group, topic string) (*worker, error) {
		w := newWorker()
		count := func(sign int) func(context.Context, *kgo.Client, map[string][]int32) {
			return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
				w.change(func() { w.owned += sign * len(partitions[topic]) })
			}
		}
		revoked := func(ctx context.Context, cl *kgo.Client, partitions map[string][]int32) {
			_ = cl.CommitUncommittedOffsets(ctx) // what kgo does by itself without a callback
			count(-1)(ctx, cl, partitions)
		}
		cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.Balancers(balancer),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.OnPartitionsAssigned(count(1)), kgo.OnPartitionsRevoked(revoked), kgo.OnPartitionsLost(count(-1)))
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ctx.Err() == nil {
				cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) { w.change(func() { w.seen[string(r.Value)]++ }) })
			}
		}()
		w.close = func() error {
			cancel()
			<-done
			cl.Close()
			return nil
		}
		return w, nil
	}
}

// kafkaGoWorker uses ConsumerGroup, which tells what a member was assigned, and reads each partition as Reader does.
func kafkaGoWorker(addr, group, topic string) (*worker, error) {
	w := newWorker()
	cg, err := kafkago.NewConsumerGroup(kafkago.ConsumerGroupConfig{ID: group, Brokers: []string{addr}, Topics: []string{topic}, StartOffset: kafkago.FirstOffset})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			gen, err := cg.Next(ctx)
			if err != nil {
				continue // the end, or a rebalance, which it reports as an error
			}
			w.change(func() { w.owned = len(gen.Assignments[topic]) })
			for _, a := range gen.Assignments[topic] {
				gen.Start(func(ctx context.Context) { w.readPartition(ctx, addr, topic, gen, a) })
			}
			gen.Start(func(ctx context.Context) {
				<-ctx.Done()
				w.change(func() { w.owned = 0 })
			})
		}
	}()
	w.close = func() error {
		err := cg.Close()
		cancel()
		<-done
		return err
	}
	return w, nil
}

func (w *worker) readPartition(ctx context.Context, addr, topic string, gen *kafkago.Generation, a kafkago.PartitionAssignment) {
	r := kafkago.NewReader(kafkago.ReaderConfig{Brokers: []string{addr}, Topic: topic, Partition: a.ID, MaxWait: 100 * time.Millisecond})
	defer r.Close()
	if err := r.SetOffset(a.Offset); err != nil {
		return
	}
	next := int64(-1)
	for {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			break
		}
		w.change(func() { w.seen[string(m.Value)]++ })
		next = m.Offset + 1
	}
	if next >= 0 {
		_ = gen.CommitOffsets(map[string]map[int]int64{topic: {a.ID: next}})
	}
}

// saramaWorker is not held: sarama locks its broker for the time of a heartbeat.
func saramaWorker(addr, group, topic string) (*worker, error) {
	w := newWorker()
	cfg := sarama.NewConfig()
	cfg.Consumer.Offsets.Initial = sarama.OffsetOldest
	cg, err := sarama.NewConsumerGroup([]string{addr}, group, cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := cg.Consume(ctx, []string{topic}, watchingHandler{w, topic}); err != nil && !errors.Is(err, sarama.ErrClosedConsumerGroup) {
				continue
			}
		}
	}()
	w.close = func() error {
		cancel()
		<-done
		return cg.Close()
	}
	return w, nil
}

type watchingHandler struct {
	w     *worker
	topic string
}

func (h watchingHandler) Setup(s sarama.ConsumerGroupSession) error {
	h.w.change(func() { h.w.owned = len(s.Claims()[h.topic]) })
	return nil
}

func (h watchingHandler) Cleanup(sarama.ConsumerGroupSession) error {
	h.w.change(func() { h.w.owned = 0 })
	return nil
}

func (h watchingHandler) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for {
		select {
		case <-s.Context().Done():
			return nil
		case m, ok := <-c.Messages():
			if !ok {
				return nil
			}
			h.w.change(func() { h.w.seen[string(m.Value)]++ })
			s.MarkMessage(m, "")
		}
	}
}

// await waits until ok says so, woken by the workers' changes.
func await(ctx context.Context, what string, ok func() bool, workers ...*worker) error {
	tick := time.NewTicker(10 * time.Millisecond) // the broker may be the one that changes
	defer tick.Stop()
	for !ok() {
		wake := workers[0].moved
		select {
		case <-wake:
		case <-tick.C:
		case <-ctx.Done():
			var have []int
			for _, w := range workers {
				have = append(have, w.has())
			}
			return fmt.Errorf("waiting for %s: %w; the members have %v partitions", what, ctx.Err(), have)
		}
	}
	return nil
}

// TestPromptRebalances measures how long two members take to share four partitions when the second comes, and the first to have
// all of them again when it goes, with default settings, while their heartbeats wait for news. With FAKEKAFKA_BOOTSTRAP it prints what
// that broker takes, past the members' first heartbeat.
func TestPromptRebalances(t *testing.T) {
	for _, kind := range workerKinds() {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			rebalances(t, kind)
		})
	}
}

func rebalances(t *testing.T, kind workerKind) {
	const topicPartitions = 4
	var k *fakekafka.Cluster
	var e *env
	topic, group := "orders", "workers"
	if os.Getenv("FAKEKAFKA_BOOTSTRAP") == "" {
		k = fakekafka.Start(t, fakekafka.Topic(topic, topicPartitions))
		e = &env{addr: k.Bootstrap()}
		var cancel context.CancelFunc
		e.ctx, cancel = context.WithTimeout(context.Background(), limit)
		defer cancel()
	} else {
		e = broker(t)
		topic, group = e.topic(t, topic), e.group(t, group)
		require.NoError(t, franz{}.create(e.ctx, e.addr, topic, topicPartitions))
		e.awaitTopic(t, topic, topicPartitions)
	}
	// settled waits until the members' heartbeats wait; of another broker that can't be seen, so their first interval passes.
	settled := func(n int) {
		if k == nil {
			time.Sleep(4 * time.Second)
			return
		}
		k.Group(group).AwaitFetching(t) // until then requests of the same connection let a heartbeat go at once
		if kind.held {
			require.NoError(t, e.until(e.ctx, func() error { return heartbeatsHeld(k.Group(group).State(), n) }))
		}
	}

	first, err := kind.start(e.addr, group, topic)
	require.NoError(t, err)
	require.NoError(t, await(e.ctx, "the first assignment", func() bool { return first.has() == topicPartitions }, first))
	settled(1)
	stop := make(chan struct{})
	sent := steady(e.ctx, t, e.addr, topic, stop)

	start := time.Now()
	second, err := kind.start(e.addr, group, topic)
	require.NoError(t, err)
	require.NoError(t, await(e.ctx, "both members' share", func() bool { return first.has() == 2 && second.has() == 2 }, first, second))
	join := time.Since(start)
	settled(2)

	start = time.Now()
	require.NoError(t, second.close())
	closing := time.Since(start)
	require.NoError(t, await(e.ctx, "all partitions again", func() bool { return first.has() == topicPartitions }, first))
	leave := time.Since(start)

	close(stop)
	values := <-sent
	twice := 0
	for _, v := range values {
		require.NoError(t, await(e.ctx, v, func() bool { return first.received(v)+second.received(v) > 0 }, first))
	}
	require.NoError(t, first.close())
	for _, v := range values {
		if first.received(v)+second.received(v) > 1 {
			twice++
		}
	}
	t.Logf("%-24s join %6.0f ms   leave %6.0f ms (its Close alone %.0f ms)   %d records, %d more than once",
		kind.name, ms(join), ms(leave), ms(closing), len(values), twice)
	if k != nil && kind.held {
		requireToldAtOnce(t, k.Group(group))
		k.Group(group).RequireNoDoubleOwner(t)
		k.Group(group).RequireNothingSkipped(t)
	}
}

// requireToldAtOnce wants the join and the leave of the second member told to the first in the very step of the coordinator that they
// happened in: by the answer of its heartbeat, which waited. On Apache Kafka that is up to the interval of 3 s later.
func requireToldAtOnce(t *testing.T, g *fakekafka.Group) {
	var first string
	told := map[time.Time]bool{}
	for _, ev := range g.History() {
		switch {
		case ev.Kind == groups.EventJoined && first == "":
			first = ev.Member
		case ev.Kind == groups.EventToldToRebalance && ev.Member == first:
			told[ev.At] = true
		}
	}
	causes := 0
	for _, ev := range g.History() {
		if ev.Kind != groups.EventRebalance || ev.Epoch == 0 || !strings.HasSuffix(ev.Cause, " joined") && !strings.HasSuffix(ev.Cause, " left") {
			continue
		}
		if causes++; causes > 2 {
			break // the first member's own leave
		}
		require.True(t, told[ev.At], "%q was not told to the first member at once\n%s", ev.Cause, g.Timeline())
	}
	require.GreaterOrEqual(t, causes, 2, "%s", g.Timeline())
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// heartbeatsHeld complains unless the group has n members, each with a heartbeat that waits.
func heartbeatsHeld(g fakekafka.GroupState, n int) error {
	held := 0
	for _, m := range g.Members {
		if m.ParkedIn == "heartbeat" {
			held++
		}
	}
	if held != n || len(g.Members) != n {
		return fmt.Errorf("the heartbeats of %d of %d members wait, want %d", held, len(g.Members), n)
	}
	return nil
}

// steady produces a record every few milliseconds until stop, and then answers their values.
func steady(ctx context.Context, t *testing.T, addr, topic string, stop chan struct{}) chan []string {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	require.NoError(t, err)
	sent := make(chan []string, 1)
	go func() {
		defer cl.Close()
		var values []string
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			v := fmt.Sprint("record-", i)
			if err := cl.ProduceSync(ctx, &kgo.Record{Value: []byte(v)}).FirstErr(); err != nil {
				t.Errorf("producing: %v", err)
			}
			values = append(values, v)
			select {
			case <-stop:
				sent <- values
				return
			case <-tick.C:
			}
		}
	}()
	return sent
}

// TestConsumptionWhileHeartbeatsAreHeld sends records one at a time while one and the same heartbeat of the consumer waits: each must arrive all
// the same. A client whose consumption stood still meanwhile does not belong in the table.
func TestConsumptionWhileHeartbeatsAreHeld(t *testing.T) {
	if os.Getenv("FAKEKAFKA_BOOTSTRAP") != "" {
		t.Skip("a real broker holds no heartbeats")
	}
	for _, kind := range workerKinds() {
		if kind.held {
			t.Run(kind.name, func(t *testing.T) {
				t.Parallel()
				consumesWhileHeld(t, kind)
			})
		}
	}
}

func consumesWhileHeld(t *testing.T, kind workerKind) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 4))
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	e := &env{addr: k.Bootstrap(), ctx: ctx}
	w, err := kind.start(e.addr, "workers", "orders")
	require.NoError(t, err)
	defer func() { require.NoError(t, w.close()) }()
	cl, err := kgo.NewClient(kgo.SeedBrokers(e.addr), kgo.DefaultProduceTopic("orders"))
	require.NoError(t, err)
	defer cl.Close()

	const records, attempts = 20, 8
	var last groups.MemberState
	for attempt := range attempts {
		require.NoError(t, e.until(ctx, func() error { return heartbeatsHeld(k.Group("workers").State(), 1) }))
		before := k.Requests(fakekafka.Heartbeat).Count()
		for i := range records {
			v := fmt.Sprint("record-", attempt, "-", i)
			require.NoError(t, cl.ProduceSync(ctx, &kgo.Record{Value: []byte(v)}).FirstErr())
			require.NoError(t, await(ctx, v, func() bool { return w.received(v) > 0 }, w))
		}
		g := k.Group("workers").State()
		require.Len(t, g.Members, 1)
		if last = g.Members[0]; last.ParkedIn == "heartbeat" && k.Requests(fakekafka.Heartbeat).Count() == before {
			return
		}
		// Its time was over, or a commit came on the same connection: once more.
	}
	t.Fatalf("in %d attempts no heartbeat waited while %d records were consumed; the member: %+v", attempts, records, last)
}
