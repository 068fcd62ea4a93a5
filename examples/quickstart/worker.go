// Package quickstart is a small worker that takes orders from one Kafka topic
// and writes receipts to another, and the test of it: worker_test.go is what
// to copy.
package quickstart

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Order is the value of a record of the topic orders; its key is the customer.
type Order struct {
	ID    string `json:"id"`
	Cents int    `json:"cents"`
}

// Receipt is the value of a record of the topic receipts, keyed as the order.
type Receipt struct {
	Order string `json:"order"`
	Paid  int    `json:"paid"`
}

// Work is a member of the group billing. It answers each order with a receipt
// and commits the order's offset when the receipt is stored, until ctx ends.
// Orders are handled at least once: after a crash some are handled again.
func Work(ctx context.Context, bootstrap string) error {
	cl, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumerGroup("billing"),
		kgo.ConsumeTopics("orders"),
		kgo.DisableAutoCommit(),
	)
	if err != nil {
		return err
	}
	defer cl.Close()
	for {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err := fetches.Err(); err != nil {
			return err
		}
		var receipts []*kgo.Record
		for _, r := range fetches.Records() {
			var o Order
			if err := json.Unmarshal(r.Value, &o); err != nil {
				return fmt.Errorf("order at %s/%d@%d: %w", r.Topic, r.Partition, r.Offset, err)
			}
			value, err := json.Marshal(Receipt{Order: o.ID, Paid: o.Cents})
			if err != nil {
				return err
			}
			receipts = append(receipts, &kgo.Record{Topic: "receipts", Key: r.Key, Value: value})
		}
		// What was polled is finished and committed even if ctx ends meanwhile.
		whole := context.WithoutCancel(ctx)
		if err := cl.ProduceSync(whole, receipts...).FirstErr(); err != nil {
			return err
		}
		if err := cl.CommitRecords(whole, fetches.Records()...); err != nil {
			return err
		}
	}
}
