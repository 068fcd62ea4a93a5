package groups

import (
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
)

// What consumer groups do at the end of a turn of the driver's loop, and how heartbeats wait for it (Config.Prompt). Nothing
// here knows a rule of the protocol: a held heartbeat is handled when it is let go.

const (
	// promptInterval is dictated to members that have what they shall have, where no interval is set.
	promptInterval = 100 * time.Millisecond
	// librdkafkaInterval is that for librdkafka. It looks up where to begin in a partition without a committed offset 100 ms after its assignment.
	// A heartbeat of the same moment that tells it to revoke another partition makes it look the offset up again half a second later, and it reads
	// what it has read once more: librdkafka 2.11, on Apache Kafka too.
	librdkafkaInterval = 200 * time.Millisecond
	// settlingInterval is dictated to members of a small group while they wait for others.
	settlingInterval = 10 * time.Millisecond
	// heartbeatPatience is how long a client bears a heartbeat without its answer, or the interval if that is longer; the answer leaves this much before.
	// librdkafka bears it for the interval: it looks once a second whether that is over, and then only when something wakes it, such as a commit.
	heartbeatPatience = time.Second
	holdMargin        = 300 * time.Millisecond
)

// consumerTurn is what is to be done at the end of the turn, by group.
type consumerTurn struct {
	resolving map[string]struct{} // expressions are to be resolved
	changed   map[string]struct{} // a target may be due, or a member has news
	// waiting are the requests that wait for the target that the end of the turn computes. The group may have changed the protocol by then, or be gone.
	waiting map[string][]*beat
	// gone are the names of deleted topics that members still had, for the history.
	gone map[assignors.TopicID]string
}

func (s *Shard) markChanged(g *consumerGroup) {
	if s.turn.changed == nil {
		s.turn.changed = make(map[string]struct{})
	}
	s.turn.changed[g.id] = struct{}{}
}

// flushConsumer computes targets, answers who waited for them, and lets heartbeats go that have news; a heartbeat that is let go
// may change the group again. Then it resolves expressions, whose result comes after the answers of those who brought them.
func (s *Shard) flushConsumer() {
	for {
		for len(s.turn.changed) > 0 {
			ids := sortedNames(s.turn.changed)
			clear(s.turn.changed)
			for _, id := range ids {
				if g := s.groups[id]; g != nil && g.consumer != nil {
					s.flushGroup(g.consumer)
				} else {
					s.outlived(id)
				}
			}
		}
		if len(s.turn.resolving) == 0 {
			return
		}
		for _, id := range sortedNames(s.turn.resolving) {
			delete(s.turn.resolving, id)
			if g := s.groups[id]; g != nil && g.consumer != nil {
				s.resolveRegexes(g.consumer)
			}
		}
	}
}

// assignsPerTurn says that the target of a request is computed at the end of the turn, in one run for all requests of it, when what they brought stands. An assignor that
// isn't Kafka's own may fail, and the request with it, of which nothing stands then: such a one runs within each request, as in Kafka. (Kafka's uniform fails only at a
// previous target with partitions that there aren't; then the requests are refused, and what they brought stands.)
func (s *Shard) assignsPerTurn(g *consumerGroup, v vote) bool {
	if !s.cfg.Prompt {
		return false
	}
	_, own := s.assignorFor(g, v).(assignors.OrderedServerAssignor)
	return own
}

// awaitTarget has a request wait for the end of the turn.
func (s *Shard) awaitTarget(b *beat) {
	if s.turn.waiting == nil {
		s.turn.waiting = make(map[string][]*beat)
	}
	s.turn.waiting[b.group] = append(s.turn.waiting[b.group], b)
}

func (s *Shard) takeWaiting(group string) []*beat {
	waiting := s.turn.waiting[group]
	delete(s.turn.waiting, group)
	return waiting
}

// outlived answers who waited in a consumer group that is none anymore. A classic member that has joined it is in the classic group now, and joins that.
func (s *Shard) outlived(group string) {
	for _, b := range s.takeWaiting(group) {
		if b.rejoin != nil && s.HasMember(group, b.member) {
			b.rejoin()
			continue
		}
		r := unknownMember(b.member, group)
		s.noteRefusal(group, b.member, b.client, r)
		b.refuse(r)
	}
}

// unloadWaiting answers who waits when the coordinator moves away.
func (s *Shard) unloadWaiting() {
	for _, id := range sortedNames(s.turn.waiting) {
		for _, b := range s.takeWaiting(id) {
			b.refuse(&refusal{code: errNotCoordinator})
		}
	}
}

func (s *Shard) flushGroup(g *consumerGroup) {
	var failed *refusal
	waiting := s.takeWaiting(g.id)
	if s.cfg.Prompt && !g.empty() && g.assignmentEpoch < g.groupEpoch {
		tx := s.beginTx(g.id)
		var v vote
		if n := len(waiting); n > 0 {
			v = waiting[n-1].vote
		}
		if failed = s.maybeAssign(tx, g, g.homogeneous(), v); failed != nil {
			tx.rollback()
		} else {
			failed = tx.commitPieces()
		}
		if due := s.assignmentDue(g); g.assignmentEpoch < g.groupEpoch && s.now.Before(due) {
			s.assignLater(g, due.Sub(s.now))
		}
	}
	for _, b := range waiting {
		r := failed
		if r == nil {
			r = s.finishBeat(b)
		}
		if r != nil {
			b.tx.rollback()
			s.noteRefusal(b.group, b.member, b.client, r)
			b.refuse(r)
		}
	}
	if len(s.held) > 0 {
		s.releaseNews(g)
	}
}

// assignLater computes the target when the assignment interval of the group is over.
func (s *Shard) assignLater(g *consumerGroup, d time.Duration) {
	if g.assign == nil {
		g.assign = &timer{kind: timerAssignment, group: g.id, fire: func() {
			if group := s.groups[g.id]; group != nil && group.consumer == g {
				s.markChanged(g)
			}
		}}
	}
	if !g.assign.running {
		s.startTimer(g.assign, d)
	}
}

// releaseNews lets those heartbeats go whose members have something to hear.
func (s *Shard) releaseNews(g *consumerGroup) {
	stale := g.metadataStale
	if stale || g.heldAt != g.assignmentEpoch {
		for _, id := range slices.Clone(g.order) {
			m := g.members[id]
			// A classic heartbeat finds nothing out: it waits for the target that others' heartbeats lead to.
			if m != nil && m.held != nil && (stale && !m.usesClassic() || m.epoch != g.assignmentEpoch) {
				s.releaseMember(m)
			}
		}
		g.heldAt = g.assignmentEpoch
	}
	for _, id := range sortedNames(g.freed) {
		delete(g.freed, id)
		if m := g.members[id]; m != nil {
			s.releaseMember(m)
		}
	}
}

// releaseEarlier lets a member's held heartbeat go when another one comes: the member has given that one up, and news in its answer would be lost.
func (s *Shard) releaseEarlier(group, member string) {
	if g := s.groups[group]; g != nil && g.consumer != nil {
		if m := g.consumer.members[member]; m != nil {
			s.releaseMember(m)
		}
	}
}

// releaseMember has a held heartbeat handled now.
func (s *Shard) releaseMember(m *consumerMember) {
	if h := m.held; h != nil {
		m.held = nil
		s.releaseHeld(h)
	}
}

// holdBeat lets a heartbeat without news wait. It is handled anew, once, when there is news or the time is over; so it
// renews the session when it comes and when it is answered.
func (s *Shard) holdBeat(g *consumerGroup, m *consumerMember, b *beat) bool {
	if !s.cfg.Prompt || b.ticket == 0 || heartbeatHold(b.client) == 0 || s.beatsInTransaction(b.client, g.id) {
		return false
	}
	if !g.settled(m) && m.state != memberUnreleased {
		return false
	}
	interval, set := s.heartbeatInterval(g.id)
	if !set {
		interval = promptIntervalOf(b.client)
	}
	limit := max(interval, heartbeatPatience) - holdMargin
	if isLibrdkafka(b.client.Software) {
		limit = interval - min(holdMargin, interval/2)
	}
	limit = min(limit, m.timeout/3) // its session goes on meanwhile
	s.holdMember(g, m, b.ticket, limit, b.hold, func() { b.refuse(&refusal{code: errNotCoordinator}) })
	return true
}

// holdClassicBeat is holdBeat for the Heartbeat of a classic member.
func (s *Shard) holdClassicBeat(g *consumerGroup, m *consumerMember, c Command, req *kmsg.HeartbeatRequest) bool {
	if !s.cfg.Prompt || c.Ticket == 0 || s.beatsInTransaction(c.Client, g.id) {
		return false
	}
	limit := withinSession(c.Client, heartbeatHold(c.Client), millis(m.classic.SessionTimeoutMs))
	if limit <= 0 {
		return false
	}
	s.holdMember(g, m, c.Ticket, limit,
		func() { s.heartbeatAgain(c, req) },
		func() { s.reply(c.Ticket, heartbeatAnswer(req, errNotCoordinator)) })
	return true
}

// holdMember lets the member's heartbeat wait, and its earlier one, of another connection, no longer. again handles it when there is news or the time is over, refuse
// answers it when the coordinator moves away.
func (s *Shard) holdMember(g *consumerGroup, m *consumerMember, t Ticket, limit time.Duration, again, refuse func()) {
	s.releaseMember(m)
	if m.state == memberUnreleased {
		s.awaitRelease(g, m, true)
	}
	letGo := func(then func()) func() {
		return func() {
			m.held = nil
			s.awaitRelease(g, m, false)
			then()
		}
	}
	m.held = s.holdReply(t, g.id, m.id, limit, letGo(again), letGo(refuse))
}

// answerLost tells that the answer which brought the member its assignment didn't arrive: the member comes by another connection, and said nothing more by that one.
// The answer is given again. Kafka doesn't do that: its clients ask for all of it after an error. librdkafka doesn't when it has waited too long, which is 1 s with the
// intervals that are dictated here and 5 s with Kafka's, and would never give up what it was told to.
func (s *Shard) answerLost(m *consumerMember, c Client) bool {
	return s.cfg.Prompt && m.toldBy != 0 && c.Connection != 0 && c.Connection != m.toldBy
}

// awaitRelease notes, or forgets, which partitions a member waits for others to release.
func (s *Shard) awaitRelease(g *consumerGroup, m *consumerMember, waits bool) {
	if !waits && len(g.unreleased) == 0 {
		return
	}
	for topic, parts := range g.target[m.id] {
		for _, p := range parts {
			switch {
			case !waits:
				if g.unreleased[topic][p] == m.id {
					delete(g.unreleased[topic], p)
				}
			case !m.assigned.has(topic, p):
				if g.unreleased == nil {
					g.unreleased = make(map[assignors.TopicID]map[int32]string)
				}
				if g.unreleased[topic] == nil {
					g.unreleased[topic] = make(map[int32]string)
				}
				g.unreleased[topic][p] = m.id
			}
		}
		if len(g.unreleased[topic]) == 0 {
			delete(g.unreleased, topic)
		}
	}
}

// promptIntervalOf is what the client is told where no interval is set.
func promptIntervalOf(c Client) time.Duration {
	if isLibrdkafka(c.Software) {
		return librdkafkaInterval
	}
	return promptInterval
}

// dictatedInterval is the heartbeat interval that the answer tells the member.
func (s *Shard) dictatedInterval(group string, m *consumerMember, c Client) time.Duration {
	interval, set := s.heartbeatInterval(group)
	if set || !s.cfg.Prompt {
		return interval
	}
	g := s.groups[group].consumer
	if g.settled(m) && g.groupEpoch == g.assignmentEpoch && !s.isResolving(g) {
		return promptIntervalOf(c)
	}
	// A large group would be kept busy by heartbeats alone.
	return min(max(settlingInterval, time.Duration(len(g.members))*time.Millisecond), promptInterval)
}

// consumerMetadataChanged wakes the held heartbeats of the groups whose topics changed, or may match an expression; theirs are the
// heartbeats that find it out.
func (s *Shard) consumerMetadataChanged(old Metadata) {
	s.forgetGone()
	for _, id := range s.GroupIDs() {
		g := s.groups[id].consumer
		if g == nil || g.empty() {
			continue
		}
		g.metadataStale = g.metadataStale || s.subscribedTopicsChanged(g, old)
		s.rememberDeleted(g, old)
		if len(s.held) == 0 {
			continue
		}
		if s.metadataHash(g) != g.metadataHash {
			s.markChanged(g)
		}
		if s.cfg.Prompt {
			s.maybeResolve(g, g.resolutions(), g.principal, false)
		}
	}
}

// subscribedTopicsChanged says whether a topic that the group subscribes to came, went, grew or moved to other racks.
func (s *Shard) subscribedTopicsChanged(g *consumerGroup, old Metadata) bool {
	changed := func(name string) bool {
		was, existed := old.Topic(name)
		is, exists := s.meta.Topic(name)
		return existed != exists || was.ID != is.ID || was.Partitions != is.Partitions || !slices.EqualFunc(was.Racks, is.Racks, slices.Equal)
	}
	for name := range g.nameUsers {
		if changed(name) {
			return true
		}
	}
	for name := range g.regexTopics {
		if changed(name) {
			return true
		}
	}
	return false
}

// forgetGone lets go of the names of deleted topics that nobody has partitions of anymore.
func (s *Shard) forgetGone() {
	maps.DeleteFunc(s.turn.gone, func(id assignors.TopicID, _ string) bool {
		for _, g := range s.groups {
			if g.consumer != nil && g.consumer.owners[id] != nil {
				return false
			}
		}
		return true
	})
}

// rememberDeleted keeps the names of topics that a group has partitions of and that are gone.
func (s *Shard) rememberDeleted(g *consumerGroup, old Metadata) {
	for id := range g.owners {
		if _, ok := s.meta.TopicByID(id); ok {
			continue
		}
		if t, ok := old.TopicByID(id); ok {
			if s.turn.gone == nil {
				s.turn.gone = make(map[assignors.TopicID]string)
			}
			s.turn.gone[id] = t.Name + " (deleted)"
		}
	}
}
