//go:build cgo

package clienttests

import (
	"testing"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// TestConfluentCommitsBesideItsHeartbeats: librdkafka looks once a second for requests that have taken too long, when something wakes the connection. A commit
// wakes its coordinator's, and a heartbeat held beyond its interval (KIP-848) has it cut that connection, again and again.
func TestConfluentCommitsBesideItsHeartbeats(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	require.NoError(t, k.Topic("orders").Produce(fakekafka.V("o-1")))
	c, err := kafka.NewConsumer(&kafka.ConfigMap{
		"bootstrap.servers": k.Bootstrap(), "client.id": "worker-1", "group.id": "billing", "group.protocol": "consumer",
		"auto.offset.reset": "earliest", "enable.auto.commit": false,
	})
	require.NoError(t, err)
	require.NoError(t, c.Subscribe("orders", nil))
	m, err := c.ReadMessage(10 * time.Second)
	require.NoError(t, err)
	connected := 0
	for i := range 10 {
		time.Sleep(450 * time.Millisecond) // a heartbeat is under way for longer than its interval, if it is held so long
		_, err := c.CommitMessage(m)
		require.NoError(t, err)
		if i == 1 { // it has all its connections
			connected = k.Requests(fakekafka.ApiVersions).From("worker-1").Count()
		}
	}
	require.Equal(t, connected, k.Requests(fakekafka.ApiVersions).From("worker-1").Count(), "it had to connect again")
	require.NoError(t, c.Close())
}
