package broker

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// refusal is the event that a coordinator refused what a member asked for: to who reads a timeline that is why a member isn't there, or why its commit didn't
// count. Answers that are a step of the protocol, or of a coordinator's move, are none.
func refusal(body kmsg.Request, answer kmsg.Response) (groups.Event, bool) {
	var group string
	var code int16
	var refused refusedOffsets
	var said *string
	switch req := body.(type) {
	case *kmsg.JoinGroupRequest:
		group, code = req.Group, answer.(*kmsg.JoinGroupResponse).ErrorCode
		if wire.Code(code) == wire.MemberIDRequired {
			return groups.Event{}, false
		}
	case *kmsg.SyncGroupRequest:
		group, code = req.Group, answer.(*kmsg.SyncGroupResponse).ErrorCode
	case *kmsg.HeartbeatRequest:
		group, code = req.Group, answer.(*kmsg.HeartbeatResponse).ErrorCode
	case *kmsg.ConsumerGroupHeartbeatRequest:
		resp := answer.(*kmsg.ConsumerGroupHeartbeatResponse)
		group, code, said = req.Group, resp.ErrorCode, resp.ErrorMessage
	case *kmsg.OffsetCommitRequest:
		group = req.Group
		for _, t := range answer.(*kmsg.OffsetCommitResponse).Topics {
			for _, p := range t.Partitions {
				refused.add(t.Topic, p.Partition, p.ErrorCode)
			}
		}
		code = refused.code
	case *kmsg.TxnOffsetCommitRequest:
		group = req.Group
		for _, t := range answer.(*kmsg.TxnOffsetCommitResponse).Topics {
			for _, p := range t.Partitions {
				refused.add(t.Topic, p.Partition, p.ErrorCode)
			}
		}
		code = refused.code
	default:
		return groups.Event{}, false
	}
	switch wire.Code(code) {
	case wire.None, wire.NotCoordinator, wire.CoordinatorLoadInProgress, wire.CoordinatorNotAvailable:
		return groups.Event{}, false
	case wire.RebalanceInProgress:
		if refused.code == 0 { // it is told to rebalance
			return groups.Event{}, false
		}
	}
	cause := wire.Key(body.Key()).String() + " was answered " + wire.Code(code).String()
	if req, ok := body.(*kmsg.JoinGroupRequest); ok && wire.Code(code) == wire.InconsistentGroupProtocol {
		var names []string
		for _, p := range req.Protocols[:min(len(req.Protocols), mostOffered)] {
			names = append(names, firstBytes(p.Name))
		}
		cause += fmt.Sprintf(": it offers %q for a group of type %q", names, firstBytes(req.ProtocolType))
	}
	if said != nil {
		cause += ": " + strings.ToValidUTF8((*said)[:min(len(*said), mostSaid)], "")
	}
	if refused.n > mostRefused {
		cause += fmt.Sprintf(" for %d partitions; the first ones are told", refused.n)
	}
	return groups.Event{Group: group, Kind: EventRefused, Partitions: refused.partitions, Cause: cause}, true
}

// What the history keeps of one refused request, whatever the client put into it.
const (
	mostOffered = 10   // protocols
	mostRefused = 1000 // partitions
	mostSaid    = 400  // bytes of the answer's own words, which may repeat the client's
)

// refusedOffsets are the partitions of a commit that were answered an error: the first one that there is, if there are several.
type refusedOffsets struct {
	code       int16
	n          int
	partitions map[string][]int32
}

func (r *refusedOffsets) add(topic string, partition int32, code int16) {
	if code == 0 || r.code != 0 && r.code != code {
		return
	}
	r.code = code
	if r.n++; r.n > mostRefused {
		return
	}
	if topic == "" { // newer clients name it by its id alone
		return
	}
	if r.partitions == nil {
		r.partitions = map[string][]int32{}
	}
	r.partitions[topic] = append(r.partitions[topic], partition)
}
