package groups

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/records"
)

// Records that become many batches are measured once each, however small a batch must be.
func TestManyBatches(t *testing.T) {
	t.Parallel()
	const offsets = 2000
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	limit, asked := 1<<30, 0
	meta := (&fakeMetadata{byName: map[string]Topic{}}).with("foo", offsets)
	s := NewShard(DefaultConfig(), Deps{Metadata: meta, MaxBatchBytes: func() int { asked++; return limit }})
	s.Loaded(now)
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Version, commit.Group, commit.Generation = 9, "g", -1
	commit.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "foo"}}
	for i := range int32(offsets) {
		commit.Topics[0].Partitions = append(commit.Topics[0].Partitions, kmsg.OffsetCommitRequestTopicPartition{Partition: i, LeaderEpoch: -1})
	}
	require.Len(t, s.Handle(now, Command{Ticket: 1, Request: commit}).Batches, 1)

	limit, asked = 200, 0
	fx := s.MetadataChanged(now, &fakeMetadata{byName: map[string]Topic{}}) // the topic's offsets go with it
	records := 0
	for _, b := range fx.Batches {
		records += len(b.Records)
	}
	require.GreaterOrEqual(t, records, offsets)
	require.Greater(t, len(fx.Batches), offsets/10)
	require.Equal(t, len(fx.Batches), asked)
}

// The target that is computed for all requests of a turn may be more than a batch holds: they have been granted.
func TestTargetOfATurnInPieces(t *testing.T) {
	t.Parallel()
	const limit = 700
	g, names := newCrowd(t, 30, 1, 60, crowdConfig(true))
	g.shard.deps.MaxBatchBytes = func() int { return limit }
	for i := range g.ids {
		g.beat(i, names)
	}
	fx := g.shard.Flush(g.now)
	require.Greater(t, len(fx.Batches), 3)
	targets := 0
	for _, b := range fx.Batches {
		require.True(t, g.shard.fits(b.Records))
		for _, r := range b.Records {
			if typ, _ := records.KeyType(r.Key); typ == records.TypeConsumerTargetMember {
				targets++
			}
		}
	}
	require.Equal(t, len(g.ids), targets)
	g.took(fx)
	require.True(t, g.stable())
}

// A heartbeat that changes nothing doesn't ask the log anything.
func TestStableHeartbeatLeavesTheLogAlone(t *testing.T) {
	t.Parallel()
	g, names := newCrowd(t, 3, 1, 6, crowdConfig(false))
	g.settle(t, names, 1, 5*time.Second)
	for i := range g.ids {
		g.beat(i, names)
	}
	g.shard.deps.MaxBatchBytes = func() int { t.Error("it asked for the size of a batch"); return 0 }
	for i := range g.ids {
		g.beat(i, names)
	}
}

// What fits into a batch is counted as Kafka's format has it, to the byte.
func TestBatchesThatJustFit(t *testing.T) {
	t.Parallel()
	for _, count := range []int{1, 2, 63, 64, 65, 200} {
		for _, size := range []int{0, 1, 40, 63, 64, 300, 9000} {
			batch := make([]Record, count)
			bytes := 61 // a batch's header
			for i := range batch {
				batch[i] = Record{Key: make([]byte, size)}
				r := kmsg.Record{OffsetDelta: int32(i), Key: batch[i].Key}
				if i%3 > 0 {
					batch[i].Value = make([]byte, size*i%500)
					r.Value = batch[i].Value
				}
				body := len(r.AppendTo(nil)) - 1 // without the length, which is 0 here
				r.Length = int32(body)
				bytes += len(r.AppendTo(nil))
			}
			limit := bytes
			s := NewShard(DefaultConfig(), Deps{MaxBatchBytes: func() int { return limit }})
			require.True(t, s.fits(batch), "%d records of %d bytes", count, size)
			limit--
			require.False(t, s.fits(batch), "%d records of %d bytes", count, size)
			require.Equal(t, count-1, s.fitting(batch))
		}
	}
	limit := 0
	s := NewShard(DefaultConfig(), Deps{MaxBatchBytes: func() int { return limit }})
	require.True(t, s.fits(nil), "nothing is written")
	require.Zero(t, s.fitting([]Record{{Key: []byte{1}}}))
}

// Records of the oldest type are offsets, too.
func TestOffsetsOfTheOldestType(t *testing.T) {
	t.Parallel()
	r := offsetRecord("g", "foo", 0, 5, assignors.TopicID{})
	r.Key[1] = 0
	s := NewShard(DefaultConfig(), Deps{})
	s.Replay(0, r, -1)
	offset, ok := s.Committed("g", "foo", 0)
	require.True(t, ok)
	require.Equal(t, int64(5), offset)
}
