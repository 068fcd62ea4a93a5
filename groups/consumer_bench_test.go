package groups

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
)

// crowd is a consumer group of members that behave as clients do, without a network.
type crowd struct {
	shard   *Shard
	now     time.Time
	ids     []string
	epoch   []int32
	owned   []map[[16]byte][]int32
	tell    []bool // it has something to acknowledge
	tickets map[Ticket]int
	last    Ticket
	writes  int
}

func newCrowd(b testing.TB, members, topics int, partitions int32, cfg Config) (*crowd, []string) {
	meta := &crowdMetadata{byName: make(map[string]Topic), byID: make(map[assignors.TopicID]Topic)}
	var names []string
	for i := range topics {
		t := Topic{Name: fmt.Sprintf("topic-%03d", i), ID: assignors.TopicID{byte(i >> 8), byte(i), 1}, Partitions: partitions}
		meta.byName[t.Name], meta.byID[t.ID] = t, t
		meta.names = append(meta.names, t.Name)
		names = append(names, t.Name)
	}
	g := &crowd{
		shard:   NewShard(cfg, Deps{Rand: rand.New(rand.NewPCG(1, 2)), Metadata: meta}),
		now:     time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		tickets: make(map[Ticket]int),
	}
	g.shard.Loaded(g.now)
	for i := range members {
		g.ids = append(g.ids, fmt.Sprintf("member-%04d", i))
	}
	g.epoch = make([]int32, members)
	g.owned = make([]map[[16]byte][]int32, members)
	g.tell = make([]bool, members)
	return g, names
}

type crowdMetadata struct {
	byName map[string]Topic
	byID   map[assignors.TopicID]Topic
	names  []string
}

func (m *crowdMetadata) Topic(name string) (Topic, bool) { t, ok := m.byName[name]; return t, ok }
func (m *crowdMetadata) TopicByID(id assignors.TopicID) (Topic, bool) {
	t, ok := m.byID[id]
	return t, ok
}
func (m *crowdMetadata) TopicNames() []string { return m.names }
func (m *crowdMetadata) Version() int64       { return 1 }
func (m *crowdMetadata) LastCreated() int64   { return 1 }

func (g *crowd) beat(i int, names []string) {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.MemberEpoch, req.RebalanceTimeoutMillis = 1, "big", g.ids[i], g.epoch[i], -1
	if g.epoch[i] == 0 {
		req.RebalanceTimeoutMillis, req.SubscribedTopicNames = 300_000, names
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	} else if g.tell[i] {
		g.tell[i] = false
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		for id, parts := range g.owned[i] {
			req.Topics = append(req.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: id, Partitions: parts})
		}
	}
	g.last++
	g.tickets[g.last] = i
	g.took(g.shard.Handle(g.now, Command{Ticket: g.last, Request: req, Client: Client{ID: g.ids[i], Software: "apache-kafka-java"}}))
}

func (g *crowd) flush() { g.took(g.shard.Flush(g.now)) }

func (g *crowd) took(fx Effects) {
	for _, b := range fx.Batches {
		g.writes += len(b.Records)
	}
	for _, r := range fx.Replies {
		i := g.tickets[r.Ticket]
		delete(g.tickets, r.Ticket)
		resp := r.Response.(*kmsg.ConsumerGroupHeartbeatResponse)
		if resp.ErrorCode != 0 {
			panic(fmt.Sprintf("error %d for %s", resp.ErrorCode, g.ids[i]))
		}
		g.epoch[i] = resp.MemberEpoch
		if resp.Assignment != nil {
			g.tell[i] = true
			g.owned[i] = make(map[[16]byte][]int32, len(resp.Assignment.Topics))
			for _, t := range resp.Assignment.Topics {
				g.owned[i][t.TopicID] = t.Partitions
			}
		}
	}
}

func (g *crowd) stable() bool {
	c := g.shard.groups["big"].consumer
	return c.stateName() == "Stable" && c.groupEpoch == c.assignmentEpoch
}

// settle plays all members from their joins until the group is stable: one turn of the loop takes batch requests, a turn lasts a
// millisecond, and members beat every interval.
func (g *crowd) settle(b testing.TB, names []string, batch int, interval time.Duration) {
	for round := 0; ; round++ {
		start := g.now
		for i := 0; i < len(g.ids); i += batch {
			for j := i; j < min(i+batch, len(g.ids)); j++ {
				g.beat(j, names)
				if g.tell[j] {
					g.beat(j, names) // acknowledgements are sent at once
				}
			}
			g.flush()
			g.now = g.now.Add(time.Millisecond)
		}
		if g.stable() {
			return
		}
		if round > 50 {
			b.Fatal("the group does not settle")
		}
		if next := start.Add(interval); next.After(g.now) {
			g.now = next
		}
	}
}

func crowdConfig(prompt bool) Config {
	cfg := DefaultConfig()
	cfg.Assignors = []assignors.ServerAssignor{assignors.NewUniform(), assignors.NewServerRange()}
	cfg.Prompt = prompt
	return cfg
}

// BenchmarkConsumerGroupSettles is a group of 1,000 members and 10,000 partitions from the first join until all are stable.
func BenchmarkConsumerGroupSettles(b *testing.B) {
	for _, topics := range []int{1, 100} {
		for _, kafka := range []bool{true, false} {
			name, batch, interval := "prompt", 32, 100*time.Millisecond
			if kafka {
				name, batch, interval = "kafka-timings", 1, 5*time.Second
			}
			b.Run(fmt.Sprintf("topics=%d/%s", topics, name), func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					g, names := newCrowd(b, 1000, topics, int32(10_000/topics), crowdConfig(!kafka))
					g.settle(b, names, batch, interval)
					b.ReportMetric(float64(g.writes), "records/op")
				}
			})
		}
	}
}

// BenchmarkStableHeartbeat is one beat of a member that has what it shall have: it must not depend on the group's size.
func BenchmarkStableHeartbeat(b *testing.B) {
	for _, members := range []int{10, 1000, 5000} {
		b.Run(fmt.Sprintf("members=%d", members), func(b *testing.B) {
			g, names := newCrowd(b, members, 10, 1000, crowdConfig(false))
			g.settle(b, names, 1, 5*time.Second)
			for i := range g.ids {
				if g.tell[i] {
					g.beat(i, names)
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			i := 0
			for b.Loop() {
				g.now = g.now.Add(time.Microsecond)
				g.beat(i%members, names)
				i++
			}
		})
	}
}
