package wire

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// randomFetch gives the same answer in our form and in kmsg's, which is told to
// leave out what a version doesn't have.
func randomFetch(rng *rand.Rand, version int16) (*FetchResponse, *kmsg.FetchResponse) {
	ours := &FetchResponse{ThrottleMillis: rng.Int32(), ErrorCode: Code(rng.IntN(100)), SessionID: rng.Int32()}
	theirs := kmsg.NewPtrFetchResponse()
	theirs.Version = version
	theirs.ThrottleMillis, theirs.ErrorCode, theirs.SessionID = ours.ThrottleMillis, int16(ours.ErrorCode), ours.SessionID
	for t := range rng.IntN(5) {
		topic := FetchTopic{Topic: fmt.Sprintf("topic-%d", t), TopicID: [16]byte{byte(t), 1}}
		theirTopic := kmsg.NewFetchResponseTopic()
		theirTopic.Topic, theirTopic.TopicID = topic.Topic, topic.TopicID
		for i := range rng.IntN(5) {
			p := NewFetchPartition(int32(i), Code(rng.IntN(100)))
			q := kmsg.NewFetchResponseTopicPartition()
			q.Partition, q.ErrorCode = p.Partition, int16(p.ErrorCode)
			p.HighWatermark, p.LastStableOffset, p.LogStartOffset = rng.Int64(), rng.Int64(), rng.Int64()
			q.HighWatermark, q.LastStableOffset, q.LogStartOffset = p.HighWatermark, p.LastStableOffset, p.LogStartOffset
			switch rng.IntN(3) {
			case 0:
				p.AbortedTransactions, q.AbortedTransactions = []AbortedTransaction{}, []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
			case 1:
				for n := range int64(200) {
					p.AbortedTransactions = append(p.AbortedTransactions, AbortedTransaction{n, n * n})
					q.AbortedTransactions = append(q.AbortedTransactions, kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: n, FirstOffset: n * n})
				}
			}
			if rng.IntN(3) == 0 {
				p.PreferredReadReplica = 3
			}
			q.PreferredReadReplica = p.PreferredReadReplica
			q.RecordBatches = []byte{}
			for range rng.IntN(4) {
				batch := bytes.Repeat([]byte{byte(i)}, rng.IntN(300))
				p.Records = append(p.Records, batch)
				q.RecordBatches = append(q.RecordBatches, batch...)
			}
			if rng.IntN(3) == 0 {
				p.DivergingEpoch = EpochEndOffset{3, 99}
				q.DivergingEpoch.Epoch, q.DivergingEpoch.EndOffset = 3, 99
			}
			if rng.IntN(3) == 0 {
				p.CurrentLeader = LeaderIDAndEpoch{2, 11}
				q.CurrentLeader.LeaderID, q.CurrentLeader.LeaderEpoch = 2, 11
			}
			topic.Partitions = append(topic.Partitions, p)
			theirTopic.Partitions = append(theirTopic.Partitions, q)
		}
		ours.Topics = append(ours.Topics, topic)
		theirs.Topics = append(theirs.Topics, theirTopic)
	}
	for n := range rng.IntN(3) * 20 {
		node := FetchNode{int32(n), "host.example", 9092, ""}
		broker := kmsg.FetchResponseBroker{NodeID: node.NodeID, Host: node.Host, Port: node.Port}
		if n%2 == 0 {
			node.Rack = "rack-a"
			broker.Rack = kmsg.StringPtr("rack-a")
		}
		ours.NodeEndpoints = append(ours.NodeEndpoints, node)
		if version >= 16 {
			theirs.Brokers = append(theirs.Brokers, broker)
		}
	}
	return ours, theirs
}

func TestFetchAnswersAreWhatKmsgEncodes(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	var e FetchEncoder // used again and again, as on a connection
	for version := int16(4); version <= 18; version++ {
		for range 50 {
			ours, theirs := randomFetch(rng, version)
			want := AppendResponse(nil, 77, theirs)
			got := bytes.Join(e.Encode(77, version, ours), nil)
			require.True(t, bytes.Equal(want, got), "v%d: %d bytes wanted, got %d", version, len(want), len(got))
			require.Equal(t, want, AppendResponse(nil, 77, ours.Message(version)), "v%d", version)

			theirs.Brokers = nil
			body := len(theirs.AppendTo(nil))
			require.Equal(t, body+4, e.QuotaSize(version, ours), "v%d", version)
		}
	}
}

func TestFetchedRecordsAreNotCopied(t *testing.T) {
	t.Parallel()
	batches := [][]byte{[]byte("batch one"), []byte("batch two")}
	p := NewFetchPartition(0, None)
	p.Records = batches
	var e FetchEncoder
	bufs := e.Encode(1, 18, &FetchResponse{Topics: []FetchTopic{{Partitions: []FetchPartition{p}}}})
	require.Len(t, bufs, 4)
	for i, b := range batches {
		require.Equal(t, unsafe.Pointer(&b[0]), unsafe.Pointer(&bufs[1+i][0]))
	}
}

func TestEncodingAgainDoesNotAllocate(t *testing.T) {
	r := benchmarkFetch()
	var e FetchEncoder
	e.Encode(1, 18, r)
	require.Zero(t, testing.AllocsPerRun(100, func() { e.QuotaSize(18, r); e.Encode(1, 18, r) }))
}

func benchmarkFetch() *FetchResponse {
	topic := FetchTopic{Topic: "orders"}
	for i := range int32(100) {
		p := NewFetchPartition(i, None)
		p.Records = [][]byte{make([]byte, 500), make([]byte, 700)}
		topic.Partitions = append(topic.Partitions, p)
	}
	return &FetchResponse{Topics: []FetchTopic{topic}}
}

func BenchmarkFetchEncoder(b *testing.B) {
	r := benchmarkFetch()
	var e FetchEncoder
	b.ReportAllocs()
	for b.Loop() {
		e.Encode(1, 18, r)
	}
}
