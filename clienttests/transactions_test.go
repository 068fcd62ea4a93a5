package clienttests

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A transactor is a client library's transactional producer.
type transactor interface {
	// transact opens a producer of the transactional id and makes each round one transaction: its records go to the topic, the group's
	// offset of the topic source's partition 0 with them, and it is committed or aborted.
	transact(ctx context.Context, addr, id, topic, source, group string, rounds []round) error
}

type round struct {
	recs   []record
	offset int64
	commit bool
}

func TestSaramaTransactions(t *testing.T) { transactions(t, shopify{}) }

// transactions sends rounds of which each third is aborted: its records and offsets must not show.
func transactions(t *testing.T, c transactor) {
	t.Parallel()
	b := broker(t)
	topic, source, group := b.topic(t, "bookings"), b.topic(t, "orders"), b.group(t, "billing")
	_, err := b.adm.CreateTopics(b.ctx, 1, 1, nil, topic, source)
	require.NoError(t, err)
	b.awaitTopic(t, topic, 1)
	b.awaitTopic(t, source, 1)

	var rounds []round
	var committed []record
	for i := range 8 {
		r := round{recs: makeRecords(100*i, 100), offset: int64(10 * (i + 1)), commit: i%3 != 2}
		rounds = append(rounds, r)
		if r.commit {
			committed = append(committed, r.recs...)
		}
	}
	require.NoError(t, c.transact(b.ctx, b.addr, unique(t, "txn"), topic, source, group, rounds))

	requireSame(t, committed, withoutGaps(readAll(t, b, topic, len(committed), kgo.ReadCommitted())))
	require.Len(t, readAll(t, b, topic, 800, kgo.ReadUncommitted()), 800, "aborted records are still in the log")
	require.Equal(t, map[int32]int64{0: 80}, b.committed(t, group, source))
}

// withoutGaps numbers the deliveries anew: markers and aborted records take offsets that a reader doesn't see.
func withoutGaps(ds []delivery) []delivery {
	for i := range ds {
		ds[i].Offset = int64(i)
	}
	return ds
}

// readAll reads n records of a topic of one partition, and sees that no more come.
func readAll(t *testing.T, b *env, topic string, n int, level kgo.IsolationLevel) (got []delivery) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.addr), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(level), kgo.FetchMaxWait(100*time.Millisecond))
	require.NoError(t, err)
	defer cl.Close()
	for quiet := 0; quiet < 2; {
		ctx, cancel := context.WithTimeout(b.ctx, 300*time.Millisecond)
		fs := cl.PollFetches(ctx)
		cancel()
		require.NoError(t, b.ctx.Err(), "%d of %d records came", len(got), n)
		fs.EachRecord(func(r *kgo.Record) { got = append(got, franzDelivery(r)) })
		if len(got) >= n && fs.NumRecords() == 0 {
			quiet++
		}
	}
	return got
}

func (shopify) transact(_ context.Context, addr, id, topic, source, group string, rounds []round) error {
	conf := sarama.NewConfig()
	conf.Producer.Return.Successes = true
	conf.Producer.RequiredAcks = sarama.WaitForAll // this and the next two: a transactional producer must have them
	conf.Producer.Idempotent = true
	conf.Net.MaxOpenRequests = 1
	conf.Producer.Transaction.ID = id
	p, err := sarama.NewSyncProducer([]string{addr}, conf)
	if err != nil {
		return err
	}
	defer p.Close()
	for _, r := range rounds {
		if err := p.BeginTxn(); err != nil {
			return err
		}
		if err := p.SendMessages(saramaMessages(topic, r.recs)); err != nil {
			return err
		}
		offsets := map[string][]*sarama.PartitionOffsetMetadata{source: {{Partition: 0, Offset: r.offset, LeaderEpoch: -1}}}
		if err := p.AddOffsetsToTxn(offsets, group); err != nil {
			return err
		}
		end := p.AbortTxn
		if r.commit {
			end = p.CommitTxn
		}
		if err := end(); err != nil {
			return err
		}
	}
	return nil
}

// What kgo's users do: read a topic, write another, exactly once. Each third transaction is aborted and its orders are taken again.
func TestFranzTransactions(t *testing.T) {
	t.Parallel()
	b := broker(t)
	orders, bookings, group, id := b.topic(t, "orders"), b.topic(t, "bookings"), b.group(t, "billing"), unique(t, "txn")
	_, err := b.adm.CreateTopics(b.ctx, 3, 1, nil, orders)
	require.NoError(t, err)
	_, err = b.adm.CreateTopics(b.ctx, 1, 1, nil, bookings)
	require.NoError(t, err)
	b.awaitTopic(t, orders, 3)
	b.awaitTopic(t, bookings, 1)
	sent := makeRecords(0, 3000)
	require.NoError(t, franz{}.produce(b.ctx, b.addr, orders, "none", sent))

	newSession := func() *kgo.GroupTransactSession {
		s, err := kgo.NewGroupTransactSession(
			kgo.SeedBrokers(b.addr), kgo.TransactionalID(id), kgo.ConsumerGroup(group), kgo.ConsumeTopics(orders),
			kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxPartitionBytes(8<<10),
		)
		require.NoError(t, err)
		return s
	}
	s := newSession()
	aborted, booked := 0, 0
	for n := 0; booked < len(sent); n++ {
		fs := s.PollFetches(b.ctx)
		require.NoError(t, fs.Err())
		if fs.NumRecords() == 0 {
			continue
		}
		require.NoError(t, s.Begin())
		fs.EachRecord(func(r *kgo.Record) {
			s.Produce(b.ctx, &kgo.Record{Topic: bookings, Key: r.Key, Value: r.Value, Headers: r.Headers, Timestamp: r.Timestamp}, nil)
		})
		require.NoError(t, s.Client().Flush(b.ctx)) // an abort drops what is not sent yet
		commit := kgo.TransactionEndTry(n%3 != 2)
		done, err := s.End(b.ctx, commit)
		require.NoError(t, err)
		require.Equal(t, bool(commit), done, "transaction %d", n)
		if done {
			booked += fs.NumRecords()
		} else {
			aborted += fs.NumRecords()
		}
	}
	require.Equal(t, len(sent), booked)
	require.NotZero(t, aborted)
	requireSame(t, sent, withoutGaps(readAll(t, b, bookings, len(sent), kgo.ReadCommitted())))
	require.Len(t, readAll(t, b, bookings, booked+aborted, kgo.ReadUncommitted()), booked+aborted)
	ends, err := b.adm.ListEndOffsets(b.ctx, orders)
	require.NoError(t, err)
	want := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) { want[o.Partition] = o.Offset })
	require.Equal(t, want, b.committed(t, group, orders))

	// Who comes with the same id takes over; the one before can write no more.
	heir, err := kgo.NewClient(kgo.SeedBrokers(b.addr), kgo.TransactionalID(id))
	require.NoError(t, err)
	defer heir.Close()
	require.NoError(t, heir.BeginTransaction())
	require.NoError(t, heir.ProduceSync(b.ctx, &kgo.Record{Topic: bookings, Value: []byte("mine now")}).FirstErr())
	require.NoError(t, s.Begin())
	err = s.ProduceSync(b.ctx, &kgo.Record{Topic: bookings, Value: []byte("still mine?")}).FirstErr()
	require.True(t, errors.Is(err, kerr.InvalidProducerEpoch) || errors.Is(err, kerr.ProducerFenced), "got %v", err)
	require.NoError(t, heir.EndTransaction(b.ctx, kgo.TryCommit))
	s.Close()
	last := readAll(t, b, bookings, len(sent)+1, kgo.ReadCommitted())
	require.Equal(t, "mine now", string(last[len(last)-1].Value))
	require.Len(t, last, len(sent)+1, "the fenced producer's record is not there")
}
