package clienttests

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestJavaClosesWithoutLeaving closes a Java consumer that sends nothing when it closes: a static member that commits by itself leaves no group, and neither
// does a thread of Kafka Streams. The Java consumer waits for its heartbeat's answer then, which may not be held until the hold's own end.
func TestJavaClosesWithoutLeaving(t *testing.T) {
	t.Parallel()
	e := broker(t)
	topic, group := e.topic(t, "orders"), e.group(t, "workers")
	require.NoError(t, franz{}.create(e.ctx, e.addr, topic, partitions))
	e.awaitTopic(t, topic, partitions)
	m, err := startJVM(t).start("java-static", e.addr, group, topic, "group.instance.id=pod-1", "enable.auto.commit=false")
	require.NoError(t, err)
	require.NoError(t, m.until(e.ctx, "its partitions", func() bool { return m.owned == partitions }))
	time.Sleep(4 * time.Second)

	start := time.Now()
	ctx, cancel := context.WithTimeout(e.ctx, 8*time.Second)
	defer cancel()
	require.NoError(t, m.do(ctx, "close"), "half of the hold")
	t.Logf("closed in %.0f ms", ms(time.Since(start)))
}
