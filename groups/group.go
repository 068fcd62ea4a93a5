package groups

import "time"

// group is what the coordinator knows under one group id: offsets, and at most one of the two kinds of members.
// Both nil only while records are replayed, or between the steps of a conversion.
type group struct {
	id       string
	offsets  offsets
	classic  *classicGroup
	consumer *consumerGroup
	unseen   bool          // see makeUnseen
	patience time.Duration // heartbeats are held no longer; 0: nothing has shown of that
}

// addGroup makes the container of a group id.
func (s *Shard) addGroup(id string) *group {
	g := &group{id: id}
	s.keep(g)
	return g
}

func (s *Shard) keep(g *group) {
	s.groups[g.id] = g
	s.stored.set(g.id, g)
}

func (s *Shard) forget(id string) {
	delete(s.groups, id)
	s.stored.remove(id)
}

// written is the group as a request that writes finds it: nil where Kafka has none, though a doomed one is still shown to those who read.
func (s *Shard) written(id string) *group {
	g := s.groups[id]
	if g == nil || g.classic == nil && (g.consumer == nil || g.consumer.doomed) {
		return nil
	}
	return g
}

// makeUnseen makes a simple group for a commit of which nothing is stored. There is no record of it: those who write have it at once, and those who read see
// what is committed, and so they see it from the next batch of this shard on, of whichever group.
func (s *Shard) makeUnseen(id string) {
	g := s.groupOfOffsets(id)
	g.unseen = true
	s.unseen = append(s.unseen, g)
}

// shown is the group as a request that reads finds it.
func (s *Shard) shown(id string) *group {
	if g := s.groups[id]; g != nil && !g.unseen {
		return g
	}
	return nil
}

// moveReaders is a batch: those who read see from it on what was done before it without a record.
func (s *Shard) moveReaders() {
	s.forgetAllDoomed()
	for _, g := range s.unseen {
		g.unseen = false
	}
	s.unseen = nil
}

// dropIfBare forgets the container if nothing is in it.
func (s *Shard) dropIfBare(g *group) {
	if g.classic == nil && g.consumer == nil && g.offsets.empty() {
		s.forget(g.id)
	}
}

// epoch is a classic group's generation or a consumer group's epoch.
func (g *group) epoch() int32 {
	switch {
	case g.classic != nil:
		return g.classic.generation
	case g.consumer != nil:
		return g.consumer.groupEpoch
	}
	return 0
}

// subscribedTo says whether the members use the offsets of a topic.
func (g *group) subscribedTo(topic string) bool {
	switch {
	case g.classic != nil:
		return g.classic.subscribedTo(topic)
	case g.consumer != nil:
		return g.consumer.subscribedTo(topic)
	}
	return false
}

// isEmpty says that the group has no members and waits for none.
func (g *group) isEmpty() bool {
	switch {
	case g.classic != nil:
		return g.classic.state == classicEmpty
	case g.consumer != nil:
		return g.consumer.empty()
	}
	return true
}

// tombstones end the group itself.
func (s *Shard) tombstones(g *group) []Record {
	if g.consumer != nil {
		return s.consumerTombstones(g)
	}
	return []Record{groupTombstone(g.id)}
}
