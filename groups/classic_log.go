package groups

import (
	"time"

	"github.com/fakekafka/fakekafka/internal/records"
)

// applyClassicGroup applies a record of type 2.
func (s *Shard) applyClassicGroup(r Record) {
	key, err := records.DecodeGroupKey(r.Key)
	if err != nil {
		return
	}
	g := s.groups[key.Group]
	if r.Value == nil {
		if g != nil {
			s.discardClassic(g)
			s.dropIfBare(g)
		}
		return
	}
	value, err := records.DecodeGroupValue(r.Value)
	if err != nil {
		return
	}
	if g == nil {
		g = s.addGroup(key.Group)
	}
	if s.phase == phaseLoading {
		g.consumer = nil // one that was forgotten without a record: see forgetDoomed
		s.adoptClassic(g, value)
		return
	}
	g.classic.synced = &value
	for _, vm := range value.Members {
		if m := g.classic.members[vm.ID]; m != nil {
			m.assignment = vm.Assignment
		}
	}
}

// adoptClassic makes the group what a record says: Stable with the record's members, each supporting just the recorded protocol, or
// Empty. No timer runs yet. It is what a restart knows of a group.
func (s *Shard) adoptClassic(g *group, value records.GroupValue) {
	c := s.newClassicGroup(g)
	c.synced = &value
	c.generation, c.protocolType, c.protocol = value.Generation, value.ProtocolType, value.Protocol
	c.stateSince = time.Time{}
	if value.StateTime >= 0 {
		c.stateSince = time.UnixMilli(value.StateTime)
	}
	if value.Leader != nil {
		c.leader = *value.Leader
	}
	for _, vm := range value.Members {
		m := &classicMember{
			id: vm.ID, instanceID: vm.InstanceID, clientID: vm.ClientID, clientHost: vm.ClientHost,
			rebalanceTimeout: millis(vm.RebalanceTimeout), sessionTimeout: millis(vm.SessionTimeout),
			assignment: vm.Assignment,
		}
		if vm.RebalanceTimeout == -1 {
			m.rebalanceTimeout = m.sessionTimeout
		}
		if value.Protocol != nil {
			m.protocols = []protocol{{*value.Protocol, vm.Subscription}}
		}
		s.armSession(g, m)
		c.insert(m, value.ProtocolType)
	}
	if len(c.members) > 0 {
		c.state = classicStable
	}
	c.findSubscribed()
}

// classicLoaded starts the timers of a group that was replayed. A group with too many members begins a rebalance.
func (s *Shard) classicLoaded(g *group) {
	c := g.classic
	for _, m := range c.order {
		s.renewSession(m)
	}
	if len(c.members) > s.cfg.MaxSize {
		s.prepareRebalance(g, "the group was loaded with more members than group.max.size")
	}
}

// classicUnload answers what waits and stops the timers: the group goes on elsewhere.
func (s *Shard) classicUnload(g *group) {
	c := g.classic
	s.become(c, classicDead)
	s.turnAway(c, errNotCoordinator)
}

// groupRecord is the group as it stands, with the assignments by member id.
func groupRecord(g *group, assignments map[string][]byte) Record {
	c := g.classic
	value := records.GroupValue{
		ProtocolType: c.protocolType, Generation: c.generation, Protocol: c.protocol, StateTime: -1,
		Members: make([]records.GroupMember, 0, len(c.order)),
	}
	if c.leader != "" {
		value.Leader = &c.leader
	}
	if !c.stateSince.IsZero() {
		value.StateTime = c.stateSince.UnixMilli()
	}
	for _, m := range c.order {
		value.Members = append(value.Members, records.GroupMember{
			ID: m.id, InstanceID: m.instanceID, ClientID: m.clientID, ClientHost: m.clientHost,
			RebalanceTimeout: int32(m.rebalanceTimeout.Milliseconds()), SessionTimeout: int32(m.sessionTimeout.Milliseconds()),
			Subscription: m.metadata(c.protocol), Assignment: assignments[m.id],
		})
	}
	return Record{Key: records.GroupKey{Group: g.id}.Encode(), Value: value.Encode()}
}

// emptyGroupRecord says that a group exists: what a JoinGroup writes that creates one, whatever its answer.
func emptyGroupRecord(g *group) Record {
	value := records.GroupValue{StateTime: g.classic.stateSince.UnixMilli()}
	return Record{Key: records.GroupKey{Group: g.id}.Encode(), Value: value.Encode()}
}

// groupTombstone ends a classic group.
func groupTombstone(id string) Record {
	return Record{Key: records.GroupKey{Group: id}.Encode()}
}

// assignments are the members' present ones.
func (c *classicGroup) assignments() map[string][]byte {
	out := make(map[string][]byte, len(c.order))
	for _, m := range c.order {
		out[m.id] = m.assignment
	}
	return out
}
