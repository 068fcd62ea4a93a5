package groups

import "github.com/twmb/franz-go/pkg/kmsg"

// Unreached answers a request of a group that no shard of this broker holds: with what Kafka finds wrong before it looks for the group's
// coordinator, else with the code, NOT_COORDINATOR. The checks are those that a shard begins with.
func Unreached(cfg Config, meta Metadata, c Command, code int16) kmsg.Response {
	own := errNone
	switch req := c.Request.(type) {
	case *kmsg.JoinGroupRequest:
		if own = cfg.validateJoin(req); own != errNone {
			return joinError(req, req.MemberID, own)
		}
	case *kmsg.SyncGroupRequest:
		own = validateSync(req)
	case *kmsg.HeartbeatRequest:
		own = validateGroupID(req.Group)
	case *kmsg.LeaveGroupRequest:
		own = validateGroupID(req.Group)
	case *kmsg.OffsetDeleteRequest:
		own = validateGroupID(req.Group)
	case *kmsg.ConsumerGroupHeartbeatRequest:
		if r := cfg.validateConsumerHeartbeat(req); r != nil {
			return consumerHeartbeatError(req, r)
		}
	case *kmsg.ConsumerGroupDescribeRequest: // asked for one group at a time
		if len(req.Groups) == 1 {
			own = validateGroupID(req.Groups[0])
		}
	case *kmsg.OffsetCommitRequest: // the empty group may commit
		commit, answer := sortOffsetCommit(meta, c.Client, req)
		commit.refuse(code)
		return answer.toOffsetCommit(req)
	case *kmsg.TxnOffsetCommitRequest:
		commit, answer := sortTxnOffsetCommit(meta, c.Client, req)
		if len(commit.offsets) > 0 {
			if own = c.verifyTxnOffsetCommit(req); own != errNone {
				code = own
			}
			commit.refuse(code)
		}
		return answer.toTxnOffsetCommit(req)
	}
	if own != errNone {
		code = own
	}
	return Refuse(c.Request, code)
}

// validateGroupID: a member's group has a name.
func validateGroupID(group string) int16 {
	if group == "" {
		return errInvalidGroupID
	}
	return errNone
}
