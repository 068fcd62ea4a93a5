package groups

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/javatext"
	"github.com/fakekafka/fakekafka/internal/records"
)

// classicState is where a classic group stands. The names are those of the wire.
type classicState string

const (
	classicEmpty      classicState = "Empty"
	classicPreparing  classicState = "PreparingRebalance"
	classicCompleting classicState = "CompletingRebalance"
	classicStable     classicState = "Stable"
	classicDead       classicState = "Dead" // in memory only, after Unload
)

// newMemberJoinTimeout is how long a new member may wait for its first generation. It can't heartbeat before, as it does
// not know its id; Kafka has it as a constant.
const newMemberJoinTimeout = 5 * time.Minute

// consumerProtocolType is the protocol type whose subscriptions and assignments the coordinator can read.
const consumerProtocolType = "consumer"

// classicGroup is a group of the classic protocol. Durable is only what synced says; all else is soft: it changes beside the
// records and comes back from them after a restart as adoptClassic builds it.
type classicGroup struct {
	// synced is the last record of the group in the log, nil for a simple group, which has none.
	synced *records.GroupValue

	state      classicState
	previous   classicState // the state before PreparingRebalance
	stateSince time.Time    // zero: unknown
	generation int32

	protocolType string  // "": none yet
	protocol     *string // the chosen one
	leader       string  // member id, "": none

	members map[string]*classicMember
	order   []*classicMember // as they were added
	most    int              // members there ever were at once
	joining int              // members with a parked join
	// supported counts the members that list a protocol.
	supported map[string]int
	static    map[string]string // instance id -> member id
	pending   map[string]*timer // ids given out by MEMBER_ID_REQUIRED, with the timers that forget them

	// unsynced are the member ids that have not sent SyncGroup since the generation began. The id of a static member that was replaced
	// stays in it, as in Kafka: then the sync deadline begins a rebalance.
	unsynced map[string]struct{}
	// losersUnsynced counts those of them that the last assignment takes partitions from (prompt.go).
	losersUnsynced int

	// subscribed are the topics of all members; nil: unknown, which counts as every topic where the protocol type is "consumer".
	subscribed map[string]struct{}

	// newMemberAdded: someone came during the initial delay, which is therefore extended.
	newMemberAdded bool
	arrivals       arrivals // see prompt.go

	isAsked bool     // a request is at work that may end the join phase, and can be told that it didn't end as it should
	failed  *refusal // why it didn't

	joinTimer   timer         // the join deadline or the initial delay
	joinLimit   time.Duration // of the join deadline
	syncTimer   timer
	secondRound timer // see prompt.go
	// overdue: the join phase would have ended, but ExpectMembers wants more members.
	overdue bool
}

// classicMember is one member of a classic group.
type classicMember struct {
	id               string
	instanceID       *string // of a static member
	clientID         string
	clientHost       string
	rebalanceTimeout time.Duration
	sessionTimeout   time.Duration
	protocols        []protocol // in the member's order of preference
	assignment       []byte
	isNew            bool // its first generation is not complete

	join *parked[*kmsg.JoinGroupRequest]
	sync *parked[*kmsg.SyncGroupRequest]
	beat *heldReply
	// See group.gaveUp.
	gaveUp time.Duration

	session    timer
	lastBeat   time.Time
	software   string        // of the client that joined last; "" after a restart
	beatAt     time.Time     // when its last heartbeat came
	syncedAt   time.Time     // when its SyncGroup was answered last
	assignedAt time.Time     // the same, until its first heartbeat then
	interval   time.Duration // of its heartbeats, as that one shows it; 0: unknown
	// fenced: Fence was called; its next request is refused.
	fenced bool
	// uninformed: its join was answered, and its SyncGroup since then was not, with an assignment.
	uninformed bool
	// loses: the last assignment takes partitions that the member owned (prompt.go).
	loses bool
}

// protocol is one entry of a member's list: an assignor and what the member has to tell it.
type protocol struct {
	name     string
	metadata []byte
}

// parked is a request that waits for its answer.
type parked[R any] struct {
	ticket Ticket
	req    R
}

// newClassicGroup gives the container an Empty classic group of generation 0.
func (s *Shard) newClassicGroup(g *group) *classicGroup {
	c := &classicGroup{
		state: classicEmpty, stateSince: s.now,
		members:   make(map[string]*classicMember),
		supported: make(map[string]int),
		static:    make(map[string]string),
		pending:   make(map[string]*timer),
		unsynced:  make(map[string]struct{}),
	}
	c.joinTimer = timer{kind: timerJoin, group: g.id}
	c.syncTimer = timer{kind: timerSync, group: g.id}
	c.secondRound = timer{kind: timerSecondRound, group: g.id, fire: func() { s.endSecondRound(g) }}
	g.classic = c
	return c
}

// discardClassic takes the classic side from the container: the group is gone, or of the other protocol from now on.
func (s *Shard) discardClassic(g *group) {
	c := g.classic
	if c == nil {
		return
	}
	s.stopClassicTimers(c)
	g.classic = nil
}

func (s *Shard) stopClassicTimers(c *classicGroup) {
	for _, t := range c.timers() {
		s.stopTimer(t)
	}
}

// timers are all of a classic group and its members.
func (c *classicGroup) timers() []*timer {
	out := []*timer{&c.joinTimer, &c.syncTimer, &c.secondRound}
	for _, m := range c.order {
		out = append(out, &m.session)
	}
	for _, id := range sortedNames(c.pending) {
		out = append(out, c.pending[id])
	}
	return out
}

// become moves the group to another state.
func (s *Shard) become(c *classicGroup, state classicState) {
	c.previous, c.state, c.stateSince = c.state, state, s.now
}

// newMember makes a member from its first join. It is not in the group yet.
func (s *Shard) newMember(g *group, id string, client Client, req *kmsg.JoinGroupRequest) *classicMember {
	m := &classicMember{
		id: id, instanceID: req.InstanceID,
		clientID: client.ID, clientHost: client.Host, software: client.Software,
		isNew: true, lastBeat: s.now,
	}
	m.take(req)
	s.armSession(g, m)
	return m
}

// armSession makes the member's session timer, without starting it.
func (s *Shard) armSession(g *group, m *classicMember) {
	m.session = timer{kind: timerSession, group: g.id, member: m.id, fire: func() { s.sessionExpired(g, m) }}
}

// take replaces protocols and timeouts by those of a join.
func (m *classicMember) take(req *kmsg.JoinGroupRequest) {
	m.sessionTimeout = millis(req.SessionTimeoutMillis)
	m.rebalanceTimeout = joinRebalanceTimeout(req)
	m.protocols = make([]protocol, len(req.Protocols))
	for i, p := range req.Protocols {
		m.protocols[i] = protocol{name: p.Name, metadata: bytes.Clone(p.Metadata)}
	}
}

// joinRebalanceTimeout is the session timeout in version 0, which has no field for it.
func joinRebalanceTimeout(req *kmsg.JoinGroupRequest) time.Duration {
	if req.Version == 0 {
		return millis(req.SessionTimeoutMillis)
	}
	return millis(req.RebalanceTimeoutMillis)
}

func millis(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }

// metadata is what the member says to a protocol; empty where there is none.
func (m *classicMember) metadata(name *string) []byte {
	if name != nil {
		for _, p := range m.protocols {
			if p.name == *name {
				return p.metadata
			}
		}
	}
	return nil
}

// offers says whether the protocol is one of the member's.
func (m *classicMember) offers(name string) bool {
	return slices.ContainsFunc(m.protocols, func(p protocol) bool { return p.name == name })
}

// matches says whether a join lists the same protocols, metadata and order included.
func (m *classicMember) matches(protocols []kmsg.JoinGroupRequestProtocol) bool {
	return slices.EqualFunc(m.protocols, protocols, func(a protocol, b kmsg.JoinGroupRequestProtocol) bool {
		return a.name == b.Name && bytes.Equal(a.metadata, b.Metadata)
	})
}

// event is one of the member, named as events name members.
func (m *classicMember) event(g *group, kind EventKind) Event {
	e := Event{Group: g.id, Kind: kind, Member: m.id, ClientID: m.clientID}
	if g.classic != nil {
		e.Epoch = g.classic.generation
	}
	if m.instanceID != nil {
		e.InstanceID = *m.instanceID
	}
	return e
}

// insert adds a member.
func (c *classicGroup) insert(m *classicMember, protocolType string) {
	if len(c.members) == 0 {
		c.protocolType = protocolType
	}
	if c.leader == "" {
		c.leader = m.id
	}
	c.members[m.id] = m
	c.order = append(c.order, m)
	c.most = max(c.most, len(c.order))
	if m.instanceID != nil {
		c.static[*m.instanceID] = m.id
	}
	c.count(m, 1)
}

// count adds the member to those that support its protocols, or takes it from them. A name listed twice counts twice, as in Kafka, where it
// then is not one that all support.
func (c *classicGroup) count(m *classicMember, d int) {
	for _, p := range m.protocols {
		if c.supported[p.name] += d; c.supported[p.name] == 0 {
			delete(c.supported, p.name)
		}
	}
}

// parkJoin lets the member's join wait. An earlier one is never answered, as in Kafka.
func (c *classicGroup) parkJoin(m *classicMember, t Ticket, req *kmsg.JoinGroupRequest) {
	if m.join == nil {
		c.joining++
	}
	m.join = &parked[*kmsg.JoinGroupRequest]{t, req}
}

// answerJoin answers a parked join, if there is one.
func (s *Shard) answerJoin(c *classicGroup, m *classicMember, answer func(*kmsg.JoinGroupRequest) *kmsg.JoinGroupResponse) {
	if m.join == nil {
		return
	}
	p := m.join
	m.join = nil
	c.joining--
	s.reply(p.ticket, answer(p.req))
}

// refuseSync refuses a parked sync, if there is one.
func (s *Shard) refuseSync(m *classicMember, code int16) {
	if p := m.sync; p != nil {
		m.sync = nil
		s.reply(p.ticket, syncError(p.req, code))
	}
}

// turnAway refuses all joins and syncs that wait.
func (s *Shard) turnAway(c *classicGroup, code int16) {
	for _, m := range c.order {
		s.answerJoin(c, m, func(req *kmsg.JoinGroupRequest) *kmsg.JoinGroupResponse { return joinError(req, m.id, code) })
		s.refuseSync(m, code)
	}
}

// removeMember takes a member out: its timer stops, its parked join is answered UNKNOWN_MEMBER_ID without an id. Its parked sync is
// not answered, as in Kafka. What that means for the group's state is the caller's business.
func (s *Shard) removeMember(g *group, m *classicMember) {
	c := g.classic
	s.stopTimer(&m.session)
	s.answerJoin(c, m, func(req *kmsg.JoinGroupRequest) *kmsg.JoinGroupResponse {
		return joinError(req, "", errUnknownMemberID)
	})
	delete(c.members, m.id)
	if i := slices.Index(c.order, m); i >= 0 {
		c.order = slices.Delete(c.order, i, i+1)
	}
	if m.instanceID != nil && c.static[*m.instanceID] == m.id {
		delete(c.static, *m.instanceID)
	}
	c.count(m, -1)
	if c.leader == m.id {
		c.leader = ""
		if len(c.order) > 0 {
			c.leader = c.order[0].id
		}
	}
	s.releaseHeld(m.beat)
}

// forgetPending drops a pending id.
func (s *Shard) forgetPending(c *classicGroup, id string) {
	s.stopTimer(c.pending[id])
	delete(c.pending, id)
}

// allJoined says that the join phase can end: every member has a parked join, and no id is pending.
func (c *classicGroup) allJoined() bool {
	return c.joining == len(c.members) && len(c.pending) == 0
}

// rebalanceTimeout is the largest of the members'.
func (c *classicGroup) rebalanceTimeout() time.Duration {
	var longest time.Duration
	for _, m := range c.order {
		longest = max(longest, m.rebalanceTimeout)
	}
	return longest
}

// compatible says whether a join's protocols fit the group. Outside Empty at least one must be supported by every member; the joining
// member's own old list counts, so that even a lone member can't replace all its names at once.
func (c *classicGroup) compatible(req *kmsg.JoinGroupRequest) bool {
	if c.state == classicEmpty {
		return req.ProtocolType != "" && len(req.Protocols) > 0
	}
	return c.protocolType == req.ProtocolType && slices.ContainsFunc(req.Protocols, func(p kmsg.JoinGroupRequestProtocol) bool {
		return c.supported[p.Name] == len(c.members)
	})
}

// vote chooses the protocol: each member votes for the first of its list that all support. Of those with the most votes Kafka takes the
// one that its hash map's iterator comes to first, and so does this. ok is false where there is no candidate: each name that all support stands twice in
// one of the lists, or a member of a strange log has none.
func (c *classicGroup) vote() (name string, ok bool) {
	votes := make(map[string]int)
	var ranked []string
	for _, m := range c.order {
		for _, p := range m.protocols {
			if c.supported[p.name] == len(c.members) {
				if votes[p.name]++; votes[p.name] == 1 {
					ranked = append(ranked, p.name)
				}
				break
			}
		}
	}
	for _, candidate := range javatext.MapOrder(ranked, javatext.HashCode) {
		if !ok || votes[candidate] > votes[name] {
			name, ok = candidate, true
		}
	}
	return name, ok
}

// firstProtocol stands in for the vote where nobody is there to be told that there is no candidate: so the joins are answered. Kafka's exception leaves
// them waiting.
func (c *classicGroup) firstProtocol() string {
	if len(c.order) > 0 && len(c.order[0].protocols) > 0 {
		return c.order[0].protocols[0].name
	}
	return ""
}

// findSubscribed recomputes the subscribed topics: those of every member's metadata for the chosen protocol.
func (c *classicGroup) findSubscribed() {
	c.subscribed = nil
	switch {
	case c.protocolType != consumerProtocolType:
	case len(c.members) == 0:
		c.subscribed = map[string]struct{}{}
	case c.protocol != nil:
		topics := make(map[string]struct{})
		for _, m := range c.order {
			names, err := subscribedTopics(m.metadata(c.protocol))
			if err != nil {
				return
			}
			for _, name := range names {
				topics[name] = struct{}{}
			}
		}
		c.subscribed = topics
	}
}

// subscribedTo says whether offsets of a topic are in use by the members.
func (c *classicGroup) subscribedTo(topic string) bool {
	if c.subscribed == nil {
		return c.protocolType == consumerProtocolType
	}
	_, ok := c.subscribed[topic]
	return ok
}

// checkMember is the check of member and instance id that every request of a member passes. Pending ids are unknown.
func (s *Shard) checkMember(g *group, memberID string, instanceID *string) (*classicMember, int16) {
	c := g.classic
	if instanceID != nil {
		switch holder, ok := c.static[*instanceID]; {
		case !ok:
			return nil, errUnknownMemberID
		case holder != memberID:
			s.emit(Event{
				Group: g.id, Kind: EventFenced, Member: memberID, InstanceID: *instanceID, Epoch: c.generation,
				Cause: fmt.Sprintf("instance id is held by %s", holder),
			})
			return nil, errFencedInstanceID
		}
	}
	m := c.members[memberID]
	if m == nil {
		return nil, errUnknownMemberID
	}
	if m.fenced {
		return nil, s.refuseFenced(g, m)
	}
	return m, errNone
}

// newUUID is a random UUID in lower case, as Java writes it.
func (s *Shard) newUUID() string {
	hi, lo := s.deps.Rand.Uint64(), s.deps.Rand.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(0xc<<60) | 0x8<<60
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&0xffffffffffff)
}
