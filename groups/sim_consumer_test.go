package groups

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/records"
)

// TestConsumerSimulator lets random clients of both protocols live in one consumer group: they join, beat, acknowledge late, lose
// answers, leave, crash and come back, while topics change, the coordinator restarts and the clock runs. After every step
// no partition has two owners, no client of the consumer protocol consumes what the coordinator does not hold for it, epochs don't
// go back, the indexes are right and a replay of the log stands where the live shard stands. When the faults are over, all that
// are there share all partitions.
//
// A failing seed is shrunk to the fewest random steps that still fail, and its trace is printed.
func TestConsumerSimulator(t *testing.T) {
	t.Parallel()
	if *simSeed >= 0 {
		w := newConsumerSim(uint64(*simSeed))
		w.traced = true
		err := w.run(nil)
		t.Log(w.trace.String())
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	eachSeed(t, 50, func(t *testing.T, seed uint64) {
		if newConsumerSim(seed).run(nil) != nil {
			reportConsumerSim(t, seed)
		}
	})
}

// reportConsumerSim shrinks a failing seed and prints what is left of it.
func reportConsumerSim(t *testing.T, seed uint64) {
	skip := make([]bool, consumerSimSteps)
	for n := len(skip); n > 0; n /= 2 { // first many at once
		for i := 0; i < len(skip); i += n {
			fewer := slices.Clone(skip)
			for j := i; j < min(i+n, len(skip)); j++ {
				fewer[j] = true
			}
			if newConsumerSim(seed).run(fewer) != nil {
				skip = fewer
			}
		}
	}
	w := newConsumerSim(seed)
	w.traced = true
	err := w.run(skip)
	lines := strings.SplitAfter(w.trace.String(), "\n")
	const most = 400
	if cut := len(lines) - most; cut > 0 { // it does not settle: the end tells nothing new
		lines = append(lines[:most:most], fmt.Sprintf("... and %d lines more\n", cut))
	}
	t.Errorf("seed %d (all of it: -sim.seed=%d): %v\n%+v\n%s", seed, seed, err, w.settings, strings.Join(lines, ""))
}

type consumerSimSettings struct {
	prompt   bool
	interval time.Duration
	assignor string
	policy   string
	mixed    bool // with classic members
	faults   int  // in a hundred
}

type consumerSim struct {
	settings consumerSimSettings
	seed     uint64
	rng      *rand.Rand // of the present step, so that others can be left out
	cfg      Config
	shard    *Shard
	meta     *fakeMetadata
	now      time.Time
	log      []loggedRecord
	shards   uint64 // so far
	shadow   *Shard // has only replayed, the first shadowed records
	shadowed int
	clients  []*simMember
	tickets  map[Ticket]func(kmsg.Response)
	last     Ticket
	seq      int
	traced   bool
	trace    strings.Builder
	step     int
	epochs   map[string]int32 // group epoch by incarnation
}

func newConsumerSim(seed uint64) *consumerSim {
	rng := rand.New(rand.NewPCG(seed, 77))
	w := &consumerSim{
		seed: seed, rng: rng,
		settings: consumerSimSettings{
			prompt:   rng.IntN(2) == 0,
			interval: []time.Duration{0, time.Second}[rng.IntN(2)],
			assignor: []string{"uniform", "range"}[rng.IntN(2)],
			policy:   []string{"bidirectional", "bidirectional", "upgrade", "downgrade", "disabled"}[rng.IntN(5)],
			mixed:    rng.IntN(2) == 0,
			faults:   rng.IntN(30),
		},
		meta:    &fakeMetadata{byName: map[string]Topic{}},
		now:     time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		tickets: make(map[Ticket]func(kmsg.Response)),
		epochs:  make(map[string]int32),
	}
	w.cfg = DefaultConfig()
	w.cfg.Prompt = w.settings.prompt
	w.cfg.ConsumerAssignment = w.settings.interval
	w.cfg.ConsumerMigrationPolicy = w.settings.policy
	w.cfg.InitialRebalanceDelay = 100 * time.Millisecond
	w.cfg.Assignors = []assignors.ServerAssignor{assignors.NewUniform(), assignors.NewServerRange()}
	if w.settings.assignor == "range" {
		slices.Reverse(w.cfg.Assignors)
	}
	w.shard, w.shadow = w.newShard(), w.newShard()
	w.shard.Loaded(w.now)
	w.meta = w.meta.with("foo", 4).with("bar", 3)
	w.effects(w.shard.MetadataChanged(w.now, w.meta))
	for i := range 2 + rng.IntN(4) {
		c := &simMember{name: fmt.Sprintf("c%d", i), software: []string{javaSoftware, kgoSoftware, "librdkafka", "sarama"}[rng.IntN(4)]}
		c.classic = w.settings.mixed && i%2 == 1
		if rng.IntN(3) == 0 {
			instance := fmt.Sprintf("i%d", i)
			c.instance = &instance
		}
		w.clients = append(w.clients, c)
	}
	return w
}

// newShard is a coordinator that draws no id that an earlier one gave away.
func (w *consumerSim) newShard() *Shard {
	w.shards++
	return NewShard(w.cfg, Deps{Rand: rand.New(rand.NewPCG(5, w.shards)), Metadata: w.meta})
}

func (w *consumerSim) say(format string, args ...any) {
	if !w.traced {
		return
	}
	fmt.Fprintf(&w.trace, "%4d +%s %s\n", w.step, w.now.Sub(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), fmt.Sprintf(format, args...))
}

func (w *consumerSim) effects(fx Effects) {
	for _, b := range fx.Batches {
		for _, r := range b.Records {
			w.log = append(w.log, loggedRecord{Record: r, producer: b.ProducerID})
		}
	}
	if w.traced {
		for _, e := range fx.Events {
			w.say("  event %s", describeEvent(e))
		}
	}
	for _, r := range fx.Replies {
		answer := w.tickets[r.Ticket]
		delete(w.tickets, r.Ticket)
		if answer != nil {
			answer(r.Response)
		}
	}
	w.shard.Recycle(fx)
}

// send hands a request in; a lost answer makes the client believe that the connection broke.
func (w *consumerSim) send(c *simMember, req kmsg.Request, lost bool, answer func(kmsg.Response)) {
	w.last++
	t := w.last
	c.waiting = t
	w.tickets[t] = func(resp kmsg.Response) {
		if c.waiting != t {
			return // it gave up on this one
		}
		c.waiting = 0
		if lost {
			w.say("  answer to %s is lost", c.name)
			c.full, c.tell = true, true
			return
		}
		answer(resp)
	}
	w.effects(w.shard.Handle(w.now, Command{
		Ticket: t, Request: req,
		Client: Client{ID: c.name, Host: "/127.0.0.1", Software: c.software, Principal: "User:ANONYMOUS"},
	}))
	if w.rng.IntN(3) > 0 {
		w.effects(w.shard.Flush(w.now))
	}
}

func (w *consumerSim) fault() bool { return w.rng.IntN(100) < w.settings.faults }

// consumerSimSteps are the steps with faults.
const consumerSimSteps = 300

// begin enters a step; each has its own randomness.
func (w *consumerSim) begin(step int) {
	w.step, w.rng = step, rand.New(rand.NewPCG(w.seed, uint64(step)))
}

// run plays the seed, without the steps to skip.
func (w *consumerSim) run(skip []bool) error {
	for step := range consumerSimSteps {
		if skip != nil && skip[step] {
			continue
		}
		w.begin(step)
		w.randomStep()
		w.effects(w.shard.Flush(w.now))
		if err := w.check(); err != nil {
			return err
		}
	}
	// The faults are over; everybody who is there does what it should.
	w.settings.faults = 0
	for _, c := range w.clients {
		if !c.running && !(c.classic && w.settings.policy == "disabled") {
			w.start(c)
		}
	}
	for i := range 150 {
		w.begin(consumerSimSteps + i)
		for _, c := range w.clients {
			if c.running {
				w.live(c)
			}
		}
		w.effects(w.shard.Flush(w.now))
		w.advance(time.Second)
		if err := w.check(); err != nil {
			return err
		}
		if w.settled() == "" {
			return nil
		}
	}
	return fmt.Errorf("does not settle: %s\n%s", w.settled(), durable(w.shard))
}

func (w *consumerSim) randomStep() {
	c := w.clients[w.rng.IntN(len(w.clients))]
	switch n := w.rng.IntN(100); {
	case n < 60:
		if c.running {
			w.live(c)
		} else {
			w.start(c)
		}
	case n < 75:
		w.advance(time.Duration(w.rng.IntN(400)) * time.Millisecond)
	case n < 78:
		w.advance(time.Duration(w.rng.IntN(30)) * time.Second)
	case n < 81 && c.running:
		w.leave(c)
	case n < 83 && c.running:
		w.say("%s crashes", c.name)
		c.forgets()
	case n < 85:
		w.restart()
	case n < 87:
		w.meta = w.meta.with("foo", min(w.meta.byName["foo"].Partitions+1, 8))
		w.say("foo has %d partitions", w.meta.byName["foo"].Partitions)
		w.effects(w.shard.MetadataChanged(w.now, w.meta))
	case n < 89:
		if _, ok := w.meta.byName["bar"]; ok {
			w.meta = w.meta.with("bar", 0)
		} else {
			w.meta = w.meta.with("bar", 2)
		}
		w.say("bar has %d partitions", w.meta.byName["bar"].Partitions)
		w.effects(w.shard.MetadataChanged(w.now, w.meta))
	case n < 91 && c.running && !c.classic:
		w.subscribe(c)
		c.full = true
	case n < 92 && c.member != "":
		if g := w.shard.groups["g"]; g != nil && g.consumer != nil && g.consumer.members[c.member] != nil {
			w.say("%s is fenced", c.name)
			fx, _ := w.shard.Fence(w.now, "g", c.member)
			w.effects(fx)
		}
	case n < 93:
		fx, _ := w.shard.Rebalance(w.now, "g", "the test wants one")
		w.effects(fx)
	case n < 94 && c.waiting != 0:
		w.effects(w.shard.Unpark(w.now, c.waiting))
	case n < 95 && c.waiting != 0:
		w.effects(w.shard.GaveUp(w.now, c.waiting, time.Duration(n)*time.Millisecond))
	}
}

func (w *consumerSim) advance(d time.Duration) {
	end := w.now.Add(d)
	for now := range deadlines(w.shard, w.now, end) {
		w.now = now
		w.effects(w.shard.Tick(w.now))
		w.effects(w.shard.Flush(w.now))
	}
	w.now = end
}

// livedTwice says that the log has a group that Kafka forgot without a record, and its successor: epochs that go back tell where that one
// begins, unless a compaction takes them away. Kafka's own replay then takes the old target for the new group's.
func livedTwice(log []loggedRecord) bool {
	epochs := map[string]int32{}
	for _, r := range log {
		if typ, _, _, err := records.DecodeConsumerKey(r.Key); err != nil || typ != records.TypeConsumerGroup {
			continue
		}
		if r.Value == nil {
			delete(epochs, string(r.Key))
			continue
		}
		v, err := records.DecodeConsumerGroup(r.Value)
		if before, there := epochs[string(r.Key)]; err != nil || there && v.Epoch <= before {
			return true
		}
		epochs[string(r.Key)] = v.Epoch
	}
	return false
}

func (w *consumerSim) restart() {
	w.say("the coordinator restarts")
	w.effects(w.shard.Unload(w.now))
	// Half of the time from a log that was compacted: that is all the same to it, as check finds out.
	gone, compact := cleaned(w.log, w.rng.IntN(len(w.log)+1)), w.rng.IntN(2) == 0 && !livedTwice(w.log)
	w.shard = w.newShard()
	for i, r := range w.log {
		if !compact || !gone[i] {
			w.shard.Replay(int64(i), r.Record, r.producer)
		}
	}
	w.effects(w.shard.Loaded(w.now))
	for _, c := range w.clients {
		if c.waiting != 0 {
			c.waiting, c.full, c.tell = 0, true, true
		}
	}
}
