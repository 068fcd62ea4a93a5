package groups

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/records"
)

// A step that is taken back leaves the shard as it was: what is durable, what follows from it, and what runs beside it.

// txSteps are what a step may do to the group g of txShard, each by itself or after others.
var txSteps = map[string]func(*consumerTx){
	"the epoch moves": func(tx *consumerTx) { tx.putGroup(6, 8) },
	"the group goes":  func(tx *consumerTx) { tx.put(records.TypeConsumerGroup, "", nil) },
	"a target":        func(tx *consumerTx) { tx.putTarget(6, 123) },
	"no target":       func(tx *consumerTx) { tx.put(records.TypeConsumerTarget, "", nil) },
	"somebody comes": func(tx *consumerTx) {
		tx.putMember("new", memberAttributes{names: []string{"bar"}, assignor: kmsg.StringPtr("range")})
	},
	"an instance comes":   func(tx *consumerTx) { tx.putMember("new", memberAttributes{instanceID: kmsg.StringPtr("k")}) },
	"an instance changes": func(tx *consumerTx) { tx.putMember("c", memberAttributes{instanceID: kmsg.StringPtr("j")}) },
	"an instance moves": func(tx *consumerTx) {
		tx.putMember("new", memberAttributes{instanceID: kmsg.StringPtr("i"), regex: "f.*"})
	},
	"an instance renames": func(tx *consumerTx) {
		tx.putMember("a", memberAttributes{instanceID: kmsg.StringPtr("k"), names: []string{"bar", "foo"}, regex: "b.*"})
	},
	"an instance ends": func(tx *consumerTx) { tx.putMember("a", memberAttributes{names: []string{"foo"}}) },
	"one turns classic": func(tx *consumerTx) {
		tx.putMember("c", memberAttributes{classic: &records.ClassicMember{Protocols: []records.ClassicProtocol{{Name: "sticky"}, {Name: "range"}}}})
	},
	"one turns from classic": func(tx *consumerTx) {
		tx.putMember("b", memberAttributes{names: []string{"foo"}, rebalanceTimeoutMs: 7})
	},
	"a goes":      func(tx *consumerTx) { tx.removeMember("a") },
	"b goes":      func(tx *consumerTx) { tx.removeMember("b") },
	"c goes":      func(tx *consumerTx) { tx.removeMember("c") },
	"d goes":      func(tx *consumerTx) { tx.removeMember("d") },
	"nobody goes": func(tx *consumerTx) { tx.removeMember("nobody") },
	"another target for a": func(tx *consumerTx) {
		tx.putTargetMember("a", []assignors.Share{{Topic: txTopic(1), Partitions: []int32{2, 0}}})
	},
	"a target in order": func(tx *consumerTx) {
		tx.putTargetMember("a", []assignors.Share{{Topic: txTopic(1), Partitions: []int32{0, 2}}})
	},
	"a target for new": func(tx *consumerTx) {
		tx.putTargetMember("new", []assignors.Share{{Topic: txTopic(2), Partitions: []int32{1, 0}}})
	},
	"no target for b": func(tx *consumerTx) { tx.put(records.TypeConsumerTargetMember, "b", nil) },
	"a gives up":      func(tx *consumerTx) { tx.putCurrent("a", memberAssignment{epoch: 5, previous: 4, state: memberStable}) },
	"a must give up": func(tx *consumerTx) {
		own := func(p int32) ownership { return ownershipOf(partitionSet{txTopic(1): {p}}, 4) }
		tx.putCurrent("a", memberAssignment{epoch: 4, previous: 4, state: memberUnrevoked, assigned: own(1), pending: own(3)})
	},
	"c is given": func(tx *consumerTx) {
		tx.putCurrent("c", memberAssignment{epoch: 5, previous: 4, assigned: ownershipOf(partitionSet{txTopic(2): {0, 1}}, 5)})
	},
	"b has nothing":   func(tx *consumerTx) { tx.put(records.TypeConsumerCurrentMember, "b", nil) },
	"one is resolved": func(tx *consumerTx) { tx.putRegex("b.*", &resolvedRegex{topics: []string{"bar"}, version: 4, at: 5}) },
	"one matches others": func(tx *consumerTx) {
		tx.putRegex("f.*", &resolvedRegex{topics: []string{"bar", "foo"}, version: 4, at: 5})
	},
	"one is forgotten": func(tx *consumerTx) { tx.put(records.TypeConsumerRegex, "f.*", nil) },
	"offsets go":       func(tx *consumerTx) { tx.add(offsetTombstoneOfNobody) },
}

// offsetTombstoneOfNobody is a record that a step of a consumer group never writes, and that changes nothing.
var offsetTombstoneOfNobody = offsetTombstone("g", topicPartition{"nobody", 0})

func txTopic(n byte) assignors.TopicID { return assignors.TopicID{n} }

// txShard has the consumer group g of a static member with an expression, a classic member that has to revoke, and one that waits; a classic group, an empty consumer group,
// and one that Kafka has forgotten.
func txShard(t *testing.T) *Shard {
	cfg := crowdConfig(true)
	cfg.InitialRebalanceDelay = 0
	s := NewShard(cfg, Deps{Metadata: (&fakeMetadata{byName: map[string]Topic{}}).with("foo", 4).with("bar", 2), Rand: rand.New(rand.NewPCG(1, 2))})
	now := time.Unix(1_700_000_000, 0)
	s.Loaded(now)
	s.begin(now)
	tx := s.beginTx("g")
	tx.putGroup(5, 7)
	for _, id := range []string{"d", "a"} { // what a member leaves behind may be the id of another
		tx.putMember(id, memberAttributes{instanceID: kmsg.StringPtr("left behind")})
	}
	tx.putMember("a", memberAttributes{
		instanceID: kmsg.StringPtr("i"), rackID: kmsg.StringPtr("r"), clientID: "x", clientHost: "/h", names: []string{"foo"}, regex: "f.*", rebalanceTimeoutMs: 9,
		assignor: kmsg.StringPtr("range"),
	})
	tx.putMember("b", memberAttributes{names: []string{"bar", "foo"}, classic: &records.ClassicMember{SessionTimeoutMs: 10_000, Protocols: []records.ClassicProtocol{
		{Name: "range", Metadata: subscriptionBytes([]string{"foo"}, nil)},
	}}})
	tx.putMember("c", memberAttributes{names: []string{"bar"}, assignor: kmsg.StringPtr("uniform")})
	tx.putTarget(4, 99)
	tx.putTargetMember("a", []assignors.Share{{Topic: txTopic(1), Partitions: []int32{16, 0, 3}}}) // in the order of Kafka's sets
	tx.putTargetMember("b", []assignors.Share{{Topic: txTopic(1), Partitions: []int32{2}}})
	tx.putCurrent("a", memberAssignment{epoch: 4, previous: 3, state: memberStable, assigned: ownershipOf(partitionSet{txTopic(1): {1, 3}}, 4)})
	tx.putCurrent("b", memberAssignment{
		epoch: 3, previous: 3, state: memberUnrevoked,
		assigned: ownershipOf(partitionSet{txTopic(1): {2}}, 2), pending: ownershipOf(partitionSet{txTopic(1): {0}}, 2),
	})
	tx.putCurrent("c", memberAssignment{epoch: 4, previous: 2, state: memberUnreleased})
	tx.putRegex("f.*", &resolvedRegex{topics: []string{"foo"}, version: 1, at: 2})
	tx.commit()
	g := s.groups["g"].consumer
	for _, id := range g.order {
		s.restartSession(g, g.members[id])
	}
	for _, id := range []string{"empty", "forgotten"} {
		tx = s.beginTx(id)
		tx.putGroup(3, 0)
		tx.commit()
	}
	s.end()
	for i, id := range []string{"one", "two"} {
		req := benchJoin("", subscriptionBytes([]string{"foo"}, nil))
		req.Group, req.InstanceID, req.Version = "classic", &id, 5
		s.Handle(now, Command{Ticket: Ticket(i + 1), Client: Client{ID: id}, Request: req})
	}
	s.Tick(now)
	s.Tick(now) // the initial delay is extended once
	c := s.groups["classic"].classic
	require.Equal(t, classicCompleting, c.state)
	c.order[0].beat = &heldReply{}
	s.write(offsetRecord("g", "foo", 0, 5, assignors.TopicID{}), offsetRecord("classic", "foo", 0, 5, assignors.TopicID{}))
	s.end()
	s.doom(s.groups["forgotten"])
	return s
}

// wholeShard is a shard as text.
func wholeShard(s *Shard) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%snext offset %d\n", durable(s), s.nextOffset)
	for _, id := range s.GroupIDs() {
		group := s.groups[id]
		fmt.Fprintf(&b, "%s: %p classic %p\n", id, group, group.classic)
		if group.classic != nil {
			for _, m := range group.classic.order {
				fmt.Fprintf(&b, "  %s %p beat %p\n", m.id, m, m.beat)
			}
		}
		g := group.consumer
		if g == nil {
			continue
		}
		counted := "as homogeneous"
		if g.counted != nil {
			counted = fmt.Sprint(*g.counted)
		}
		fmt.Fprintf(&b, "  %p epoch read %t target %v order %v\n", g, g.epochRead, g.target, g.targetOrder)
		fmt.Fprintf(&b, "  %v %v owners %v names %v topics %v users %v votes %v\n", g.order, g.static, g.owners, g.nameUsers, g.regexTopics, g.regexUsers, g.votes)
		fmt.Fprintf(&b, "  classic %d %v stable %v counted %s doomed %t\n", g.classicMembers, g.classicProtocols, g.stableAt, counted, g.doomed)
		for _, id := range slices.Sorted(maps.Keys(g.members)) {
			fmt.Fprintf(&b, "  %s %p %s\n", id, g.members[id], g.members[id].id)
		}
	}
	for _, t := range slices.SortedFunc(slices.Values(s.timers), func(a, b *timer) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.kind, b.kind), cmp.Compare(a.group, b.group), cmp.Compare(a.member, b.member))
	}) {
		fmt.Fprintf(&b, "%p %s of %s %s at %s\n", t, t.kind, t.group, t.member, t.at)
	}
	return b.String()
}

func TestRollback(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(maps.Keys(txSteps))
	s := txShard(t)
	before := wholeShard(s)
	takeBack := func(t *testing.T, steps ...string) {
		tx := s.beginTx("g")
		for _, name := range steps {
			txSteps[name](tx)
		}
		tx.rollback()
		require.Equal(t, before, wholeShard(s), "%v", steps)
		require.Empty(t, s.fx.Batches)
	}
	for _, name := range names {
		takeBack(t, name)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		var steps []string
		for range 2 + rng.IntN(6) {
			steps = append(steps, names[rng.IntN(len(names))])
		}
		takeBack(t, steps...)
	}
}

// The same where the step is more than records of the group.
func TestRollbackOfGroups(t *testing.T) {
	t.Parallel()
	s := txShard(t)
	before := wholeShard(s)
	for _, tc := range []struct {
		about, group string
		do           func(*consumerTx, *group)
	}{
		{"a group is made", "none", func(tx *consumerTx, _ *group) {
			tx.putMember("m", memberAttributes{instanceID: kmsg.StringPtr("i")})
			tx.putGroup(2, 0)
			tx.putCurrent("m", memberAssignment{epoch: 2})
		}},
		{"a group is made and goes", "none", func(tx *consumerTx, _ *group) {
			tx.putGroup(2, 0)
			tx.put(records.TypeConsumerGroup, "", nil)
			tx.putGroup(2, 0)
		}},
		{"a classic group goes", "classic", func(tx *consumerTx, g *group) { s.endClassic(tx, g, "") }},
		{"a classic group becomes another", "classic", func(tx *consumerTx, g *group) {
			s.endClassic(tx, g, "")
			tx.putMember("m", memberAttributes{})
			tx.putGroup(1, 0)
		}},
		{"an empty group goes", "empty", func(tx *consumerTx, g *group) { s.endEmptyConsumer(tx, g) }},
		{"a group goes", "g", func(tx *consumerTx, g *group) {
			for _, r := range s.consumerTombstones(g) {
				tx.add(r)
			}
		}},
		{"a group becomes classic", "g", func(tx *consumerTx, g *group) {
			c := g.consumer
			s.downgrade(tx, g, 5, []*consumerMember{c.members["a"], c.members["c"], c.members["d"]}, "", false)
		}},
		{"a forgotten group is made anew", "forgotten", func(tx *consumerTx, g *group) {
			s.forgetDoomed(tx, g)
			tx.putMember("m", memberAttributes{})
			tx.putGroup(2, 0)
		}},
		{"a forgotten group stays so", "forgotten", func(tx *consumerTx, g *group) { s.forgetDoomed(tx, g) }},
	} {
		tx := s.beginTx(tc.group)
		tc.do(tx, s.groups[tc.group])
		require.NotEqual(t, before, wholeShard(s), tc.about)
		tx.rollback()
		require.Equal(t, before, wholeShard(s), tc.about)
	}
}
