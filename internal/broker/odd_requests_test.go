package broker

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// Requests that name something twice, nothing at all, or what cannot be: each answer was seen at a real broker.

// produceTo is a request with the record data of one mention after the other of partition 0, in topics of their own.
func produceTo(topic string, mentions ...[]byte) *kmsg.ProduceRequest {
	req := produceRequest(topic, 0, mentions[0])
	for _, m := range mentions[1:] {
		req.Topics = append(req.Topics, produceRequest(topic, 0, m).Topics...)
	}
	return req
}

func TestProduceMentionsAPartitionTwice(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}}))
	good, empty := oneBatch(t, 1, 1), []byte{}
	answer := func(req *kmsg.ProduceRequest) kmsg.ProduceResponseTopicPartition {
		resp := cl.ask(req).(*kmsg.ProduceResponse)
		require.Len(t, resp.Topics, 1)
		require.Len(t, resp.Topics[0].Partitions, 1)
		return resp.Topics[0].Partitions[0]
	}
	p := answer(produceTo("t", oneBatch(t, 3, 1), good))
	require.Zero(t, p.ErrorCode)
	require.EqualValues(t, 1, cl.produce("t", 0, good), "only the last one was appended")

	for _, mentions := range [][][]byte{{good, empty}, {empty, good}} {
		p = answer(produceTo("t", mentions...))
		require.Equal(t, wire.InvalidRecord, wire.Code(p.ErrorCode), "the bad one is the answer")
		require.EqualValues(t, -1, p.BaseOffset)
	}
	require.EqualValues(t, 4, cl.produce("t", 0, good), "the good ones were appended all the same")

	req := produceTo("t", good, empty)
	req.Acks = 5
	require.Equal(t, wire.InvalidRecord, wire.Code(answer(req).ErrorCode))
	req = produceTo("t", good, good)
	req.Acks = 5
	require.Equal(t, wire.InvalidRequiredAcks, wire.Code(answer(req).ErrorCode))
}

func TestProduceLooksForTransactionsInOrder(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 2}}}))
	transactional, broken := oneBatch(t, 1, 1), oneBatch(t, 1, 1)
	transactional[22] |= 0x10
	broken[16] = 3
	two := func(first, second []byte) wire.Code {
		req := produceRequest("t", 0, first)
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, produceRequest("t", 1, second).Topics[0].Partitions...)
		return wire.Code(cl.ask(req).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
	}
	require.Equal(t, wire.TransactionalIDAuthorizationFailed, two(transactional, broken), "nothing behind it is looked at")
	require.Equal(t, wire.CorruptMessage, two(broken, transactional))
}

func TestTopicThatComesBackIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 2}}}))

	list := kmsg.NewPtrListOffsetsRequest()
	list.Version, list.ReplicaID = 7, -1
	remove := kmsg.NewPtrDeleteRecordsRequest()
	remove.Version = 2
	for i := range int32(2) {
		lt, dt := kmsg.NewListOffsetsRequestTopic(), kmsg.NewDeleteRecordsRequestTopic()
		lp, dp := kmsg.NewListOffsetsRequestTopicPartition(), kmsg.NewDeleteRecordsRequestTopicPartition()
		lt.Topic, lp.Partition, lp.Timestamp = "t", i, -1
		dt.Topic, dp.Partition, dp.Offset = "t", i, -1
		lt.Partitions, dt.Partitions = append(lt.Partitions, lp), append(dt.Partitions, dp)
		list.Topics, remove.Topics = append(list.Topics, lt), append(remove.Topics, dt)
	}
	listed := cl.ask(list).(*kmsg.ListOffsetsResponse)
	require.Len(t, listed.Topics, 1)
	require.Len(t, listed.Topics[0].Partitions, 2)
	removed := cl.ask(remove).(*kmsg.DeleteRecordsResponse)
	require.Len(t, removed.Topics, 1)
	require.Len(t, removed.Topics[0].Partitions, 2)
}

// fetchIDs is a Fetch without a session of one partition of each id.
func fetchIDs(ids ...[16]byte) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxBytes, req.SessionEpoch = 17, 1<<20, -1
	for _, id := range ids {
		topic, p := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
		topic.TopicID, p.PartitionMaxBytes = id, 1<<20
		topic.Partitions = append(topic.Partitions, p)
		req.Topics = append(req.Topics, topic)
	}
	return req
}

func TestFetchOfIDsThatAreNone(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}})
	cl := dialRaw(t, c)
	id, zero, unknown := c.meta.Load().topics["t"].id, [16]byte{}, [16]byte{7}
	codes := func(req *kmsg.FetchRequest) (code wire.Code, topics [][16]byte) {
		resp := cl.ask(req).(*kmsg.FetchResponse)
		for _, rt := range resp.Topics {
			topics = append(topics, rt.TopicID)
		}
		return wire.Code(resp.ErrorCode), topics
	}
	code, topics := codes(fetchIDs(zero, id))
	require.Equal(t, wire.None, code, "the last of the answer may have the zero id")
	require.Equal(t, [][16]byte{id, zero}, topics)
	code, topics = codes(fetchIDs(zero, unknown))
	require.Equal(t, wire.UnknownServerError, code)
	require.Empty(t, topics)

	req := fetchIDs(id, unknown, zero)
	req.Topics[0].Partitions[0].Partition = 9
	code, _ = codes(req)
	require.Equal(t, wire.UnknownServerError, code, "the unknown partition comes behind it")
	req.Topics = req.Topics[:2]
	code, topics = codes(req)
	require.Equal(t, wire.None, code)
	require.Equal(t, [][16]byte{unknown, id}, topics, "unknown ids come before unknown partitions")
}

func TestPartitionsAreCountedOverARequest(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "a", Partitions: 1}, {Name: "b", Partitions: 1}}})
	cl := dialRaw(t, c)
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Version, req.ValidateOnly = 3, true
	grow := func(topics ...kmsg.CreatePartitionsRequestTopic) (codes []wire.Code) {
		req.Topics = topics
		for _, rt := range cl.ask(req).(*kmsg.CreatePartitionsResponse).Topics {
			codes = append(codes, wire.Code(rt.ErrorCode))
		}
		return codes
	}
	to := func(topic string, count int32) kmsg.CreatePartitionsRequestTopic {
		return kmsg.CreatePartitionsRequestTopic{Topic: topic, Count: count}
	}
	require.Equal(t, []wire.Code{wire.None}, grow(to("a", 10_001)))
	require.Equal(t, []wire.Code{wire.UnknownServerError, wire.UnknownTopicOrPartition}, grow(to("a", 10_002), to("none", 1)))
	require.Equal(t, []wire.Code{wire.None, wire.UnknownServerError}, grow(to("a", 9_000), to("b", 9_000)))
	require.Equal(t, []wire.Code{wire.InvalidRequest}, grow(to("a", 10_000), to("a", 10_000)), "names given twice are not counted")

	req.ValidateOnly = false
	require.Equal(t, []wire.Code{wire.UnknownServerError, wire.UnknownServerError}, grow(to("a", 20_000), to("b", 2)))
	require.Equal(t, []int{10_001, 1}, []int{len(c.meta.Load().topics["a"].partitions), len(c.meta.Load().topics["b"].partitions)}, "those that fit are made")

	codes := createCodes(cl.ask(createRequest(newTopic("x", 10_000, 1), newTopic("y", 0, 1))))
	require.Equal(t, wire.PolicyViolation, codes["x"], "0 counts like -1")
}

func TestAdminRequestsForNothing(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{Topics: []TopicSpec{{Name: "a", Partitions: 1}}}))

	elect := kmsg.NewPtrElectLeadersRequest()
	elect.Version, elect.ElectionType, elect.Topics = 2, 7, []kmsg.ElectLeadersRequestTopic{}
	require.Zero(t, cl.ask(elect).(*kmsg.ElectLeadersResponse).ErrorCode, "no partition, so no election of a wrong type")

	describe := kmsg.NewPtrDescribeTopicPartitionsRequest()
	describe.ResponsePartitionLimit = 10
	describe.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: "a"}, {Topic: ""}}
	for _, rt := range cl.ask(describe).(*kmsg.DescribeTopicPartitionsResponse).Topics {
		require.Equal(t, wire.UnknownServerError, wire.Code(rt.ErrorCode), "the empty name without a cursor")
	}

	list := kmsg.NewPtrListTransactionsRequest()
	list.StateFilters = []string{"nope", "Ongoing", "nope"}
	require.Equal(t, []string{"nope"}, cl.ask(list).(*kmsg.ListTransactionsResponse).UnknownStateFilters)
}

func TestOddIsolationNeedsSomethingToRead(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}})
	cl := dialRaw(t, c)
	ask := func(ids ...[16]byte) wire.Code {
		req := fetchIDs(ids...)
		req.IsolationLevel = 3
		return wire.Code(cl.ask(req).(*kmsg.FetchResponse).ErrorCode)
	}
	require.Equal(t, wire.None, ask())
	require.Equal(t, wire.None, ask([16]byte{7}))
	require.Equal(t, wire.UnknownServerError, ask([16]byte{7}, c.meta.Load().topics["t"].id))
}

func TestPartitionsNamedTwiceInAdminRequests(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 2}}}))
	move := kmsg.NewPtrAlterReplicaLogDirsRequest()
	move.Version = 2
	for _, partitions := range [][]int32{{0, 0}, {}, {1, 0}} {
		move.Dirs = append(move.Dirs, kmsg.AlterReplicaLogDirsRequestDir{Dir: "/none", Topics: []kmsg.AlterReplicaLogDirsRequestDirTopic{{Topic: "t", Partitions: partitions}}})
	}
	moved := cl.ask(move).(*kmsg.AlterReplicaLogDirsResponse)
	require.Len(t, moved.Topics, 1)
	require.Len(t, moved.Topics[0].Partitions, 2)

	add := kmsg.NewPtrAddPartitionsToTxnRequest()
	add.Version, add.TransactionalID = 3, "x"
	add.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: "t", Partitions: []int32{0, 0}}, {Topic: "t"}}
	added := cl.ask(add).(*kmsg.AddPartitionsToTxnResponse)
	require.Len(t, added.Topics, 2, "one code for all: as they stand in the request")
	require.Len(t, added.Topics[0].Partitions, 2)
	add.Topics = append(add.Topics, kmsg.AddPartitionsToTxnRequestTopic{Topic: "t", Partitions: []int32{9}})
	added = cl.ask(add).(*kmsg.AddPartitionsToTxnResponse)
	require.Len(t, added.Topics, 1, "one of them is not there: each is answered once")
	require.Len(t, added.Topics[0].Partitions, 2)
}

func TestRefusedTokenNamesItsOwner(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{}))
	req := kmsg.NewPtrCreateDelegationTokenRequest()
	req.Version, req.OwnerPrincipalType, req.OwnerPrincipalName = 3, kmsg.StringPtr("User"), kmsg.StringPtr("alice")
	resp := cl.ask(req).(*kmsg.CreateDelegationTokenResponse)
	require.Equal(t, wire.DelegationTokenRequestNotAllowed, wire.Code(resp.ErrorCode))
	require.Equal(t, "alice", resp.PrincipalName)
	req.OwnerPrincipalType = nil
	resp = cl.ask(req).(*kmsg.CreateDelegationTokenResponse)
	require.Equal(t, wire.UnknownServerError, wire.Code(resp.ErrorCode))
	require.Equal(t, "ANONYMOUS", resp.PrincipalName)
}

func TestTransactionalOffsetsOfNoGroup(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}, {Name: "empty", Partitions: 1}}}))
	find := kmsg.NewPtrFindCoordinatorRequest() // which makes the offsets topic
	find.CoordinatorKey = "g"
	cl.ask(find)
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.TransactionalID, req.Generation = 3, "x", -1
	for _, topic := range []string{"t", "none", "empty"} {
		rt := kmsg.NewTxnOffsetCommitRequestTopic()
		if rt.Topic = topic; topic != "empty" {
			rt.Partitions = append(rt.Partitions, kmsg.NewTxnOffsetCommitRequestTopicPartition())
		}
		req.Topics = append(req.Topics, rt)
	}
	codes := map[string]wire.Code{}
	for _, rt := range cl.ask(req).(*kmsg.TxnOffsetCommitResponse).Topics {
		codes[rt.Topic] = wire.Code(rt.Partitions[0].ErrorCode)
	}
	require.Equal(t, map[string]wire.Code{"t": wire.InvalidGroupID, "none": wire.UnknownTopicOrPartition}, codes)
}
