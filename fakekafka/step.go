package fakekafka

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/broker"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// Step is a place in a group's protocol at which it can be held: see [Group.Hold].
type Step string

const (
	// JoinBarrier is the end of a classic join phase: everybody has joined, nobody has been answered.
	JoinBarrier Step = "JoinBarrier"
	// Join is a JoinGroup request before it is handled.
	Join Step = "Join"
	// Sync is the leader's SyncGroup request, with the assignment, before it is handled.
	Sync Step = "Sync"
	// Assign is the run of the server-side assignor of a consumer group (KIP-848).
	Assign Step = "Assign"
	// RevokeAck is the request by which a member confirms that it has given partitions up: in a consumer group a heartbeat that lists what it
	// still owns; in a cooperative classic group the JoinGroup of the second round is a Join.
	RevokeAck Step = "RevokeAck"
	// Commit is an OffsetCommit, or a TxnOffsetCommit, before it is handled.
	Commit Step = "Commit"
	// Beat is a heartbeat, of either protocol, before it is handled: the next of each member, an interval after the one before was answered. Those that wait at
	// the coordinator for news have come before the hold; they are answered when it begins.
	Beat Step = "Beat"
	// Leave is a LeaveGroup, or a heartbeat that leaves, before it is handled.
	Leave Step = "Leave"
)

var steps = []Step{JoinBarrier, Join, Sync, Assign, RevokeAck, Commit, Beat, Leave}

// Hold stops the group at a step from now on: what comes there stands until the hold is released. Other groups go on. Two holds and an order of release
// replay any race on purpose.
func (g *Group) Hold(step Step) *Hold {
	g.k.mark.Helper()
	if err := g.nameless(); err != nil {
		h := &Hold{k: g.k, group: g, step: step, gate: g.k.b.NewGate(fmt.Sprintf("Group(\"\").Hold(%s)", step))}
		_ = g.k.steered(h.gate.Name, err)
		return h
	}
	if s := groupsStep(step); s != "" {
		h := &Hold{k: g.k, group: g, step: step}
		if g.k.steered(h.Name(), g.k.b.HoldGroup(g.id, s)) != nil {
			h.once.Do(func() {}) // there is nothing to release
			return h
		}
		g.k.holds.add(h)
		return h
	}
	h := &Hold{k: g.k, group: g, step: step}
	h.gate = g.k.b.NewGate(fmt.Sprintf("Group(%q).Hold(%s)", g.id, step))
	when, key := stepRequests(step)
	if when == nil {
		_ = g.k.steered(h.gate.Name, fmt.Errorf("there is no step %q; there are %q", step, steps))
		return h
	}
	h.rule = &broker.Rule{Key: key, Partition: -1, Group: g.id, Internal: true, Name: h.gate.Name, When: when, Action: broker.Action{Hold: h.gate}}
	if err := g.k.b.CheckOpen(); err != nil {
		_ = g.k.steered(h.gate.Name, err)
		return h
	}
	g.k.b.AddRule(h.rule)
	g.k.holds.add(h)
	if step == Beat {
		g.k.b.ReleaseHeartbeats(g.id) // they came before the hold, and could wait for longer than the test does for the next ones
	}
	return h
}

// groupsStep is the coordinator's own name of a step that lies inside it; "" for one that is a request.
func groupsStep(s Step) groups.Step {
	switch s {
	case JoinBarrier:
		return groups.StepJoinBarrier
	case Assign:
		return groups.StepAssign
	}
	return ""
}

// stepRequests tells which requests are at a step.
func stepRequests(s Step) (when func(*broker.Call) bool, key wire.Key) {
	heartbeat := func(epoch func(*kmsg.ConsumerGroupHeartbeatRequest) bool) func(*broker.Call) bool {
		return func(c *broker.Call) bool {
			req, ok := c.Request.(*kmsg.ConsumerGroupHeartbeatRequest)
			return ok && epoch(req)
		}
	}
	switch s {
	case Join:
		return func(c *broker.Call) bool {
			return c.Key == wire.JoinGroup || heartbeat(func(r *kmsg.ConsumerGroupHeartbeatRequest) bool { return r.MemberEpoch == 0 })(c)
		}, broker.AnyKey
	case Sync:
		return func(c *broker.Call) bool {
			req, ok := c.Request.(*kmsg.SyncGroupRequest)
			return ok && len(req.GroupAssignment) > 0
		}, wire.SyncGroup
	case RevokeAck:
		return heartbeat(func(r *kmsg.ConsumerGroupHeartbeatRequest) bool { return r.MemberEpoch > 0 && r.Topics != nil }), wire.ConsumerGroupHeartbeat
	case Commit:
		return func(c *broker.Call) bool { return c.Key == wire.OffsetCommit || c.Key == wire.TxnOffsetCommit }, broker.AnyKey
	case Beat:
		return func(c *broker.Call) bool {
			return c.Key == wire.Heartbeat || heartbeat(func(r *kmsg.ConsumerGroupHeartbeatRequest) bool { return r.MemberEpoch > 0 })(c)
		}, broker.AnyKey
	case Leave:
		return func(c *broker.Call) bool {
			return c.Key == wire.LeaveGroup || heartbeat(func(r *kmsg.ConsumerGroupHeartbeatRequest) bool { return r.MemberEpoch < 0 })(c)
		}, broker.AnyKey
	}
	return nil, broker.AnyKey
}

// unreachedSteps says of each step why nothing may come there though the group has members. Of a Commit it depends on what came before: see [Group.uncommitted].
var unreachedSteps = map[Step]struct {
	only, instead string // the one protocol that has the step, and what to hold in groups of the other
	why           string
}{
	JoinBarrier: {"classic", "Assign holds the assignment there", gotThrough},
	Join:        {why: gotThrough},
	Sync:        {"classic", "Assign holds the assignment there", gotThrough},
	Assign:      {"consumer", "Sync holds the leader's assignment there", gotThrough},
	RevokeAck: {"consumer", "the second JoinGroup of a cooperative member, which confirms, is a Join there",
		"no member has confirmed that it gave partitions up since the hold: for that a member must have some to give up, as when another one joins"},
	Beat:  {why: "no heartbeat has come since the hold: clients send one an interval after the last was answered, 3 s by default; scripted members send none while there is no news"},
	Leave: {why: "no member has left since the hold. Static members, and clients that crash, don't say that they go"},
}

const gotThrough = "its members got through it before the hold: call Hold before the clients start, or make another rebalance, by Rebalance or a client that comes or goes"

// unreached says why nothing may have come to a hold of a group that has members; of others it is told who should be there.
func (h *Hold) unreached() []string {
	s, step := h.group.State(), unreachedSteps[h.step]
	switch {
	case len(s.Members) == 0:
		return nil
	case step.only != "" && step.only != s.Protocol:
		return []string{fmt.Sprintf("%s is a step of groups of the %s protocol, this one's is %s: %s", h.step, step.only, s.Protocol, step.instead)}
	case step.why != "":
		return []string{step.why}
	case h.step != Commit:
		return nil // there is no such step
	}
	if n := h.group.commits(); n > 0 {
		return []string{fmt.Sprintf("its clients have sent %s, none since the hold: is there a record to read since?", count(n, "commit"))}
	}
	return h.group.uncommitted()
}
