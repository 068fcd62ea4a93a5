package groups

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A broker that does not coordinate a group says what is wrong with the request itself first; what a shard of its own would say to it is the same.
func TestUnreachedSaysWhatIsWrongFirst(t *testing.T) {
	t.Parallel()
	meta := (&fakeMetadata{byName: map[string]Topic{}}).with("foo", 2)
	foo, _ := meta.Topic("foo")
	join := func(group string, session int32) *kmsg.JoinGroupRequest {
		req := benchJoin("member", nil)
		req.Group, req.SessionTimeoutMillis = group, session
		return req
	}
	sync := func(group string, version int16, protocol *string) *kmsg.SyncGroupRequest {
		req := kmsg.NewPtrSyncGroupRequest()
		req.Group, req.Version, req.ProtocolType, req.Protocol = group, version, kmsg.StringPtr("consumer"), protocol
		return req
	}
	beat := func(group string) *kmsg.HeartbeatRequest { r := beatOf("m"); r.Group = group; return r }
	leave := func(group string) *kmsg.LeaveGroupRequest {
		r := kmsg.NewPtrLeaveGroupRequest()
		r.Version, r.Group, r.Members = 5, group, []kmsg.LeaveGroupRequestMember{{MemberID: "m"}}
		return r
	}
	remove := func(group string) *kmsg.OffsetDeleteRequest {
		r := kmsg.NewPtrOffsetDeleteRequest()
		r.Group = group
		return r
	}
	describe := func(groups ...string) *kmsg.ConsumerGroupDescribeRequest {
		r := kmsg.NewPtrConsumerGroupDescribeRequest()
		r.Groups = groups
		return r
	}
	consumer := func(group string) *kmsg.ConsumerGroupHeartbeatRequest {
		r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		r.Version, r.Group, r.MemberID, r.MemberEpoch = 1, group, "m", 5
		return r
	}
	code := func(resp kmsg.Response) int16 {
		switch r := resp.(type) {
		case *kmsg.JoinGroupResponse:
			return r.ErrorCode
		case *kmsg.SyncGroupResponse:
			return r.ErrorCode
		case *kmsg.HeartbeatResponse:
			return r.ErrorCode
		case *kmsg.LeaveGroupResponse:
			return r.ErrorCode
		case *kmsg.OffsetDeleteResponse:
			return r.ErrorCode
		case *kmsg.ConsumerGroupHeartbeatResponse:
			return r.ErrorCode
		case *kmsg.ConsumerGroupDescribeResponse:
			require.NotEmpty(t, r.Groups)
			return r.Groups[0].ErrorCode
		}
		require.Fail(t, "which response is that?")
		return 0
	}
	for _, tc := range []struct {
		req  kmsg.Request
		want int16
	}{
		{join("", 1), errInvalidGroupID},
		{join("g", 1), errInvalidSessionTimeout},
		{join("g", 10_000), errNotCoordinator},
		{sync("", 5, nil), errInconsistentGroupProtocol},
		{sync("", 5, kmsg.StringPtr("range")), errInvalidGroupID},
		{sync("", 4, nil), errInvalidGroupID},
		{sync("g", 4, nil), errNotCoordinator},
		{sync("g", 5, kmsg.StringPtr("range")), errNotCoordinator},
		{beat(""), errInvalidGroupID},
		{beat("g"), errNotCoordinator},
		{leave(""), errInvalidGroupID},
		{leave("g"), errNotCoordinator},
		{remove(""), errInvalidGroupID},
		{remove("g"), errNotCoordinator},
		{describe(""), errInvalidGroupID},
		{describe("g"), errNotCoordinator},
		{consumer(""), errInvalidRequest},
		{consumer("g"), errNotCoordinator},
	} {
		resp := Unreached(DefaultConfig(), meta, Command{Request: tc.req}, errNotCoordinator)
		require.Equal(t, tc.want, code(resp), "%T", tc.req)
		if j, ok := resp.(*kmsg.JoinGroupResponse); ok {
			require.Equal(t, int32(-1), j.Generation)
			require.Equal(t, map[bool]string{true: "", false: "member"}[tc.want == errNotCoordinator], j.MemberID)
		}
		if tc.want == errNotCoordinator {
			continue
		}
		s := NewShard(DefaultConfig(), Deps{Metadata: meta})
		s.Loaded(time.Unix(1_700_000_000, 0))
		fx := s.Handle(time.Unix(1_700_000_000, 0), Command{Ticket: 1, Request: tc.req})
		require.Equal(t, tc.want, code(fx.Replies[0].Response), "%T", tc.req)
	}

	// Partitions that don't exist are told by any broker.
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Version, commit.Generation = 9, -1
	commit.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "foo", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Partition: 1}, {Partition: 2}}}}
	partitions := Unreached(DefaultConfig(), meta, Command{Request: commit}, errNotCoordinator).(*kmsg.OffsetCommitResponse).Topics[0].Partitions
	require.Equal(t, []int16{errUnknownTopicOrPartition, errNotCoordinator}, []int16{partitions[0].ErrorCode, partitions[1].ErrorCode})
	commit.Version, commit.Topics[0].Topic, commit.Topics[0].TopicID = 10, "", foo.ID
	topic := Unreached(DefaultConfig(), meta, Command{Request: commit}, errNotCoordinator).(*kmsg.OffsetCommitResponse).Topics[0]
	require.Equal(t, foo.ID, topic.TopicID)
	require.Equal(t, []int16{errUnknownTopicOrPartition, errNotCoordinator}, []int16{topic.Partitions[0].ErrorCode, topic.Partitions[1].ErrorCode})

	txn := kmsg.NewPtrTxnOffsetCommitRequest()
	txn.Version = 3
	txn.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "foo", Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{{Partition: 1}, {Partition: 2}}}}
	for _, tc := range []struct {
		group    string
		verified int16
		want     int16
	}{{"", 48, errInvalidGroupID}, {"g", 48, 48}, {"g", errNone, errNotCoordinator}} {
		txn.Group = tc.group
		asked := 0
		c := Command{Request: txn, Verify: func() int16 { asked++; return tc.verified }}
		got := Unreached(DefaultConfig(), meta, c, errNotCoordinator).(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions
		require.Equal(t, []int16{errUnknownTopicOrPartition, tc.want}, []int16{got[0].ErrorCode, got[1].ErrorCode})
		require.Equal(t, tc.group == "g", asked == 1)
	}
	txn.Topics[0].Partitions = txn.Topics[0].Partitions[1:]
	c := Command{Request: txn, Verify: func() int16 { t.Error("nothing is left to ask for"); return 48 }}
	require.Equal(t, errUnknownTopicOrPartition, Unreached(DefaultConfig(), meta, c, errNotCoordinator).(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
}
