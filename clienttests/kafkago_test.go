package clienttests

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/compress"
)

func TestKafkaGo(t *testing.T) {
	stories(t, segmentio{}, "snappy", "lz4")
}

type segmentio struct{}

func (segmentio) emptyIsNull() {}

var kafkaGoCodecs = map[string]compress.Compression{"snappy": compress.Snappy, "lz4": compress.Lz4}

func (segmentio) create(ctx context.Context, addr, topic string, partitions int) error {
	transport := &kafka.Transport{} // the default one keeps its connections when all that used it are closed
	defer transport.CloseIdleConnections()
	cl := &kafka.Client{Addr: kafka.TCP(addr), Transport: transport}
	resp, err := cl.CreateTopics(ctx, &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1}},
	})
	if err != nil {
		return err
	}
	return resp.Errors[topic]
}

func (segmentio) produce(ctx context.Context, addr, topic, codec string, recs []record) error {
	// Its defaults send without waiting for an answer, to partitions in turn:
	// neither loss nor the order of a key could be told.
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	w := &kafka.Writer{
		Addr: kafka.TCP(addr), Topic: topic, Compression: kafkaGoCodecs[codec], Transport: transport,
		RequiredAcks: kafka.RequireAll, Balancer: &kafka.Hash{},
	}
	out := make([]kafka.Message, len(recs))
	for i, r := range recs {
		out[i] = kafka.Message{Key: []byte(r.Key), Value: r.Value, Time: time.UnixMilli(r.Time)}
		for _, h := range r.Headers {
			out[i].Headers = append(out[i].Headers, kafka.Header{Key: h.Key, Value: []byte(h.Value)})
		}
	}
	err := w.WriteMessages(ctx, out...)
	return errors.Join(err, w.Close())
}

func (segmentio) consume(ctx context.Context, addr, topic, group string, members, n int) ([]delivery, error) {
	return gather(ctx, members, n, func(stop context.Context, _ int, deliver func(delivery)) error {
		r := kafka.NewReader(kafka.ReaderConfig{
			Brokers: []string{addr}, Topic: topic, GroupID: group,
			MaxWait: 500 * time.Millisecond, // Close waits for the fetch under way; the default is 10 s
		})
		var last []kafka.Message
		for {
			m, err := r.FetchMessage(stop)
			if stop.Err() != nil {
				break
			}
			if err != nil {
				r.Close()
				return err
			}
			last = append(last, m)
			d := delivery{record: record{Key: string(m.Key), Value: m.Value, Time: m.Time.UnixMilli()}, Partition: int32(m.Partition), Offset: m.Offset}
			for _, h := range m.Headers {
				d.Headers = append(d.Headers, header{h.Key, string(h.Value)})
			}
			deliver(d)
		}
		err := r.CommitMessages(context.WithoutCancel(ctx), last...)
		return errors.Join(err, r.Close())
	})
}
