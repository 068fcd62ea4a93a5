package fakekafka

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// BrokerHandle steers one broker.
type BrokerHandle struct {
	k  *Cluster
	id int
}

// Broker gives the handle of a broker by its node id, counted from 1.
func (k *Cluster) Broker(id int) *BrokerHandle { return &BrokerHandle{k, id} }

// Stop stops the broker as a controlled shutdown does: leaders and coordinators move to other brokers, who waits in a JoinGroup, SyncGroup or held heartbeat is
// answered NOT_COORDINATOR, then its connections are cut. Nothing in a log is lost: replicas share it. With a single broker its partitions have no leader until Start.
func (b *BrokerHandle) Stop() error {
	b.k.mark.Helper()
	return b.k.steered(fmt.Sprintf("Stop of broker %d", b.id), b.k.b.StopBroker(int32(b.id), true))
}

// Kill stops the broker without warning: its connections are cut first, in the middle of whatever they do. When it is back it counts as one that may lack
// records (KIP-966): where fewer are in sync than min.insync.replicas asks for, it leads only after another has come back.
func (b *BrokerHandle) Kill() error {
	b.k.mark.Helper()
	return b.k.steered(fmt.Sprintf("Kill of broker %d", b.id), b.k.b.StopBroker(int32(b.id), false))
}

// Start starts a stopped broker on the port that it had. A coordinator that comes back loads its groups from __consumer_offsets and goes on at the same
// generations and epochs.
func (b *BrokerHandle) Start() error {
	b.k.mark.Helper()
	return b.k.steered(fmt.Sprintf("Start of broker %d", b.id), b.k.b.StartBroker(int32(b.id)))
}

// Restart is Stop, then Start.
func (b *BrokerHandle) Restart() error {
	b.k.mark.Helper()
	if err := b.Stop(); err != nil {
		return err
	}
	return b.Start()
}

// Addr is the broker's address, HOST:PORT. It stays the same over a restart.
func (b *BrokerHandle) Addr() string {
	b.k.mark.Helper()
	addrs := b.k.Addrs()
	if b.id < 1 || b.id > len(addrs) {
		_ = b.k.steered(fmt.Sprintf("Addr of broker %d", b.id), noBroker(b.id, len(addrs)))
		return ""
	}
	return addrs[b.id-1]
}

// Latency makes every answer of the broker arrive d later, in real time. Requests that a client has sent meanwhile are not held up by it. 0 takes
// it back.
func (b *BrokerHandle) Latency(d time.Duration) error {
	b.k.mark.Helper()
	return b.k.steered(fmt.Sprintf("Latency of broker %d", b.id), b.k.b.SetLatency(int32(b.id), d))
}

// Bandwidth limits what all clients together send to the broker, and what it sends to them, each to so many bytes a second. 0 takes it back.
func (b *BrokerHandle) Bandwidth(bytesPerSecond int64) error {
	b.k.mark.Helper()
	return b.k.steered(fmt.Sprintf("Bandwidth of broker %d", b.id), b.k.b.SetBandwidth(int32(b.id), bytesPerSecond))
}

// Isolate cuts clients off from the broker, by client.id; without names all of them. It is as if every packet between them got lost: requests have no effect and no
// answer, connections stay. The other brokers, and the other clients, notice nothing. A client need not have connected yet; when the isolation of one that never
// did ends, a line in the log says so.
func (b *BrokerHandle) Isolate(clients ...string) error {
	b.k.mark.Helper()
	if slices.Contains(clients, "") {
		return b.k.steered(fmt.Sprintf("Isolate of broker %d", b.id), errors.New("a client without a name: give its client.id, or nothing for all clients"))
	}
	return b.k.steered(fmt.Sprintf("Isolate of broker %d", b.id), b.k.b.Isolate(int32(b.id), clients...))
}

// Heal ends Isolate. What a client sent meanwhile, and still waits for, arrives now.
func (b *BrokerHandle) Heal() error {
	b.k.mark.Helper()
	return b.k.steered(fmt.Sprintf("Heal of broker %d", b.id), b.k.b.Heal(int32(b.id)))
}
