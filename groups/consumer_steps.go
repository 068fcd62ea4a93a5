package groups

import (
	"fmt"
	"slices"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/records"
)

// The steps that every heartbeat takes, and every join of a classic member: subscription, epoch, target, reconciliation.

// subscribeAndReconcile stores what the member says of itself, moves the group's epoch if that or the topics changed,
// has the target computed and reconciles the member.
func (s *Shard) subscribeAndReconcile(b *beat, g *consumerGroup, attributes memberAttributes, isNew bool) *refusal {
	var was memberAttributes
	if !isNew {
		was = g.members[b.member].memberAttributes
	}
	resolved := g.resolutions()
	// What the group is taken for by a target that is due already: see takeForHomogeneous.
	wasHomogeneous := g != nil && g.assignmentEpoch < g.groupEpoch && g.wasHomogeneous()
	epoch := int32(0)
	if g != nil && !g.metadataStale {
		epoch = g.groupEpoch
	}
	regex, r := regexChange(g, was.regex, attributes.regex)
	if r != nil {
		return r
	}
	namesChanged := !slices.Equal(was.names, attributes.names)
	b.subscriptionChanged = b.subscriptionChanged || namesChanged || regex.changed
	b.newExpression = regex.needsResolution
	b.vote = vote{was.assignor, attributes.assignor}
	if isNew {
		b.tx.joined = b.member
	}
	if isNew || !was.equal(attributes) {
		b.tx.putMember(b.member, attributes)
	}
	if regex.dropped != "" {
		b.tx.put(records.TypeConsumerRegex, regex.dropped, nil)
	}
	g = b.tx.consumer()
	m := g.members[b.member]
	cause := b.cause
	switch {
	case cause != "":
	case isNew:
		cause = fmt.Sprintf("%s joined", m.named())
	case namesChanged || regex.bumps:
		cause = fmt.Sprintf("%s changed its subscription to %s", m.named(), subscriptionText(m))
	}
	b.tx.onDone = append(b.tx.onDone, func() {
		switch {
		case isNew:
			s.emitMember(g, m, Event{Kind: EventJoined, Epoch: g.groupEpoch, Cause: "subscribes to " + subscriptionText(m)})
		case b.joins && !b.replaces:
			s.emitMember(g, m, Event{Kind: EventRejoined, Epoch: g.groupEpoch, Cause: fmt.Sprintf("joined again at epoch %d", b.before.epoch)})
		}
	})
	s.maybeBump(b.tx, g, namesChanged || regex.bumps || b.cause != "", cause)

	b.tx.onDone = append(b.tx.onDone, func() { s.maybeResolve(g, resolved, b.client.Principal, b.newExpression) })
	if g.assignmentEpoch < g.groupEpoch {
		if s.assignsPerTurn(g, b.vote) {
			if r := s.commitBeat(b, g, m, false); r != nil {
				return r
			}
			s.awaitTarget(b)
			s.markChanged(g)
			return nil
		}
		homogeneous := g.homogeneous()
		if g.groupEpoch == epoch {
			homogeneous = wasHomogeneous
		}
		if r := s.maybeAssign(b.tx, g, homogeneous, b.vote); r != nil {
			return r
		}
	}
	return s.finishBeat(b)
}

// finishBeat reconciles the member with the target there is, and answers.
func (s *Shard) finishBeat(b *beat) *refusal {
	g := b.tx.consumer()
	var m *consumerMember
	if g != nil {
		m = g.members[b.member]
	}
	if m == nil { // removed while the beat waited for the target
		return unknownMember(b.member, b.group)
	}
	changed := false
	if !g.settled(m) || b.subscriptionChanged {
		next, ok := reconcile(m.memberAssignment, s.reconciliationOf(g, m, b))
		if !ok {
			return refuse(errFencedMemberEpoch, "The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.")
		}
		if !next.equal(m.memberAssignment) {
			changed = true
			b.tx.putCurrent(m.id, next)
		}
	}
	if r := s.commitBeat(b, g, m, changed); r != nil {
		return r
	}
	if changed {
		s.tellChange(g, m, b.before)
	}
	withAssignment := b.joins || b.full || !b.before.assigned.equal(m.assigned) || s.answerLost(m, b.client)
	m.toldBy = 0
	if withAssignment {
		m.toldBy = b.client.Connection
	}
	if b.hold != nil && !changed && !withAssignment && b.before.epoch == m.epoch && s.holdBeat(g, m, b) {
		return nil
	}
	b.answer(m, withAssignment)
	return nil
}

// commitBeat is commitAsked of a member's step, with its timers. Kafka starts and stops those of a heartbeat before it knows whether the log takes the step, and those
// of a classic member's join once it does.
func (s *Shard) commitBeat(b *beat, g *consumerGroup, m *consumerMember, changed bool) *refusal {
	timers := func() {
		if changed && !s.readOnly { // then it takes no effect (clienttests/DIFFERENCES.md), but was heard
			s.restartRevocation(g, m)
		}
		s.restartSession(g, m)
	}
	before := !m.usesClassic()
	if before {
		timers()
	}
	if r := b.tx.commitAsked(); r != nil {
		if group := s.groups[b.group]; group == nil || group.consumer != g || g.members[m.id] == nil {
			s.stopMember(m) // it came with the step
		}
		return r
	}
	if !before {
		timers()
	}
	return nil
}

// reconciliationOf gathers what the rule of reconcile.go looks at.
func (s *Shard) reconciliationOf(g *consumerGroup, m *consumerMember, b *beat) reconciliation {
	target := g.target[m.id]
	if b.tx.held != nil {
		target = b.tx.held
	}
	if b.turnsStatic && g.assignmentEpoch == b.assignmentEpoch {
		target = nil
	}
	return reconciliation{
		subscribesToNothing: b.subscriptionChanged && !s.subscribesToAny(g, m),
		targetEpoch:         g.assignmentEpoch, target: target,
		told: b.told, owned: b.owned, subscriptionChanged: b.subscriptionChanged,
		subscribed: func(id [16]byte) bool {
			t, ok := s.meta.TopicByID(id)
			return ok && g.memberSubscribes(m, t.Name)
		},
		free: func(topic assignors.TopicID, p int32) bool {
			had := func(o ownership) bool { return o.has(topic, p) }
			return g.free(topic, p) && !slices.ContainsFunc(b.gaveUp, had)
		},
	}
}

// subscribesToAny says whether a topic that the member subscribes to exists.
func (s *Shard) subscribesToAny(g *consumerGroup, m *consumerMember) bool {
	exists := func(name string) bool {
		_, ok := s.meta.Topic(name)
		return ok
	}
	if slices.ContainsFunc(m.names, exists) {
		return true
	}
	resolved := g.regexes[m.regex]
	return m.regex != "" && resolved != nil && slices.ContainsFunc(resolved.topics, exists)
}

// maybeBump moves the group's epoch by one if asked, or if the subscribed topics changed since the stored hash.
func (s *Shard) maybeBump(tx *consumerTx, g *consumerGroup, bump bool, cause string) {
	if !bump && !g.metadataStale {
		return
	}
	tx.onDone = append(tx.onDone, func() { g.metadataStale = false })
	s.bumpIfMoved(tx, g, bump, cause)
}

// bumpIfMoved compares the metadata hash, whether or not anything asked for that.
func (s *Shard) bumpIfMoved(tx *consumerTx, g *consumerGroup, bump bool, cause string) {
	hash := s.metadataHash(g)
	if hash != g.metadataHash && !bump {
		bump, cause = true, "the subscribed topics changed"
	}
	if !bump {
		return
	}
	epoch := g.groupEpoch + 1
	tx.putGroup(epoch, hash)
	tx.onDone = append(tx.onDone, func() {
		g.metadataStale = false
		s.emit(Event{Group: g.id, Kind: EventEpoch, Epoch: epoch, Cause: cause})
		s.markChanged(g)
	})
}
