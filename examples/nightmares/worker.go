// Package nightmares has a worker as many write it, and tests of what goes wrong with workers in production: each replayed on purpose.
package nightmares

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Worker processes the orders of one group member: a record is processed, then its offset is committed.
type Worker struct {
	client  *kgo.Client
	process func(*kgo.Record)
	// failed is told of each commit that was refused.
	failed func(error)
}

// New makes a worker; Run makes it work.
func New(bootstrap, clientID string, process func(*kgo.Record), failed func(error), opts ...kgo.Opt) (*Worker, error) {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(bootstrap), kgo.ClientID(clientID),
		kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"), kgo.DisableAutoCommit(),
	}, opts...)...)
	if err != nil {
		return nil, err
	}
	return &Worker{client, process, failed}, nil
}

// Run works until the context ends or the worker is closed.
func (w *Worker) Run(ctx context.Context) error {
	for {
		fetches := w.client.PollFetches(ctx)
		if ctx.Err() != nil || fetches.IsClientClosed() {
			return nil
		}
		var session *kgo.ErrGroupSession // thrown out, or not let in: the client joins again by itself
		if err := fetches.Err(); err != nil && !errors.As(err, &session) {
			return err
		}
		for _, r := range fetches.Records() {
			w.process(r)
			if err := w.client.CommitRecords(ctx, r); err != nil && ctx.Err() == nil {
				w.failed(err)
			}
		}
	}
}

// Close leaves the group.
func (w *Worker) Close() { w.client.Close() }
