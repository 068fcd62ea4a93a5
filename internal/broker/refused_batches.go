package broker

import (
	"maps"
	"sync"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// RefusedBatches is what producers were answered for a topic that there is, where it was an error: for messages.
type RefusedBatches struct {
	N      int       // how many batches
	Code   wire.Code // of the last one
	Client string    // whose it was, as LoggedName has it
}

// refusedBatches are those of each topic that there is, by name.
type refusedBatches struct {
	mu sync.Mutex
	of map[string]RefusedBatches
}

func (r *refusedBatches) add(topic, client string, code wire.Code) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[string]RefusedBatches{}
	}
	r.of[topic] = RefusedBatches{N: r.of[topic].N + 1, Code: code, Client: LoggedName(client)}
}

// forget drops those of a topic that is deleted: names of topics are the clients' own.
func (r *refusedBatches) forget(topic string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.of, topic)
}

// RefusedBatches tells of the batches that brokers refused by themselves, by topic; rules of the test, which tell of their own, are not among them.
func (c *Cluster) RefusedBatches() map[string]RefusedBatches {
	c.refused.mu.Lock()
	defer c.refused.mu.Unlock()
	return maps.Clone(c.refused.of)
}
