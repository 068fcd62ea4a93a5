//go:build cgo

package clienttests

import (
	"errors"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

// rdWorker is a member of librdkafka with these settings beside its defaults.
func rdWorker(settings kafka.ConfigMap) func(addr, group, topic string) (*worker, error) {
	return func(addr, group, topic string) (*worker, error) {
		w := newWorker()
		conf := kafka.ConfigMap{"bootstrap.servers": addr, "group.id": group, "auto.offset.reset": "earliest"}
		for name, value := range settings {
			conf[name] = value
		}
		c, err := kafka.NewConsumer(&conf)
		if err != nil {
			return nil, err
		}
		changed := func(_ *kafka.Consumer, ev kafka.Event) error {
			switch ev := ev.(type) {
			case kafka.AssignedPartitions:
				w.change(func() { w.owned += len(ev.Partitions) })
			case kafka.RevokedPartitions:
				w.change(func() { w.owned -= len(ev.Partitions) })
			}
			return nil
		}
		if topic[0] == '^' {
			err = c.SubscribeTopics([]string{topic}, changed)
		} else {
			err = c.Subscribe(topic, changed)
		}
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
			// Close polls away the messages that wait in its queue, and commits them. A pause empties the queue.
			if mine, err := c.Assignment(); err == nil {
				_ = c.Pause(mine)
			}
			return c.Close()
		}
		return w, nil
	}
}
