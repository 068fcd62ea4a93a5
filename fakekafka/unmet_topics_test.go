package fakekafka_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// canceled is what a wait says that is not met now, up to the timeline.
func canceled(t *testing.T, wait func(ctx context.Context) error) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := wait(ctx)
	require.ErrorIs(t, err, context.Canceled)
	text, _, _ := strings.Cut(err.Error(), "\ngroup ")
	return text
}

// created has a topic made by asking for it.
func created(t *testing.T, k *fakekafka.Cluster, client, topic string) {
	t.Helper()
	r, ask := dialRaw(t, k, client), metadataOf(topic)
	ask.AllowAutoTopicCreation = true
	for r.ask(ask).(*kmsg.MetadataResponse).Topics[0].ErrorCode != 0 {
		continue // the answer is sent before the topic is made
	}
}

// TestALagNamesWhatIsInItsWay: a transaction that holds up consumers, whose it is and since when, and the topics that a worker can't write to.
func TestALagNamesWhatIsInItsWay(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1), fakekafka.Topic("receipts", 1), fakekafka.ManualClock(start))
	g := k.Group("billing")
	worker := k.Join("billing", fakekafka.Member{ClientID: "worker-1", Topics: []string{"orders"}})
	g.AwaitStable(t, 1)
	require.NoError(t, k.Topic("orders").Produce(fakekafka.V("a"), fakekafka.V("b")))
	tx := dialRaw(t, k, "relay").transaction("relay-1")
	tx.add("orders", 0)
	tx.produce("orders", 0, "c")
	require.NoError(t, k.FastForward(3*time.Second))
	require.Equal(t, fakekafka.NoError, worker.Commit("orders", 0, 2))
	const open = `
    transactional.id "relay-1" of client "relay" has been Ongoing for 3s: read_committed consumers are given nothing from it on in orders-0 until it ends`
	const lag = "a lag of 1: orders-0: 1 (committed 2, end 3, for read_committed consumers 2, owned by worker-1)"
	wait := func(ctx context.Context) error { return g.LagAtMost(ctx, 0) }
	require.Equal(t, "fakekafka: group billing: wanted a lag of at most 0; there was, when the wait was canceled: "+lag+`
    nobody has produced to the topic "receipts"`+open, canceled(t, wait))
	require.Contains(t, failure(t, func(tb testing.TB) { g.RequireLag(tb, 0) }), "wanted a lag of 0; there was: "+lag+"\n    nobody has produced to the topic \"receipts\""+open)
	require.Regexp(t, regexp.QuoteMeta("group billing has "+lag+open)+"$", canceled(t, k.Idle)) // before it a request may be said to be in flight: its answer comes before its end
	require.NoError(t, k.FastForward(70*time.Second))                                           // past its timeout
	require.NotContains(t, canceled(t, k.Idle), "relay-1")

	created(t, k, "admin", "receipts.v2")
	worker1 := dialRaw(t, k, "worker-1")
	worker1.ask(metadataOf("reciepts"))
	worker1.ask(metadataOf("orders")) // which it reads: were it not there, its subscription says so
	require.NoError(t, k.Topic("orders").SetConfig("max.message.bytes", "1"))
	worker1.ask(produceTo(t, "orders", 0))
	require.Equal(t, `fakekafka: group billing: wanted a lag of at most 0; there was, when the wait was canceled: a lag of 2: orders-0: 2 (committed 2, end 4, owned by worker-1)
    client "worker-1" asked for topic "reciepts": there is no topic "reciepts"; there are ["__consumer_offsets" "__transaction_state" "orders" "receipts" "receipts.v2"]; did you mean "receipts"?
    of the batches for topic orders 1 was refused, the last one of "worker-1" with MESSAGE_TOO_LARGE
    nobody has produced to the topics ["receipts" "receipts.v2"]`, canceled(t, wait))
	for _, topic := range []string{"a", "b", "c"} {
		require.NoError(t, k.Topic(topic).Create(1))
	}
	require.Contains(t, canceled(t, wait), "\n    nobody has produced to the topics [\"a\" \"b\" \"c\"], and to 2 more")
}

// TestATopicThatASlipOfThePenHasMade is told of by what waits for another.
func TestATopicThatASlipOfThePenHasMade(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1), fakekafka.Topic("shard-1", 1))
	created(t, k, "worker-1", "oders")
	created(t, k, "worker-2", "oders")
	created(t, k, "worker-1", "shard-2")
	created(t, k, "worker-1", "receipts")
	const slip = `
    topic "oders" was created because client "worker-1" asked for it; did you mean "orders"?`
	require.Equal(t, `fakekafka: wanted topic orders to hold, in order, 1 record; there was, when the wait was canceled:
  - null="a"   (missing)
    no client has sent a Produce; requests came from "worker-1", "worker-2"`+slip, canceled(t, func(ctx context.Context) error {
		return k.Topic("orders").Has(ctx, fakekafka.InOrder(fakekafka.V("a")))
	}))
	require.Contains(t, said(t, func(tb testing.TB) { k.Topic("orders").RequireRecords(tb, fakekafka.InOrder(fakekafka.V("a"))) }), slip)
	k.Join("billing", fakekafka.Member{ClientID: "worker-1", Topics: []string{"oders"}})
	k.Group("billing").AwaitStable(t, 1)
	k.Group("billing").AwaitLag(t, 0)
	require.Contains(t, failure(t, func(tb testing.TB) { k.Group("billing").RequireOwner(tb, "orders", 0, "worker-1") }), slip)
	require.NoError(t, k.Topic("oders").Delete())
	require.NotContains(t, failure(t, func(tb testing.TB) { k.Group("billing").RequireOwner(tb, "orders", 0, "worker-1") }), "was created")
}
