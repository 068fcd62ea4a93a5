package clienttests

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// The whole of a test in a bubble: brokers, clients and time. Sarama is not here: it waits on locks, and on a ticker that go-metrics makes
// outside of the bubble, so that time never passes there. Nor is zstd: franz-go closes its decoders by finalizers, which run outside.

func TestBubbleFranz(t *testing.T) {
	for _, protocol := range []string{"classic", "consumer"} {
		for _, codec := range []string{"none", "lz4"} {
			t.Run(protocol+" "+codec, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { franzInBubble(t, protocol, codec) })
			})
		}
	}
}

func franzInBubble(t *testing.T, protocol, codec string) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 4), fakekafka.InMemoryNetwork())
	ctx := t.Context()
	worker := func(id string) *kgo.Client {
		opts := []kgo.Opt{
			kgo.SeedBrokers(k.Bootstrap()), kgo.Dialer(k.DialContext), kgo.ClientID(id), kgo.ConsumerGroup("billing"),
			kgo.ConsumeTopics("orders"), kgo.AutoCommitMarks(), kgo.ProducerBatchCompression(franzCodecs[codec]),
		}
		if protocol == "consumer" {
			opts = append(opts, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
		}
		cl, err := kgo.NewClient(opts...)
		require.NoError(t, err)
		return cl
	}
	one := worker("worker-1")
	k.Group("billing").AwaitStable(t, 1)
	for i := range 100 {
		one.Produce(ctx, &kgo.Record{Topic: "orders", Key: fmt.Append(nil, i), Value: fmt.Append(nil, "order ", i)}, nil)
	}
	require.NoError(t, one.Flush(ctx))
	for n := 0; n < 100; {
		fs := one.PollFetches(ctx)
		require.NoError(t, fs.Err())
		one.MarkCommitRecords(fs.Records()...)
		n += fs.NumRecords()
	}
	two := worker("worker-2")
	k.Group("billing").AwaitStable(t, 2)
	k.Group("billing").RequireBalanced(t)
	began := time.Now()
	time.Sleep(10 * time.Minute) // all of it heartbeats, in no time
	k.Group("billing").AwaitStable(t, 2)
	require.Less(t, time.Since(began), 11*time.Minute)
	two.Close()
	k.Group("billing").AwaitStable(t, 1)
	one.Close()
	k.Group("billing").AwaitLag(t, 0)
}

func TestBubbleKafkaGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := fakekafka.Start(t, fakekafka.Topic("orders", 2), fakekafka.InMemoryNetwork())
		transport := &kafka.Transport{Dial: k.DialContext}
		w := &kafka.Writer{Addr: kafka.TCP(k.Bootstrap()), Topic: "orders", Transport: transport, RequiredAcks: kafka.RequireAll}
		require.NoError(t, w.WriteMessages(t.Context(), kafka.Message{Key: []byte("a"), Value: []byte("one")}, kafka.Message{Key: []byte("b"), Value: []byte("two")}))
		r := kafka.NewReader(kafka.ReaderConfig{
			Brokers: []string{k.Bootstrap()}, GroupID: "billing", Topic: "orders",
			Dialer: &kafka.Dialer{ClientID: "worker-1", DialFunc: k.DialContext},
		})
		for range 2 {
			_, err := r.ReadMessage(t.Context())
			require.NoError(t, err)
		}
		k.Group("billing").AwaitLag(t, 0)
		require.NoError(t, r.Close())
		require.NoError(t, w.Close())
		transport.CloseIdleConnections()
	})
}
