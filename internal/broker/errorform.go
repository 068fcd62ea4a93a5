package broker

import (
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
	case *kmsg.HeartbeatRequest: // groups.Refuse has another one say COORDINATOR_LOAD_IN_PROGRESS
		resp := req.ResponseKind().(*kmsg.HeartbeatResponse)
		resp.ErrorCode = int16(code)
		return resp
	}
	if resp := dataErrorForm(body, code); resp != nil {
		return resp
	}
	if resp := adminErrorForm(body, code, text); resp != nil {
		return resp
	}
	if resp := shareErrorForm(body, code, text); resp != nil {
		return resp
	}
	return groups.Refuse(body, int16(code))
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
