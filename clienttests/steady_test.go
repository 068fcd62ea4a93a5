package clienttests

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// TestSteadyConsumption compares, for each client whose heartbeats are held, how much it consumes while they are with how much it consumes where
// they are not. The same records are sent to both at the same pace and time, so that a busy machine is no difference. A client that waits for its heartbeat's
// answer would get next to nothing.
func TestSteadyConsumption(t *testing.T) {
	if os.Getenv("FAKEKAFKA_BOOTSTRAP") != "" {
		t.Skip("a real broker can't hold heartbeats")
	}
	t.Parallel()
	kinds := append(reportKinds(), javaReportKinds(startJVM(t))...)
	for _, kind := range kinds {
		if slices.Contains([]string{"franz-go range", "franz-go KIP-848", "kafka-go range", "librdkafka range", "librdkafka KIP-848", "Java range", "Java KIP-848"}, kind.name) {
			t.Run(kind.name, func(t *testing.T) {
				t.Parallel()
				consumesSteadily(t, kind)
			})
		}
	}
}

func consumesSteadily(t *testing.T, kind reportKind) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	side := func(opts ...fakekafka.Option) (*fakekafka.Cluster, *worker) {
		k := fakekafka.Start(t, append(opts, fakekafka.Topic("orders", pairPartitions), fakekafka.WaitLimit(limit/2))...)
		w, err := kind.start(k.Bootstrap(), "workers", "orders")
		require.NoError(t, err)
		t.Cleanup(func() { _ = w.close() })
		return k, w
	}
	held, with := side()
	kafka, without := side(fakekafka.KafkaTimings())
	held.Group("workers").AwaitFetching(t)
	kafka.Group("workers").AwaitFetching(t)
	require.NoError(t, (&env{}).until(ctx, func() error { return heartbeatsHeld(held.Group("workers").State(), 1) }))

	const batches, perBatch = 400, 10
	tick := time.NewTicker(4 * time.Millisecond)
	defer tick.Stop()
	var records []fakekafka.Record
	for i := range batches {
		records = records[:0]
		for n := range perBatch {
			records = append(records, fakekafka.V(fmt.Sprint(i*perBatch+n)))
		}
		require.NoError(t, held.Topic("orders").Produce(records...))
		require.NoError(t, kafka.Topic("orders").Produce(records...))
		<-tick.C
	}
	for without.count() < batches*perBatch {
		select {
		case <-without.moved:
		case <-ctx.Done():
			t.Fatalf("without holds %d of %d records came", without.count(), batches*perBatch)
		}
	}
	n := with.count()
	t.Logf("%d of %d records with holds when all had come without", n, batches*perBatch)
	require.GreaterOrEqual(t, float64(n), 0.95*batches*perBatch)
	held.Group("workers").RequireNothingSkipped(t)
}

// count is how many records a worker has received.
func (w *worker) count() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, times := range w.seen {
		n += times
	}
	return n
}
