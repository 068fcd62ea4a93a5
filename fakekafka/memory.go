package fakekafka

import (
	"context"
	"fmt"
	"net"
	"slices"

	"github.com/fakekafka/fakekafka/internal/memnet"
)

// nowhere is the address of brokers that listen on no socket. A client without the dialer must not find somebody else's broker: this name is reserved never to resolve.
const nowhere = "fakekafka.invalid:0"

// InMemoryNetwork runs the brokers without sockets: clients connect through [Cluster.DialContext] alone. So everything of a test can live in a
// testing/synctest bubble, where time passes as soon as all wait for it: start the cluster, and close it, inside the bubble. franz-go
// (kgo.Dialer) and segmentio/kafka-go (Dialer.DialFunc, Transport.Dial) run there; sarama does not, as it waits on locks and on a ticker that is made outside.
func InMemoryNetwork() Option {
	return func(o *options) error {
		o.memory = memnet.New()
		o.broker.Network = o.memory
		return nil
	}
}

// DialContext connects to a broker by its address, over the network that the cluster is on: for a client's dialer option. network is "tcp" or ""; it
// makes no difference with [InMemoryNetwork].
func (k *Cluster) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if k.o.memory != nil {
		nc, err := k.o.memory.DialContext(ctx, addr)
		if err != nil && !slices.Contains(k.Addrs(), addr) {
			err = fmt.Errorf("%w: on this network in memory there are only the brokers at %q", err, k.Addrs())
		}
		return nc, err
	}
	if network == "" {
		network = "tcp"
	}
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}
