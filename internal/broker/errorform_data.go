package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// dataErrorForm is errorForm for the requests of the data plane, nil for others. Most repeat the code in every partition that
// was asked for; Fetch has it at the top, with the session's id, and lists partitions only below v13.
func dataErrorForm(body kmsg.Request, code wire.Code) answer {
	switch req := body.(type) {
	case *kmsg.ProduceRequest:
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		for i := range req.Topics {
			t := kmsg.NewProduceResponseTopic()
			t.Topic, t.TopicID = req.Topics[i].Topic, req.Topics[i].TopicID
			for j := range req.Topics[i].Partitions {
				p := kmsg.NewProduceResponseTopicPartition()
				p.Partition, p.ErrorCode = req.Topics[i].Partitions[j].Partition, int16(code)
				p.BaseOffset, p.LogAppendTime, p.LogStartOffset = -1, -1, -1
				t.Partitions = append(t.Partitions, p)
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.FetchRequest:
		return fetchErrorForm(req, code)
	case *kmsg.ListOffsetsRequest:
		resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
		for i := range req.Topics {
			t := kmsg.NewListOffsetsResponseTopic()
			t.Topic = req.Topics[i].Topic
			for j := range req.Topics[i].Partitions {
				p := kmsg.NewListOffsetsResponseTopicPartition()
				p.Partition, p.ErrorCode = req.Topics[i].Partitions[j].Partition, int16(code)
				p.Timestamp, p.Offset, p.LeaderEpoch = -1, -1, -1
				t.Partitions = append(t.Partitions, p)
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.DeleteRecordsRequest:
		resp := req.ResponseKind().(*kmsg.DeleteRecordsResponse)
		for i := range req.Topics {
			t := kmsg.NewDeleteRecordsResponseTopic()
			t.Topic = req.Topics[i].Topic
			for j := range req.Topics[i].Partitions {
				p := kmsg.NewDeleteRecordsResponseTopicPartition()
				p.Partition, p.ErrorCode, p.LowWatermark = req.Topics[i].Partitions[j].Partition, int16(code), -1
				t.Partitions = append(t.Partitions, p)
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.OffsetForLeaderEpochRequest:
		resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
		for i := range req.Topics {
			t := kmsg.NewOffsetForLeaderEpochResponseTopic()
			t.Topic = req.Topics[i].Topic
			for j := range req.Topics[i].Partitions {
				p := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
				p.Partition, p.ErrorCode = req.Topics[i].Partitions[j].Partition, int16(code)
				p.LeaderEpoch, p.EndOffset = -1, -1
				t.Partitions = append(t.Partitions, p)
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.InitProducerIDRequest:
		resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
		resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = int16(code), -1, -1
		return resp
	case *kmsg.DescribeProducersRequest:
		resp := req.ResponseKind().(*kmsg.DescribeProducersResponse)
		for i := range req.Topics {
			t := kmsg.NewDescribeProducersResponseTopic()
			t.Topic = req.Topics[i].Topic
			for _, index := range req.Topics[i].Partitions {
				p := kmsg.NewDescribeProducersResponseTopicPartition()
				p.Partition, p.ErrorCode = index, int16(code)
				t.Partitions = append(t.Partitions, p)
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.DescribeLogDirsRequest:
		return topError(req, code, "")
	}
	return nil
}

func fetchErrorForm(req *kmsg.FetchRequest, code wire.Code) answer {
	resp := &wire.FetchResponse{ErrorCode: code, SessionID: req.SessionID}
	if req.GetVersion() >= 13 {
		return resp
	}
	for i := range req.Topics {
		t := wire.FetchTopic{Topic: req.Topics[i].Topic}
		for j := range req.Topics[i].Partitions {
			p := wire.NewFetchPartition(req.Topics[i].Partitions[j].Partition, code)
			p.AbortedTransactions = noneAborted
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}
