package groups

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/records"
)

// Many that leave at once are one step, and one line of the history that names the first of them. A member that is named twice leaves once.
func TestLeaveOfMany(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	s, ids := replayedCrowd(now, 30, true)
	fx := s.Handle(now, Command{Ticket: 1, Request: leaveOf(slices.Concat(ids[1:], ids[1:]))})
	require.Len(t, fx.Batches, 1)
	require.Len(t, fx.Batches[0].Records, 29*3+1)
	resp := fx.Replies[0].Response.(*kmsg.LeaveGroupResponse)
	require.Len(t, resp.Members, 2*29)
	for _, m := range resp.Members {
		require.Zero(t, m.ErrorCode)
	}
	last := fx.Events[len(fx.Events)-1]
	require.Equal(t, EventEpoch, last.Kind)
	require.Regexp(t, "^member-00001, member-00002, .*, member-00020, 9 more: left by LeaveGroup$", last.Cause)
	require.NoError(t, checkIndexes(s))
}

func leaveOf(ids []string) *kmsg.LeaveGroupRequest {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group = 5, "g"
	for _, id := range ids {
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = id
		req.Members = append(req.Members, m)
	}
	return req
}

// BenchmarkLeaveOfMany is one LeaveGroup that names all members of a group but one, each twice. What it takes for each of them must hardly depend on how many they are.
func BenchmarkLeaveOfMany(b *testing.B) {
	now := time.Unix(1_700_000_000, 0)
	for _, n := range []int{1000, 10_000} {
		for _, kind := range []string{"classic", "consumer", "becomes classic"} {
			b.Run(fmt.Sprintf("%s/members=%d", kind, n), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					var s *Shard
					var ids []string
					if kind == "classic" {
						s, ids, now = benchGroup(b, n, false)
					} else {
						s, ids = replayedCrowd(now, n, kind == "consumer")
					}
					req := leaveOf(slices.Concat(ids[1:], ids[1:]))
					b.StartTimer()
					fx := s.Handle(now, Command{Ticket: Ticket(10 * n), Request: req})
					s.Flush(now)
					b.StopTimer()
					resp := fx.Replies[len(fx.Replies)-1].Response.(*kmsg.LeaveGroupResponse)
					if left, _ := s.State("g"); resp.ErrorCode != 0 || len(left.Members) != 1 {
						b.Fatalf("error %d, %d members are left", resp.ErrorCode, len(left.Members))
					}
					b.StartTimer()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/member")
			})
		}
	}
}

// replayedCrowd is a shard that has read the log of a consumer group g, with a partition for each member. The first member speaks the classic protocol unless all speak the
// new one.
func replayedCrowd(now time.Time, n int, allNew bool) (*Shard, []string) {
	meta := (&fakeMetadata{byName: map[string]Topic{}}).with("foo", int32(n))
	topic, _ := meta.Topic("foo")
	cfg := crowdConfig(false)
	cfg.ConsumerMigrationPolicy = "bidirectional"
	s := NewShard(cfg, Deps{Metadata: meta})
	offset := int64(0)
	put := func(typ int16, second string, value []byte) {
		s.Replay(offset, Record{Key: records.ConsumerKey(typ, "g", second), Value: value}, -1)
		offset++
	}
	ids := make([]string, n)
	for i := range n {
		ids[i] = fmt.Sprintf("member-%05d", i)
		m := records.ConsumerMember{Names: []string{"foo"}, RebalanceTimeoutMs: 20_000}
		if i == 0 && !allNew {
			m.Classic = &records.ClassicMember{SessionTimeoutMs: 10_000, Protocols: []records.ClassicProtocol{{Name: "range", Metadata: subscriptionBytes([]string{"foo"}, nil)}}}
		}
		put(records.TypeConsumerMember, ids[i], m.Encode())
	}
	put(records.TypeConsumerGroup, "", records.ConsumerGroup{Epoch: 2}.Encode())
	for i, id := range ids {
		put(records.TypeConsumerTargetMember, id, records.ConsumerTargetMember{Topics: []records.TopicPartitions{{TopicID: topic.ID, Partitions: []int32{int32(i)}}}}.Encode())
	}
	put(records.TypeConsumerTarget, "", records.ConsumerTarget{Epoch: 2}.Encode())
	for i, id := range ids {
		own := ownershipOf(partitionSet{assignors.TopicID(topic.ID): []int32{int32(i)}}, 2)
		put(records.TypeConsumerCurrentMember, id, records.ConsumerCurrentMember{Epoch: 2, Previous: 2, Assigned: own.toRecord()}.Encode())
	}
	s.Loaded(now)
	return s, ids
}
