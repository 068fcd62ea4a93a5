package main

import "github.com/twmb/franz-go/pkg/kmsg"

// consumerArea drives consumer groups (KIP-848), with classic members among them.
var consumerArea = area{
	name:   "consumer",
	parts:  3,
	topics: map[string]map[string]string{"t1": nil, "t2": nil},
	spoil:  20,
	hurt:   5,
	kinds: []kind{
		on(18, (*gen).consumerHeartbeat),
		on(4, (*gen).offsetCommit),
		on(3, (*gen).offsetFetch),
		on(4, (*gen).consumerDescribe),
		on(1, (*gen).describeGroups),
		on(1, (*gen).listGroups),
		on(1, (*gen).offsetDelete),
		on(1, (*gen).deleteGroups),
		on(3, (*gen).classicJoin),
		on(2, (*gen).syncGroup),
		on(2, (*gen).heartbeat),
		on(1, (*gen).leaveGroup),
		on(1, (*gen).txnOffsetCommit),
	},
}

// consumerHeartbeat joins, goes on, changes its mind or leaves.
func (g *gen) consumerHeartbeat(q *kmsg.ConsumerGroupHeartbeatRequest) {
	q.Group = g.group()
	m := g.member(q.Group)
	q.MemberID, q.InstanceID = m.id, m.instance
	q.RebalanceTimeoutMillis = -1
	switch {
	case len(g.w.members[q.Group]) == 0 || g.percent(25):
		g.consumerJoin(q)
	case g.percent(10):
		q.MemberEpoch = pick[int32](g.r, -1, -1, -2)
	default:
		q.MemberEpoch = g.around(m.epoch)
		q.Topics = pick(g.r, nil, nil, m.topics, m.topics, m.topics, []kmsg.ConsumerGroupHeartbeatRequestTopic{})
		if g.percent(20) {
			g.subscribe(q)
		}
		if g.percent(10) {
			q.RebalanceTimeoutMillis = 300000
		}
	}
}

func (g *gen) consumerJoin(q *kmsg.ConsumerGroupHeartbeatRequest) {
	q.MemberEpoch, q.RebalanceTimeoutMillis, q.InstanceID = 0, 300000, nil
	if g.percent(70) { // seldom an id of the broker's: the order of ids decides who gets what
		q.MemberID = pick(g.r, "m1", "m2", "m3", "zed", "amy", "Bob") // the last ones stand in another order in a hash map
		if q.Version == 0 && g.percent(10) {
			q.MemberID = ""
		}
	}
	if g.percent(25) {
		q.InstanceID = g.instance()
	}
	q.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	g.subscribe(q)
	// With uniform the order of topic ids, which each broker draws, decides who gets which topic.
	q.ServerAssignor = kmsg.StringPtr("range")
	if len(q.SubscribedTopicNames) == 1 && q.SubscribedTopicNames[0] == g.w.topics[0] && g.percent(60) {
		q.ServerAssignor = pick(g.r, nil, kmsg.StringPtr("uniform"))
	}
	if g.percent(15) {
		q.RackID = kmsg.StringPtr(pick(g.r, "r1", ""))
	}
}

func (g *gen) subscribe(q *kmsg.ConsumerGroupHeartbeatRequest) {
	q.SubscribedTopicNames = pick(g.r, g.w.topics[:1], g.w.topics, g.w.topics[1:], []string{}, []string{g.w.prefix + "none"})
	if q.Version >= 1 && g.percent(12) {
		q.SubscribedTopicRegex = kmsg.StringPtr(pick(g.r, g.w.prefix+"t.*", g.w.prefix+"t1", "", "(", "nothing"))
		if g.percent(50) {
			q.SubscribedTopicNames = nil
		}
	}
}

func (g *gen) consumerDescribe(q *kmsg.ConsumerGroupDescribeRequest) {
	q.Groups, q.IncludeAuthorizedOperations = []string{g.group(), g.group()}, g.percent(20)
}

// classicJoin joins with the classic protocol, mostly under an id of its own.
func (g *gen) classicJoin(q *kmsg.JoinGroupRequest) {
	g.joinGroup(q)
	if q.MemberID == "" && g.percent(80) {
		q.MemberID = pick(g.r, "k1", "k2", "m1")
	}
}
