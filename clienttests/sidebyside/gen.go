package main

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// step is one request of a sequence. Its seed is its own, so that it stays the same when steps before it are left out.
type step struct {
	seed   uint64
	sane   bool // without fields set to something else
	unhurt bool // without mutations
}

// kind makes requests of one API.
type kind struct {
	weight int
	key    int16
	fill   func(*gen, kmsg.Request)
}

// on is a kind whose fill knows the request's type.
func on[T any, P interface {
	*T
	kmsg.Request
}](weight int, fill func(*gen, P)) kind {
	return kind{weight, P(new(T)).Key(), func(g *gen, q kmsg.Request) { fill(g, q.(P)) }}
}

// area is a kind of sequence.
type area struct {
	name   string
	topics map[string]map[string]string // made before the first step: settings by name
	parts  int32                        // partitions of each
	setup  func(*gen) []kmsg.Request    // made after that; they must be answered without error
	kinds  []kind
	spoil  int // percent of requests with fields set to something else
	hurt   int // percent of frames that are damaged
	odd    int // percent of odd values where fill invents one
	// choose picks the API of the next request by what the brokers have told; nil: one of kinds by weight.
	choose func(*gen) int16
	pause  time.Duration // before some of the steps, in which what has a short timeout ends
	// needs are settings, in milliseconds, that Kafka must be started with: so much or less.
	needs map[string]int
}

// pausesAt tells whether a pause comes before the step.
func (a *area) pausesAt(s step) bool { return a.pause > 0 && s.seed>>8%12 == 0 }

// versions are the first and last version that Kafka serves, by API.
type versions map[int16][2]int16

// request makes the step's request for one broker.
func (a *area) request(s step, w *world, served versions) (kmsg.Request, []mutation) {
	g := &gen{r: rand.New(rand.NewPCG(s.seed, 1)), w: w, odd: a.odd, short: a.pause > 0}
	k := a.kindOf(g)
	q := kmsg.RequestForKey(k.key)
	g.key = k.key
	span := served[k.key]
	version := span[0] + int16(g.r.IntN(int(span[1]-span[0])+1))
	if g.r.IntN(3) == 0 {
		version = span[1] // clients mostly speak the newest
	}
	q.SetVersion(min(version, q.MaxVersion()))
	if d, ok := q.(interface{ Default() }); ok {
		d.Default()
	}
	k.fill(g, q)
	if r := rand.New(rand.NewPCG(s.seed, 2)); r.IntN(100) < a.spoil && !s.sane {
		(&gen{r: r, w: w, odd: 50, key: k.key}).spoil(q)
	}
	tame(q)
	var hurt []mutation
	if r := rand.New(rand.NewPCG(s.seed, 3)); r.IntN(100) < a.hurt && !s.unhurt && !fragile[k.key] {
		hurt = mutationsOf(r, len(frameOf(q)))
	}
	return q, hurt
}

func (a *area) kindOf(g *gen) kind {
	if a.choose != nil {
		key := a.choose(g)
		return a.kinds[slices.IndexFunc(a.kinds, func(k kind) bool { return k.key == key })]
	}
	total := 0
	for _, k := range a.kinds {
		total += k.weight
	}
	n := g.r.IntN(total)
	for _, k := range a.kinds {
		if n -= k.weight; n < 0 {
			return k
		}
	}
	panic("unreachable")
}

var formatter = kmsg.NewRequestFormatter(kmsg.FormatterClientID("side"))

func frameOf(q kmsg.Request) []byte { return formatter.AppendRequest(nil, q, 1) }

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// gen makes the parts of a request: the same choices for both brokers, with each one's own ids.
type gen struct {
	r   *rand.Rand
	w   *world
	odd int
	key int16   // the API
	who *member // whose turn it is, where an area chooses one
	// short timeouts end in a pause.
	short bool
}

// percent is true n times of a hundred.
func (g *gen) percent(n int) bool { return g.r.IntN(100) < n }

func (g *gen) some(names ...string) string { return g.w.prefix + pick(g.r, names...) }

// topic is one of the sequence's topics, seldom one that isn't there.
func (g *gen) topic() string {
	if g.percent(4) {
		return g.w.prefix + "none"
	}
	return pick(g.r, g.w.topics...)
}

func (g *gen) id(topic string) [16]byte {
	if id, ok := g.w.ids[topic]; ok {
		return id
	}
	return [16]byte{15: 9}
}

func (g *gen) group() string { return g.some("g1", "g1", "g1", "g2") }

// transaction is a transactional id.
func (g *gen) transaction() string { return g.some("x1", "x1", "x1", "x2") }

func (g *gen) partition() int32 { return pick[int32](g.r, 0, 0, 0, 1, 1, 1, 2, -1) }

// member is one of the group's, or one that isn't known.
func (g *gen) member(group string) member {
	have := g.w.members[group]
	switch {
	case len(have) == 0 || g.percent(4):
		return member{id: pick(g.r, "", "unknown", "m1"), epoch: pick[int32](g.r, 0, 1, -1)}
	case g.percent(50):
		return *have[len(have)-1]
	}
	return *have[g.r.IntN(len(have))]
}

// around is the number or, now and then, one beside it.
func (g *gen) around(n int32) int32 {
	if g.percent(80) {
		return n
	}
	return pick(g.r, n-1, n+1, -1, 0, -2)
}

func (g *gen) instance() *string { return kmsg.StringPtr(pick(g.r, "i1", "i2")) }

// producer is the transactional id's, or one that no broker gave out.
func (g *gen) producer(name string) producer {
	p := g.w.producers[name]
	if p == nil || g.percent(3) {
		return producer{id: pick[int64](g.r, -1, 1<<40, 1<<40+1), epoch: pick[int16](g.r, 0, 1, -1)}
	}
	out := *p
	if g.percent(10) {
		out.epoch += pick[int16](g.r, -1, 1, 1, 2)
	}
	return out
}
