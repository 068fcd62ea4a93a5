package broker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// TestTransactionsWithTooFewInSync: with one of three replicas of __transaction_state left, below its min.insync.replicas of 2, Apache Kafka 4.3.1
// answers COORDINATOR_NOT_AVAILABLE to what would be written, after its other checks, and goes on where it was when enough are back.
func TestTransactionsWithTooFewInSync(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Brokers: 3, Topics: []TopicSpec{{Name: "t", Partitions: 1, ReplicationFactor: 3}}})
	coordinator := func() *rawClient {
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.Version, find.CoordinatorKey, find.CoordinatorType = 3, "x", 1
		found := dialRunning(t, c).ask(find).(*kmsg.FindCoordinatorResponse)
		require.Zero(t, found.ErrorCode)
		return dialNode(t, c, found.NodeID)
	}
	begin := func(id string) *kmsg.InitProducerIDResponse {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version, req.TransactionalID, req.TransactionTimeoutMillis = 4, &id, 60_000
		return coordinator().ask(req).(*kmsg.InitProducerIDResponse)
	}
	p := begin("x")
	require.Zero(t, p.ErrorCode)
	add := func(epoch int16) wire.Code {
		req := kmsg.NewPtrAddPartitionsToTxnRequest()
		req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 3, "x", p.ProducerID, epoch
		req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: "t", Partitions: []int32{0}}}
		return wire.Code(coordinator().ask(req).(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0].ErrorCode)
	}
	end := func() wire.Code {
		req := kmsg.NewPtrEndTxnRequest()
		req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = 3, "x", p.ProducerID, p.ProducerEpoch, true
		return wire.Code(coordinator().ask(req).(*kmsg.EndTxnResponse).ErrorCode)
	}
	require.NoError(t, c.StopBroker(1, true))
	require.NoError(t, c.StopBroker(3, true))
	require.Equal(t, wire.CoordinatorNotAvailable, add(p.ProducerEpoch))
	require.Equal(t, wire.ProducerFenced, add(p.ProducerEpoch+1))
	require.EqualValues(t, wire.CoordinatorNotAvailable, begin("x").ErrorCode)

	require.NoError(t, c.StartBroker(1))
	require.Equal(t, wire.None, add(p.ProducerEpoch))
	require.NoError(t, c.StopBroker(1, true))
	require.Equal(t, wire.CoordinatorNotAvailable, end())
	require.NoError(t, c.StartBroker(3))
	require.Equal(t, wire.None, end())
}

// TestGroupsWithTooFewInSync: with one of three replicas of __consumer_offsets left, below a min.insync.replicas of 2, what a group would write is
// COORDINATOR_NOT_AVAILABLE, after the other checks. Apache Kafka 4.3.1 says so five seconds later: see TestDifferenceTooFewInSyncIsSaidAtOnce.
func TestGroupsWithTooFewInSync(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Brokers: 3, Config: map[string]string{"min.insync.replicas": "2"}, Topics: []TopicSpec{{Name: "t", Partitions: 1, ReplicationFactor: 3}}})
	cl := dialNode(t, c, coordinatorOf(t, c, "g"))
	stored := simpleCommit(t, cl, "g", 5)
	require.Equal(t, wire.None, stored)
	join := func(group, member string) *kmsg.JoinGroupResponse {
		req := kmsg.NewPtrJoinGroupRequest()
		req.Version, req.Group, req.MemberID, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis, req.ProtocolType = 9, group, member, 30_000, 60_000, "consumer"
		req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
		return cl.ask(req).(*kmsg.JoinGroupResponse)
	}
	sync := func(group string, joined *kmsg.JoinGroupResponse) wire.Code {
		req := kmsg.NewPtrSyncGroupRequest()
		req.Version, req.Group, req.MemberID, req.Generation = 5, group, joined.MemberID, joined.Generation
		req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
		req.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: joined.MemberID}}
		return wire.Code(cl.ask(req).(*kmsg.SyncGroupResponse).ErrorCode)
	}
	beat := func(member string, epoch int32) *kmsg.ConsumerGroupHeartbeatResponse {
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.MemberEpoch = 1, "g", member, epoch
		if epoch == 0 {
			req.RebalanceTimeoutMillis, req.SubscribedTopicNames, req.Topics = 60_000, []string{"t"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		}
		return cl.ask(req).(*kmsg.ConsumerGroupHeartbeatResponse)
	}
	for _, id := range c.meta.Load().alive() {
		if id != cl.node {
			require.NoError(t, c.StopBroker(id, true))
		}
	}
	refused := wire.CoordinatorNotAvailable
	require.Equal(t, refused, simpleCommit(t, cl, "g", 6))
	require.EqualValues(t, 5, simpleOffset(cl, "g"))
	require.EqualValues(t, refused, beat("AAAAAAAAAAAAAAAAAAAAAQ", 0).ErrorCode)
	require.EqualValues(t, wire.GroupIDNotFound, beat("AAAAAAAAAAAAAAAAAAAAAQ", 1).ErrorCode, "the other checks are before: it is no consumer group")

	remove := kmsg.NewPtrDeleteGroupsRequest()
	remove.Version, remove.Groups = 2, []string{"g"}
	require.EqualValues(t, refused, cl.ask(remove).(*kmsg.DeleteGroupsResponse).Groups[0].ErrorCode)
	forget := kmsg.NewPtrOffsetDeleteRequest()
	forget.Group = "g"
	forget.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{}}}}
	require.EqualValues(t, refused, cl.ask(forget).(*kmsg.OffsetDeleteResponse).ErrorCode)
	require.EqualValues(t, 5, simpleOffset(cl, "g"))

	member := join("g", join("g", "").MemberID)
	require.Zero(t, member.ErrorCode, "a join writes nothing")
	require.Equal(t, refused, sync("g", member))
	again := join("g", member.MemberID)
	require.Equal(t, member.Generation+1, again.Generation, "the members begin anew")
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Version, leave.Group, leave.Members = 5, "g", []kmsg.LeaveGroupRequestMember{{MemberID: member.MemberID}}
	left := cl.ask(leave).(*kmsg.LeaveGroupResponse)
	require.EqualValues(t, refused, left.ErrorCode)
	require.Empty(t, left.Members)

	for id := int32(1); id <= 3; id++ {
		if id != cl.node {
			require.NoError(t, c.StartBroker(id))
		}
	}
	require.Equal(t, wire.None, simpleCommit(t, cl, "g", 7))
	require.EqualValues(t, 7, simpleOffset(cl, "g"))
	joined := beat("AAAAAAAAAAAAAAAAAAAAAQ", 0)
	require.Zero(t, joined.ErrorCode)
}

func coordinatorOf(t *testing.T, c *Cluster, group string) int32 {
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.Version, find.CoordinatorKey = 3, group
	found := dialRunning(t, c).ask(find).(*kmsg.FindCoordinatorResponse)
	require.Zero(t, found.ErrorCode)
	return found.NodeID
}

// simpleCommit commits an offset of t-0 without a member.
func simpleCommit(t *testing.T, cl *rawClient, group string, offset int64) wire.Code {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 8, group, -1
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: offset, LeaderEpoch: -1}}}}
	return wire.Code(cl.ask(req).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
}

// simpleOffset is the committed offset of t-0.
func simpleOffset(cl *rawClient, group string) int64 {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.Group = 5, group
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}
	return cl.ask(req).(*kmsg.OffsetFetchResponse).Topics[0].Partitions[0].Offset
}

// Rows of clienttests/DIFFERENCES.md about several brokers.

func TestDifferenceTooFewInSyncIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Brokers: 2, Config: map[string]string{"min.insync.replicas": "2"}, Topics: []TopicSpec{{Name: "t", Partitions: 1}}})
	cl := dialNode(t, c, coordinatorOf(t, c, "g"))
	require.NoError(t, c.StopBroker(3-cl.node, true))
	require.Equal(t, wire.CoordinatorNotAvailable, simpleCommit(t, cl, "g", 6))
	require.NoError(t, c.StartBroker(3-cl.node))
	require.EqualValues(t, -1, simpleOffset(cl, "g"), "what was refused is not stored")
}

func TestDifferenceNothingIsLostWithABroker(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Brokers: 2, Topics: []TopicSpec{{Name: "t", Partitions: 1, ReplicationFactor: 2, Configs: map[string]string{"min.insync.replicas": "2"}}}})
	require.NoError(t, c.StopBroker(1, true))
	req := produceRequest("t", 0, oneBatch(t, 1, 10))
	req.Acks = 1
	require.Zero(t, dialNode(t, c, 2).ask(req).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
	require.NoError(t, c.StopBroker(2, false)) // the only one that has the record
	require.NoError(t, c.StartBroker(1))
	require.EqualValues(t, 1, c.meta.Load().partition("t", 0).state.Load().leader)
	require.NoError(t, c.StartBroker(2))
	require.EqualValues(t, 1, dialNode(t, c, 1).produce("t", 0, oneBatch(t, 1, 10)), "its offset isn't given again")
}

func TestDifferenceAReassignmentIsCompleteAtOnce(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Brokers: 2, Topics: []TopicSpec{{
		Name: "t", Partitions: 1, ReplicationFactor: 1,
		Configs: map[string]string{"leader.replication.throttled.replicas": "*", "follower.replication.throttled.replicas": "*"},
	}}, Config: map[string]string{"replica.fetch.max.bytes": "1"}})
	cl := dialRaw(t, c)
	require.Equal(t, wire.None, cl.reassign("t", 0, 2))
	require.Equal(t, wire.NoReassignmentInProgress, cl.reassign("t", 0), "there is nothing to cancel")
	require.Equal(t, []int32{2}, c.meta.Load().partition("t", 0).state.Load().isr)
}

func TestDifferenceLeadersStay(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Brokers: 2, Topics: []TopicSpec{{Name: "t", Partitions: 1, ReplicationFactor: 2}}})
	require.NoError(t, c.StopBroker(1, true))
	require.NoError(t, c.StartBroker(1))
	require.NoError(t, c.FastForward(time.Hour, 10*time.Second, func() {}))
	require.EqualValues(t, 2, c.meta.Load().partition("t", 0).state.Load().leader)
}
