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
	var producer transactions.Producer
	first := true
	for i := range p.entries {
		e := &p.entries[i]
		if !partitionlog.OfTransaction(e.batch) {
			continue
		}
		b := partitionlog.Batch(e.batch)
		this := transactions.Producer{ID: b.ProducerID(), Epoch: b.ProducerEpoch()}
		if !first && producer != this {
			for j := range p.entries {
				p.entries[j].refuse(wire.InvalidProducerIDMapping, -1)
				p.entries[j].resp.ErrorMessage = kmsg.StringPtr("the transactional batches of the request are of more than one producer id or epoch")
				p.entries[j].batch = nil
			}
			return nil
		}
		producer, first = this, false
	}
	var unsure []*produceEntry
	for i := range p.entries {
		if e := &p.entries[i]; p.needsCoordinator(e, now) {
			unsure = append(unsure, e)
		}
	}
	if len(unsure) == 0 {
		return nil
	}
	codes, err := p.askCoordinator(producer, unsure)
	if err != nil {
		return err
	}
	for i, e := range unsure {
		if codes[i] == wire.None {
			continue
		}
		translated := translateVerification(codes[i], p.r.version)
		e.refuse(translated, -1)
		if translated == wire.InvalidTxnState || translated == wire.NotEnoughReplicas { // Kafka explains only these
			e.resp.ErrorMessage = kmsg.StringPtr(fmt.Sprintf("the transaction coordinator answered %s for the partition", codes[i]))
		}
		e.batch = nil
	}
	return nil
}

// needsCoordinator tells whether the coordinator is to be asked about an entry; one with an old epoch is refused.
func (p *producing) needsCoordinator(e *produceEntry, now int64) bool {
	if !partitionlog.OfTransaction(e.batch) {
		return false
	}
	if s := e.part.state.Load(); s.leader != p.r.node.id {
		return false // refused by append, in Kafka's words
	}
	e.part.mu.Lock()
	if !p.adds() && !e.part.log.Config().TransactionVerification {
		e.part.mu.Unlock()
		return false
	}
	if e.part.log.StaleEpoch(e.batch) {
		e.part.mu.Unlock()
		e.refuse(wire.InvalidProducerEpoch, -1)
		e.batch = nil
		return false
	}
	token, needed := e.part.log.BeginVerification(now, e.batch, p.r.version)
	e.part.mu.Unlock()
	if needed {
		e.verification = token
	}
	return needed
}

// adds: from v12 on the broker puts the partitions into the transaction itself.
func (p *producing) adds() bool { return p.r.version >= 12 }

// askCoordinator puts one question about all partitions, and gives the code of each. To v12 and up CONCURRENT_TRANSACTIONS is waited out for a moment: the end of the
// producer's last transaction may still be under way.
func (p *producing) askCoordinator(producer transactions.Producer, entries []*produceEntry) ([]wire.Code, error) {
	tps := make([]transactions.TopicPartition, len(entries))
	for i, e := range entries {
		tps[i] = transactions.TopicPartition{Topic: e.part.topic, Partition: e.part.index}
	}
	v := p.r.cluster.settings(p.r.node.id)
	until := time.Now().Add(v.Duration("add.partitions.to.txn.retry.backoff.max.ms"))
	for {
		codes, err := onLoop(p.r.cluster, func() []wire.Code {
			return p.r.cluster.txns.askTransaction(*p.req.TransactionID, producer, tps, p.adds())
		})
		if err != nil || codes[0] != wire.ConcurrentTransactions || !p.adds() || !time.Now().Before(until) {
			return codes, err
		}
		if err := p.r.conn.sleep(v.Duration("add.partitions.to.txn.retry.backoff.ms")); err != nil {
			return codes, err
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
