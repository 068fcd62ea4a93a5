//go:build cgo

package clienttests

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

func TestConfluent(t *testing.T) {
	stories(t, confluent{}, "lz4", "zstd")
}

type confluent struct{}

func (confluent) create(ctx context.Context, addr, topic string, partitions int) error {
	adm, err := kafka.NewAdminClient(&kafka.ConfigMap{"bootstrap.servers": addr})
	if err != nil {
		return err
	}
	defer adm.Close()
	res, err := adm.CreateTopics(ctx, []kafka.TopicSpecification{{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1}})
	if err != nil {
		return err
	}
	if e := res[0].Error; e.Code() != kafka.ErrNoError {
		return e
	}
	return nil
}

func (confluent) produce(ctx context.Context, addr, topic, codec string, recs []record) error {
	p, err := kafka.NewProducer(&kafka.ConfigMap{"bootstrap.servers": addr, "compression.codec": codec})
	if err != nil {
		return err
	}
	defer p.Close()
	return confluentSend(ctx, p, topic, recs)
}

func confluentSend(ctx context.Context, p *kafka.Producer, topic string, recs []record) error {
	reports := make(chan kafka.Event, len(recs))
	for _, r := range recs {
		m := &kafka.Message{
			TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: kafka.PartitionAny},
			Key:            []byte(r.Key), Value: r.Value, Timestamp: time.UnixMilli(r.Time),
		}
		for _, h := range r.Headers {
			m.Headers = append(m.Headers, kafka.Header{Key: h.Key, Value: []byte(h.Value)})
		}
		if err := p.Produce(m, reports); err != nil {
			return err
		}
	}
	for i := range recs {
		select {
		case ev := <-reports:
			if m, ok := ev.(*kafka.Message); !ok || m.TopicPartition.Error != nil {
				return fmt.Errorf("delivery report %d: %v", i, ev)
			}
		case <-ctx.Done():
			return fmt.Errorf("%d of %d delivery reports came: %w", i, len(recs), context.Cause(ctx))
		}
	}
	return nil
}

func (confluent) consume(ctx context.Context, addr, topic, group string, members, n int) ([]delivery, error) {
	return gather(ctx, members, n, func(stop context.Context, _ int, deliver func(delivery)) error {
		c, err := kafka.NewConsumer(&kafka.ConfigMap{"bootstrap.servers": addr, "group.id": group, "auto.offset.reset": "earliest"})
		if err != nil {
			return err
		}
		err = c.Subscribe(topic, nil)
		for err == nil && stop.Err() == nil {
			m, e := c.ReadMessage(100 * time.Millisecond)
			if e != nil {
				if ke := (kafka.Error{}); !errors.As(e, &ke) || !ke.IsTimeout() {
					err = e
				}
				continue
			}
			d := delivery{record: record{Key: string(m.Key), Value: m.Value, Time: m.Timestamp.UnixMilli()}, Partition: m.TopicPartition.Partition, Offset: int64(m.TopicPartition.Offset)}
			for _, h := range m.Headers {
				d.Headers = append(d.Headers, header{h.Key, string(h.Value)})
			}
			deliver(d)
		}
		if err == nil {
			_, err = c.Commit()
			if ke := (kafka.Error{}); errors.As(err, &ke) && ke.Code() == kafka.ErrNoOffset {
				err = nil // the timer of enable.auto.commit was first
			}
		}
		return errors.Join(err, c.Close())
	})
}
