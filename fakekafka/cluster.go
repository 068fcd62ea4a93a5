package fakekafka

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fakekafka/fakekafka/internal/broker"
)

// Cluster is a running fakekafka: one or more brokers in this process.
type Cluster struct {
	b       *broker.Cluster
	o       *options
	tb      testing.TB            // nil under New
	mark    interface{ Helper() } // called first in each steering call, so that what fails there is reported at the test's line
	holds   pending[*Hold]        // that have not been released
	faults  pending[*FaultRule]   // that have no action yet
	untying sync.Mutex
	untied  func() // returns when the holds and pauses that the test left are lifted; nil under New
	shown   shown
	topics  topicMemory
	moved   forwards     // by FastForward
	joined  atomic.Int64 // scripted members so far
	ended   atomic.Bool  // the test has, and the cluster with it
}

// Start starts a cluster for a test and closes it with the test. It fails the test at once if an option is bad, and in a synctest bubble without [InMemoryNetwork].
func Start(tb testing.TB, opts ...Option) *Cluster {
	tb.Helper()
	o, err := collect(opts)
	if err != nil {
		tb.Fatal(err)
	}
	if o.memory == nil && inBubble(tb) {
		tb.Fatal("fakekafka: the test is in a synctest bubble, where time stands still while anybody waits for a socket: give Start the option InMemoryNetwork(), and the clients k.DialContext")
	}
	k, err := start(o, tb)
	if err != nil {
		tb.Fatal(err)
	}
	k.untieAtEnd()
	k.untieBeforeDeadline()
	tb.Cleanup(k.end)
	return k
}

// New starts a cluster outside a test. The caller closes it.
func New(opts ...Option) (*Cluster, error) {
	o, err := collect(opts)
	if err != nil {
		return nil, err
	}
	return start(o, nil)
}

// Close cuts all client connections and ends everything the cluster started: goroutines, listeners, timers. When it returns
// nothing of the cluster is left. A second call does nothing. Called from a When, Observe or Reply it ends all but its caller. After [Start] the test's end calls it.
func (k *Cluster) Close() { _ = k.b.Close() }

// Bootstrap is the address of the first broker, HOST:PORT, for a client's bootstrap setting.
func (k *Cluster) Bootstrap() string { return k.b.Addrs()[0] }

// Addrs are the addresses of all brokers, by node id.
func (k *Cluster) Addrs() []string { return k.b.Addrs() }
