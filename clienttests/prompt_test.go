package clienttests

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fakekafka/fakekafka/fakekafka"
	"github.com/fakekafka/fakekafka/groups"
)

// fakekafka lets a heartbeat wait for news, so that a member with default settings hears of a rebalance at once. These tests hold it to that,
// client by client, and see to it that no client's consumption waits along.

// workerKind is a client library with one of its strategies.
type workerKind struct {
	name  string
	start func(addr, group, topic string) (*worker, error)
	// held: it is in fakekafka's table of clients that bear a held heartbeat.
	held bool
}

func workerKinds() []workerKind {
	return append([]workerKind{
		{"kgo range", franzWorker(kgo.Balancers(kgo.RangeBalancer())), true},
		{"kgo sticky", franzWorker(kgo.Balancers(kgo.StickyBalancer())), true},
		{"kgo cooperative-sticky", franzWorker(kgo.Balancers(kgo.CooperativeStickyBalancer())), true},
		// Its Close waits for the answer of the heartbeat under way.
		{"kafka-go range", kafkaGoWorker, true},
		{"sarama range", saramaWorker, false},
	}, confluentWorkers()...)
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
	sent := produceSteadily(e.ctx, e.addr, topic, stop)

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
	<-sent.done
	require.NoError(t, sent.err)
	values := sent.soFar()
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
