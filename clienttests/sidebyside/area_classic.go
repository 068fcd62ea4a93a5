package main

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// classicArea drives groups of the classic protocol: members that join, wait, sync, leave and commit out of turn.
var classicArea = area{
	name:   "classic",
	parts:  2,
	topics: map[string]map[string]string{"t1": nil, "t2": nil},
	spoil:  20,
	hurt:   8,
	kinds: []kind{
		on(10, (*gen).joinGroup),
		on(8, (*gen).syncGroup),
		on(4, (*gen).heartbeat),
		on(3, (*gen).leaveGroup),
		on(5, (*gen).offsetCommit),
		on(3, (*gen).offsetFetch),
		on(2, (*gen).offsetDelete),
		on(1, (*gen).deleteGroups),
		on(3, (*gen).describeGroups),
		on(1, (*gen).listGroups),
		on(1, (*gen).consumerHeartbeat),
		on(1, (*gen).txnOffsetCommit),
	},
}

func (g *gen) joinGroup(q *kmsg.JoinGroupRequest) {
	q.Group = g.group()
	m := g.member(q.Group)
	if g.percent(45) {
		m = member{}
	}
	q.MemberID, q.InstanceID = m.id, m.instance
	if m.id == "" && g.percent(30) {
		q.InstanceID = g.instance()
	}
	q.SessionTimeoutMillis, q.RebalanceTimeoutMillis, q.ProtocolType = pick[int32](g.r, 30000, 45000), 300000, "consumer"
	if g.percent(5) {
		q.ProtocolType = pick(g.r, "connect", "")
	}
	for _, name := range pick(g.r, []string{"range"}, []string{"range"}, []string{"range", "roundrobin"}, []string{"roundrobin", "range"}, []string{"sticky"}, nil) {
		q.Protocols = append(q.Protocols, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: subscription(g.w.topics[:1+g.r.IntN(2)]...)})
	}
}

func (g *gen) syncGroup(q *kmsg.SyncGroupRequest) {
	q.Group = g.group()
	m := g.member(q.Group)
	q.MemberID, q.InstanceID, q.Generation = m.id, m.instance, g.around(m.epoch)
	if g.percent(70) {
		q.ProtocolType, q.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	}
	if g.percent(60) { // as the leader does
		for i, of := range g.w.members[q.Group] {
			q.GroupAssignment = append(q.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: of.id, MemberAssignment: g.assignment(int32(i))})
		}
	}
}

func (g *gen) assignment(of int32) []byte {
	if g.percent(10) {
		return []byte("bytes")
	}
	a := kmsg.NewConsumerMemberAssignment()
	a.Version, a.Topics = 1, []kmsg.ConsumerMemberAssignmentTopic{{Topic: g.w.topics[0], Partitions: []int32{of}}}
	return a.AppendTo(nil)
}

func (g *gen) heartbeat(q *kmsg.HeartbeatRequest) {
	q.Group = g.group()
	m := g.member(q.Group)
	q.MemberID, q.InstanceID, q.Generation = m.id, m.instance, g.around(m.epoch)
}

func (g *gen) leaveGroup(q *kmsg.LeaveGroupRequest) {
	q.Group = g.group()
	for range pick(g.r, 1, 1, 1, 2) {
		m := g.member(q.Group)
		q.MemberID = m.id
		of := kmsg.NewLeaveGroupRequestMember()
		of.MemberID, of.InstanceID = m.id, m.instance
		if m.instance != nil && g.percent(50) {
			of.MemberID = ""
		}
		q.Members = append(q.Members, of)
	}
}

func (g *gen) offsetCommit(q *kmsg.OffsetCommitRequest) {
	q.Group = g.group()
	m := g.member(q.Group)
	if g.percent(20) {
		m = member{epoch: -1}
	}
	q.MemberID, q.InstanceID, q.Generation = m.id, m.instance, g.around(m.epoch)
	for range pick(g.r, 1, 1, 2) {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic = g.topic()
		t.TopicID = g.id(t.Topic)
		for range pick(g.r, 1, 1, 2) {
			p := kmsg.NewOffsetCommitRequestTopicPartition()
			p.Partition, p.Offset, p.LeaderEpoch = g.partition(), g.r.Int64N(20), pick[int32](g.r, -1, 0, 3)
			p.Metadata = pick(g.r, nil, kmsg.StringPtr(""), kmsg.StringPtr("m"))
			t.Partitions = append(t.Partitions, p)
		}
		q.Topics = append(q.Topics, t)
	}
}

func (g *gen) offsetFetch(q *kmsg.OffsetFetchRequest) {
	q.Group, q.RequireStable = g.group(), g.percent(50)
	all := g.percent(20)
	topic := g.topic()
	partitions := []int32{g.partition(), g.partition()}
	if !all {
		q.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: topic, Partitions: partitions}}
	}
	for range pick(g.r, 1, 1, 2) {
		of := kmsg.NewOffsetFetchRequestGroup()
		of.Group = g.group()
		of.MemberEpoch = -1
		if m := g.member(of.Group); g.percent(50) {
			of.MemberID, of.MemberEpoch = &m.id, g.around(m.epoch)
		}
		if !all {
			of.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: topic, TopicID: g.id(topic), Partitions: partitions}}
		}
		q.Groups = append(q.Groups, of)
	}
}

func (g *gen) offsetDelete(q *kmsg.OffsetDeleteRequest) {
	q.Group = g.group()
	for range pick(g.r, 1, 1, 2) {
		t := kmsg.NewOffsetDeleteRequestTopic()
		t.Topic = g.topic()
		t.Partitions = []kmsg.OffsetDeleteRequestTopicPartition{{Partition: g.partition()}, {Partition: g.partition()}}
		q.Topics = append(q.Topics, t)
	}
}

func (g *gen) deleteGroups(q *kmsg.DeleteGroupsRequest) { q.Groups = []string{g.group(), g.some("e1")} }

func (g *gen) describeGroups(q *kmsg.DescribeGroupsRequest) {
	q.Groups, q.IncludeAuthorizedOperations = []string{g.group(), g.group()}, g.percent(20)
}

func (g *gen) listGroups(q *kmsg.ListGroupsRequest) {
	if g.percent(50) {
		q.StatesFilter = []string{pick(g.r, "Stable", "empty", "PreparingRebalance", "CompletingRebalance", "Dead", "Assigning", "Reconciling", "bogus")}
	}
	if g.percent(30) {
		q.TypesFilter = []string{pick(g.r, "classic", "Consumer", "bogus")}
	}
}
