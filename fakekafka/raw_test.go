package fakekafka_test

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fakekafka"
	"github.com/fakekafka/fakekafka/partitionlog"
)

// raw is a client that sends just what it is told.
type raw struct {
	t      testing.TB
	nc     net.Conn
	format *kmsg.RequestFormatter
	corr   int32
}

func dialRaw(t testing.TB, k *fakekafka.Cluster, client string) *raw {
	return dialBroker(t, k, client, k.Bootstrap())
}

func dialBroker(t testing.TB, k *fakekafka.Cluster, client, addr string) *raw {
	t.Helper()
	nc, err := k.DialContext(t.Context(), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { nc.Close() })
	return &raw{t: t, nc: nc, format: kmsg.NewRequestFormatter(kmsg.FormatterClientID(client))}
}

func (r *raw) send(req kmsg.Request) {
	r.t.Helper()
	r.corr++
	_, err := r.nc.Write(r.format.AppendRequest(nil, req, r.corr))
	require.NoError(r.t, err)
}

// receive reads the answer of the request that was sent first of those without one.
func (r *raw) receive(req kmsg.Request) (kmsg.Response, error) {
	if err := r.nc.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(r.nc, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(r.nc, frame); err != nil {
		return nil, err
	}
	frame = frame[4:] // correlation id
	if req.IsFlexible() && req.Key() != 18 {
		frame = frame[1:]
	}
	resp := req.ResponseKind()
	return resp, resp.ReadFrom(frame)
}

func (r *raw) try(req kmsg.Request) (kmsg.Response, error) {
	r.t.Helper()
	r.send(req)
	return r.receive(req)
}

func (r *raw) ask(req kmsg.Request) kmsg.Response {
	r.t.Helper()
	resp, err := r.try(req)
	require.NoError(r.t, err)
	return resp
}

// went tells how a request without an answer ends: the connection is cut.
func (r *raw) cut(req kmsg.Request) {
	r.t.Helper()
	_, err := r.try(req)
	require.Error(r.t, err)
}

// rawTxn is a transactional producer that asks for everything by itself.
type rawTxn struct {
	r        *raw
	id       string
	producer int64
	epoch    int16
	next     map[int32]int32 // sequence number of the next record, by partition
}

// transaction makes a transactional producer.
func (r *raw) transaction(id string) *rawTxn {
	find := versioned(kmsg.NewPtrFindCoordinatorRequest(), 3)
	find.CoordinatorKey, find.CoordinatorType = id, 1
	require.Zero(r.t, r.ask(find).(*kmsg.FindCoordinatorResponse).ErrorCode)
	begin := versioned(kmsg.NewPtrInitProducerIDRequest(), 4)
	begin.TransactionalID, begin.TransactionTimeoutMillis, begin.ProducerID, begin.ProducerEpoch = kmsg.StringPtr(id), 60_000, -1, -1
	got := r.ask(begin).(*kmsg.InitProducerIDResponse)
	require.Zero(r.t, got.ErrorCode)
	return &rawTxn{r, id, got.ProducerID, got.ProducerEpoch, map[int32]int32{}}
}

// add adds a partition to the transaction, which so begins.
func (x *rawTxn) add(topic string, partition int32) {
	add := versioned(kmsg.NewPtrAddPartitionsToTxnRequest(), 3)
	add.TransactionalID, add.ProducerID, add.ProducerEpoch = x.id, x.producer, x.epoch
	t := kmsg.NewAddPartitionsToTxnRequestTopic()
	t.Topic, t.Partitions = topic, []int32{partition}
	add.Topics = append(add.Topics, t)
	for _, t := range x.r.ask(add).(*kmsg.AddPartitionsToTxnResponse).Topics {
		for _, p := range t.Partitions {
			require.Zero(x.r.t, p.ErrorCode)
		}
	}
}

// produce writes a record in the transaction.
func (x *rawTxn) produce(topic string, partition int32, value string) {
	batch, err := partitionlog.BuildBatch([]partitionlog.Record{{Value: []byte(value), Timestamp: time.Now().UnixMilli()}},
		partitionlog.BatchOptions{Codecs: new(partitionlog.Codecs), Transactional: true, ProducerID: x.producer, ProducerEpoch: x.epoch, BaseSequence: x.next[partition]})
	require.NoError(x.r.t, err)
	x.next[partition]++
	req := produceTo(x.r.t, topic, partition)
	req.TransactionID, req.Topics[0].Partitions[0].Records = &x.id, batch
	require.Equal(x.r.t, map[int32]fakekafka.ErrorCode{partition: fakekafka.NoError}, producedCodes(x.r.ask(req)))
}

// end ends the transaction; its markers are written after the answer.
func (x *rawTxn) end(commit bool) {
	end := versioned(kmsg.NewPtrEndTxnRequest(), 3)
	end.TransactionalID, end.ProducerID, end.ProducerEpoch, end.Commit = x.id, x.producer, x.epoch, commit
	require.Zero(x.r.t, x.r.ask(end).(*kmsg.EndTxnResponse).ErrorCode)
}

func versioned[R kmsg.Request](req R, version int16) R {
	req.SetVersion(version)
	return req
}

func oneRecord(t testing.TB, value string) []byte {
	b, err := partitionlog.BuildBatch([]partitionlog.Record{{Value: []byte(value), Timestamp: time.Now().UnixMilli()}}, partitionlog.BatchOptions{Codecs: new(partitionlog.Codecs)})
	require.NoError(t, err)
	return b
}

// produceTo is a Produce v9 of one record to each of the partitions.
func produceTo(t testing.TB, topic string, partitions ...int32) *kmsg.ProduceRequest {
	req := versioned(kmsg.NewPtrProduceRequest(), 9)
	req.Acks, req.TimeoutMillis = -1, 1000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = topic
	for _, p := range partitions {
		rp := kmsg.NewProduceRequestTopicPartition()
		rp.Partition, rp.Records = p, oneRecord(t, "x")
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	return req
}

// producedCodes are the error codes of a Produce answer, by partition.
func producedCodes(resp kmsg.Response) map[int32]fakekafka.ErrorCode {
	codes := map[int32]fakekafka.ErrorCode{}
	for _, t := range resp.(*kmsg.ProduceResponse).Topics {
		for _, p := range t.Partitions {
			codes[p.Partition] = fakekafka.ErrorCode(p.ErrorCode)
		}
	}
	return codes
}

// fetchFrom is a Fetch v12 (by topic name) of the partitions from offset 0.
func fetchFrom(wait time.Duration, session, epoch int32, topic string, partitions ...int32) *kmsg.FetchRequest {
	req := versioned(kmsg.NewPtrFetchRequest(), 12)
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionID, req.SessionEpoch = -1, int32(wait.Milliseconds()), 1, 1<<20, session, epoch
	if len(partitions) > 0 {
		rt := kmsg.NewFetchRequestTopic()
		rt.Topic = topic
		for _, p := range partitions {
			rp := kmsg.NewFetchRequestTopicPartition()
			rp.Partition, rp.PartitionMaxBytes, rp.CurrentLeaderEpoch = p, 1<<20, -1
			rt.Partitions = append(rt.Partitions, rp)
		}
		req.Topics = append(req.Topics, rt)
	}
	return req
}

func fetchedCodes(resp kmsg.Response) map[int32]fakekafka.ErrorCode {
	codes := map[int32]fakekafka.ErrorCode{}
	for _, t := range resp.(*kmsg.FetchResponse).Topics {
		for _, p := range t.Partitions {
			codes[p.Partition] = fakekafka.ErrorCode(p.ErrorCode)
		}
	}
	return codes
}
