package broker

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
	"github.com/fakekafka/fakekafka/transactions"
)

// verifyTransactions asks the transaction coordinator about the request's transactional batches, where their transaction isn't open in their partition
// yet: up to v11 whether the partition was added, from v12 on to add it. An entry that may not be appended is refused here.
func (p *producing) verifyTransactions(now int64) error {
	if p.req.TransactionID == nil {
		return nil // wholeRequest has refused transactional batches without an id
	}
	producer := int64(-1)
	for i := range p.entries {
		e := &p.entries[i]
		if len(e.batch) < 61 || !partitionlog.Batch(e.batch).Transactional() {
			continue
		}
		b := partitionlog.Batch(e.batch)
		if producer >= 0 && producer != b.ProducerID() {
			for j := range p.entries {
				p.entries[j].refuse(wire.InvalidProducerIDMapping, -1)
				p.entries[j].resp.ErrorMessage = kmsg.StringPtr("the transactional batches of the request are of more than one producer")
				p.entries[j].batch = nil
			}
			return nil
		}
		producer = b.ProducerID()
	}
	for i := range p.entries {
		if err := p.verifyTransaction(&p.entries[i], now); err != nil {
			return err
		}
	}
	return nil
}

func (p *producing) verifyTransaction(e *produceEntry, now int64) error {
	if len(e.batch) < 61 || !partitionlog.Batch(e.batch).Transactional() {
		return nil
	}
	if s := e.part.state.Load(); s.leader != p.r.node.id {
		return nil // refused by append, in Kafka's words
	}
	e.part.mu.Lock()
	if e.part.log.StaleEpoch(e.batch) {
		e.part.mu.Unlock()
		e.refuse(wire.InvalidProducerEpoch, -1)
		e.batch = nil
		return nil
	}
	token, needed := e.part.log.BeginVerification(now, e.batch, p.r.version)
	verifies := e.part.log.Config().TransactionVerification
	e.part.mu.Unlock()
	if !needed {
		return nil
	}
	e.verification = token
	add := p.r.version >= 12
	if !add && !verifies {
		return nil
	}
	code, err := p.askCoordinator(e, add)
	if err != nil {
		return err
	}
	if code != wire.None {
		translated := translateVerification(code, p.r.version)
		e.refuse(translated, -1)
		if translated == wire.InvalidTxnState || translated == wire.NotEnoughReplicas { // Kafka explains only these
			e.resp.ErrorMessage = kmsg.StringPtr(fmt.Sprintf("the transaction coordinator answered %s for the partition", code))
		}
		e.batch = nil
	}
	return nil
}

// askCoordinator puts the question. To v12 and up CONCURRENT_TRANSACTIONS is waited out for a moment: the end of the producer's last transaction may still be under way.
func (p *producing) askCoordinator(e *produceEntry, add bool) (wire.Code, error) {
	b := partitionlog.Batch(e.batch)
	v := p.r.cluster.settings(p.r.node.id)
	until := time.Now().Add(v.Duration("add.partitions.to.txn.retry.backoff.max.ms"))
	for {
		code, err := onLoop(p.r.cluster, func() wire.Code {
			return p.r.cluster.txns.askTransaction(*p.req.TransactionID, transactions.Producer{ID: b.ProducerID(), Epoch: b.ProducerEpoch()},
				transactions.TopicPartition{Topic: e.part.topic, Partition: e.part.index}, add)
		})
		if err != nil || code != wire.ConcurrentTransactions || !add || !time.Now().Before(until) {
			return code, err
		}
		if err := p.r.conn.sleep(v.Duration("add.partitions.to.txn.retry.backoff.ms")); err != nil {
			return code, err
		}
	}
}

// translateVerification gives a coordinator's answer in the words of Produce.
func translateVerification(code wire.Code, version int16) wire.Code {
	switch code {
	case wire.ProducerFenced:
		return wire.InvalidProducerEpoch
	case wire.TransactionAbortable:
		if version < 11 {
			return wire.InvalidTxnState
		}
	case wire.CoordinatorLoadInProgress, wire.CoordinatorNotAvailable, wire.NotCoordinator:
		return wire.NotEnoughReplicas
	case wire.ConcurrentTransactions:
		if version < 12 {
			return wire.NotEnoughReplicas
		}
	case wire.ClusterAuthorizationFailed:
		return wire.InvalidTxnState
	}
	return code
}
