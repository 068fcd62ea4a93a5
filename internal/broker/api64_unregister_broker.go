package broker

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// UnregisterBroker, key 64, version 0: forgets a broker until it starts again. One that runs stays, unlike in Kafka.

func (r *request) unregisterBroker() (answer, error) {
	req := r.body.(*kmsg.UnregisterBrokerRequest)
	return onLoop(r.cluster, func() answer {
		c := r.cluster
		n := c.meta.Load().node(req.BrokerID)
		if n == nil {
			return errorWithText(req, wire.BrokerIDNotRegistered, fmt.Sprintf("Broker ID %d is not currently registered", req.BrokerID))
		}
		if !n.alive {
			c.change(func(m *metadata) {
				m.nodes = slices.DeleteFunc(slices.Clone(m.nodes), func(o *nodeInfo) bool { return o.id == n.id })
			})
		}
		resp := req.ResponseKind().(*kmsg.UnregisterBrokerResponse)
		resp.ErrorMessage = new("") // not null, for once
		return resp
	})
}
