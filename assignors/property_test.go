package assignors

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var builtIn = []string{"range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "server-range"}

func mustName(name string) Assignor {
	a, err := Named(name)
	if err != nil {
		panic(err)
	}
	return a
}

// draw answers a number from 0 to n-1; a seeded generator or the fuzzer is behind it.
type draw func(n int) int

func (d draw) chance(percent int) bool { return d(100) < percent }

// TestProperties leads groups of every assignor through joins, leaves, new partitions, topics that go, changed subscriptions and
// racks, and checks after each step what must hold whatever happens.
func TestProperties(t *testing.T) {
	t.Parallel()
	chains := 150
	if testing.Short() {
		chains = 30
	}
	for _, name := range builtIn {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range chains {
				rng := rand.New(rand.NewPCG(uint64(seed), 7))
				c := chain{a: mustName(name), d: rng.IntN, shuffle: rng}
				for step := range 6 {
					if err := c.step(); err != nil {
						t.Fatalf("seed %d, step %d: %v", seed, step, err)
					}
				}
			}
		})
	}
}

// TestPropertiesOfHostileGroups checks what must hold for whatever members claim: topics and partitions that do not exist, the same
// partition several times over, generations at random, user data that is none.
func TestPropertiesOfHostileGroups(t *testing.T) {
	t.Parallel()
	for _, name := range builtIn {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range 800 {
				rng := rand.New(rand.NewPCG(uint64(seed), 11))
				if err := checkHostile(mustName(name), draw(rng.IntN), rng); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

func checkHostile(a Assignor, d draw, rng *rand.Rand) error {
	g := hostileGroup(d)
	got, err := a.Assign(g)
	again, errAgain := a.Assign(shuffled(g, rng))
	if fmt.Sprint(err) != fmt.Sprint(errAgain) || !reflect.DeepEqual(got, again) {
		return fmt.Errorf("the order of the input shows\n%v %v\n%v %v\n%+v", got, err, again, errAgain, g)
	}
	if err == nil {
		err = valid(g, got, a.Name() == "cooperative-sticky")
	} else if a.Name() == "uniform" && strings.Contains(err.Error(), "the previous target gives") {
		return nil // a target that gives a partition twice, or one that isn't there, is refused
	}
	if err != nil {
		return fmt.Errorf("%w\n%+v\n%v", err, g, got)
	}
	placements, err := Explain(a, g)
	if err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	for _, p := range placements {
		if p.Why == "" {
			return fmt.Errorf("%v is not explained", p.Partition)
		}
	}
	return nil
}

var (
	drawnTopics  = []string{"orders", "payments", "audit", "t-10", "t-2", "gone"}
	drawnMembers = []string{"m0", "m1", "m2", "m10", "B", "_x", "a\U00010000", "a\uE000", "m7", "m8"}
	drawnRacks   = []string{"", "ra", "rb", "rc"}
)

// drawTopics makes all topics but "gone".
func drawTopics(d draw, racks bool) map[string]Topic {
	topics := map[string]Topic{}
	for _, name := range drawnTopics[:1+d(len(drawnTopics)-1)] {
		t := Topic{Partitions: int32(d(13))}
		if racks {
			for range t.Partitions {
				var rs []string
				for range d(3) {
					rs = append(rs, drawnRacks[d(len(drawnRacks))])
				}
				t.Racks = append(t.Racks, rs)
			}
		}
		topics[name] = t
	}
	return topics
}

func drawSubscription(d draw) []string {
	var topics []string
	for _, t := range drawnTopics {
		if d.chance(60) {
			topics = append(topics, t)
		}
	}
	return topics
}

func hostileGroup(d draw) Group {
	racks := d.chance(40)
	g := Group{Topics: drawTopics(d, racks), LedGeneration: int32(d(4))}
	same := drawSubscription(d)
	equal := d.chance(50)
	for _, id := range drawnMembers[:d(len(drawnMembers)+1)] {
		m := Member{ID: id, Subscription: Subscription{Topics: same, Generation: int32(d(4)) - 1}}
		if !equal {
			m.Topics = drawSubscription(d)
			if len(m.Topics) > 0 && d.chance(10) {
				m.Topics = append(m.Topics, m.Topics[0])
			}
		}
		if racks && d.chance(70) {
			m.Rack = &drawnRacks[d(len(drawnRacks))]
		}
		if d.chance(20) {
			m.InstanceID = new(fmt.Sprint("i", 9-len(g.Members)))
		}
		for range d(8) {
			m.Owned = append(m.Owned, TopicPartition{drawnTopics[d(len(drawnTopics))], int32(d(16)) - 1})
		}
		switch d(4) {
		case 0:
			for range d(12) {
				m.UserData = append(m.UserData, byte(d(256)))
			}
		case 1:
			m.UserData = EncodeCooperativeUserData(int32(d(5)) - 1)
		default:
			m.UserData, _ = EncodeStickyUserData(m.Owned, int32(d(5))-1)
		}
		g.Members = append(g.Members, m)
	}
	return g
}

func shuffled(g Group, rng *rand.Rand) Group {
	g.Members = shuffle(g.Members, rng)
	g.Topics = maps.Clone(g.Topics)
	for i := range g.Members {
		m := &g.Members[i]
		m.Topics = shuffle(m.Topics, rng)
		m.Owned = shuffle(m.Owned, rng)
	}
	return g
}

// valid: everyone gets an answer; each partition goes to one member, who subscribes to it; none that has subscribers is left out,
// unless partitions may be withheld.
func valid(g Group, got map[string][]TopicPartition, mayWithhold bool) error {
	owner := map[TopicPartition]string{}
	if len(got) != len(g.Members) {
		return fmt.Errorf("%d members are answered, the group has %d", len(got), len(g.Members))
	}
	for _, m := range g.Members {
		tps, answered := got[m.ID]
		if !answered || tps == nil {
			return fmt.Errorf("%s is not answered", m.ID)
		}
		if !slices.IsSortedFunc(tps, compareTopicPartitions) {
			return fmt.Errorf("%s: not sorted: %v", m.ID, tps)
		}
		for _, tp := range tps {
			switch {
			case tp.Partition < 0 || tp.Partition >= g.Topics[tp.Topic].Partitions:
				return fmt.Errorf("%s got %v, which does not exist", m.ID, tp)
			case !slices.Contains(m.Topics, tp.Topic):
				return fmt.Errorf("%s got %v and does not subscribe to it", m.ID, tp)
			case owner[tp] != "":
				return fmt.Errorf("%s got %v, as did %s", m.ID, tp, owner[tp])
			}
			owner[tp] = m.ID
		}
	}
	if mayWithhold {
		return nil
	}
	for _, m := range g.Members {
		for _, topic := range m.Topics {
			for p := range g.Topics[topic].Partitions {
				if tp := (TopicPartition{topic, p}); owner[tp] == "" {
					return fmt.Errorf("%v went to nobody", tp)
				}
			}
		}
	}
	return nil
}

// chain is a group whose members tell the truth, round after round.
type chain struct {
	a       Assignor
	d       draw
	shuffle *rand.Rand
	g       Group
	joined  int
	racks   bool
	equal   bool
}

func (c *chain) change() {
	if c.g.Topics == nil {
		c.racks, c.equal = c.d.chance(30), c.d.chance(50)
		c.g.Topics = drawTopics(c.d, c.racks)
		for range 1 + c.d(5) {
			c.join()
		}
		return
	}
	c.g.Topics = maps.Clone(c.g.Topics)
	switch c.d(7) {
	case 0, 1:
		c.join()
	case 2:
		if len(c.g.Members) > 1 {
			c.g = c.g.Leave(c.g.Members[c.d(len(c.g.Members))].ID)
		}
	case 3:
		for name, t := range c.g.Topics {
			if name == "orders" {
				t.Partitions += int32(c.d(4))
				c.g.Topics[name] = t
			}
		}
	case 4:
		delete(c.g.Topics, drawnTopics[c.d(len(drawnTopics))])
	case 5:
		if topics := drawSubscription(c.d); c.equal {
			for i := range c.g.Members {
				c.g.Members[i].Topics = topics
			}
		} else {
			c.g.Members[c.d(len(c.g.Members))].Topics = topics
		}
	}
}

func (c *chain) join() {
	if c.joined == len(drawnMembers) {
		return
	}
	topics := drawSubscription(c.d)
	if c.equal && len(c.g.Members) > 0 {
		topics = c.g.Members[0].Topics
	}
	m := Member{ID: drawnMembers[(c.joined*7)%len(drawnMembers)], Subscription: Subscription{Topics: topics, Generation: -1}}
	if c.racks {
		m.Rack = &drawnRacks[c.d(len(drawnRacks))]
	}
	c.joined++
	c.g.Members = append(slices.Clone(c.g.Members), m)
}

func (c *chain) step() error {
	c.change()
	p, err := Predict(c.a, c.g)
	if err != nil {
		return err
	}
	other, err := Predict(c.a, shuffled(c.g, c.shuffle))
	if err != nil || !reflect.DeepEqual(p.Final(), other.Final()) {
		return fmt.Errorf("the order of the input shows: %v %v, %w", p, other, err)
	}
	for _, r := range p.Rounds {
		if err := c.checkRound(r); err != nil {
			return fmt.Errorf("%w\n%+v\n%v", err, r.Before, r)
		}
	}
	if err := c.checkFinal(p); err != nil {
		return fmt.Errorf("%w\n%+v\n%v", err, c.g, p)
	}
	c.g = p.After()
	return nil
}

func (c *chain) checkRound(r Round) error {
	cooperative := c.a.Name() == "cooperative-sticky"
	if err := valid(r.Before, r.Assignment, cooperative); err != nil {
		return err
	}
	assigned := 0
	for _, p := range r.Explain() {
		if p.Why == "" {
			return fmt.Errorf("%v is not explained", p.Partition)
		}
		if (p.Owner != "") != slices.Contains(r.Assignment[p.Owner], p.Partition) {
			return fmt.Errorf("explained wrong: %v", p)
		}
		if p.Owner != "" {
			assigned++
		}
		if cooperative && p.Moved() && p.Owner != "" && slices.ContainsFunc(r.Before.Members, func(m Member) bool { return m.ID == p.Before }) {
			return fmt.Errorf("handed over at once: %v", p)
		}
	}
	for _, tps := range r.Assignment {
		assigned -= len(tps)
	}
	if assigned != 0 {
		return fmt.Errorf("%d assigned partitions are not explained", -assigned)
	}
	return nil
}

func (c *chain) checkFinal(p Prediction) error {
	final, name := p.Final(), c.a.Name()
	if !p.Settled() {
		if !c.racks {
			return fmt.Errorf("not settled after %d rounds", len(p.Rounds))
		}
		return nil
	}
	if err := valid(c.g, final, false); err != nil {
		return err
	}
	sticky := name == "sticky" || name == "cooperative-sticky" || name == "uniform"
	if sticky {
		if err := balanced(c.g, final); err != nil {
			return err
		}
		// With racks there is no such promise: what its owner cannot read nearby is dealt anew each time, as in Kafka.
		again, err := Predict(c.a, p.After())
		if err != nil || !c.racks && !reflect.DeepEqual(again.Final(), final) {
			return fmt.Errorf("asked again without a change, the answer is another: %v %w", again, err)
		}
		if left, least, ok := moves(c.g, final); ok && left != least && !c.racks {
			return fmt.Errorf("%d partitions left their owner, %d had to", left, least)
		}
	}
	if name == "roundrobin" && sameSubscriptions(c.g) {
		return balanced(c.g, final)
	}
	if _, server := c.a.(serverSide); name == "range" && (server || !c.racks) {
		return runs(c.g, final)
	}
	return nil
}

// balanced: nobody has two more than a subscriber of one of its partitions; with equal subscriptions that is a spread of 1.
func balanced(g Group, got map[string][]TopicPartition) error {
	for _, c := range g.Members {
		for _, tp := range got[c.ID] {
			for _, d := range g.Members {
				if slices.Contains(d.Topics, tp.Topic) && len(got[c.ID]) > len(got[d.ID])+1 {
					return fmt.Errorf("%s has %d, among them %v; %s, which subscribes to it, has %d", c.ID, len(got[c.ID]), tp, d.ID, len(got[d.ID]))
				}
			}
		}
	}
	return nil
}

func sameSubscriptions(g Group) bool {
	return !slices.ContainsFunc(g.Members, func(m Member) bool { return !slices.Equal(m.Topics, g.Members[0].Topics) })
}

// moves counts the partitions that left a living owner, and the least number that had to for a spread of 1.
func moves(g Group, got map[string][]TopicPartition) (left, least int, ok bool) {
	if len(g.Members) == 0 || !sameSubscriptions(g) {
		return 0, 0, false
	}
	total := 0
	for _, topic := range g.Members[0].Topics {
		total += int(g.Topics[topic].Partitions)
	}
	var loads []int
	for _, m := range g.Members {
		load := 0
		for _, tp := range m.Owned {
			if slices.Contains(m.Topics, tp.Topic) && tp.Partition < g.Topics[tp.Topic].Partitions {
				load++
				if !slices.Contains(got[m.ID], tp) {
					left++
				}
			}
		}
		loads = append(loads, load)
	}
	slices.SortFunc(loads, func(a, b int) int { return b - a })
	for i, load := range loads {
		quota := total / len(loads)
		if i < total%len(loads) {
			quota++
		}
		least += max(0, load-quota)
	}
	return left, least, true
}

// runs: of each topic a member has consecutive partitions, nobody two more than another subscriber.
func runs(g Group, got map[string][]TopicPartition) error {
	for topic := range g.Topics {
		least, most := 1<<30, 0
		for _, m := range g.Members {
			if !slices.Contains(m.Topics, topic) {
				continue
			}
			n, last := 0, int32(-1)
			for _, tp := range got[m.ID] {
				if tp.Topic == topic {
					if n > 0 && tp.Partition != last+1 {
						return fmt.Errorf("%s has a gap in %s: %v", m.ID, topic, got[m.ID])
					}
					n, last = n+1, tp.Partition
				}
			}
			least, most = min(least, n), max(most, n)
		}
		if most > least+1 && least < 1<<30 {
			return fmt.Errorf("%s: from %d to %d partitions a member", topic, least, most)
		}
	}
	return nil
}
