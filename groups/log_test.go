package groups

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
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
	remove := kmsg.NewPtrDeleteGroupsRequest()
	remove.Groups = []string{"g"}
	fx := s.Handle(now, Command{Ticket: 2, Request: remove})
	records := 0
	for _, b := range fx.Batches {
		records += len(b.Records)
	}
	require.GreaterOrEqual(t, records, offsets)
	require.Greater(t, len(fx.Batches), offsets/10)
	require.Equal(t, len(fx.Batches), asked)
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
