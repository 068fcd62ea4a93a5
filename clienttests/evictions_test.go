package clienttests

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/fakekafka"
	"github.com/fakekafka/fakekafka/fetchsession"
)

// A broker may forget a fetch session at any time. The client finds out by FETCH_SESSION_ID_NOT_FOUND and begins anew, and its
// user must not notice: no record lost, none twice.

func TestEvictionsFranz(t *testing.T) {
	t.Parallel()
	stats := evictions(t, franz{}, "kgo")
	require.Positive(t, stats.NotFound, "kgo uses fetch sessions, so it must have met an eviction")
	require.Positive(t, stats.Incremental)
}

// sarama asks for no session, so there is none to lose; its fetches are all full.
func TestEvictionsSarama(t *testing.T) {
	t.Parallel()
	stats := evictions(t, shopify{}, "sarama")
	require.Positive(t, stats.Full)
}

// evictions consumes while all sessions are forgotten again and again, and returns how the client's fetches were answered.
func evictions(t *testing.T, c client, clientID string) fetchsession.ClientStats {
	if os.Getenv("FAKEKAFKA_BOOTSTRAP") != "" {
		t.Skip("a real broker can't be told to forget its fetch sessions")
	}
	const rounds, each = 40, 50
	k := fakekafka.Start(t, fakekafka.Topic("orders", partitions))
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	received := background(ctx, func(ctx context.Context) ([]delivery, error) {
		return c.consume(ctx, k.Bootstrap(), "orders", "workers", 1, rounds*each)
	})
	g := k.Group("workers")
	g.AwaitStable(t, 1)

	sent := makeRecords(0, rounds*each)
	for i := range rounds {
		require.NoError(t, franz{}.produce(received.ctx, k.Bootstrap(), "orders", "", sent[i*each:(i+1)*each]))
		k.FetchSessions().EvictAll()
	}
	got, err := received.wait()
	require.NoError(t, err)
	requireSame(t, sent, got)
	stats := k.FetchSessions().Stats()
	t.Logf("%d sessions evicted; %s: %+v", stats.ForcedEvictions, clientID, stats.Clients[clientID])
	return stats.Clients[clientID]
}
