package main

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// mixedArea plays the members of one consumer group, some of whom still speak the classic protocol: all go through their rounds as clients do, and say what they own. Those of
// the classic protocol are static and the assignor is mostly range, which takes them by their names and not by the ids that a broker drew.
var mixedArea = area{
	name:   "mixed",
	parts:  3,
	topics: map[string]map[string]string{"t1": nil, "t2": nil},
	spoil:  2,
	choose: (*gen).mixedTurn,
	kinds: []kind{
		on(1, (*gen).mixedHeartbeat),
		on(1, (*gen).mixedJoin),
		on(1, (*gen).lifeSync),
		on(1, (*gen).lifeBeat),
		on(1, (*gen).lifeCommit),
		on(1, (*gen).lifeLeave),
		on(1, (*gen).consumerDescribe),
		on(1, (*gen).describeGroups),
		on(1, (*gen).listGroups),
		on(1, (*gen).offsetFetch),
		on(1, (*gen).offsetDelete),
	},
}

// mixedTurn picks a member and what it asks for next.
func (g *gen) mixedTurn() int16 {
	have := slices.DeleteFunc(slices.Clone(g.w.members[g.w.prefix+"g1"]), func(m *member) bool { return m.phase == gone || m.phase == joining || m.phase == syncing })
	switch {
	case g.percent(12):
		return pick[kmsg.Key](g.r, kmsg.ConsumerGroupDescribe, kmsg.ConsumerGroupDescribe, kmsg.ConsumerGroupDescribe, kmsg.DescribeGroups, kmsg.ListGroups, kmsg.OffsetFetch, kmsg.OffsetDelete).Int16()
	case len(have) == 0 || len(have) < 5 && g.percent(25):
		g.who = nil
		return pick[kmsg.Key](g.r, kmsg.ConsumerGroupHeartbeat, kmsg.ConsumerGroupHeartbeat, kmsg.JoinGroup).Int16()
	}
	g.who = have[g.r.IntN(len(have))]
	switch {
	case !g.who.classic:
		return pick[kmsg.Key](g.r, kmsg.ConsumerGroupHeartbeat, kmsg.ConsumerGroupHeartbeat, kmsg.ConsumerGroupHeartbeat, kmsg.ConsumerGroupHeartbeat, kmsg.ConsumerGroupHeartbeat, kmsg.OffsetCommit).Int16()
	case g.who.phase == outside:
		return pick[kmsg.Key](g.r, kmsg.JoinGroup, kmsg.JoinGroup, kmsg.JoinGroup, kmsg.JoinGroup, kmsg.Heartbeat).Int16()
	case g.who.phase == joined:
		return pick[kmsg.Key](g.r, kmsg.SyncGroup, kmsg.SyncGroup, kmsg.SyncGroup, kmsg.SyncGroup, kmsg.Heartbeat).Int16()
	}
	return pick[kmsg.Key](g.r, kmsg.Heartbeat, kmsg.Heartbeat, kmsg.Heartbeat, kmsg.Heartbeat, kmsg.OffsetCommit, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.LeaveGroup).Int16()
}

func (g *gen) mixedHeartbeat(q *kmsg.ConsumerGroupHeartbeatRequest) {
	q.Group = g.w.prefix + "g1"
	m := g.who
	if m == nil || g.percent(4) {
		g.consumerJoin(q)
		q.MemberID = pick(g.r, "m1", "m2", "m3", "m4")
		if q.ServerAssignor != nil {
			q.ServerAssignor = kmsg.StringPtr("range")
		}
		return
	}
	q.MemberID, q.InstanceID, q.MemberEpoch, q.RebalanceTimeoutMillis = m.id, m.instance, m.epoch, -1
	switch {
	case g.percent(7):
		q.MemberEpoch = pick[int32](g.r, -1, -1, -2)
		return
	case g.percent(12):
		g.subscribe(q)
	}
	q.Topics = pick(g.r, nil, m.topics, m.topics, m.topics)
}

// mixedJoin is a JoinGroup of a static member that says what it owns.
func (g *gen) mixedJoin(q *kmsg.JoinGroupRequest) {
	q.Group, q.ProtocolType, q.SessionTimeoutMillis, q.RebalanceTimeoutMillis = g.w.prefix+"g1", "consumer", 45000, 300000
	q.Version = max(q.Version, 5)
	q.InstanceID = kmsg.StringPtr(pick(g.r, "i1", "i2", "i3"))
	s := kmsg.NewConsumerMemberMetadata()
	s.Version, s.Topics = pick[int16](g.r, 1, 1, 3, 0), pick(g.r, g.w.topics, g.w.topics, g.w.topics[:1])
	if m := g.who; m != nil {
		q.MemberID, q.InstanceID = m.id, m.instance
		if g.percent(15) {
			q.MemberID = ""
		}
		if g.percent(85) {
			s.OwnedPartitions, s.Generation = m.owned, m.epoch
		}
	}
	for _, name := range pick(g.r, []string{"range"}, []string{"range", "roundrobin"}, []string{"cooperative-sticky", "range"}) {
		q.Protocols = append(q.Protocols, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: s.AppendTo(nil)})
	}
}

// ownedBy are the partitions of an assignment as a subscription names them.
func ownedBy(assignment []byte) (owned []kmsg.ConsumerMemberMetadataOwnedPartition) {
	var a kmsg.ConsumerMemberAssignment
	if a.ReadFrom(assignment) != nil {
		return nil
	}
	for _, t := range a.Topics {
		of := kmsg.NewConsumerMemberMetadataOwnedPartition()
		of.Topic, of.Partitions = t.Topic, t.Partitions
		owned = append(owned, of)
	}
	slices.SortFunc(owned, func(a, b kmsg.ConsumerMemberMetadataOwnedPartition) int { // they came in no order
		if a.Topic < b.Topic {
			return -1
		}
		return 1
	})
	return owned
}
