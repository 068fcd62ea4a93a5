package groups

import (
	"container/heap"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The simulator runs classic groups with members that behave as real clients do, over a network that delays and loses, on a clock of its
// own. Everything comes from the seed. After each step it checks:
//
//   - what a replay of the log leads to equals the live durable state;
//   - generations never go back while a group lives;
//   - no two members own a partition by the same generation; without faults none do that are in the current one;
//   - a Stable group is what its last sync says, and so are its members.
//
// In the end the faults stop, and the group must become Stable with every partition owned by a living member.
// A failing seed is shrunk to the fewest actions that still fail, and its trace is printed.
var (
	simSeeds = flag.Int("sim.seeds", simDefault(), "how many seeds TestSimulator runs (also by FAKEKAFKA_SIM_SEEDS)")
	simSeed  = flag.Int64("sim.seed", -1, "the one seed that TestSimulator runs, with its trace")
)

func simDefault() int {
	if n, err := strconv.Atoi(os.Getenv("FAKEKAFKA_SIM_SEEDS")); err == nil {
		return n
	}
	return 2000
}

func TestSimulator(t *testing.T) {
	t.Parallel()
	if *simSeed >= 0 {
		r := newSimRun(uint64(*simSeed))
		err := r.play(r.actions, true)
		t.Logf("%+v\n%s", r.settings, r.trace.String())
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	eachSeed(t, 200, func(t *testing.T, seed uint64) {
		r := newSimRun(seed)
		if err := r.play(r.actions, false); err != nil {
			reportSim(t, seed, err)
		}
	})
}

// eachSeed plays all seeds on two workers until one fails; in a short run, so many at most.
func eachSeed(t *testing.T, short int, play func(*testing.T, uint64)) {
	seeds := *simSeeds
	if testing.Short() {
		seeds = min(seeds, short)
	}
	var next atomic.Int64
	for worker := range 2 {
		t.Run(fmt.Sprint("worker-", worker), func(t *testing.T) {
			t.Parallel()
			for !t.Failed() {
				seed := next.Add(1) - 1
				if seed >= int64(seeds) {
					return
				}
				play(t, uint64(seed))
			}
		})
	}
}

// reportSim shrinks a failing seed and prints what is left of it.
func reportSim(t *testing.T, seed uint64, err error) {
	actions := newSimRun(seed).actions
	for removed := true; removed; {
		removed = false
		for i := 0; i < len(actions); i++ {
			fewer := slices.Delete(slices.Clone(actions), i, i+1)
			if e := newSimRun(seed).play(fewer, false); e != nil {
				actions, err, removed = fewer, e, true
				i--
			}
		}
	}
	r := newSimRun(seed)
	_ = r.play(actions, true)
	t.Errorf("seed %d: %v\n%+v\n%s", seed, err, r.settings, r.trace.String())
}

// simAction is something that happens to a client, the coordinator or the cluster.
type simAction struct {
	at     time.Duration
	kind   string
	client int
	d      time.Duration
}

func (a simAction) String() string {
	return fmt.Sprintf("%s client %d (%s)", a.kind, a.client, a.d)
}

// simRun is one seed.
type simRun struct {
	seed     uint64
	rng      *rand.Rand // for delays and losses
	settings simSettings
	actions  []simAction

	cfg     Config
	shard   *Shard
	shards  uint64 // so far, so that none draws an id that an earlier one gave away
	shadow  *Shard // is fed the log as it grows, and nothing else
	log     []loggedRecord
	meta    *fakeMetadata
	now     time.Time
	start   time.Time
	queue   simQueue
	seq     uint64
	tickets map[Ticket]*simCall
	ticket  Ticket
	clients []*simClient
	healed  bool

	generation int32 // the last durable one
	tracing    bool
	trace      strings.Builder
	err        error
}

type simSettings struct {
	style      string // the assignor's name
	clients    int
	partitions int32
	prompt     bool
	delay      time.Duration
	calm       bool // no losses, no silence, no static members
}

const simGroup = "g"

func newSimRun(seed uint64) *simRun {
	rng := rand.New(rand.NewPCG(seed, 1))
	pick := func(names ...string) string { return names[rng.IntN(len(names))] }
	r := &simRun{
		seed: seed,
		rng:  rand.New(rand.NewPCG(seed, 2)),
		settings: simSettings{
			style:      pick("range", "roundrobin", "sticky", "cooperative-sticky", "cooperative-sticky", "cooperative-sticky"),
			clients:    1 + rng.IntN(5),
			partitions: int32(1 + rng.IntN(8)),
			prompt:     rng.IntN(2) == 0,
			delay:      time.Duration(rng.IntN(3)) * 500 * time.Millisecond,
			calm:       rng.IntN(3) == 0,
		},
		tickets: map[Ticket]*simCall{},
		meta:    (&fakeMetadata{byName: map[string]Topic{}}),
	}
	kinds := []string{"start", "start", "start", "start", "leave", "restart-coordinator", "rebalance", "commit", "commit", "txn-commit", "txn-commit", "end-txn", "abort-txn", "recreate-topic", "grow"}
	if !r.settings.calm {
		kinds = append(kinds, "silence", "silence", "crash", "crash", "restart-client", "restart-client", "lossy", "evict", "fence")
	}
	at := time.Duration(0)
	for i := range r.settings.clients {
		r.actions = append(r.actions, simAction{at: at, kind: "start", client: i})
		at += time.Duration(rng.IntN(3000)) * time.Millisecond
	}
	for range 3 + rng.IntN(12) {
		at += time.Duration(rng.IntN(6000)) * time.Millisecond
		r.actions = append(r.actions, simAction{
			at: at, kind: kinds[rng.IntN(len(kinds))], client: rng.IntN(r.settings.clients),
			d: time.Duration(rng.IntN(12000)) * time.Millisecond,
		})
	}
	r.cfg = DefaultConfig()
	r.cfg.InitialRebalanceDelay, r.cfg.Prompt = r.settings.delay, r.settings.prompt
	r.meta = r.meta.with("foo", r.settings.partitions).with("bar", 2)
	r.start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r.now = r.start
	for i := range r.settings.clients {
		c := &simClient{r: r, name: fmt.Sprintf("c%d", i), session: time.Duration(6+rng.IntN(5)) * time.Second, gen: -1, ownedGen: -1}
		if !r.settings.calm && rng.IntN(3) == 0 {
			c.instance = kmsg.StringPtr(fmt.Sprintf("i%d", i))
		}
		c.cooperative = r.settings.style == "cooperative-sticky"
		c.software = pick("kgo", "apache-kafka-java", "librdkafka", "sarama", "")
		r.clients = append(r.clients, c)
	}
	r.shadow = r.newShard()
	r.shard = r.newShard()
	r.shard.Loaded(r.now)
	return r
}

func (r *simRun) newShard() *Shard {
	r.shards++
	return NewShard(r.cfg, Deps{Rand: rand.New(rand.NewPCG(r.seed, r.shards)), Metadata: r.meta})
}

// simQueue orders what happens by time.
type simQueue []simEvent

type simEvent struct {
	at  time.Time
	seq uint64
	do  func()
}

func (q simQueue) Len() int { return len(q) }
func (q simQueue) Less(i, j int) bool {
	if q[i].at.Equal(q[j].at) {
		return q[i].seq < q[j].seq
	}
	return q[i].at.Before(q[j].at)
}
func (q simQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *simQueue) Push(x any)   { *q = append(*q, x.(simEvent)) }
func (q *simQueue) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}

func (r *simRun) after(d time.Duration, do func()) {
	r.seq++
	heap.Push(&r.queue, simEvent{r.now.Add(d), r.seq, do})
}

func (r *simRun) say(format string, args ...any) {
	if r.tracing {
		fmt.Fprintf(&r.trace, "%10s  %s\n", "+"+r.now.Sub(r.start).String(), fmt.Sprintf(format, args...))
	}
}

func (r *simRun) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
		r.say("FAILED: %v", r.err)
	}
}

// play runs the actions, lets the group heal, and answers what went wrong.
func (r *simRun) play(actions []simAction, trace bool) error {
	r.tracing = trace
	end := time.Duration(0)
	for _, a := range actions {
		r.seq++
		heap.Push(&r.queue, simEvent{r.start.Add(a.at), r.seq, func() { r.act(a) }})
		end = max(end, a.at)
	}
	r.seq++
	heap.Push(&r.queue, simEvent{r.start.Add(end + time.Second), r.seq, func() {
		r.say("the faults stop")
		r.healed = true
		for _, c := range r.clients {
			c.silentUntil = time.Time{}
		}
	}})
	limit := r.start.Add(end + 2*time.Minute)
	for steps := 0; r.err == nil; steps++ {
		at, timer := r.shard.Deadline()
		if len(r.queue) > 0 && (!timer || !r.queue[0].at.After(at)) {
			e := heap.Pop(&r.queue).(simEvent)
			r.now = e.at
			e.do()
		} else {
			r.now = at
			r.effects(r.shard.Tick(r.now))
			r.check()
		}
		switch {
		case r.healed && r.converged():
			return nil
		case r.now.After(limit), steps > 100_000:
			r.fail("the group did not become stable within %s and %d steps", limit.Sub(r.start), steps)
		}
	}
	return r.err
}

func (r *simRun) act(a simAction) {
	if r.err != nil {
		return
	}
	r.say("action: %s", a)
	c := r.clients[a.client]
	switch a.kind {
	case "start":
		if !c.running {
			c.startUp()
		}
	case "leave":
		if c.running {
			c.shutDown(true)
		}
	case "crash":
		c.shutDown(false)
	case "restart-client":
		c.shutDown(false)
		c.startUp()
	case "silence":
		c.silentUntil = r.now.Add(a.d)
	case "lossy":
		c.lossyUntil = r.now.Add(a.d)
	case "commit":
		c.commit()
	case "txn-commit":
		c.txnCommit()
	case "end-txn", "abort-txn":
		r.endTxn(int64(a.client), a.kind == "end-txn")
	case "recreate-topic":
		for _, n := range []int32{0, 2} {
			r.meta = r.meta.with("bar", n)
			r.effects(r.shard.MetadataChanged(r.now, r.meta))
		}
	case "grow":
		t, _ := r.meta.Topic("foo")
		r.meta = r.meta.with("foo", t.Partitions+1)
		r.effects(r.shard.MetadataChanged(r.now, r.meta))
	case "rebalance":
		fx, _ := r.shard.Rebalance(r.now, simGroup, "the simulator asked for it")
		r.effects(fx)
	case "evict":
		fx, _ := r.shard.Evict(r.now, simGroup, c.member, "the simulator evicted it")
		r.effects(fx)
	case "fence":
		if c.instance == nil { // a static client would end for good
			fx, _ := r.shard.Fence(r.now, simGroup, c.member)
			r.effects(fx)
		}
	case "restart-coordinator":
		r.effects(r.shard.Unload(r.now))
		r.shard = r.newShard()
		gone := cleaned(r.log, r.rng.IntN(len(r.log)+1))
		for i, rec := range r.log {
			switch {
			case gone[i]:
			case rec.marker:
				r.shard.ReplayMarker(int64(i), rec.producer, rec.commit)
			default:
				r.shard.Replay(int64(i), rec.Record, rec.producer)
			}
		}
		r.compare()
		r.effects(r.shard.Loaded(r.now))
	}
	r.check()
}

// effects logs the records, feeds them to the shadow, and sends the replies.
func (r *simRun) effects(fx Effects) {
	for _, b := range fx.Batches {
		for _, rec := range b.Records {
			r.shadow.Replay(int64(len(r.log)), rec, b.ProducerID)
			r.log = append(r.log, loggedRecord{Record: rec, producer: b.ProducerID})
		}
	}
	if r.tracing {
		for _, e := range fx.Events {
			r.say("event %s", describeEvent(e))
		}
	}
	if len(fx.Batches) > 0 {
		r.compare()
	}
	r.deliver(fx.Replies)
	r.shard.Recycle(fx)
}

// endTxn writes the marker of a producer's transaction and tells the shard.
func (r *simRun) endTxn(producer int64, commit bool) {
	at := int64(len(r.log))
	r.log = append(r.log, loggedRecord{producer: producer, marker: true, commit: commit})
	r.shadow.ReplayMarker(at, producer, commit)
	r.effects(r.shard.CompleteTransaction(r.now, producer, commit, at))
	r.compare()
}

// deliver sends the replies to those who wait.
func (r *simRun) deliver(replies []Reply) {
	for _, reply := range replies {
		call := r.tickets[reply.Ticket]
		if call == nil {
			r.fail("a reply for ticket %d, which nobody waits for: %T", reply.Ticket, reply.Response)
			return
		}
		delete(r.tickets, reply.Ticket)
		call.answered = true
		c := call.c
		if r.lost(c) {
			r.say("the answer to %s is lost: %s", c.name, kmsg.NameForKey(reply.Response.Key()))
			continue
		}
		r.after(r.latency(c), func() { call.deliver(reply.Response) })
	}
}

// lost says whether the network drops a message of a client now.
func (r *simRun) lost(c *simClient) bool {
	if r.healed || r.settings.calm {
		return false
	}
	if r.now.Before(c.silentUntil) {
		return true
	}
	if r.now.Before(c.lossyUntil) {
		return r.rng.IntN(3) == 0
	}
	return r.rng.IntN(100) == 0
}

func (r *simRun) latency(c *simClient) time.Duration {
	if !r.healed && r.now.Before(c.lossyUntil) {
		return time.Duration(r.rng.IntN(3000)) * time.Millisecond
	}
	return time.Duration(r.rng.IntN(20)) * time.Millisecond
}
