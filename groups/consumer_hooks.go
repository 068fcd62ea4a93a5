package groups

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// This file is where shard.go and the classic side call into the consumer protocol.

// consumerGroup is a group of the consumer protocol (KIP-848).
type consumerGroup struct{}

var errNoConsumerGroups = errors.New("groups: consumer groups are not served yet")

func (g *consumerGroup) epoch() int32 { return 0 }

// stateName is the group's state as ListGroups says it.
func (g *consumerGroup) stateName() string { return "Empty" }

// empty says that the group has no members.
func (g *consumerGroup) empty() bool { return true }

// subscribedTo says whether a member subscribes to the topic, by name or by a resolved regex (OffsetDelete, expiration).
func (g *consumerGroup) subscribedTo(topic string) bool { return false }

// ConsumerGroupHeartbeat and ConsumerGroupDescribe.
func (s *Shard) consumerGroupHeartbeat(c Command, req *kmsg.ConsumerGroupHeartbeatRequest) {
	s.reply(c.Ticket, Refuse(req, errUnsupportedVersion))
}
func (s *Shard) consumerGroupDescribe(c Command, req *kmsg.ConsumerGroupDescribeRequest) {
	s.reply(c.Ticket, Refuse(req, errUnsupportedVersion))
}

// Classic requests that meet a consumer group (consumer-groups.md, 12). joinConsumerGroup is called for every JoinGroup of a
// group with g.consumer set, after the checks of the group id and the session timeout. It answers false after it
// has made an empty consumer group go away, so that the classic join goes on with a new classic group; else it has replied.
func (s *Shard) joinConsumerGroup(g *group, c Command, req *kmsg.JoinGroupRequest) (handled bool) {
	s.reply(c.Ticket, joinError(req, "", errInconsistentGroupProtocol))
	return true
}
func (s *Shard) syncConsumerGroup(g *group, c Command, req *kmsg.SyncGroupRequest) {
	s.reply(c.Ticket, syncError(req, errUnknownMemberID))
}
func (s *Shard) heartbeatConsumerGroup(g *group, c Command, req *kmsg.HeartbeatRequest) {
	s.reply(c.Ticket, heartbeatAnswer(req, errUnknownMemberID))
}

// leaveConsumerGroup answers the code of each entry of the request, in order. (v0-v2 come as one entry.)
func (s *Shard) leaveConsumerGroup(g *group, req *kmsg.LeaveGroupRequest, members []kmsg.LeaveGroupRequestMember) []int16 {
	codes := make([]int16, len(members))
	for i := range codes {
		codes[i] = errUnknownMemberID
	}
	return codes
}

// validateConsumerCommit is OffsetCommit's and TxnOffsetCommit's check of the group (11.3, 11.5): it answers the error for all
// partitions, or 0. partitions are the valid ones of the request, by topic name.
func (s *Shard) validateConsumerCommit(g *group, commit commitRequest) int16 { return errNone }

// validateConsumerFetch is OffsetFetch's check of the group (11.4).
func (s *Shard) validateConsumerFetch(g *group, memberID *string, epoch int32) int16 { return errNone }

// deleteConsumerGroup answers the tombstones of an empty group, in Kafka's order (DeleteGroups, clean-up).
func (s *Shard) consumerTombstones(g *group) []Record { return nil }

func (s *Shard) applyConsumerRecord(kind int16, r Record) {}
func (s *Shard) consumerLoaded(g *group)                  {}
func (s *Shard) consumerUnload(g *group)                  {}
func (s *Shard) flushConsumer()                           {}
func (s *Shard) consumerMetadataChanged()                 {}
func (s *Shard) consumerState(g *group) State             { return State{Protocol: "consumer"} }

func (s *Shard) evictConsumer(g *group, memberID, cause string) error { return errNoConsumerGroups }
func (s *Shard) fenceConsumer(g *group, memberID string) error        { return errNoConsumerGroups }
func (s *Shard) rebalanceConsumer(g *group, cause string) error       { return errNoConsumerGroups }
func (s *Shard) touchConsumer(g *group, memberID string)              {}

// expectConsumerMembers is called when ExpectMembers is set, met or missed for a consumer group.
func (s *Shard) expectationChanged(g *group) {}
