package broker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
)

// Odd requests about transactions: each answer was seen at a real broker.

// txnClient is a raw client that has a transactional id.
type txnClient struct {
	*rawClient
	id    string
	pid   int64
	epoch int16
}

func startTransactional(t *testing.T, config map[string]string) txnClient {
	return transactionalOn(t, startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 2}}, Config: config}))
}

func transactionalOn(t *testing.T, c *Cluster) txnClient {
	cl := txnClient{rawClient: dialRaw(t, c), id: "id"}
	cl.find(1, cl.id)
	init := kmsg.NewPtrInitProducerIDRequest()
	init.Version, init.TransactionalID, init.TransactionTimeoutMillis = 4, &cl.id, 60000
	resp := cl.ask(init).(*kmsg.InitProducerIDResponse)
	require.Zero(t, resp.ErrorCode)
	cl.pid, cl.epoch = resp.ProducerID, resp.ProducerEpoch
	return cl
}

// find waits until a coordinator is there.
func (cl txnClient) find(kind int8, key string) {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorType, req.CoordinatorKeys = 4, kind, []string{key}
	require.Eventually(cl.tb, func() bool {
		return cl.ask(req).(*kmsg.FindCoordinatorResponse).Coordinators[0].ErrorCode == 0
	}, 5*time.Second, time.Millisecond)
}

// commitOffset commits one offset of group g with the client's producer id.
func (cl txnClient) commitOffset(version int16, id string, epoch int16) wire.Code {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch, req.Generation = version, id, "g", cl.pid, epoch, -1
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{{Offset: 1}}}}
	return wire.Code(cl.ask(req).(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
}

func (cl txnClient) describe() kmsg.DescribeTransactionsResponseTransactionState {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{cl.id}
	return cl.ask(req).(*kmsg.DescribeTransactionsResponse).TransactionStates[0]
}

// add asks below v4 for partition 0 of topics.
func (cl txnClient) add(topics ...string) (codes []wire.Code) {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 3, cl.id, cl.pid, cl.epoch
	for _, name := range topics {
		req.Topics = append(req.Topics, kmsg.AddPartitionsToTxnRequestTopic{Topic: name, Partitions: []int32{0}})
	}
	for _, t := range cl.ask(req).(*kmsg.AddPartitionsToTxnResponse).Topics {
		codes = append(codes, wire.Code(t.Partitions[0].ErrorCode))
	}
	return codes
}

func TestInternalTopicsAreNotAddedForClients(t *testing.T) {
	t.Parallel()
	cl := startTransactional(t, nil)
	require.Equal(t, []wire.Code{wire.OperationNotAttempted, wire.TopicAuthorizationFailed}, cl.add("t", offsetsTopic))
	require.Equal(t, []wire.Code{wire.None}, cl.add("t"))
}

func TestBatchNamesATransactionTwice(t *testing.T) {
	t.Parallel()
	cl := startTransactional(t, nil)
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version = 5
	for p := range int32(2) {
		txn := kmsg.NewAddPartitionsToTxnRequestTransaction()
		txn.TransactionalID, txn.ProducerID, txn.ProducerEpoch = cl.id, cl.pid, cl.epoch
		txn.Topics = []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: "t", Partitions: []int32{p}}}
		req.Transactions = append(req.Transactions, txn)
	}
	partitions := func() (ps []int32) {
		for _, txn := range cl.ask(req).(*kmsg.AddPartitionsToTxnResponse).Transactions {
			require.Zero(t, txn.Topics[0].Partitions[0].ErrorCode)
			ps = append(ps, txn.Topics[0].Partitions[0].Partition)
		}
		return ps
	}
	require.Equal(t, []int32{0, 0}, partitions(), "one code for all stands at the partitions of the first")
	require.Equal(t, []int32{1}, cl.describe().Topics[0].Partitions, "those of the last were added")
	req.Transactions[0].VerifyOnly, req.Transactions[1].VerifyOnly = true, true
	require.Equal(t, []int32{1, 1}, partitions())
}

// The work and the answer stay in proportion to the request.
func TestBatchNamesATransactionVeryOften(t *testing.T) {
	t.Parallel()
	cl := startTransactional(t, nil)
	for _, many := range []int{0, 20_000} { // where the partitions stand
		req := kmsg.NewPtrAddPartitionsToTxnRequest()
		req.Version = 5
		req.Transactions = make([]kmsg.AddPartitionsToTxnRequestTransaction, 20_001)
		for i := range req.Transactions {
			req.Transactions[i].TransactionalID = cl.id
		}
		req.Transactions[many].Topics = []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: "nothing", Partitions: make([]int32, 200_000)}}
		require.Equal(t, wire.UnknownServerError, wire.Code(cl.ask(req).(*kmsg.AddPartitionsToTxnResponse).ErrorCode))
	}
}

func TestUnknownAcksAddThePartition(t *testing.T) {
	t.Parallel()
	cl := startTransactional(t, nil)
	b, err := partitionlog.BuildBatch([]partitionlog.Record{{Value: []byte("v")}}, partitionlog.BatchOptions{ProducerID: cl.pid, ProducerEpoch: cl.epoch, Transactional: true})
	require.NoError(t, err)
	req := produceRequest("t", 0, b)
	req.Version, req.TransactionID, req.Acks = 12, &cl.id, 2
	require.Equal(t, wire.InvalidRequiredAcks, wire.Code(cl.ask(req).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode))
	require.Equal(t, []int32{0}, cl.describe().Topics[0].Partitions, "the coordinator is asked first")
}

func TestProduceOfTwoEpochs(t *testing.T) {
	t.Parallel()
	cl := startTransactional(t, nil)
	batch := func(epoch int16) []byte {
		b, err := partitionlog.BuildBatch([]partitionlog.Record{{Value: []byte("v")}}, partitionlog.BatchOptions{
			ProducerID: cl.pid, ProducerEpoch: epoch, Transactional: true,
		})
		require.NoError(t, err)
		return b
	}
	req := produceRequest("t", 0, batch(cl.epoch))
	req.Version, req.TransactionID = 12, &cl.id
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, produceRequest("t", 1, batch(cl.epoch+1)).Topics[0].Partitions...)
	for _, p := range cl.ask(req).(*kmsg.ProduceResponse).Topics[0].Partitions {
		require.Equal(t, wire.InvalidProducerIDMapping, wire.Code(p.ErrorCode))
	}
	require.Equal(t, "Empty", cl.describe().State)
}

func TestOffsetsOfAnOpenTransaction(t *testing.T) {
	t.Parallel()
	cl := startTransactional(t, nil)
	cl.find(0, "g")
	require.Equal(t, wire.InvalidProducerIDMapping, cl.commitOffset(5, "other", cl.epoch))
	require.Equal(t, wire.None, cl.commitOffset(5, cl.id, cl.epoch))
	require.Equal(t, wire.None, cl.commitOffset(5, "other", cl.epoch), "the coordinator isn't asked any more")
	require.Equal(t, wire.None, cl.commitOffset(0, "other", cl.epoch))
	require.Equal(t, wire.InvalidProducerEpoch, cl.commitOffset(5, cl.id, cl.epoch-1))
	require.Equal(t, wire.InvalidProducerEpoch, cl.commitOffset(5, "other", cl.epoch-1), "refused before the coordinator is asked")
}

func TestNobodyIsAskedWithoutVerification(t *testing.T) {
	t.Parallel()
	cl := startTransactional(t, map[string]string{"transaction.partition.verification.enable": "false"})
	cl.find(0, "g")
	for version := range int16(5) {
		require.Equal(t, wire.None, cl.commitOffset(version, cl.id, cl.epoch))
	}
	require.Equal(t, "Empty", cl.describe().State)

	cl.write(marker(cl.pid, 1, 0))
	b, err := partitionlog.BuildBatch([]partitionlog.Record{{Value: []byte("v")}}, partitionlog.BatchOptions{ProducerID: cl.pid, Transactional: true})
	require.NoError(t, err)
	req := produceRequest("t", 0, b)
	req.Version, req.TransactionID = 11, &cl.id
	p := cl.ask(req).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	require.Equal(t, wire.InvalidProducerEpoch, wire.Code(p.ErrorCode))
	require.Zero(t, p.LogStartOffset, "it is the log that refuses the old epoch")
}

// marker is one of WriteTxnMarkers, for partitions of t.
func marker(pid int64, epoch int16, partitions ...int32) kmsg.WriteTxnMarkersRequestMarker {
	m := kmsg.NewWriteTxnMarkersRequestMarker()
	m.ProducerID, m.ProducerEpoch, m.CoordinatorEpoch = pid, epoch, 3
	m.Topics = []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: "t", Partitions: partitions}}
	return m
}

func (cl txnClient) write(markers ...kmsg.WriteTxnMarkersRequestMarker) []kmsg.WriteTxnMarkersResponseMarker {
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Version, req.Markers = 1, markers
	return cl.ask(req).(*kmsg.WriteTxnMarkersResponse).Markers
}

func TestMarkersAreAnsweredByProducer(t *testing.T) {
	t.Parallel()
	cl := startTransactional(t, nil)
	require.Empty(t, cl.write(marker(cl.pid, 0)), "no partitions")
	got := cl.write(marker(cl.pid, 0, 0, 9), marker(cl.pid, -2, 0))
	require.Len(t, got, 1)
	require.Len(t, got[0].Topics, 1)
	require.Len(t, got[0].Topics[0].Partitions, 2)
	require.Equal(t, wire.InvalidProducerEpoch, wire.Code(got[0].Topics[0].Partitions[0].ErrorCode), "of the last marker")
	require.Equal(t, wire.UnknownTopicOrPartition, wire.Code(got[0].Topics[0].Partitions[1].ErrorCode))

	got = cl.write(marker(cl.pid, 0, 1), marker(cl.pid, -1, 0))
	require.Len(t, got, 1, "the whole request fails")
	require.Equal(t, wire.UnknownServerError, wire.Code(got[0].Topics[0].Partitions[0].ErrorCode))

	got = cl.write(marker(cl.pid+1, 0), marker(cl.pid, -1, 0))
	require.Len(t, got, 2, "then also who names no partition has an entry")
	require.Equal(t, cl.pid+1, got[0].ProducerID)
	require.Empty(t, got[0].Topics)

	for range 2 {
		got = cl.write(marker(-2, 0, 0))
		require.Equal(t, wire.None, wire.Code(got[0].Topics[0].Partitions[0].ErrorCode), "nobody's marker leaves nothing behind")
	}
	got = cl.write(marker(-2, -5, 0))
	require.Equal(t, wire.None, wire.Code(got[0].Topics[0].Partitions[0].ErrorCode))
}

func TestRefusedMarkerLeavesTheTransactionPending(t *testing.T) {
	t.Parallel()
	cl := startTransactional(t, nil)
	add := kmsg.NewPtrAddPartitionsToTxnRequest()
	add.Version, add.TransactionalID, add.ProducerID, add.ProducerEpoch = 3, cl.id, cl.pid, cl.epoch
	add.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: "t", Partitions: []int32{0, 1}}}
	cl.ask(add)
	cl.write(marker(cl.pid, 5, 0))
	end := kmsg.NewPtrEndTxnRequest()
	end.Version, end.TransactionalID, end.ProducerID, end.ProducerEpoch, end.Commit = 4, cl.id, cl.pid, cl.epoch, true
	require.Zero(t, cl.ask(end).(*kmsg.EndTxnResponse).ErrorCode)
	state := cl.describe()
	require.Equal(t, "PrepareCommit", state.State)
	require.Equal(t, []int32{0}, state.Topics[0].Partitions, "the other one has its marker")
	require.Equal(t, wire.ConcurrentTransactions, wire.Code(cl.ask(end).(*kmsg.EndTxnResponse).ErrorCode))
	require.Equal(t, []wire.Code{wire.ConcurrentTransactions}, cl.add("t"))
}

// Recorded from Apache Kafka 4.3.1: without __transaction_state nobody can be asked, which each API says in its own words.
func TestWithoutATransactionLog(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{KafkaTimings: true, Topics: []TopicSpec{{Name: "t", Partitions: 1}}}))
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "g"
	require.Eventually(t, func() bool { return cl.ask(find).(*kmsg.FindCoordinatorResponse).ErrorCode == 0 }, 10*time.Second, time.Millisecond)
	for version := int16(0); version <= 5; version++ {
		commit := kmsg.NewPtrTxnOffsetCommitRequest()
		commit.Version, commit.TransactionalID, commit.Group, commit.ProducerID, commit.Generation = version, "nobody", "g", 5, -1
		topic := kmsg.NewTxnOffsetCommitRequestTopic()
		topic.Topic = "t"
		topic.Partitions = append(topic.Partitions, kmsg.NewTxnOffsetCommitRequestTopicPartition())
		commit.Topics = append(commit.Topics, topic)
		resp := cl.ask(commit).(*kmsg.TxnOffsetCommitResponse)
		require.Equal(t, wire.CoordinatorNotAvailable, wire.Code(resp.Topics[0].Partitions[0].ErrorCode), "v%d", version)
	}
	for version := int16(9); version <= 12; version++ {
		batch, err := partitionlog.BuildBatch([]partitionlog.Record{{Value: []byte("v")}}, partitionlog.BatchOptions{
			Idempotent: true, Transactional: true, ProducerID: 5, ProducerEpoch: 0, BaseSequence: 0})
		require.NoError(t, err)
		req := produceRequest("t", 0, batch)
		req.Version, req.TransactionID = version, kmsg.StringPtr("nobody")
		p := cl.ask(req).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		require.Equal(t, wire.NotEnoughReplicas, wire.Code(p.ErrorCode), "v%d", version)
		require.NotNil(t, p.ErrorMessage)
	}
}

// Whose a transactional id is stays known as long as the id: clients may make up any number of them.
func TestProducersOfForgottenTransactionalIDsAreForgotten(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Config: map[string]string{"transactional.id.expiration.ms": "60000", "transaction.remove.expired.transaction.cleanup.interval.ms": "10000"}})
	producers := func() (n int) {
		c.Look(func() { n = len(c.txns.producers) })
		return n
	}
	transactionalOn(t, c)
	require.Equal(t, 1, producers())
	require.NoError(t, c.FastForward(80*time.Second, time.Second, nil))
	require.Zero(t, producers())
}
