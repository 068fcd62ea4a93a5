package broker

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// errorForm answers a request with one error for everything it asks, at the places where its API and version have errors: at the
// top, or in every entry that was asked for. Where there is no such place the answer just looks empty, as Kafka's does.
func errorForm(r *request, code wire.Code) answer {
	if req, ok := r.body.(*kmsg.DescribeLogDirsRequest); ok && code == wire.KafkaStorageError {
		return offlineLogDir(req, r.cluster.logDir(r.node.id))
	}
	return errorResponse(r.body, code)
}

func errorResponse(body kmsg.Request, code wire.Code) answer {
	return errorWithText(body, code, "")
}

// message is the text for a client; Kafka leaves a text that would say no more than the code out, as null.
func message(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// errorWithText is errorResponse with the text for the client, which stands where the API has a message.
func errorWithText(body kmsg.Request, code wire.Code, text string) answer {
	switch req := body.(type) {
	case *kmsg.LeaveGroupRequest:
		if req.Version >= 3 && (code == wire.UnknownMemberID || code == wire.FencedInstanceID) {
			return leaveErrors(req, code)
		}
	case *kmsg.OffsetDeleteRequest:
		if aboutOffset(code) {
			return offsetDeleteErrors(req, code)
		}
	case *kmsg.OffsetFetchRequest:
		if aboutOffset(code) {
			return offsetFetchErrors(req, code)
		}
	case *kmsg.HeartbeatRequest: // groups.Refuse has another one say COORDINATOR_LOAD_IN_PROGRESS
		return topError(req, code, "")
	}
	if resp := dataErrorForm(body, code); resp != nil {
		return resp
	}
	if resp := adminErrorForm(body, code, text); resp != nil {
		return resp
	}
	return groups.Refuse(body, int16(code))
}

// topError is the form of an API that has its error at the top of the answer and nowhere else. kmsg calls the fields the same everywhere.
func topError(body kmsg.Request, code wire.Code, text string) kmsg.Response {
	resp := body.ResponseKind()
	top := reflect.ValueOf(resp).Elem()
	top.FieldByName("ErrorCode").SetInt(int64(code))
	if m := top.FieldByName("ErrorMessage"); m.IsValid() {
		m.Set(reflect.ValueOf(message(text)))
	}
	return resp
}

// leaveErrors has the error at each member, where LeaveGroup has those about a member from v3 on.
func leaveErrors(req *kmsg.LeaveGroupRequest, code wire.Code) answer {
	resp := req.ResponseKind().(*kmsg.LeaveGroupResponse)
	for _, m := range req.Members {
		rm := kmsg.NewLeaveGroupResponseMember()
		rm.MemberID, rm.InstanceID, rm.ErrorCode = m.MemberID, m.InstanceID, int16(code)
		resp.Members = append(resp.Members, rm)
	}
	return resp
}

// offsetDeleteErrors has the error at each partition.
func offsetDeleteErrors(req *kmsg.OffsetDeleteRequest, code wire.Code) answer {
	resp := req.ResponseKind().(*kmsg.OffsetDeleteResponse)
	for _, w := range req.Topics {
		t := kmsg.NewOffsetDeleteResponseTopic()
		t.Topic = w.Topic
		for _, wp := range w.Partitions {
			p := kmsg.NewOffsetDeleteResponseTopicPartition()
			p.Partition, p.ErrorCode = wp.Partition, int16(code)
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// offsetFetchErrors has the error at each partition, and where none are named at the group.
func offsetFetchErrors(req *kmsg.OffsetFetchRequest, code wire.Code) answer {
	resp := groups.Refuse(req, int16(code)).(*kmsg.OffsetFetchResponse)
	failed := func(partition int32) kmsg.OffsetFetchResponseGroupTopicPartition {
		p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode = partition, -1, -1, kmsg.StringPtr(""), int16(code)
		return p
	}
	if req.Version >= 8 {
		for i, g := range req.Groups {
			for _, w := range g.Topics {
				t := kmsg.NewOffsetFetchResponseGroupTopic()
				t.Topic, t.TopicID = w.Topic, w.TopicID
				for _, p := range w.Partitions {
					resp.Groups[i].ErrorCode = int16(wire.None)
					t.Partitions = append(t.Partitions, failed(p))
				}
				resp.Groups[i].Topics = append(resp.Groups[i].Topics, t)
			}
		}
		return resp
	}
	resp.Topics = nil
	for _, w := range req.Topics {
		t := kmsg.NewOffsetFetchResponseTopic()
		t.Topic = w.Topic
		for _, p := range w.Partitions {
			resp.ErrorCode = int16(wire.None)
			t.Partitions = append(t.Partitions, kmsg.OffsetFetchResponseTopicPartition(failed(p)))
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}
