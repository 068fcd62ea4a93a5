//go:build cgo

package clienttests

import (
	"errors"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

// confluentWorkers are those of librdkafka.
func confluentWorkers() []workerKind {
	return []workerKind{
		{"librdkafka range", confluentWorker("range"), true},
		// It joins at most once a second, so a join that needs two rounds takes a second.
		{"librdkafka cooperative-sticky", confluentWorker("cooperative-sticky"), true},
	}
}

func confluentWorker(strategy string) func(addr, group, topic string) (*worker, error) {
	return func(addr, group, topic string) (*worker, error) {
		w := newWorker()
		c, err := kafka.NewConsumer(&kafka.ConfigMap{
			"bootstrap.servers": addr, "group.id": group, "auto.offset.reset": "earliest", "partition.assignment.strategy": strategy,
		})
		if err != nil {
			return nil, err
		}
		err = c.Subscribe(topic, func(_ *kafka.Consumer, ev kafka.Event) error {
			switch ev := ev.(type) {
			case kafka.AssignedPartitions:
				w.change(func() { w.owned += len(ev.Partitions) })
			case kafka.RevokedPartitions:
				w.change(func() { w.owned -= len(ev.Partitions) })
			}
			return nil
		})
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if m, err := c.ReadMessage(20 * time.Millisecond); err == nil {
					w.change(func() { w.seen[string(m.Value)]++ })
				}
			}
		}()
		w.close = func() error {
			close(stop)
			<-done
			return c.Close()
		}
		return w, nil
	}
}
