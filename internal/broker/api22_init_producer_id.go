package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/transactions"
)

// InitProducerId, v0-5. Idempotent producers get an id of their own; transactional ones are the transaction coordinator's.

func (r *request) initProducerID() (answer, error) {
	req := r.body.(*kmsg.InitProducerIDRequest)
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	switch {
	case (req.ProducerID == -1) != (req.ProducerEpoch == -1):
		resp.ErrorCode = int16(wire.InvalidRequest) // an id and its epoch come together
	case req.TransactionalID == nil:
		resp.ProducerID, resp.ProducerEpoch = r.cluster.nextProducerID.Add(1), 0
	case *req.TransactionalID == "":
		resp.ErrorCode = int16(wire.InvalidRequest)
	case !r.cluster.txns.config().ValidTimeout(req.TransactionTimeoutMillis): // before the coordinator is looked for
		resp.ErrorCode = int16(wire.InvalidTransactionTimeout)
	default:
		var p transactions.Producer
		code, err := r.txnStep(*req.TransactionalID, func(tc *txnCoordinator, sh *txnShard) (code int16, fx transactions.Effects) {
			p, code, fx = sh.InitProducerID(r.cluster.clock.Now(), *req.TransactionalID, req.TransactionTimeoutMillis, transactions.Producer{ID: req.ProducerID, Epoch: req.ProducerEpoch})
			if wire.Code(code) == wire.None {
				tc.producers[*req.TransactionalID] = LoggedName(r.client)
			}
			return code, fx
		})
		if err != nil {
			return nil, err
		}
		resp.ErrorCode = int16(fencedBefore(code, r.version, 4))
		if code == wire.None {
			resp.ProducerID, resp.ProducerEpoch = p.ID, p.Epoch
		}
	}
	return resp, nil
}
