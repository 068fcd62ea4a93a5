package clienttests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/IBM/sarama"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

// worker is a member that runs in the background with its library's default settings.
type worker struct {
	mu    sync.Mutex
	owned int            // partitions that its user was told it has
	seen  map[string]int // values received, and how often
	moved chan struct{}  // capacity 1: something changed
	close func() error   // leaves the group
}

func newWorker() *worker { return &worker{seen: map[string]int{}, moved: make(chan struct{}, 1)} }

func (w *worker) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	select {
	case w.moved <- struct{}{}:
	default:
	}
}

func (w *worker) has() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.owned
}

func (w *worker) received(value string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[value]
}

// franzWorker is a franz-go member that commits what it polled when it loses a partition, as its users do who want no record twice.
func franzWorker(opts ...kgo.Opt) func(addr, group, topic string) (*worker, error) {
	return func(addr, group, topic string) (*worker, error) {
		w := newWorker()
		gone := func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			w.change(func() { w.owned -= len(partitions[topic]) })
		}
		cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
				w.change(func() { w.owned += len(partitions[topic]) })
			}),
			kgo.OnPartitionsRevoked(func(ctx context.Context, cl *kgo.Client, partitions map[string][]int32) {
				_ = cl.CommitUncommittedOffsets(ctx)
				gone(ctx, cl, partitions)
			}),
			kgo.OnPartitionsLost(gone)}, opts...)...)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ctx.Err() == nil {
				cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) { w.change(func() { w.seen[string(r.Value)]++ }) })
			}
		}()
		w.close = func() error {
			cancel()
			<-done
			cl.Close()
			return nil
		}
		return w, nil
	}
}

// kafkaGoWorker uses ConsumerGroup, which tells what a member was assigned, and reads each partition as Reader does.
func kafkaGoWorker(addr, group, topic string) (*worker, error) {
	w := newWorker()
	cg, err := kafkago.NewConsumerGroup(kafkago.ConsumerGroupConfig{ID: group, Brokers: []string{addr}, Topics: []string{topic}, StartOffset: kafkago.FirstOffset})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			gen, err := cg.Next(ctx)
			if err != nil {
				continue // the end, or a rebalance, which it reports as an error
			}
			w.change(func() { w.owned = len(gen.Assignments[topic]) })
			for _, a := range gen.Assignments[topic] {
				gen.Start(func(ctx context.Context) { w.readPartition(ctx, addr, topic, gen, a) })
			}
			gen.Start(func(ctx context.Context) {
				<-ctx.Done()
				w.change(func() { w.owned = 0 })
			})
		}
	}()
	w.close = func() error {
		err := cg.Close()
		cancel()
		<-done
		return err
	}
	return w, nil
}

func (w *worker) readPartition(ctx context.Context, addr, topic string, gen *kafkago.Generation, a kafkago.PartitionAssignment) {
	r := kafkago.NewReader(kafkago.ReaderConfig{Brokers: []string{addr}, Topic: topic, Partition: a.ID, MaxWait: 100 * time.Millisecond})
	defer r.Close()
	if err := r.SetOffset(a.Offset); err != nil {
		return
	}
	next := int64(-1)
	for {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			break
		}
		w.change(func() { w.seen[string(m.Value)]++ })
		next = m.Offset + 1
	}
	if next >= 0 {
		_ = gen.CommitOffsets(map[string]map[int]int64{topic: {a.ID: next}})
	}
}

// saramaWorker is not held: sarama locks its broker for the time of a heartbeat.
func saramaWorker(addr, group, topic string) (*worker, error) {
	w := newWorker()
	cfg := sarama.NewConfig()
	cfg.Consumer.Offsets.Initial = sarama.OffsetOldest
	cg, err := sarama.NewConsumerGroup([]string{addr}, group, cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := cg.Consume(ctx, []string{topic}, watchingHandler{w, topic}); err != nil && !errors.Is(err, sarama.ErrClosedConsumerGroup) {
				continue
			}
		}
	}()
	w.close = func() error {
		cancel()
		<-done
		return cg.Close()
	}
	return w, nil
}

type watchingHandler struct {
	w     *worker
	topic string
}

func (h watchingHandler) Setup(s sarama.ConsumerGroupSession) error {
	h.w.change(func() { h.w.owned = len(s.Claims()[h.topic]) })
	return nil
}

func (h watchingHandler) Cleanup(sarama.ConsumerGroupSession) error {
	h.w.change(func() { h.w.owned = 0 })
	return nil
}

func (h watchingHandler) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for {
		select {
		case <-s.Context().Done():
			return nil
		case m, ok := <-c.Messages():
			if !ok {
				return nil
			}
			h.w.change(func() { h.w.seen[string(m.Value)]++ })
			s.MarkMessage(m, "")
		}
	}
}

// production is what a background producer has sent when done is closed.
type production struct {
	done   chan struct{}
	mu     sync.Mutex
	values []string
	err    error
}

// soFar are the values that have been sent.
func (p *production) soFar() []string {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.values)
}

// produceSteadily sends a record every 10 ms until stop.
func produceSteadily(ctx context.Context, addr, topic string, stop chan struct{}) *production {
	sent := &production{done: make(chan struct{})}
	go func() {
		defer close(sent.done)
		cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
		if err != nil {
			sent.err = err
			return
		}
		defer cl.Close()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			v := fmt.Sprint("record-", i)
			if sent.err = cl.ProduceSync(ctx, &kgo.Record{Value: []byte(v)}).FirstErr(); sent.err != nil {
				return
			}
			sent.mu.Lock()
			sent.values = append(sent.values, v)
			sent.mu.Unlock()
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	return sent
}
