package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// InitProducerId, v0-5. Idempotent producers get an id of their own. Transactions are not served yet: a transactional id is refused
// with an error that no client retries.

func (r *request) initProducerID() (answer, error) {
	req := r.body.(*kmsg.InitProducerIDRequest)
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	switch {
	case req.TransactionalID != nil && *req.TransactionalID != "":
		r.cluster.log.Warn("transactions are not served yet: the producer is refused",
			"client", r.client, "transactional.id", *req.TransactionalID)
		resp.ErrorCode = int16(wire.TransactionalIDAuthorizationFailed)
	case (req.ProducerID == -1) != (req.ProducerEpoch == -1):
		resp.ErrorCode = int16(wire.InvalidRequest) // an id and its epoch come together
	case req.TransactionalID != nil:
		resp.ErrorCode = int16(wire.InvalidRequest) // an empty transactional id
	default:
		resp.ProducerID, resp.ProducerEpoch = r.cluster.nextProducerID.Add(1), 0
	}
	return resp, nil
}
