package quickstart

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fakekafka/fakekafka/fakekafka"
)

func TestEveryOrderGetsItsReceipt(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1), fakekafka.Topic("receipts", 1))
	customer := newCustomer(t, k.Bootstrap())

	stop := startWorker(t, k.Bootstrap())
	customer.order(t, "ada", Order{"o-1", 1200})
	customer.order(t, "ada", Order{"o-2", 300})
	require.Equal(t, []Receipt{{"o-1", 1200}, {"o-2", 300}}, customer.receipts(t, 2))
	stop()

	// A worker that comes later goes on where the first one was.
	startWorker(t, k.Bootstrap())
	customer.order(t, "ada", Order{"o-3", 50})
	require.Equal(t, []Receipt{{"o-3", 50}}, customer.receipts(t, 1))
}

func TestTwoWorkersShareTheOrders(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 6), fakekafka.Topic("receipts", 1))
	customer := newCustomer(t, k.Bootstrap())

	startWorker(t, k.Bootstrap())
	startWorker(t, k.Bootstrap())
	billing := k.Group("billing")
	billing.AwaitStable(t, 2) // woken when it happens; no sleep, no polling

	var want []Receipt
	for _, who := range []string{"ada", "bob", "cem", "dee", "eve"} {
		customer.order(t, who, Order{"of-" + who, 100})
		want = append(want, Receipt{"of-" + who, 100})
	}
	require.ElementsMatch(t, want, customer.receipts(t, len(want)))
	billing.AwaitLag(t, 0) // all is committed
	billing.RequireBalanced(t)
	billing.RequireNoDoubleOwner(t)
}

// startWorker runs a worker until the returned function, or the test, ends it.
func startWorker(t *testing.T, bootstrap string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Work(ctx, bootstrap) }()
	stop = func() {
		cancel()
		if err, running := <-ended; running {
			close(ended)
			require.NoError(t, err)
		}
	}
	t.Cleanup(stop)
	return stop
}

type customer struct{ *kgo.Client }

func newCustomer(t *testing.T, bootstrap string) customer {
	cl, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumeTopics("receipts"))
	require.NoError(t, err)
	t.Cleanup(cl.Close)
	return customer{cl}
}

func (c customer) order(t *testing.T, who string, o Order) {
	value, err := json.Marshal(o)
	require.NoError(t, err)
	require.NoError(t, c.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Key: []byte(who), Value: value}).FirstErr())
}

// receipts waits for the next n.
func (c customer) receipts(t *testing.T, n int) (got []Receipt) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for len(got) < n {
		fetches := c.PollFetches(ctx)
		require.NoError(t, fetches.Err(), "%d of %d receipts came", len(got), n)
		for _, r := range fetches.Records() {
			var receipt Receipt
			require.NoError(t, json.Unmarshal(r.Value, &receipt))
			got = append(got, receipt)
		}
	}
	return got
}
