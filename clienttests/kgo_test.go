package clienttests

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestFranz(t *testing.T) {
	stories(t, franz{}, "none", "gzip", "snappy", "lz4", "zstd")
}

type franz struct{}

var franzCodecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

func (franz) create(ctx context.Context, addr, topic string, partitions int) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return err
	}
	defer cl.Close()
	_, err = kadm.NewClient(cl).CreateTopic(ctx, int32(partitions), 1, nil, topic)
	return err
}

func (franz) produce(ctx context.Context, addr, topic, codec string, recs []record) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ProducerBatchCompression(franzCodecs[codec]))
	if err != nil {
		return err
	}
	defer cl.Close()
	out := make([]*kgo.Record, len(recs))
	for i, r := range recs {
		out[i] = &kgo.Record{Topic: topic, Key: []byte(r.Key), Value: r.Value, Timestamp: time.UnixMilli(r.Time)}
		for _, h := range r.Headers {
			out[i].Headers = append(out[i].Headers, kgo.RecordHeader{Key: h.Key, Value: []byte(h.Value)})
		}
	}
	return cl.ProduceSync(ctx, out...).FirstErr()
}

func (franz) consume(ctx context.Context, addr, topic, group string, members, n int) ([]delivery, error) {
	return gather(ctx, members, n, func(stop context.Context, _ int, deliver func(delivery)) error {
		cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic))
		if err != nil {
			return err
		}
		defer cl.Close()
		for stop.Err() == nil {
			fs := cl.PollFetches(stop)
			if stop.Err() == nil && fs.Err() != nil {
				return fs.Err()
			}
			fs.EachRecord(func(r *kgo.Record) { deliver(franzDelivery(r)) })
		}
		return cl.CommitUncommittedOffsets(context.WithoutCancel(ctx))
	})
}

func franzDelivery(r *kgo.Record) delivery {
	d := delivery{record: record{Key: string(r.Key), Value: r.Value, Time: r.Timestamp.UnixMilli()}, Partition: r.Partition, Offset: r.Offset}
	for _, h := range r.Headers {
		d.Headers = append(d.Headers, header{h.Key, string(h.Value)})
	}
	return d
}
