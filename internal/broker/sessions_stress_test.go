package broker

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Consumers with sessions, producers, evictions and a topic that comes and goes, all at once: every consumer sees every record once and in order, nothing hangs, and nobody watches when all is over.
func TestSessionsUnderEverythingAtOnce(t *testing.T) {
	t.Parallel()
	const partitions, records, consumers = 4, 300, 4
	c := startCluster(t, Options{Seed: 7, Topics: []TopicSpec{{Name: "orders", Partitions: partitions}}})
	id := c.meta.Load().topics["orders"].id
	done := make(chan struct{})
	var work, noise sync.WaitGroup

	for i := range consumers {
		raw := dialRaw(t, c)
		work.Go(func() { consumeAll(t, raw, id, int8(i%2), partitions, records) })
	}
	for p := range int32(partitions) {
		raw := dialRaw(t, c)
		work.Go(func() {
			for range records {
				raw.produce("orders", p, oneBatch(t, 1, 20))
			}
		})
	}
	noise.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
				c.EvictAllFetchSessions()
			}
		}
	})
	noise.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if c.meta.Load().topics["comes-and-goes"] != nil {
				if err := c.DeleteTopicNow("comes-and-goes"); err != nil {
					t.Error(err)
					return
				}
			}
			if err := c.CreateTopicNow(TopicSpec{Name: "comes-and-goes", Partitions: 2}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	work.Wait()
	close(done)
	noise.Wait()

	c.EvictAllFetchSessions()
	for _, top := range c.meta.Load().topics {
		for _, p := range top.partitions {
			p.mu.Lock()
			require.Empty(t, p.watchers, fmt.Sprintf("%s-%d", p.topic, p.index))
			p.mu.Unlock()
		}
	}
	stats := c.FetchSessionStats().Clients["raw"]
	t.Logf("%+v", stats)
	require.Positive(t, stats.NotFound)
	require.Positive(t, stats.Incremental)
}

// consumeAll reads every record of a topic through fetch sessions, as a client does: it begins anew when its session is gone, names a
// partition when its offset moved, and now and then forgets one for a while. A member that comes and goes is in its sessions too.
func consumeAll(t *testing.T, raw *rawClient, id [16]byte, isolation int8, partitions int32, records int64) {
	random := rand.New(rand.NewPCG(1, uint64(isolation)))
	next := make([]int64, partitions)
	var session, epoch int32
	named := map[int32]bool{} // offset as the session knows it
	for {
		left := false
		for _, n := range next {
			left = left || n < records
		}
		if !left {
			return
		}
		req := kmsg.NewPtrFetchRequest()
		req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.IsolationLevel = 12, int32(random.IntN(20)), 1, int32(100+random.IntN(2000)), isolation
		req.SessionID, req.SessionEpoch = session, epoch
		if epoch == 0 {
			clear(named)
		}
		t1 := kmsg.NewFetchRequestTopic()
		t1.Topic = "orders"
		for p := range partitions {
			if !named[p] {
				rp := kmsg.NewFetchRequestTopicPartition()
				rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes, rp.CurrentLeaderEpoch, rp.LastFetchedEpoch = p, next[p], 1<<20, -1, -1
				t1.Partitions = append(t1.Partitions, rp)
				named[p] = true
			}
		}
		req.Topics = append(req.Topics, t1)
		if epoch == 0 {
			other := kmsg.NewFetchRequestTopic()
			other.Topic = "comes-and-goes"
			rp := kmsg.NewFetchRequestTopicPartition()
			rp.PartitionMaxBytes, rp.CurrentLeaderEpoch, rp.LastFetchedEpoch = 1<<20, -1, -1
			other.Partitions = append(other.Partitions, rp)
			req.Topics = append(req.Topics, other)
		}
		got := raw.ask(req).(*kmsg.FetchResponse)
		switch {
		case got.ErrorCode == 70:
			session, epoch = 0, 0
			continue
		case got.ErrorCode != 0:
			t.Errorf("fetch: error %d", got.ErrorCode)
			return
		}
		session = got.SessionID
		if epoch++; session == 0 {
			epoch = 0
		}
		for _, topic := range got.Topics {
			if topic.Topic != "orders" {
				continue
			}
			for _, p := range topic.Partitions {
				if p.ErrorCode != 0 {
					t.Errorf("partition %d: error %d", p.Partition, p.ErrorCode)
					return
				}
				for b := p.RecordBatches; len(b) >= 61; {
					size := 12 + int(binary.BigEndian.Uint32(b[8:]))
					if size > len(b) {
						break
					}
					base := int64(binary.BigEndian.Uint64(b))
					if base != next[p.Partition] {
						t.Errorf("partition %d: offset %d instead of %d", p.Partition, base, next[p.Partition])
						return
					}
					next[p.Partition]++ // batches of one record
					named[p.Partition] = false
					b = b[size:]
				}
			}
		}
	}
}
