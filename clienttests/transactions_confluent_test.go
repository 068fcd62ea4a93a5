//go:build cgo

package clienttests

import (
	"context"
	"testing"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

func TestConfluentTransactions(t *testing.T) { transactions(t, confluent{}) }

func (confluent) transact(ctx context.Context, addr, id, topic, source, group string, rounds []round) error {
	p, err := kafka.NewProducer(&kafka.ConfigMap{"bootstrap.servers": addr, "transactional.id": id})
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.InitTransactions(ctx); err != nil {
		return err
	}
	meta, err := kafka.NewTestConsumerGroupMetadata(group) // a group without members
	if err != nil {
		return err
	}
	for _, r := range rounds {
		if err := p.BeginTransaction(); err != nil {
			return err
		}
		if err := confluentSend(ctx, p, topic, r.recs); err != nil {
			return err
		}
		offsets := []kafka.TopicPartition{{Topic: &source, Partition: 0, Offset: kafka.Offset(r.offset)}}
		if err := p.SendOffsetsToTransaction(ctx, offsets, meta); err != nil {
			return err
		}
		end := p.AbortTransaction
		if r.commit {
			end = p.CommitTransaction
		}
		if err := end(ctx); err != nil {
			return err
		}
	}
	return nil
}
