package fakekafka_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// A client that waits less for an answer than its heartbeat is held closes the connection, and comes back: from then on its heartbeats are held shorter.
// A connection that the test cuts says nothing about the client, nor does a request that follows.
func TestHeartbeatOfAnImpatientClient(t *testing.T) {
	for name, test := range map[string]struct {
		ends func(*fakekafka.Cluster, *rawMember)
		held time.Duration
	}{
		"it closes the connection":     {func(_ *fakekafka.Cluster, m *rawMember) { require.NoError(m.t, m.nc.Close()) }, 1500 * time.Millisecond},
		"the test cuts the connection": {func(k *fakekafka.Cluster, m *rawMember) { require.Equal(m.t, 1, k.DropConnections("worker-1")) }, 8 * time.Second},
		"it sends another request":     {func(_ *fakekafka.Cluster, m *rawMember) { m.send(versioned(kmsg.NewPtrApiVersionsRequest(), 3)) }, 8 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := startRaw(t, fakekafka.InMemoryNetwork())
				m := joinRaw(t, k, "billing", "worker-1")
				m.send(m.beat())
				time.Sleep(2 * time.Second)
				test.ends(k, m)
				synctest.Wait()
				m.raw = dialRaw(t, k, "worker-1")
				m.names()
				start := time.Now()
				resp, err := m.try(m.beat())
				require.Equal(t, fakekafka.NoError, beatCode(t, resp, err))
				require.Equal(t, test.held, time.Since(start))
			})
		})
	}
}

// The end of a connection is no sign of life, whoever ended it: the session of who waited there goes on from its heartbeat.
func TestHeartbeatOfAClosedConnection(t *testing.T) {
	for name, end := range map[string]func(*fakekafka.Cluster, *rawMember){
		"its client closes it": func(_ *fakekafka.Cluster, m *rawMember) { require.NoError(m.t, m.nc.Close()) },
		"the test cuts it":     func(k *fakekafka.Cluster, m *rawMember) { require.Equal(m.t, 1, k.DropConnections("worker-1")) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := startRaw(t, fakekafka.InMemoryNetwork())
				m := joinRaw(t, k, "billing", "worker-1")
				deadline := func() time.Time { return k.Group("billing").State().Members[0].SessionDeadline }
				m.send(m.beat())
				synctest.Wait()
				heard := deadline()
				time.Sleep(2 * time.Second)
				end(k, m)
				synctest.Wait()
				require.Equal(t, heard, deadline())
				time.Sleep(10 * time.Second) // as long as it would have been held
				require.Equal(t, heard, deadline())
			})
		})
	}
}
