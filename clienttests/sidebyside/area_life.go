package main

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// lifeArea plays the members of one classic group as clients do: each joins, syncs, beats and commits when it is its turn, and now and then does
// something else. So the group is stable, is rebalanced and becomes stable again, where the requests of classicArea mostly come from nobody's member.
// Short timeouts end in the pauses between the steps: members' sessions, joins and syncs that are waited for, offsets with a retention time.
var lifeArea = area{
	name:   "life",
	parts:  2,
	topics: map[string]map[string]string{"t1": nil, "t2": nil},
	spoil:  3,
	pause:  1200 * time.Millisecond,
	choose: (*gen).turn,
	kinds: []kind{
		on(1, (*gen).lifeJoin),
		on(1, (*gen).lifeSync),
		on(1, (*gen).lifeBeat),
		on(1, (*gen).lifeCommit),
		on(1, (*gen).lifeLeave),
		on(1, (*gen).describeGroups),
		on(1, (*gen).listGroups),
		on(1, (*gen).offsetFetch),
		on(1, (*gen).offsetDelete),
		on(1, (*gen).deleteGroups),
		on(1, (*gen).lifeTxnCommit),
		on(1, (*gen).lifeUpgrade),
	},
}

// phase is where a classic member is, as far as its client knows.
type phase int

const (
	outside phase = iota // it has an id perhaps, and is to join
	joining              // its JoinGroup waits
	joined               // it is to sync
	syncing
	synced
	gone
)

const shortTimeout = 900 // milliseconds

// turn picks a member and what it asks for next.
func (g *gen) turn() int16 {
	group := g.w.prefix + "g1"
	var free []*member
	members := 0
	for _, m := range g.w.members[group] {
		if m.phase != gone || g.percent(3) {
			members++
			if m.phase != joining && m.phase != syncing || g.percent(8) {
				free = append(free, m)
			}
		}
	}
	if g.percent(14) {
		return pick[kmsg.Key](g.r, kmsg.DescribeGroups, kmsg.DescribeGroups, kmsg.DescribeGroups, kmsg.ListGroups, kmsg.OffsetFetch, kmsg.OffsetFetch, kmsg.OffsetDelete, kmsg.DeleteGroups, kmsg.TxnOffsetCommit, kmsg.ConsumerGroupHeartbeat).Int16()
	}
	if len(free) == 0 || members < 4 && g.percent(22) {
		g.who = nil
		return kmsg.JoinGroup.Int16()
	}
	g.who = free[g.r.IntN(len(free))]
	switch g.who.phase {
	case outside:
		return pick(g.r, kmsg.JoinGroup, kmsg.JoinGroup, kmsg.JoinGroup, kmsg.JoinGroup, kmsg.JoinGroup, kmsg.JoinGroup, kmsg.Heartbeat, kmsg.OffsetCommit, kmsg.LeaveGroup, kmsg.SyncGroup).Int16()
	case joined:
		return pick(g.r, kmsg.SyncGroup, kmsg.SyncGroup, kmsg.SyncGroup, kmsg.SyncGroup, kmsg.SyncGroup, kmsg.SyncGroup, kmsg.Heartbeat, kmsg.OffsetCommit, kmsg.JoinGroup, kmsg.LeaveGroup).Int16()
	}
	return pick(g.r, kmsg.Heartbeat, kmsg.Heartbeat, kmsg.Heartbeat, kmsg.OffsetCommit, kmsg.OffsetCommit, kmsg.JoinGroup, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.LeaveGroup).Int16()
}

func (g *gen) lifeJoin(q *kmsg.JoinGroupRequest) {
	q.Group, q.ProtocolType = g.w.prefix+"g1", "consumer"
	q.SessionTimeoutMillis, q.RebalanceTimeoutMillis = 45000, pick[int32](g.r, 300000, 300000, shortTimeout)
	if g.percent(30) {
		q.SessionTimeoutMillis = max(shortTimeout, g.w.minSession)
	}
	offered := [][]string{{"range"}, {"range", "roundrobin"}, {"range", "roundrobin"}, {"roundrobin", "range"}, {"sticky"}}
	first := 0
	if g.who != nil {
		q.MemberID, q.InstanceID = g.who.id, g.who.instance
		first = len(g.who.id) % 4 // mostly what it offered before; an id is of one length on both sides
		if g.who.instance != nil && g.percent(20) {
			q.MemberID = "" // it was started again
		}
	} else if g.percent(30) {
		q.InstanceID = kmsg.StringPtr(pick(g.r, "i1", "i2", "i3"))
	}
	if g.percent(50) {
		first = g.r.IntN(len(offered))
	}
	for _, name := range offered[first] {
		q.Protocols = append(q.Protocols, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: subscription(g.w.topics[:1+g.r.IntN(2)]...)})
	}
}

func (g *gen) lifeSync(q *kmsg.SyncGroupRequest) {
	q.Group = g.w.prefix + "g1"
	q.MemberID, q.InstanceID, q.Generation = g.who.id, g.who.instance, g.lifeGeneration()
	if g.percent(80) {
		q.ProtocolType, q.Protocol = kmsg.StringPtr("consumer"), g.who.protocol
	}
	if g.who.leads != g.percent(5) {
		for i, of := range g.w.members[q.Group] {
			if of.phase != gone || g.percent(10) {
				q.GroupAssignment = append(q.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: of.id, MemberAssignment: g.assignment(int32(i))})
			}
		}
	}
}

func (g *gen) lifeBeat(q *kmsg.HeartbeatRequest) {
	q.Group = g.w.prefix + "g1"
	q.MemberID, q.InstanceID, q.Generation = g.who.id, g.who.instance, g.lifeGeneration()
}

func (g *gen) lifeCommit(q *kmsg.OffsetCommitRequest) {
	g.offsetCommit(q)
	q.Group = g.w.prefix + "g1"
	q.MemberID, q.InstanceID, q.Generation = g.who.id, g.who.instance, g.lifeGeneration()
	q.RetentionTimeMillis = pick[int64](g.r, -1, -1, 300, 0, 86400000)
	if g.percent(8) {
		q.MemberID, q.InstanceID, q.Generation = "", nil, -1
	}
}

func (g *gen) lifeTxnCommit(q *kmsg.TxnOffsetCommitRequest) {
	g.txnOffsetCommit(q)
	q.Group = g.w.prefix + "g1"
	m := g.member(q.Group)
	q.MemberID, q.InstanceID, q.Generation = m.id, m.instance, g.around(m.epoch)
}

func (g *gen) lifeLeave(q *kmsg.LeaveGroupRequest) {
	q.Group = g.w.prefix + "g1"
	q.MemberID = g.who.id
	of := kmsg.NewLeaveGroupRequestMember()
	of.MemberID, of.InstanceID = g.who.id, g.who.instance
	if of.InstanceID != nil && g.percent(50) {
		of.MemberID = ""
	}
	q.Members = append(q.Members, of)
	if g.percent(20) {
		other := g.member(q.Group)
		of.MemberID, of.InstanceID = other.id, other.instance
		q.Members = append(q.Members, of)
	}
}

// lifeUpgrade is a member of a consumer group that wants to join.
func (g *gen) lifeUpgrade(q *kmsg.ConsumerGroupHeartbeatRequest) {
	g.consumerHeartbeat(q)
	q.Group = g.w.prefix + "g1"
	if g.percent(80) { // seldom: the group would be a consumer group for the rest of the sequence
		q.Group = g.w.prefix + "g2"
	}
}

func (g *gen) lifeGeneration() int32 {
	if g.percent(93) {
		return g.who.epoch
	}
	return pick(g.r, g.who.epoch-1, g.who.epoch+1, -1, 0)
}

// asks notes what a classic member waits for.
func (w *world) asks(request kmsg.Request) {
	switch q := request.(type) {
	case *kmsg.JoinGroupRequest:
		w.turns(q.Group, q.MemberID, joining)
	case *kmsg.SyncGroupRequest:
		w.turns(q.Group, q.MemberID, syncing)
	}
}

// givesUp notes that a classic member waits no longer.
func (w *world) givesUp(request kmsg.Request) {
	switch q := request.(type) {
	case *kmsg.JoinGroupRequest:
		w.turns(q.Group, q.MemberID, outside)
	case *kmsg.SyncGroupRequest:
		w.turns(q.Group, q.MemberID, joined)
	}
}

// turns notes where a member is now.
func (w *world) turns(group, id string, to phase) {
	for _, m := range w.members[group] {
		if m.id == id {
			m.phase = to
		}
	}
}

// hears notes what an answer means to a classic member.
func (w *world) hears(group, id string, code int16, otherwise phase) {
	switch code {
	case 0:
		w.turns(group, id, otherwise)
	case 22, 27: // ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS
		w.turns(group, id, outside)
	case 25, 82: // UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID
		w.turns(group, id, gone)
	}
}
