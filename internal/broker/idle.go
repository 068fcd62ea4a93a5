package broker

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// doing is what a connection does at the moment, for who waits until nothing happens any more.
type doing struct{ atomic.Int32 }

const (
	doesNothing int32 = iota
	handles           // a request
	waits             // for something to happen: records, news for a heartbeat
)

// waiting marks the time in which a request only waits for something to happen; the returned function ends it.
func (c *conn) waiting() func() {
	c.doing.Store(waits)
	c.cluster.changed()
	return func() { c.doing.Store(handles) }
}

// Busy says what is still going on: requests in flight, scripted members' included, and held ones. On the loop.
func (c *Cluster) Busy() []string {
	var busy []string
	for _, n := range c.nodes {
		for _, cn := range n.connections() {
			if cn.doing.Load() == handles {
				busy = append(busy, fmt.Sprintf("%s of client %q at broker %d is in flight", cn.requests.last(), cn.clientID(), n.id))
			}
		}
	}
	for _, group := range sortedKeys(c.groups.scripts.byGroup) {
		for _, s := range c.groups.scripts.byGroup[group] {
			if s.flying && s.alive() {
				busy = append(busy, fmt.Sprintf("a request of scripted member %q is in flight", s.spec.Client))
			}
		}
	}
	slices.Sort(busy)
	return busy
}

// onlyWaits are requests that a coordinator parks for no work of its own.
func onlyWaits(k wire.Key) bool { return k == wire.Heartbeat || k == wire.ConsumerGroupHeartbeat }
