package assignors

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Named answers a built-in assignor: "range", "roundrobin", "sticky" and "cooperative-sticky" are the client-side ones, "uniform"
// and "server-range" those of the consumer protocol (on the wire the latter is called "range", too).
func Named(name string) (Assignor, error) {
	switch name {
	case "range":
		return NewRange(), nil
	case "roundrobin":
		return NewRoundRobin(), nil
	case "sticky":
		return NewSticky(), nil
	case "cooperative-sticky":
		return NewCooperativeSticky(), nil
	case "uniform":
		return ServerSide(NewUniform()), nil
	case "server-range":
		return ServerSide(NewServerRange()), nil
	}
	return nil, fmt.Errorf("assignors: no assignor %q; there are range, roundrobin, sticky, cooperative-sticky, uniform and server-range", name)
}

// NewGroup is a group of new members that all subscribe to all of the topics, which are given with their partition counts.
func NewGroup(partitions map[string]int32, members ...string) Group {
	g := Group{Topics: make(map[string]Topic, len(partitions))}
	for topic, n := range partitions {
		g.Topics[topic] = Topic{Partitions: n}
	}
	topics := slices.SortedFunc(maps.Keys(g.Topics), compareJava)
	for _, id := range members {
		g.Members = append(g.Members, newMember(id, topics))
	}
	return g
}

func newMember(id string, topics []string) Member {
	return Member{ID: id, Subscription: Subscription{Topics: topics, Generation: -1}}
}

// Join is the group with a new member, which subscribes to the given topics; to all of the group's if none is given.
func (g Group) Join(id string, topics ...string) Group {
	if len(topics) == 0 {
		topics = slices.SortedFunc(maps.Keys(g.Topics), compareJava)
	}
	g.Members = append(slices.Clone(g.Members), newMember(id, topics))
	return g
}

// Leave is the group without the given members.
func (g Group) Leave(ids ...string) Group {
	members := g.Members
	g.Members, g.Left = nil, slices.Clone(g.Left)
	for _, m := range members {
		if slices.Contains(ids, m.ID) {
			g.Left = append(g.Left, m)
		} else {
			g.Members = append(g.Members, m)
		}
	}
	return g
}

// maxRounds is where Predict gives up on a group that does not settle.
const maxRounds = 10

// Predict answers what a group will get, from plain values: what a member holds stands in its Owned, whatever the assignor (it
// becomes user data or a previous target where the assignor looks there). Members and partitions in any order.
//
// With cooperative-sticky it goes on for as many rounds as the group needs: what one member has to give up to another is withheld
// from both in one round and handed over in the next. With racks and different subscriptions there are groups that never settle, as
// what is on the wrong rack is dealt anew each time; Kafka's would go on rebalancing, Predict stops after ten rounds.
func Predict(a Assignor, g Group) (Prediction, error) {
	p := Prediction{}
	for {
		r, err := predictRound(a, g)
		if err != nil {
			return Prediction{}, err
		}
		p.Rounds = append(p.Rounds, r)
		if p.Settled() || len(p.Rounds) == maxRounds {
			return p, nil
		}
		g = r.After()
	}
}

// Prediction is the answer of Predict.
type Prediction struct {
	// Rounds are the rebalances the group goes through: one, or with cooperative-sticky as many as it takes.
	Rounds []Round
}

// Final is what every member has in the end.
func (p Prediction) Final() map[string][]TopicPartition { return p.last().Assignment }

// Settled tells whether the group is at rest after the last round: nothing is withheld any more.
func (p Prediction) Settled() bool { return len(p.last().Withheld) == 0 }

// After is the group afterwards: everyone holds what it got. Let someone join or leave and predict again.
func (p Prediction) After() Group { return p.last().After() }

func (p Prediction) last() Round {
	if len(p.Rounds) == 0 {
		return Round{}
	}
	return p.Rounds[len(p.Rounds)-1]
}

// String writes one line a member; with several rounds, each under a heading.
func (p Prediction) String() string {
	if len(p.Rounds) == 1 {
		return p.Rounds[0].String()
	}
	var b strings.Builder
	for i, r := range p.Rounds {
		fmt.Fprintf(&b, "round %d\n%s", i+1, r)
	}
	return b.String()
}

// Round is one rebalance.
type Round struct {
	Assignor string
	// Before is the group as it came: what everyone held.
	Before Group
	// Assignment is what every member gets, sorted by topic and partition.
	Assignment map[string][]TopicPartition
	// Withheld are the partitions that go to nobody in this round because their owner has to give them up first
	// (cooperative-sticky).
	Withheld []TopicPartition

	inside *round // of a built-in client-side assignor: which step gave each partition to its owner
}

// After is the group after this round.
func (r Round) After() Group {
	g := r.Before
	generation := int32(0)
	for _, m := range g.Members {
		generation = max(generation, m.Generation)
	}
	g.Members, g.Left = slices.Clone(g.Members), nil
	for i := range g.Members {
		m := &g.Members[i]
		m.Owned, m.Generation, m.UserData = r.Assignment[m.ID], generation+1, nil
	}
	return g
}

// String writes one line a member.
func (r Round) String() string {
	var b strings.Builder
	for _, m := range slices.SortedFunc(maps.Keys(r.Assignment), compareJava) {
		fmt.Fprintf(&b, "%s: %s\n", m, list(r.Assignment[m]))
	}
	if len(r.Withheld) > 0 {
		fmt.Fprintf(&b, "withheld: %s\n", list(r.Withheld))
	}
	return b.String()
}

// list writes partitions, sorted by topic and number, shortly: orders[0-9 12] payments[3].
func list(tps []TopicPartition) string {
	if len(tps) == 0 {
		return "nothing"
	}
	var b strings.Builder
	for i := 0; i < len(tps); {
		j := i + 1
		for j < len(tps) && tps[j].Topic == tps[i].Topic && tps[j].Partition == tps[j-1].Partition+1 {
			j++
		}
		switch {
		case i == 0:
			b.WriteString(tps[i].Topic + "[")
		case tps[i].Topic != tps[i-1].Topic:
			b.WriteString("] " + tps[i].Topic + "[")
		default:
			b.WriteString(" ")
		}
		if j-i < 3 {
			j = i + 1
			fmt.Fprint(&b, tps[i].Partition)
		} else {
			fmt.Fprintf(&b, "%d-%d", tps[i].Partition, tps[j-1].Partition)
		}
		i = j
	}
	return b.String() + "]"
}

func predictRound(a Assignor, g Group) (r Round, err error) {
	r = Round{Assignor: a.Name(), Before: g}
	g.Members = slices.Clone(g.Members)
	if _, ok := a.(sticky); ok && a.Name() == "sticky" {
		for i := range g.Members {
			m := &g.Members[i]
			if m.UserData == nil && (len(m.Owned) > 0 || m.Generation > 0) {
				if m.UserData, err = EncodeStickyUserData(m.Owned, m.Generation); err != nil {
					return Round{}, fmt.Errorf("member %q: %w", m.ID, err)
				}
			}
		}
	}
	c, ok := a.(computer)
	if !ok {
		r.Assignment, err = a.Assign(g)
		return r, err
	}
	if r.inside, err = newRound(a.Name(), &g, true); err != nil {
		return Round{}, err
	}
	if err := c.compute(r.inside); err != nil {
		return Round{}, err
	}
	r.Assignment = r.inside.result()
	for p, heir := range r.inside.heir {
		if heir >= 0 {
			r.Withheld = append(r.Withheld, r.inside.tp(int32(p)))
		}
	}
	return r, nil
}

// ServerSide lets a server-side assignor be asked with plain values, as a client-side one is: what members hold (Owned) is their
// previous target, and topics go by the order of their ids.
func ServerSide(a ServerAssignor) Assignor { return serverSide{a} }

type serverSide struct{ a ServerAssignor }

func (s serverSide) Name() string { return s.a.Name() }

func (s serverSide) Assign(g Group) (map[string][]TopicPartition, error) {
	in, names := g.server()
	targets, err := s.a.Assign(in)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]TopicPartition, len(g.Members))
	for _, m := range g.Members {
		tps := []TopicPartition{}
		for id, ps := range targets[m.ID] {
			for _, p := range ps {
				tps = append(tps, TopicPartition{names[id], p})
			}
		}
		slices.SortFunc(tps, compareTopicPartitions)
		out[m.ID] = tps
	}
	return out, nil
}

// server shows the group as the coordinator would.
func (g Group) server() (in ServerInput, names map[TopicID]string) {
	ids := g.topicIDs()
	in.Topics, names = make(map[TopicID]ServerTopic, len(ids)), make(map[TopicID]string, len(ids))
	for name, id := range ids {
		t := g.Topics[name]
		in.Topics[id] = ServerTopic{Name: name, Partitions: t.Partitions, Racks: t.Racks}
		names[id] = name
	}
	for i := range g.Members {
		m := &g.Members[i]
		sm := ServerMember{ID: m.ID, InstanceID: m.InstanceID, Rack: m.Rack}
		for _, topic := range m.Topics {
			if id, ok := ids[topic]; ok {
				sm.Topics = append(sm.Topics, id)
			}
		}
		for _, tp := range m.Owned {
			if id, ok := ids[tp.Topic]; ok {
				if sm.Target == nil {
					sm.Target = Partitions{}
				}
				sm.Target[id] = append(sm.Target[id], tp.Partition)
			}
		}
		for _, ps := range sm.Target {
			slices.Sort(ps)
		}
		in.Members = append(in.Members, sm)
	}
	in.Homogeneous = g.homogeneous()
	return in, names
}

// homogeneous is the coordinator's rule for subscriptions by name: each name, also of a topic that does not exist, has as many
// subscribers as the group has members.
func (g Group) homogeneous() bool {
	subscribers := map[string]int{}
	for i := range g.Members {
		topics := slices.Clone(g.Members[i].Topics)
		slices.Sort(topics)
		for _, t := range slices.Compact(topics) {
			subscribers[t]++
		}
	}
	for _, n := range subscribers {
		if n != len(g.Members) {
			return false
		}
	}
	return true
}

func (g Group) topicIDs() map[string]TopicID {
	given := false
	for _, t := range g.Topics {
		given = given || t.ID != TopicID{}
	}
	ids := make(map[string]TopicID, len(g.Topics))
	for i, name := range slices.SortedFunc(maps.Keys(g.Topics), compareJava) {
		id := g.Topics[name].ID
		if !given {
			binary.BigEndian.PutUint64(id[8:], uint64(i)+1)
		}
		ids[name] = id
	}
	return ids
}
