package groups

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// While a coordinator loads, and after it has moved away, each API has its own place for the error; a Heartbeat is told that all is well while it loads.
func TestRefusedByPhase(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	loading := NewShard(DefaultConfig(), Deps{})
	moved := NewShard(DefaultConfig(), Deps{})
	moved.Loaded(start)
	moved.Unload(start)
	ask := func(s *Shard, req kmsg.Request) kmsg.Response {
		fx := s.Handle(start, Command{Ticket: 1, Request: req})
		require.Len(t, fx.Replies, 1)
		require.Empty(t, fx.Batches)
		return fx.Replies[0].Response
	}
	for _, c := range []struct {
		shard *Shard
		code  int16
	}{{loading, errCoordinatorLoadInProgress}, {moved, errNotCoordinator}} {
		join := kmsg.NewPtrJoinGroupRequest()
		join.Version, join.Group, join.MemberID, join.SessionTimeoutMillis = 9, "g", "m", 10000
		joined := ask(c.shard, join).(*kmsg.JoinGroupResponse)
		require.Equal(t, c.code, joined.ErrorCode)
		require.Equal(t, int32(-1), joined.Generation)
		require.Empty(t, joined.MemberID)

		beat := kmsg.NewPtrHeartbeatRequest()
		beat.Version, beat.Group, beat.MemberID = 4, "g", "m"
		want := c.code
		if c.shard == loading {
			want = errNone
		}
		require.Equal(t, want, ask(c.shard, beat).(*kmsg.HeartbeatResponse).ErrorCode)

		sync := kmsg.NewPtrSyncGroupRequest()
		sync.Version, sync.Group = 3, "g"
		require.Equal(t, c.code, ask(c.shard, sync).(*kmsg.SyncGroupResponse).ErrorCode)

		leave := kmsg.NewPtrLeaveGroupRequest()
		leave.Version, leave.Group, leave.Members = 5, "g", []kmsg.LeaveGroupRequestMember{{MemberID: "m"}}
		left := ask(c.shard, leave).(*kmsg.LeaveGroupResponse)
		require.Equal(t, c.code, left.ErrorCode)
		require.Empty(t, left.Members)

		list := kmsg.NewPtrListGroupsRequest()
		require.Equal(t, c.code, ask(c.shard, list).(*kmsg.ListGroupsResponse).ErrorCode)

		commit := kmsg.NewPtrOffsetCommitRequest()
		commit.Version, commit.Group, commit.Generation = 9, "g", -1
		commit.Topics = []kmsg.OffsetCommitRequestTopic{
			{Topic: "t", TopicID: [16]byte{1}, Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Partition: 3}, {Partition: 4}}},
			{Topic: "u", TopicID: [16]byte{2}, Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Partition: 5}}},
		}
		committed := ask(c.shard, commit).(*kmsg.OffsetCommitResponse).Topics
		require.Equal(t, []kmsg.OffsetCommitResponseTopic{
			{Topic: "t", TopicID: [16]byte{1}, Partitions: []kmsg.OffsetCommitResponseTopicPartition{{Partition: 3, ErrorCode: c.code}, {Partition: 4, ErrorCode: c.code}}},
			{Topic: "u", TopicID: [16]byte{2}, Partitions: []kmsg.OffsetCommitResponseTopicPartition{{Partition: 5, ErrorCode: c.code}}},
		}, committed)

		del := kmsg.NewPtrOffsetDeleteRequest()
		del.Group = "g"
		require.Equal(t, c.code, ask(c.shard, del).(*kmsg.OffsetDeleteResponse).ErrorCode)

		for _, groups := range [][]string{{"g"}, {"g", "h"}} {
			describe := kmsg.NewPtrDescribeGroupsRequest()
			describe.Groups = groups
			described := ask(c.shard, describe).(*kmsg.DescribeGroupsResponse)
			remove := kmsg.NewPtrDeleteGroupsRequest()
			remove.Groups = groups
			removed := ask(c.shard, remove).(*kmsg.DeleteGroupsResponse)
			consumers := kmsg.NewPtrConsumerGroupDescribeRequest()
			consumers.Groups = groups
			consumed := ask(c.shard, consumers).(*kmsg.ConsumerGroupDescribeResponse)
			for i, id := range groups {
				require.Equal(t, id, described.Groups[i].Group)
				require.Equal(t, c.code, described.Groups[i].ErrorCode)
				require.Equal(t, id, removed.Groups[i].Group)
				require.Equal(t, c.code, removed.Groups[i].ErrorCode)
				require.Equal(t, id, consumed.Groups[i].Group)
				require.Equal(t, c.code, consumed.Groups[i].ErrorCode)
			}
			require.Len(t, described.Groups, len(groups))
			require.Len(t, removed.Groups, len(groups))
			require.Len(t, consumed.Groups, len(groups))
		}
		consumer := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		consumer.Group = "g"
		require.Equal(t, c.code, ask(c.shard, consumer).(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)

		for _, version := range []int16{1, 2} { // older clients don't come back for the error of loading
			txn := kmsg.NewPtrTxnOffsetCommitRequest()
			txn.Version, txn.Group = version, "g"
			txn.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{{Partition: 3}}}}
			want := c.code
			if c.shard == loading && version < 2 {
				want = errCoordinatorNotAvailable
			}
			require.Equal(t, want, ask(c.shard, txn).(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode, "version %d", version)
		}

		for version := int16(1); version <= 10; version++ {
			fetch := kmsg.NewPtrOffsetFetchRequest()
			fetch.Version, fetch.Group = version, "g"
			fetch.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{3}}}
			fetch.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g"}, {Group: "h"}}
			resp := ask(c.shard, fetch).(*kmsg.OffsetFetchResponse)
			switch {
			case version >= 8:
				require.Zero(t, resp.ErrorCode)
				require.Len(t, resp.Groups, 2)
				for _, g := range resp.Groups {
					require.Equal(t, c.code, g.ErrorCode, "version %d", version)
					require.Empty(t, g.Topics)
				}
			case version >= 2:
				require.Equal(t, c.code, resp.ErrorCode, "version %d", version)
				require.Empty(t, resp.Topics)
			default:
				require.Zero(t, resp.ErrorCode)
				p := resp.Topics[0].Partitions[0]
				require.Equal(t, c.code, p.ErrorCode)
				require.Equal(t, [2]int64{3, -1}, [2]int64{int64(p.Partition), p.Offset})
			}
		}
	}
}
