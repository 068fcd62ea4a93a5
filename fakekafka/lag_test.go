package fakekafka_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// No consumer is given a transaction's marker, and those that commit the offset after their last record never commit it.
func TestMarkersAreNoLag(t *testing.T) {
	k := startRaw(t)
	g := k.Group("billing")
	m := k.Join("billing", fakekafka.Member{Topics: []string{"orders"}})
	g.AwaitStable(t, 1)
	require.NoError(t, k.Topic("orders").Produce(fakekafka.V("a").On(0)))

	p := dialRaw(t, k, "producer")
	tx := p.transaction("tx")
	tx.add("orders", 0)
	tx.end(true)
	for k.Topic("orders").EndOffset(0) < 2 {
		p.ask(versioned(kmsg.NewPtrApiVersionsRequest(), 0)) // the marker is written after the answer
	}

	g.RequireLag(t, 2) // as Kafka's tools count
	require.Equal(t, fakekafka.NoError, m.Commit("orders", 0, 1))
	g.RequireLag(t, 0)
	k.AwaitIdle(t)
}
