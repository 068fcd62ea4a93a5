package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// shareErrorForm is errorForm for share groups (KIP-932), their state, and streams groups (KIP-1071); nil for other requests.
func shareErrorForm(body kmsg.Request, code wire.Code, text string) kmsg.Response {
	switch req := body.(type) {
	case *kmsg.ShareGroupHeartbeatRequest:
		resp := req.ResponseKind().(*kmsg.ShareGroupHeartbeatResponse)
		resp.ErrorCode = int16(code)
		return resp
	case *kmsg.ShareGroupDescribeRequest:
		resp := req.ResponseKind().(*kmsg.ShareGroupDescribeResponse)
		for _, id := range req.GroupIDs {
			g := kmsg.NewShareGroupDescribeResponseGroup()
			g.GroupID, g.ErrorCode = id, int16(code)
			resp.Groups = append(resp.Groups, g)
		}
		return resp
	case *kmsg.ShareFetchRequest:
		resp := req.ResponseKind().(*kmsg.ShareFetchResponse)
		resp.ErrorCode = int16(code)
		return resp
	case *kmsg.ShareAcknowledgeRequest:
		resp := req.ResponseKind().(*kmsg.ShareAcknowledgeResponse)
		resp.ErrorCode = int16(code)
		return resp
	case *kmsg.StreamsGroupHeartbeatRequest:
		resp := req.ResponseKind().(*kmsg.StreamsGroupHeartbeatResponse)
		resp.ErrorCode = int16(code)
		return resp
	case *kmsg.StreamsGroupDescribeRequest:
		resp := req.ResponseKind().(*kmsg.StreamsGroupDescribeResponse)
		for _, id := range req.Groups {
			g := kmsg.NewStreamsGroupDescribeResponseGroup()
			g.Group, g.ErrorCode = id, int16(code)
			resp.Groups = append(resp.Groups, g)
		}
		return resp
	case *kmsg.DescribeShareGroupOffsetsRequest:
		resp := req.ResponseKind().(*kmsg.DescribeShareGroupOffsetsResponse)
		for _, w := range req.Groups {
			g := kmsg.NewDescribeShareGroupOffsetsResponseGroup()
			g.GroupID, g.ErrorCode, g.ErrorMessage = w.GroupID, int16(code), message(text)
			resp.Groups = append(resp.Groups, g)
		}
		return resp
	case *kmsg.AlterShareGroupOffsetsRequest:
		resp := req.ResponseKind().(*kmsg.AlterShareGroupOffsetsResponse)
		resp.ErrorCode, resp.ErrorMessage = int16(code), message(text)
		return resp
	case *kmsg.DeleteShareGroupOffsetsRequest:
		resp := req.ResponseKind().(*kmsg.DeleteShareGroupOffsetsResponse)
		resp.ErrorCode, resp.ErrorMessage = int16(code), message(text)
		return resp
	}
	return shareStateErrorForm(body, code, text)
}

// shareStateErrorForm: what share coordinators say to each other, an error in each partition.
func shareStateErrorForm(body kmsg.Request, code wire.Code, text string) kmsg.Response {
	switch req := body.(type) {
	case *kmsg.InitializeShareGroupStateRequest:
		resp := req.ResponseKind().(*kmsg.InitializeShareGroupStateResponse)
		for _, w := range req.Topics {
			t := kmsg.NewInitializeShareGroupStateResponseTopic()
			t.TopicID = w.TopicID
			for _, p := range w.Partitions {
				o := kmsg.NewInitializeShareGroupStateResponseTopicPartition()
				o.Partition, o.ErrorCode, o.ErrorMessage = p.Partition, int16(code), message(text)
				t.Partitions = append(t.Partitions, o)
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.ReadShareGroupStateRequest:
		resp := req.ResponseKind().(*kmsg.ReadShareGroupStateResponse)
		for _, w := range req.Topics {
			t := kmsg.NewReadShareGroupStateResponseTopic()
			t.TopicID = w.TopicID
			for _, p := range w.Partitions {
				o := kmsg.NewReadShareGroupStateResponseTopicPartition()
				o.Partition, o.ErrorCode, o.ErrorMessage = p.Partition, int16(code), message(text)
				t.Partitions = append(t.Partitions, o)
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.WriteShareGroupStateRequest:
		resp := req.ResponseKind().(*kmsg.WriteShareGroupStateResponse)
		for _, w := range req.Topics {
			t := kmsg.NewWriteShareGroupStateResponseTopic()
			t.TopicID = w.TopicID
			for _, p := range w.Partitions {
				o := kmsg.NewWriteShareGroupStateResponseTopicPartition()
				o.Partition, o.ErrorCode, o.ErrorMessage = p.Partition, int16(code), message(text)
				t.Partitions = append(t.Partitions, o)
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.DeleteShareGroupStateRequest:
		resp := req.ResponseKind().(*kmsg.DeleteShareGroupStateResponse)
		for _, w := range req.Topics {
			t := kmsg.NewDeleteShareGroupStateResponseTopic()
			t.TopicID = w.TopicID
			for _, p := range w.Partitions {
				o := kmsg.NewDeleteShareGroupStateResponseTopicPartition()
				o.Partition, o.ErrorCode, o.ErrorMessage = p.Partition, int16(code), message(text)
				t.Partitions = append(t.Partitions, o)
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.ReadShareGroupStateSummaryRequest:
		resp := req.ResponseKind().(*kmsg.ReadShareGroupStateSummaryResponse)
		for _, w := range req.Topics {
			t := kmsg.NewReadShareGroupStateSummaryResponseTopic()
			t.TopicID = w.TopicID
			for _, p := range w.Partitions {
				o := kmsg.NewReadShareGroupStateSummaryResponseTopicPartition()
				o.Partition, o.ErrorCode, o.ErrorMessage = p.Partition, int16(code), message(text)
				t.Partitions = append(t.Partitions, o)
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	}
	return nil
}
