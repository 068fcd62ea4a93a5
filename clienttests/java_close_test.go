package clienttests

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// TestJavaClosesWithoutLeaving closes a Java consumer that sends nothing when it closes: a static member that commits by itself leaves no group, and neither
// does a thread of Kafka Streams. The Java consumer waits for its heartbeat's answer then, which may not be held until the hold's own end of 15 s.
func TestJavaClosesWithoutLeaving(t *testing.T) {
	if os.Getenv("FAKEKAFKA_BOOTSTRAP") != "" {
		t.Skip("a real broker holds no heartbeats")
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", partitions))
	e := &env{addr: k.Bootstrap(), ctx: ctx}
	m, err := startJVM(t).start("java-static", e.addr, "workers", "orders", "group.instance.id=pod-1", "enable.auto.commit=false")
	require.NoError(t, err)
	require.NoError(t, m.until(ctx, "its partitions", func() bool { return m.owned == partitions }))
	require.NoError(t, e.until(ctx, func() error { return heartbeatsHeld(k.Group("workers").State(), 1) }))

	start := time.Now()
	ctx, cancel = context.WithTimeout(ctx, 8*time.Second) // about half of the hold
	defer cancel()
	require.NoError(t, m.do(ctx, "close"))
	t.Logf("closed in %.0f ms", ms(time.Since(start)))
}
