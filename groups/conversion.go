package groups

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/records"
)

// Conversions between the two protocols, by group.consumer.migration.policy. Groups without members change freely.

func (s *Shard) upgradeAllowed() bool {
	return s.cfg.ConsumerMigrationPolicy == "upgrade" || s.cfg.ConsumerMigrationPolicy == "bidirectional"
}

func (s *Shard) downgradeAllowed() bool {
	return s.cfg.ConsumerMigrationPolicy == "downgrade" || s.cfg.ConsumerMigrationPolicy == "bidirectional"
}

// upgrade makes a classic group one of the consumer protocol, because a member of that protocol joins. An empty one just goes
// away, but for its offsets; the group is nil then until its first record.
func (s *Shard) upgrade(tx *consumerTx, g *group) (*consumerGroup, *refusal) {
	c := g.classic
	if c.state == classicEmpty {
		s.endClassic(tx, g, "a member of the consumer protocol joins the empty group")
		return nil, nil
	}
	cannot := func(format string, args ...any) *refusal {
		return refuse(errGroupIDNotFound, "Cannot upgrade classic group %s to consumer group because %s", g.id, fmt.Sprintf(format, args...))
	}
	switch {
	case !s.upgradeAllowed():
		return nil, cannot("online upgrade is disabled.")
	case c.protocolType != consumerProtocolType:
		return nil, cannot("the group does not use the consumer embedded protocol.")
	case len(c.members) > s.cfg.ConsumerMaxSize:
		return nil, cannot("the group size exceeds the consumer group maximum size.")
	}
	s.turnAway(c, errRebalanceInProgress) // as Kafka does even if nothing comes of the upgrade
	members, r := s.upgradedMembers(c, cannot)
	if r != nil {
		return nil, r
	}
	epoch := c.generation
	s.endClassic(tx, g, "a member of the consumer protocol joins")
	for _, m := range members {
		tx.putMember(m.id, m.attributes)
	}
	upgraded := tx.consumer()
	if upgraded == nil { // nobody is in it but ids that were given out
		upgraded = newConsumerGroup(g.id)
	}
	tx.putGroup(epoch, s.metadataHash(upgraded))
	for _, m := range members {
		tx.putTargetMember(m.id, m.assigned.Shares())
	}
	tx.putTarget(epoch, 0)
	for _, m := range members {
		tx.putCurrent(m.id, memberAssignment{epoch: epoch, previous: epoch, state: memberStable, assigned: ownershipOf(m.assigned, epoch)})
	}
	upgraded = tx.consumer()
	tx.onDone = append(tx.onDone, func() {
		for _, id := range upgraded.order {
			if m := upgraded.members[id]; m.usesClassic() {
				s.restartSession(upgraded, m)
			}
		}
	})
	return upgraded, nil
}

// endClassic writes the end of a classic group.
func (s *Shard) endClassic(tx *consumerTx, g *group, cause string) {
	c := g.classic
	var beats []*heldReply
	for _, m := range c.order {
		beats = append(beats, m.beat)
		m.beat = nil
	}
	var running []*timer
	for _, t := range c.timers() {
		if t.running {
			running = append(running, t)
		}
	}
	tx.undo = append(tx.undo, func() {
		for _, t := range running {
			s.startTimer(t, t.at.Sub(s.now))
		}
		for i, m := range c.order {
			m.beat = beats[i]
		}
	})
	tx.add(groupTombstone(g.id))
	tx.onDone = append(tx.onDone, func() {
		s.emit(Event{Group: g.id, Kind: EventConverted, Epoch: c.generation, Cause: cause})
		// A member that goes on in the consumer group waits there, for the target that is computed next.
		upgraded := tx.consumer()
		for i, m := range c.order {
			if s.cfg.Prompt && upgraded != nil && upgraded.members[m.id] != nil {
				upgraded.members[m.id].held = beats[i]
			} else {
				s.releaseHeld(beats[i])
			}
		}
	})
}

// upgradedMember is a classic member as the consumer group takes it over.
type upgradedMember struct {
	id         string
	attributes memberAttributes
	assigned   partitionSet
}

// upgradedMembers reads what the classic members own and subscribe to. The first that can't be taken over decides the refusal, in the order of Kafka's
// map of them. It is no chance where members have brought the ids they chose from a consumer group.
func (s *Shard) upgradedMembers(c *classicGroup, cannot func(string, ...any) *refusal) ([]upgradedMember, *refusal) {
	out := make([]upgradedMember, 0, len(c.order))
	owners := make(map[string]string)
	for _, m := range c.inMapOrder() {
		u, r := s.upgradedMember(c, m, cannot)
		if r != nil {
			return nil, r
		}
		for _, topic := range sortedTopicIDs(u.assigned) {
			for _, p := range u.assigned[topic] {
				key := fmt.Sprintf("%x-%d", topic, p)
				if other, taken := owners[key]; taken {
					return nil, broken("the upgrade failed: partition %d of %s is assigned to both %s and %s; in a consumer group it has one owner",
						p, s.topicName(topic), other, m.id)
				}
				owners[key] = m.id
			}
		}
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b upgradedMember) int { return strings.Compare(a.id, b.id) }) // as all records of a consumer group are written
	return out, nil
}

// upgradedMember reads the member's assignment, which nobody checked before, and then its subscription.
func (s *Shard) upgradedMember(c *classicGroup, m *classicMember, cannot func(string, ...any) *refusal) (upgradedMember, *refusal) {
	u := upgradedMember{id: m.id}
	malformed := func(err error) *refusal {
		if !errors.Is(err, assignors.ErrSchema) { // not what Kafka expects of a malformed protocol
			return broken("the upgrade failed: member %s: %v", m.id, err)
		}
		r := cannot("the embedded consumer protocol is malformed.")
		r.reason = fmt.Sprintf("%s of member %s: %v", r.message, m.id, err)
		return r
	}
	if len(m.assignment) > 0 {
		a, err := assignors.DecodeAssignment(m.assignment)
		if err != nil {
			return u, malformed(err)
		}
		if len(a.UserData) > 0 {
			return u, cannot("an unsupported custom assignor is in use. " +
				"Please refer to the documentation or switch to a default assignor before re-attempting the upgrade.")
		}
		u.assigned = s.byTopicID(lastEntries(m.assignment, a.Partitions))
	}
	if c.protocol == nil { // the initial delay runs
		return u, broken("the upgrade failed: the group has no protocol yet, its first members still wait for each other")
	}
	if !m.offers(*c.protocol) { // it changed its list, or came after the vote
		return u, broken("the upgrade failed: member %s does not offer %s, the protocol of the group's generation", m.id, *c.protocol)
	}
	sub, err := readSubscription(m.metadata(c.protocol))
	if err != nil {
		return u, malformed(err)
	}
	u.attributes = memberAttributes{
		instanceID: m.instanceID, rackID: sub.Rack, clientID: m.clientID, clientHost: m.clientHost,
		names: uniqueSorted(sub.Topics), rebalanceTimeoutMs: int32(m.rebalanceTimeout.Milliseconds()),
		classic: &records.ClassicMember{SessionTimeoutMs: int32(m.sessionTimeout.Milliseconds())},
	}
	for _, p := range m.protocols {
		u.attributes.classic.Protocols = append(u.attributes.classic.Protocols, records.ClassicProtocol{Name: p.name, Metadata: p.metadata})
	}
	return u, nil
}

// lastEntries are the partitions of an assignment where of several entries of one topic only the last counts: Kafka fills a map.
func lastEntries(assignment []byte, all []assignors.TopicPartition) []assignors.TopicPartition {
	var a kmsg.ConsumerMemberAssignment
	if a.ReadFrom(assignment) != nil {
		return all
	}
	last := make(map[string]int, len(a.Topics))
	for i, t := range a.Topics {
		last[t.Topic] = i
	}
	if len(last) == len(a.Topics) {
		return all
	}
	var out []assignors.TopicPartition
	for i, t := range a.Topics {
		if last[t.Topic] != i {
			continue
		}
		for _, p := range t.Partitions {
			out = append(out, assignors.TopicPartition{Topic: t.Topic, Partition: p})
		}
	}
	return out
}

// mayDowngrade says whether the group becomes a classic one when these members go: all that stay, at least one, are classic.
func (s *Shard) mayDowngrade(g *consumerGroup, leaving []*consumerMember) bool {
	classic := g.classicMembers
	for _, m := range leaving {
		if m.usesClassic() {
			classic--
		}
	}
	stay := len(g.members) - len(leaving)
	return stay > 0 && classic == stay && s.downgradeAllowed() && stay <= s.cfg.MaxSize
}

// mayDowngradeFor is mayDowngrade where a classic static join takes the place of a member of the consumer protocol, be it the same member.
func (s *Shard) mayDowngradeFor(g *consumerGroup, replaced *consumerMember) bool {
	return !replaced.usesClassic() && g.classicMembers == len(g.members)-1 &&
		s.downgradeAllowed() && len(g.members) <= s.cfg.MaxSize
}

// canVote says whether the classic members that stay when these go could choose a protocol (classicGroup.vote). Where they couldn't, Kafka fails at the
// downgrade, and with it the request that asked for it.
func (g *consumerGroup) canVote(leaving []*consumerMember) bool {
	supported, stay := g.classicProtocols, g.classicMembers
	if len(leaving) > 0 {
		supported = maps.Clone(supported)
	}
	for _, m := range leaving {
		if m.usesClassic() {
			stay--
			for _, p := range m.classic.Protocols {
				supported[p.Name]--
			}
		}
	}
	for _, n := range supported {
		if n == stay {
			return true
		}
	}
	return false
}

// leaveByRequest is removeMembers for those who ask for it.
func (s *Shard) leaveByRequest(group *group, members []*consumerMember, cause string) *refusal {
	g := group.consumer
	if s.mayDowngrade(g, members) && !g.canVote(members) {
		return broken("no protocol of the classic members that stay can be chosen: each that all support stands twice in a list of theirs")
	}
	r := s.removal(group, members, EventLeft, cause).commitAsked()
	if r != nil && !s.readOnly {
		s.stopUnremoved(g, members)
	}
	return r
}

// downgrade makes the group a classic one: its generation is the group's epoch of before the step, its assignments are the targets. joining is a
// classic static member that took another's place in this step; it comes last. After a removal a rebalance begins at once, else
// if rebalance is set.
func (s *Shard) downgrade(tx *consumerTx, g *group, generation int32, leaving []*consumerMember, joining string, rebalance bool, dropped ...string) *classicGroup {
	old := g.consumer
	type staying struct {
		id         string
		attributes memberAttributes
		target     partitionSet
	}
	var members []staying
	goes := make(map[string]bool, len(leaving))
	for _, m := range leaving {
		goes[m.id] = true
	}
	for id, m := range old.stored.all() { // the first one leads
		if !goes[id] && id != joining {
			members = append(members, staying{id, m.memberAttributes, old.target[id]})
		}
	}
	if m := old.members[joining]; m != nil {
		members = append(members, staying{joining, m.memberAttributes, old.target[joining]})
	}
	everyone := make([]*consumerMember, 0, len(old.order))
	for _, id := range old.order {
		everyone = append(everyone, old.members[id])
	}
	for _, r := range s.consumerTombstones(g, dropped...) {
		tx.add(r)
	}
	g = s.groups[tx.group]
	if g == nil {
		g = s.addGroup(tx.group)
	}
	c := s.newClassicGroup(g)
	c.generation = generation
	assignments := make(map[string][]byte, len(members))
	for _, st := range members {
		a := st.attributes
		m := &classicMember{
			id: st.id, instanceID: a.instanceID, clientID: a.clientID, clientHost: a.clientHost,
			rebalanceTimeout: millis(a.rebalanceTimeoutMs), sessionTimeout: millis(a.classic.SessionTimeoutMs),
		}
		for _, p := range a.classic.Protocols {
			m.protocols = append(m.protocols, protocol{p.Name, p.Metadata})
		}
		s.armSession(g, m)
		c.insert(m, consumerProtocolType)
		assignments[st.id] = s.classicAssignment(a.classic, ownershipOf(st.target, 0))
	}
	name, ok := c.vote()
	if !ok {
		name = c.firstProtocol()
	}
	c.protocol = &name
	c.state = classicStable
	c.findSubscribed()
	tx.add(groupRecord(g, assignments)) // sets the members' assignments
	tx.onDone = append(tx.onDone, func() {
		s.emit(Event{Group: g.id, Kind: EventConverted, Epoch: c.generation, Cause: "only members of the classic protocol are left"})
		s.stopTimer(old.assign)
		for _, m := range everyone {
			s.stopMember(m)
		}
		s.stopLeft(old)
		for _, m := range c.order {
			s.renewSession(m)
		}
		if joining == "" {
			s.prepareRebalance(g, "the last member of the consumer protocol is gone")
		} else if rebalance {
			s.prepareRebalance(g, c.members[joining].named()+" came back with the classic protocol")
		}
		for _, m := range everyone {
			s.releaseMember(m)
		}
	})
	return c
}

// downgradeForStatic is the join of a classic static member that took the place of the only member of the consumer protocol, or was it itself. It is
// answered at once; where a rebalance begins, because a target is due, with the epoch it had as a member: 0 if it has just taken another's place.
func (s *Shard) downgradeForStatic(b *beat, group *group, m *consumerMember, attributes memberAttributes, req *kmsg.JoinGroupRequest) int16 {
	g, generation, epoch := group.consumer, group.consumer.groupEpoch, m.epoch
	namesChanged := !slices.Equal(m.names, attributes.names)
	regex, r := regexChange(g, m.regex, attributes.regex)
	if r != nil {
		return r.code
	}
	b.tx.putMember(m.id, attributes)
	var dropped []string
	if regex.dropped != "" {
		b.tx.put(records.TypeConsumerRegex, regex.dropped, nil)
		dropped = append(dropped, regex.dropped)
	}
	s.maybeBump(b.tx, g, namesChanged || regex.bumps || b.cause != "", m.named()+" joined with the classic protocol")
	rebalance := g.assignmentEpoch < g.groupEpoch
	if !rebalance {
		next, ok := reconcile(m.memberAssignment, s.reconciliationOf(g, m, b))
		if !ok {
			return errFencedMemberEpoch
		}
		if !next.equal(m.memberAssignment) {
			b.tx.putCurrent(m.id, next)
		}
	}
	if !g.canVote(nil) {
		return errUnknownServerError
	}
	c := s.downgrade(b.tx, group, generation, nil, m.id, rebalance, dropped...)
	if r := b.tx.commitAsked(); r != nil {
		return r.code
	}
	resp := req.ResponseKind().(*kmsg.JoinGroupResponse)
	resp.MemberID, resp.ProtocolType, resp.Protocol = b.member, kmsg.StringPtr(consumerProtocolType), joinedProtocol(req.Protocols[0].Name)
	if !rebalance {
		resp.Generation = c.generation
		c.members[b.member].uninformed = true
	} else {
		resp.Generation = epoch
	}
	s.reply(b.ticket, resp)
	return errNone
}
