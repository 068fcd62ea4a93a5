package groups

import (
	"encoding/base64"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// consumerGroupDescribe is ConsumerGroupDescribe (key 69, v0 and v1): an entry for each id asked for, in order.
//
//	v1: the type of each member.
func (s *Shard) consumerGroupDescribe(c Command, req *kmsg.ConsumerGroupDescribeRequest) {
	resp := req.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
	for _, id := range req.Groups {
		resp.Groups = append(resp.Groups, s.describeConsumer(id, req.IncludeAuthorizedOperations, c.Client.Principal))
	}
	s.reply(c.Ticket, resp)
}

func (s *Shard) describeConsumer(id string, operations bool, principal string) kmsg.ConsumerGroupDescribeResponseGroup {
	out := kmsg.NewConsumerGroupDescribeResponseGroup()
	out.Group = id
	refused := func(code int16, message *string) kmsg.ConsumerGroupDescribeResponseGroup {
		out.ErrorCode, out.ErrorMessage = code, message
		return out
	}
	if !s.cfg.ConsumerProtocol {
		return refused(errUnsupportedVersion, nil)
	}
	if id == "" {
		return refused(errInvalidGroupID, nil)
	}
	group := s.groups[id]
	switch {
	case group == nil || group.classic == nil && group.consumer == nil:
		return refused(errGroupIDNotFound, kmsg.StringPtr("Group "+id+" not found."))
	case group.consumer == nil:
		return refused(errGroupIDNotFound, kmsg.StringPtr("Group "+id+" is not a consumer group."))
	}
	g := group.consumer
	if s.deps.MayDescribe != nil && !s.mayDescribeAll(g, principal) {
		return refused(errTopicAuthorizationFailed, kmsg.StringPtr("The group has described topic(s) that the client is not authorized to describe."))
	}
	if operations {
		out.AuthorizedOperations = groupOperations
	}
	out.State, out.Epoch, out.AssignmentEpoch = g.stateName(), g.groupEpoch, g.assignmentEpoch
	if a := s.chosenAssignor(g); a != nil {
		out.AssignorName = a.Name()
	}
	for id, m := range g.stored.all() {
		om := kmsg.NewConsumerGroupDescribeResponseGroupMember()
		om.MemberID, om.InstanceID, om.RackID, om.MemberEpoch = id, m.instanceID, m.rackID, m.epoch
		om.ClientID, om.ClientHost = m.clientID, m.clientHost
		om.SubscribedTopics, om.SubscribedTopicRegex = slices.Clone(m.names), kmsg.StringPtr(m.regex)
		om.Assignment = s.describedAssignment(mergeOwnership(m.assigned, m.pending).partitions())
		om.TargetAssignment = s.describedAssignment(g.target[id])
		om.MemberType = 1
		if m.usesClassic() {
			om.MemberType = 0
		}
		out.Members = append(out.Members, om)
	}
	return out
}

// mayDescribeAll says whether the principal may see every topic that members own or shall own; those they subscribe to don't matter.
func (s *Shard) mayDescribeAll(g *consumerGroup, principal string) bool {
	for _, id := range g.order {
		m := g.members[id]
		for _, set := range []partitionSet{m.assigned.partitions(), m.pending.partitions(), g.target[id]} {
			for _, t := range s.describedTopics(set) {
				if !s.deps.MayDescribe(principal, t.name) {
					return false
				}
			}
		}
	}
	return true
}

func (s *Shard) describedAssignment(set partitionSet) kmsg.Assignment {
	out := kmsg.NewAssignment()
	for _, t := range s.describedTopics(set) {
		tp := kmsg.NewAssignmentTopicPartition()
		tp.TopicID, tp.Topic, tp.Partitions = t.id, t.name, t.parts
		out.TopicPartitions = append(out.TopicPartitions, tp)
	}
	return out
}

type describedTopic struct {
	id    [16]byte
	name  string
	parts []int32
}

// describedTopics are the topics of a set that still exist.
func (s *Shard) describedTopics(set partitionSet) []describedTopic {
	var out []describedTopic
	for _, id := range sortedTopicIDs(set) {
		if t, ok := s.meta.TopicByID(id); ok && len(set[id]) > 0 {
			out = append(out, describedTopic{id, t.Name, set[id]})
		}
	}
	return out
}

func base64url(b [16]byte) string { return base64.RawURLEncoding.EncodeToString(b[:]) }
