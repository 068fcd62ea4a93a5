package broker

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// What a fresh broker, which has neither __consumer_offsets nor __transaction_state, finds wrong before it says that it isn't the coordinator: each answer was
// seen at a real one.

func dialFresh(t *testing.T) *rawClient {
	t.Parallel()
	return dialRaw(t, startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}}))
}

func TestUnreachedJoin(t *testing.T) {
	cl := dialFresh(t)
	for _, c := range []struct {
		group   string
		session int32
		code    wire.Code
		member  string
	}{
		{"g", 30000, wire.NotCoordinator, ""},
		{"g", 1, wire.InvalidSessionTimeout, "m"},
		{"g", 1800001, wire.InvalidSessionTimeout, "m"},
		{"", 1, wire.InvalidGroupID, "m"},
	} {
		req := kmsg.NewPtrJoinGroupRequest()
		req.Version, req.Group, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis, req.MemberID, req.ProtocolType = 9, c.group, c.session, 30000, "m", "consumer"
		req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
		resp := cl.ask(req).(*kmsg.JoinGroupResponse)
		require.Equal(t, c.code, wire.Code(resp.ErrorCode), "%+v", c)
		require.Equal(t, c.member, resp.MemberID, "%+v", c)
	}
}

func TestUnreachedMember(t *testing.T) {
	cl := dialFresh(t)
	for group, want := range map[string]wire.Code{"": wire.InvalidGroupID, "g": wire.NotCoordinator} {
		hb := kmsg.NewPtrHeartbeatRequest()
		hb.Version, hb.Group, hb.MemberID = 4, group, "m"
		require.Equal(t, want, wire.Code(cl.ask(hb).(*kmsg.HeartbeatResponse).ErrorCode))
		leave := kmsg.NewPtrLeaveGroupRequest()
		leave.Version, leave.Group = 5, group
		require.Equal(t, want, wire.Code(cl.ask(leave).(*kmsg.LeaveGroupResponse).ErrorCode))
		del := kmsg.NewPtrOffsetDeleteRequest()
		del.Group = group
		require.Equal(t, want, wire.Code(cl.ask(del).(*kmsg.OffsetDeleteResponse).ErrorCode))
		desc := kmsg.NewPtrConsumerGroupDescribeRequest()
		desc.Version, desc.Groups = 1, []string{group}
		require.Equal(t, want, wire.Code(cl.ask(desc).(*kmsg.ConsumerGroupDescribeResponse).Groups[0].ErrorCode))
		classic := kmsg.NewPtrDescribeGroupsRequest()
		classic.Version, classic.Groups = 5, []string{group}
		require.Equal(t, wire.NotCoordinator, wire.Code(cl.ask(classic).(*kmsg.DescribeGroupsResponse).Groups[0].ErrorCode))
		sync := kmsg.NewPtrSyncGroupRequest()
		sync.Version, sync.Group, sync.MemberID = 5, group, "m"
		require.Equal(t, wire.InconsistentGroupProtocol, wire.Code(cl.ask(sync).(*kmsg.SyncGroupResponse).ErrorCode))
		sync.ProtocolType, sync.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
		require.Equal(t, want, wire.Code(cl.ask(sync).(*kmsg.SyncGroupResponse).ErrorCode))
	}
}

func TestUnreachedConsumerHeartbeat(t *testing.T) {
	cl := dialFresh(t)
	for _, c := range []struct {
		edit    func(*kmsg.ConsumerGroupHeartbeatRequest)
		code    wire.Code
		message *string
	}{
		{func(*kmsg.ConsumerGroupHeartbeatRequest) {}, wire.NotCoordinator, nil},
		{func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = -1 }, wire.NotCoordinator, nil},
		{func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.Group = " " }, wire.InvalidRequest, kmsg.StringPtr("GroupId can't be empty.")},
		{func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = -3 }, wire.InvalidRequest, kmsg.StringPtr("MemberEpoch is invalid.")},
		{func(r *kmsg.ConsumerGroupHeartbeatRequest) {
			r.MemberEpoch, r.ServerAssignor = -1, kmsg.StringPtr("bogus")
		}, wire.UnsupportedAssignor, kmsg.StringPtr("ServerAssignor bogus is not supported. Supported assignors: uniform, range.")},
		{func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.SubscribedTopicRegex = kmsg.StringPtr("(") }, wire.NotCoordinator, nil},
	} {
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.RebalanceTimeoutMillis = 1, "g", "m", 30000
		req.SubscribedTopicNames, req.Topics = []string{"t"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		c.edit(req)
		resp := cl.ask(req).(*kmsg.ConsumerGroupHeartbeatResponse)
		require.Equal(t, c.code, wire.Code(resp.ErrorCode))
		require.Equal(t, c.message, resp.ErrorMessage)
	}
}

func TestUnreachedCommit(t *testing.T) {
	cl := dialFresh(t)
	type part struct {
		topic     string
		partition int32
		code      wire.Code
	}
	for group, codes := range map[string][2]wire.Code{"": {wire.NotCoordinator, wire.InvalidGroupID}, "g": {wire.NotCoordinator, wire.CoordinatorNotAvailable}} {
		commit, txn := kmsg.NewPtrOffsetCommitRequest(), kmsg.NewPtrTxnOffsetCommitRequest()
		commit.Version, commit.Group, commit.Generation = 9, group, -1
		txn.Version, txn.Group, txn.TransactionalID, txn.Generation = 3, group, "x", -1
		for _, name := range []string{"nope", "t"} {
			commit.Topics = append(commit.Topics, kmsg.OffsetCommitRequestTopic{Topic: name, Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Partition: 0}, {Partition: 7}}})
			txn.Topics = append(txn.Topics, kmsg.TxnOffsetCommitRequestTopic{Topic: name, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{{Partition: 0}, {Partition: 7}}})
		}
		want := func(code wire.Code) []part {
			const unknown = wire.UnknownTopicOrPartition
			return []part{{"nope", 0, unknown}, {"nope", 7, unknown}, {"t", 7, unknown}, {"t", 0, code}}
		}
		var got []part
		for _, rt := range cl.ask(commit).(*kmsg.OffsetCommitResponse).Topics {
			for _, p := range rt.Partitions {
				got = append(got, part{rt.Topic, p.Partition, wire.Code(p.ErrorCode)})
			}
		}
		require.Equal(t, want(codes[0]), got)
		got = nil
		for _, rt := range cl.ask(txn).(*kmsg.TxnOffsetCommitResponse).Topics {
			for _, p := range rt.Partitions {
				got = append(got, part{rt.Topic, p.Partition, wire.Code(p.ErrorCode)})
			}
		}
		require.Equal(t, want(codes[1]), got)
		commit.Topics, txn.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t"}}, []kmsg.TxnOffsetCommitRequestTopic{{Topic: "t"}}
		require.Empty(t, cl.ask(commit).(*kmsg.OffsetCommitResponse).Topics)
		require.Empty(t, cl.ask(txn).(*kmsg.TxnOffsetCommitResponse).Topics)
	}
}

func TestUnreachedInitProducerID(t *testing.T) {
	cl := dialFresh(t)
	for timeout, want := range map[int32]wire.Code{1 << 30: wire.InvalidTransactionTimeout, 0: wire.InvalidTransactionTimeout, -1: wire.InvalidTransactionTimeout, 60000: wire.NotCoordinator} {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version, req.TransactionalID, req.TransactionTimeoutMillis = 4, kmsg.StringPtr("x"), timeout
		require.Equal(t, want, wire.Code(cl.ask(req).(*kmsg.InitProducerIDResponse).ErrorCode), "%d", timeout)
	}
}
