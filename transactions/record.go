package transactions

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Record is one record of __transaction_state in Kafka's own bytes; a nil Value removes the id.
type Record struct{ Key, Value []byte }

// record is the entry as Kafka writes it under transaction.version 1 and 2.
func (e *entry) record() Record {
	v := kmsg.NewTxnMetadataValue()
	v.Version = 1
	v.ProducerID, v.ProducerEpoch, v.TimeoutMillis, v.State = e.producer, e.epoch, e.timeoutMs, kmsg.TransactionState(e.state)
	v.LastUpdateTimestamp, v.StartTimestamp = e.updated, e.started
	v.PreviousProducerID, v.NextProducerID, v.ClientTransactionVersion = e.previous, e.next, e.clientTV
	v.NextProducerEpoch = noProducerEpoch
	if e.state != Empty {
		v.Topics = []kmsg.TxnMetadataValueTopic{}
		for _, p := range e.partitions {
			if n := len(v.Topics); n == 0 || v.Topics[n-1].Topic != p.Topic {
				t := kmsg.NewTxnMetadataValueTopic()
				t.Topic = p.Topic
				v.Topics = append(v.Topics, t)
			}
			t := &v.Topics[len(v.Topics)-1]
			t.Partitions = append(t.Partitions, p.Partition)
		}
	}
	return Record{recordKey(e.id), v.AppendTo(nil)}
}

func recordKey(id string) []byte {
	k := kmsg.NewTxnMetadataKey()
	k.TransactionalID = id
	return k.AppendTo(nil)
}

// decode reads a record; a nil entry is a removal.
func decode(r Record) (id string, e *entry, err error) {
	k := kmsg.NewTxnMetadataKey()
	if err := k.ReadFrom(r.Key); err != nil {
		return "", nil, fmt.Errorf("transactions: key: %w", err)
	}
	if k.Version != 0 {
		return "", nil, fmt.Errorf("transactions: a key of version %d; there is only 0", k.Version)
	}
	if r.Value == nil {
		return k.TransactionalID, nil, nil
	}
	v := kmsg.NewTxnMetadataValue()
	if err := v.ReadFrom(r.Value); err != nil {
		return "", nil, fmt.Errorf("transactions: value of %q: %w", k.TransactionalID, err)
	}
	if v.State < 0 || int(v.State) > int(CompleteAbort) {
		return "", nil, fmt.Errorf("transactions: value of %q: state %d", k.TransactionalID, v.State)
	}
	e = &entry{
		id: k.TransactionalID, producer: v.ProducerID, previous: v.PreviousProducerID, next: v.NextProducerID, epoch: v.ProducerEpoch,
		timeoutMs: v.TimeoutMillis, state: State(v.State), started: v.StartTimestamp, updated: v.LastUpdateTimestamp,
		clientTV: v.ClientTransactionVersion, lastEpoch: noProducerEpoch,
	}
	for _, t := range v.Topics {
		for _, p := range t.Partitions {
			e.partitions = append(e.partitions, TopicPartition{t.Topic, p})
		}
	}
	e.partitions = e.with(nil)
	return k.TransactionalID, e, nil
}
