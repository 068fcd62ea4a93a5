package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/javatext"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// The requests for one group: the rule is in package groups, here they only find its coordinator.
//
//	OffsetCommit 8 (v2-10) · JoinGroup 11 (v0-9) · Heartbeat 12 (v0-4) · LeaveGroup 13 (v0-5) · SyncGroup 14 (v0-5) ·
//	OffsetDelete 47 (v0) · ConsumerGroupHeartbeat 68 (v0-1, KIP-848)

func (r *request) offsetCommit() (answer, error) {
	return r.toGroup(r.body.(*kmsg.OffsetCommitRequest).Group)
}

func (r *request) joinGroup() (answer, error) {
	return r.toGroup(r.body.(*kmsg.JoinGroupRequest).Group)
}

func (r *request) heartbeat() (answer, error) {
	return r.toGroup(r.body.(*kmsg.HeartbeatRequest).Group)
}

func (r *request) leaveGroup() (answer, error) {
	return r.toGroup(r.body.(*kmsg.LeaveGroupRequest).Group)
}

func (r *request) syncGroup() (answer, error) {
	return r.toGroup(r.body.(*kmsg.SyncGroupRequest).Group)
}

func (r *request) offsetDelete() (answer, error) {
	return r.toGroup(r.body.(*kmsg.OffsetDeleteRequest).Group)
}

func (r *request) consumerGroupHeartbeat() (answer, error) {
	return r.toGroup(r.body.(*kmsg.ConsumerGroupHeartbeatRequest).Group)
}

// The requests for several groups are split: OffsetFetch by group, and answered in the order asked; the others by coordinator (askEach).
//
//	OffsetFetch 9 (v1-10; several groups from v8) · DescribeGroups 15 (v0-6) · ListGroups 16 (v0-5) · DeleteGroups 42 (v0-2) ·
//	ConsumerGroupDescribe 69 (v0-1)

func (r *request) offsetFetch() (answer, error) {
	req := r.body.(*kmsg.OffsetFetchRequest)
	if r.version < 8 {
		return r.toGroup(req.Group)
	}
	return onLoop(r.cluster, func() answer {
		resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
		for _, g := range req.Groups {
			one := *req
			one.Groups = []kmsg.OffsetFetchRequestGroup{g}
			resp.Groups = append(resp.Groups, r.cluster.groups.ask(r, g.Group, &one).(*kmsg.OffsetFetchResponse).Groups...)
		}
		return resp
	})
}

func (r *request) describeGroups() (answer, error) {
	req := r.body.(*kmsg.DescribeGroupsRequest)
	return onLoop(r.cluster, func() answer {
		resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
		r.cluster.groups.askEach(r, req.Groups, func(names []string) kmsg.Request {
			part := *req
			part.Groups = names
			return &part
		}, func(part kmsg.Response) {
			resp.Groups = append(resp.Groups, part.(*kmsg.DescribeGroupsResponse).Groups...)
		})
		return resp
	})
}

func (r *request) consumerGroupDescribe() (answer, error) {
	req := r.body.(*kmsg.ConsumerGroupDescribeRequest)
	co := r.cluster.groups
	if !co.consumerProtocol { // without it the groups are answered in the order asked, not by coordinator
		return groups.Refuse(req, int16(wire.UnsupportedVersion)), nil
	}
	return onLoop(r.cluster, func() answer {
		resp := req.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
		ask := func(names []string) kmsg.Request {
			part := *req
			part.Groups = names
			return &part
		}
		hear := func(part kmsg.Response) {
			resp.Groups = append(resp.Groups, part.(*kmsg.ConsumerGroupDescribeResponse).Groups...)
		}
		var named []string
		for _, g := range req.Groups {
			if g != "" {
				named = append(named, g)
				continue
			}
			hear(co.ask(r, g, ask([]string{g}))) // an empty id is refused before the others are asked for
		}
		co.askEach(r, named, ask, hear)
		return resp
	})
}

// deleteGroups deletes the groups of a partition in the order of Kafka's set of them; a group named twice is deleted once.
func (r *request) deleteGroups() (answer, error) {
	req := r.body.(*kmsg.DeleteGroupsRequest)
	return onLoop(r.cluster, func() answer {
		resp := req.ResponseKind().(*kmsg.DeleteGroupsResponse)
		done := make(map[string]bool, len(req.Groups))
		var names []string
		for _, g := range req.Groups {
			if !done[g] {
				names = append(names, g)
			}
			done[g] = true
		}
		r.cluster.groups.askEach(r, names, func(names []string) kmsg.Request {
			part := *req
			part.Groups = javatext.SetOrder(names, javatext.HashCode)
			return &part
		}, func(part kmsg.Response) {
			resp.Groups = append(resp.Groups, part.(*kmsg.DeleteGroupsResponse).Groups...)
		})
		return resp
	})
}

// listGroups lists the groups that this broker coordinates, partition by partition in the order of Kafka's table of coordinators.
func (r *request) listGroups() (answer, error) {
	req := r.body.(*kmsg.ListGroupsRequest)
	return onLoop(r.cluster, func() answer {
		co := r.cluster.groups
		resp := req.ResponseKind().(*kmsg.ListGroupsResponse)
		mine := slices.DeleteFunc(slices.Clone(co.order), func(p int32) bool { return co.shards[p].node != r.node.id })
		for _, p := range javatext.ConcurrentMapOrder(mine, offsetsPartitionHash) {
			part := co.askShard(r, co.shards[p], req).(*kmsg.ListGroupsResponse)
			if part.ErrorCode != 0 {
				resp.ErrorCode = part.ErrorCode
			}
			resp.Groups = append(resp.Groups, part.Groups...)
		}
		return resp
	})
}
