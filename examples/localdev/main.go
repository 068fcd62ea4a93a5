// Command localdev is an ordinary Kafka program for trying things on the
// standalone broker:
//
//	go run ./cmd/fakekafka            # in one terminal, at the root of the checkout
//	go run ./examples/localdev        # in another
//
// It creates a topic, sends three greetings and reads them back.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	bootstrap := flag.String("bootstrap", "127.0.0.1:9092", "where the broker listens")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *bootstrap); err != nil {
		fmt.Fprintln(os.Stderr, "localdev:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, bootstrap string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumeTopics("greetings"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer cl.Close()
	if err := cl.Ping(ctx); err != nil {
		return fmt.Errorf("no broker answers on %s; start one with go run ./cmd/fakekafka: %w", bootstrap, err)
	}
	_, err = kadm.NewClient(cl).CreateTopic(ctx, 1, 1, nil, "greetings")
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return err
	}
	sent := cl.ProduceSync(ctx,
		&kgo.Record{Topic: "greetings", Value: []byte("hello")},
		&kgo.Record{Topic: "greetings", Value: []byte("bonjour")},
		&kgo.Record{Topic: "greetings", Value: []byte("merhaba")},
	)
	last, err := sent[len(sent)-1].Record, sent.FirstErr()
	if err != nil {
		return err
	}
	// A broker that runs since the last try has the earlier greetings too.
	for {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, r := range fetches.Records() {
			fmt.Fprintf(out, "greetings/%d offset %d: %s\n", r.Partition, r.Offset, r.Value)
			if r.Offset == last.Offset {
				return nil
			}
		}
	}
}
