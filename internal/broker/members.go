package broker

import "github.com/twmb/franz-go/pkg/kmsg"

// memberOf is the member that a group request speaks for; ok is false where it names none.
func memberOf(body kmsg.Request) (k memberKey, ok bool) {
	switch req := body.(type) {
	case *kmsg.JoinGroupRequest:
		k = memberKey{req.Group, req.MemberID}
	case *kmsg.SyncGroupRequest:
		k = memberKey{req.Group, req.MemberID}
	case *kmsg.HeartbeatRequest:
		k = memberKey{req.Group, req.MemberID}
	case *kmsg.OffsetCommitRequest:
		k = memberKey{req.Group, req.MemberID}
	case *kmsg.ConsumerGroupHeartbeatRequest:
		k = memberKey{req.Group, req.MemberID}
	}
	return k, k.member != ""
}
