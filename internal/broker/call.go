package broker

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// Call is a request as rules see it.
type Call struct {
	Key     wire.Key
	Version int16
	Client  string // client.id
	Broker  int32  // node id
	Request kmsg.Request
	// Response is nil before the request is handled, and for requests that have no answer.
	Response kmsg.Response
}

// groupsOf are the groups a request names.
func groupsOf(req kmsg.Request) []string {
	switch req := req.(type) {
	case *kmsg.JoinGroupRequest:
		return []string{req.Group}
	case *kmsg.SyncGroupRequest:
		return []string{req.Group}
	case *kmsg.HeartbeatRequest:
		return []string{req.Group}
	case *kmsg.LeaveGroupRequest:
		return []string{req.Group}
	case *kmsg.OffsetCommitRequest:
		return []string{req.Group}
	case *kmsg.TxnOffsetCommitRequest:
		return []string{req.Group}
	case *kmsg.AddOffsetsToTxnRequest:
		return []string{req.Group}
	case *kmsg.OffsetDeleteRequest:
		return []string{req.Group}
	case *kmsg.ConsumerGroupHeartbeatRequest:
		return []string{req.Group}
	case *kmsg.ConsumerGroupDescribeRequest:
		return req.Groups
	case *kmsg.DescribeGroupsRequest:
		return req.Groups
	case *kmsg.DeleteGroupsRequest:
		return req.Groups
	case *kmsg.FindCoordinatorRequest:
		if req.CoordinatorType != coordinatorGroup {
			return nil
		}
		if req.Version < 4 {
			return []string{req.CoordinatorKey}
		}
		return req.CoordinatorKeys
	case *kmsg.OffsetFetchRequest:
		if req.Version < 8 {
			return []string{req.Group}
		}
		ids := make([]string, len(req.Groups))
		for i, g := range req.Groups {
			ids[i] = g.Group
		}
		return ids
	}
	return nil
}

// isGroupKey tells whether an API is group traffic: what a member of a group sends to its coordinator.
func isGroupKey(k wire.Key) bool {
	switch k {
	case wire.JoinGroup, wire.SyncGroup, wire.Heartbeat, wire.LeaveGroup, wire.OffsetCommit, wire.OffsetFetch, wire.ConsumerGroupHeartbeat,
		wire.TxnOffsetCommit:
		return true
	}
	return false
}

// String names the request for messages.
func (c *Call) String() string {
	s := fmt.Sprintf("%s v%d from %q", c.Key, c.Version, c.Client)
	if g := groupsOf(c.Request); len(g) > 0 {
		named, more := firstNames(g)
		s += " for group " + Shown(strings.Join(named, ", ")) + more
	}
	return s
}
