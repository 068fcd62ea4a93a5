package broker

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// filled are requests with one of everything that an error can stand at.
func filled(key wire.Key, version int16) kmsg.Request {
	req := kmsg.RequestForKey(int16(key))
	req.SetVersion(version)
	name := "orders"
	switch req := req.(type) {
	case *kmsg.ProduceRequest:
		p := kmsg.NewProduceRequestTopicPartition()
		req.Topics = []kmsg.ProduceRequestTopic{{Topic: name, Partitions: []kmsg.ProduceRequestTopicPartition{p}}}
	case *kmsg.FetchRequest:
		p := kmsg.NewFetchRequestTopicPartition()
		req.Topics = []kmsg.FetchRequestTopic{{Topic: name, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
	case *kmsg.ListOffsetsRequest:
		req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: name, Partitions: []kmsg.ListOffsetsRequestTopicPartition{kmsg.NewListOffsetsRequestTopicPartition()}}}
	case *kmsg.MetadataRequest:
		req.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
	case *kmsg.OffsetCommitRequest:
		req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: name, Partitions: []kmsg.OffsetCommitRequestTopicPartition{kmsg.NewOffsetCommitRequestTopicPartition()}}}
	case *kmsg.TxnOffsetCommitRequest:
		req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: name, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{kmsg.NewTxnOffsetCommitRequestTopicPartition()}}}
	case *kmsg.OffsetFetchRequest:
		req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: name, Partitions: []int32{0}}}
		req.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g"}}
	case *kmsg.FindCoordinatorRequest:
		req.CoordinatorKey, req.CoordinatorKeys = "g", []string{"g"}
	case *kmsg.LeaveGroupRequest:
		req.Members = []kmsg.LeaveGroupRequestMember{{MemberID: "m"}}
	case *kmsg.DescribeGroupsRequest:
		req.Groups = []string{"g"}
	case *kmsg.ConsumerGroupDescribeRequest:
		req.Groups = []string{"g"}
	case *kmsg.DeleteGroupsRequest:
		req.Groups = []string{"g"}
	case *kmsg.CreateTopicsRequest:
		req.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: name}}
	case *kmsg.DeleteTopicsRequest:
		req.TopicNames = []string{name}
		req.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: &name}}
	case *kmsg.CreatePartitionsRequest:
		req.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: name}}
	case *kmsg.DeleteRecordsRequest:
		req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: name, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{}}}}
	case *kmsg.OffsetForLeaderEpochRequest:
		req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: name, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{{}}}}
	case *kmsg.AddPartitionsToTxnRequest:
		req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: name, Partitions: []int32{0}}}
		txn := kmsg.NewAddPartitionsToTxnRequestTransaction()
		txn.Topics = []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: name, Partitions: []int32{0}}}
		req.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{txn}
	}
	return req
}

// Every error that a rule may Fail with, in every version of its API, stands somewhere in the answer, and the answer can be read.
func TestEveryErrorHasAPlaceInEveryVersion(t *testing.T) {
	for key := range wire.Key(maxKey) {
		codes := answersOf(key)
		if len(codes) == 0 {
			continue
		}
		least, most, ok := wire.Advertised(key)
		if !ok {
			continue
		}
		for version := least; version <= most; version++ {
			for _, code := range codes {
				req := filled(key, version)
				ans := errorResponse(req, code)
				var body []byte
				if f, is := ans.(*wire.FetchResponse); is {
					var enc wire.FetchEncoder
					body = bytes.Join(enc.Encode(1, version, f), nil)[8:]
				} else {
					body = wire.AppendResponse(nil, 1, ans.(kmsg.Response))[8:]
				}
				if req.IsFlexible() && key != wire.ApiVersions {
					body = body[1:] // tags of the header
				}
				require.NoError(t, req.ResponseKind().ReadFrom(body), "%s v%d %s", key, version, code)
				if key == wire.TxnOffsetCommit && version < 2 && code == wire.CoordinatorLoadInProgress {
					code = wire.CoordinatorNotAvailable // Kafka's own translation: these clients don't retry on the other
				}
				require.True(t, bytes.Contains(body, binary.BigEndian.AppendUint16(nil, uint16(code))), "%s v%d %s is nowhere in %x", key, version, code, body)
			}
		}
	}
}
