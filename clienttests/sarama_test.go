package clienttests

import (
	"context"
	"testing"
	"time"

	"github.com/IBM/sarama"
)

func TestSarama(t *testing.T) {
	stories(t, shopify{}, "gzip", "zstd")
}

type shopify struct{}

var saramaCodecs = map[string]sarama.CompressionCodec{"gzip": sarama.CompressionGZIP, "zstd": sarama.CompressionZSTD}

func (shopify) create(_ context.Context, addr, topic string, partitions int) error {
	adm, err := sarama.NewClusterAdmin([]string{addr}, sarama.NewConfig())
	if err != nil {
		return err
	}
	defer adm.Close()
	return adm.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: int32(partitions), ReplicationFactor: 1}, false)
}

func (shopify) produce(_ context.Context, addr, topic, codec string, recs []record) error {
	conf := sarama.NewConfig()
	conf.Producer.Return.Successes = true // a SyncProducer must have it
	conf.Producer.Compression = saramaCodecs[codec]
	p, err := sarama.NewSyncProducer([]string{addr}, conf)
	if err != nil {
		return err
	}
	defer p.Close()
	return p.SendMessages(saramaMessages(topic, recs))
}

func saramaMessages(topic string, recs []record) []*sarama.ProducerMessage {
	out := make([]*sarama.ProducerMessage, len(recs))
	for i, r := range recs {
		out[i] = &sarama.ProducerMessage{Topic: topic, Key: sarama.StringEncoder(r.Key), Timestamp: time.UnixMilli(r.Time)}
		if r.Value != nil {
			out[i].Value = sarama.ByteEncoder(r.Value)
		}
		for _, h := range r.Headers {
			out[i].Headers = append(out[i].Headers, sarama.RecordHeader{Key: []byte(h.Key), Value: []byte(h.Value)})
		}
	}
	return out
}

func (shopify) consume(ctx context.Context, addr, topic, group string, members, n int) ([]delivery, error) {
	return gather(ctx, members, n, func(stop context.Context, _ int, deliver func(delivery)) error {
		conf := sarama.NewConfig()
		conf.Consumer.Offsets.Initial = sarama.OffsetOldest
		g, err := sarama.NewConsumerGroup([]string{addr}, group, conf)
		if err != nil {
			return err
		}
		for stop.Err() == nil && err == nil {
			err = g.Consume(stop, []string{topic}, saramaHandler(deliver)) // returns at each rebalance
		}
		if stop.Err() != nil {
			err = nil
		}
		if cerr := g.Close(); err == nil {
			err = cerr
		}
		return err
	})
}

type saramaHandler func(delivery)

func (saramaHandler) Setup(sarama.ConsumerGroupSession) error { return nil }

func (saramaHandler) Cleanup(s sarama.ConsumerGroupSession) error {
	s.Commit()
	return nil
}

func (deliver saramaHandler) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for m := range c.Messages() {
		d := delivery{record: record{Key: string(m.Key), Value: m.Value, Time: m.Timestamp.UnixMilli()}, Partition: m.Partition, Offset: m.Offset}
		for _, h := range m.Headers {
			d.Headers = append(d.Headers, header{string(h.Key), string(h.Value)})
		}
		deliver(d)
		s.MarkMessage(m, "")
	}
	return nil
}
