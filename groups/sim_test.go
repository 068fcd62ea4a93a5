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

	"github.com/fakekafka/fakekafka/assignors"
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
		for i, rec := range r.log {
			if rec.marker {
				r.shard.ReplayMarker(int64(i), rec.producer, rec.commit)
			} else {
				r.shard.Replay(int64(i), rec.Record, rec.producer)
			}
		}
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
	r.effects(r.shard.CompleteTransaction(r.now, producer, 0, commit, at))
	r.compare()
}

// compare holds the live durable state to the replayed one.
func (r *simRun) compare() {
	if live, replayed := durable(r.shard), durable(r.shadow); live != replayed {
		r.fail("the replayed state differs from the live one\nlive:\n%s\nreplayed:\n%s", live, replayed)
	}
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

// check are the invariants.
func (r *simRun) check() {
	g := r.shard.groups[simGroup]
	if g == nil || g.classic == nil {
		r.generation = 0
		return
	}
	c := g.classic
	if v := c.synced; v != nil {
		if v.Generation < r.generation {
			r.fail("the durable generation went back from %d to %d", r.generation, v.Generation)
		}
		r.generation = v.Generation
	}
	if c.generation < r.generation {
		r.fail("the group is at generation %d, its log at %d", c.generation, r.generation)
	}
	if c.joining != countMembers(c, func(m *classicMember) bool { return m.join != nil }) {
		r.fail("%d parked joins are counted wrongly", c.joining)
	}
	for _, m := range c.order {
		if m.join != nil && c.state != classicPreparing && !c.secondRound.running || m.sync != nil && c.state != classicCompleting && !c.secondRound.running {
			r.fail("a request of %s waits for nothing in state %s (join %t, sync %t)", m.id, c.state, m.join != nil, m.sync != nil)
		}
		if m.beat != nil && c.state != classicStable && r.shard.deaf(m) <= 0 && r.now.Before(m.beat.timer.at) {
			r.fail("a heartbeat of %s waits in state %s", m.id, c.state)
		}
	}
	if c.state == classicStable {
		r.checkStable(c)
	}
	r.checkOwners(c)
}

func countMembers(c *classicGroup, is func(*classicMember) bool) int {
	n := 0
	for _, m := range c.order {
		if is(m) {
			n++
		}
	}
	return n
}

// checkStable compares a Stable group with its last sync.
func (r *simRun) checkStable(c *classicGroup) {
	if c.synced.Generation != c.generation || len(c.synced.Members) != len(c.members) {
		r.fail("the group is Stable at generation %d with %d members, its last sync at %d with %d",
			c.generation, len(c.members), c.synced.Generation, len(c.synced.Members))
		return
	}
	owner := map[topicPartition]string{}
	for _, vm := range c.synced.Members {
		m := c.members[vm.ID]
		if m == nil || string(m.assignment) != string(vm.Assignment) {
			r.fail("member %s has not what the last sync says", vm.ID)
			return
		}
		assigned, _ := assignedPartitions(m.assignment)
		for topic, partitions := range assigned {
			for _, p := range partitions {
				tp := topicPartition{topic, p}
				if owner[tp] != "" {
					r.fail("generation %d gives %s-%d to both %s and %s", c.generation, topic, p, owner[tp], m.id)
				}
				owner[tp] = m.id
			}
		}
		for _, client := range r.clients {
			if client.member == m.id && client.ownedGen == c.generation && !sameOwned(client.owned, assigned) {
				r.fail("%s owns %v by generation %d, but was assigned %v", client.name, client.owned, c.generation, assigned)
			}
		}
	}
}

func sameOwned(owned map[topicPartition]bool, assigned map[string][]int32) bool {
	n := 0
	for topic, partitions := range assigned {
		for _, p := range partitions {
			n++
			if !owned[topicPartition{topic, p}] {
				return false
			}
		}
	}
	return n == len(owned)
}

// checkOwners looks for partitions with two owners.
func (r *simRun) checkOwners(c *classicGroup) {
	for i, a := range r.clients {
		for _, b := range r.clients[i+1:] {
			if !a.running || !b.running {
				continue
			}
			same := a.ownedGen >= 0 && a.ownedGen == b.ownedGen
			both := r.settings.calm && c.generation > 0 && a.gen == c.generation && b.gen == c.generation
			if !same && !both {
				continue
			}
			for tp := range a.owned {
				if b.owned[tp] {
					r.fail("both %s (generation %d) and %s (generation %d) own %s-%d", a.name, a.ownedGen, b.name, b.ownedGen, tp.topic, tp.partition)
				}
			}
		}
	}
}

// converged says that nothing is left to happen: the group is Stable, its members are the running clients, and together they
// own every partition they know of.
func (r *simRun) converged() bool {
	running := 0
	owned := map[topicPartition]bool{}
	for _, c := range r.clients {
		if !c.running {
			continue
		}
		running++
		if c.state != simStable {
			return false
		}
		for tp := range c.owned {
			owned[tp] = true
		}
	}
	g := r.shard.groups[simGroup]
	if running == 0 {
		return g == nil || g.classic.state == classicEmpty
	}
	if g == nil || g.classic.state != classicStable || len(g.classic.members) != running {
		return false
	}
	for _, c := range r.clients {
		if c.running && (g.classic.members[c.member] == nil || c.ownedGen != g.classic.generation) {
			return false
		}
	}
	if len(owned) < int(r.settings.partitions)+2 {
		r.fail("the group is stable, but only %d of %d partitions are owned", len(owned), r.settings.partitions+2)
	}
	return true
}

// simClient behaves as a consumer of the classic protocol does.
type simClient struct {
	r           *simRun
	name        string
	instance    *string
	software    string
	cooperative bool
	session     time.Duration

	running  bool
	state    simState
	life     int // grows with each start and each rejoin; callbacks of an older one are void
	member   string
	gen      int32
	owned    map[topicPartition]bool
	ownedGen int32 // the generation by which it owns them
	leading  int32
	assign   []kmsg.SyncGroupRequestGroupAssignment
	beat     *simCall

	silentUntil, lossyUntil time.Time
}

type simState uint8

const (
	simOff simState = iota
	simJoining
	simSyncing
	simStable
)

// simCall is one request and what becomes of its answer.
type simCall struct {
	c        *simClient
	life     int
	ticket   Ticket
	answered bool
	done     bool
	onReply  func(kmsg.Response)
}

func (call *simCall) deliver(resp kmsg.Response) {
	if call.done || call.life != call.c.life || !call.c.running || call.c.r.err != nil {
		return
	}
	call.done = true
	call.onReply(resp)
	call.c.r.check()
}

// send sends a request; onTimeout is called if no answer comes within limit.
func (c *simClient) send(req kmsg.Request, limit time.Duration, onReply func(kmsg.Response), onTimeout func()) *simCall {
	r := c.r
	call := &simCall{c: c, life: c.life, onReply: onReply}
	if r.lost(c) {
		r.say("%s of %s is lost", kmsg.NameForKey(req.Key()), c.name)
	} else {
		r.after(r.latency(c), func() { r.arrive(call, req) })
	}
	r.after(limit, func() {
		if !call.done && call.life == c.life && c.running {
			call.done = true
			onTimeout()
		}
	})
	return call
}

func (r *simRun) arrive(call *simCall, req kmsg.Request) {
	if r.err != nil {
		return
	}
	if beat := call.c.beat; beat != nil && beat != call && !beat.answered && beat.ticket != 0 {
		r.effects(r.shard.Unpark(r.now, beat.ticket)) // the connection has another frame
	}
	r.ticket++
	call.ticket = r.ticket
	r.tickets[r.ticket] = call
	r.effects(r.shard.Handle(r.now, Command{Ticket: r.ticket, Client: Client{ID: call.c.name, Host: "/127.0.0.1", Software: call.c.software}, Request: req}))
	r.effects(r.shard.Flush(r.now))
	r.check()
}

func (c *simClient) startUp() {
	c.running = true
	c.member, c.gen, c.leading = "", -1, 0
	c.lose()
	c.join()
}

// shutDown ends the process, with or without a LeaveGroup.
func (c *simClient) shutDown(leave bool) {
	if !c.running {
		return
	}
	if leave && c.member != "" && c.instance == nil {
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Version, req.Group = 5, simGroup
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = c.member
		req.Members = append(req.Members, m)
		c.send(req, time.Minute, func(kmsg.Response) {}, func() {})
	}
	c.running, c.state = false, simOff
	c.life++
	c.lose()
}

// lose gives up everything: the member is out of the group.
func (c *simClient) lose() { c.owned, c.ownedGen = map[topicPartition]bool{}, -1 }

func (c *simClient) restart(memberID string) {
	c.lose()
	c.member = memberID
	c.join()
}

func (c *simClient) retry(again func()) {
	life := c.life
	c.r.after(100*time.Millisecond, func() {
		if c.running && c.life == life {
			again()
		}
	})
}

// join begins a rejoin. An eager member gives everything up before it.
func (c *simClient) join() {
	c.life++
	c.beat = nil
	c.state = simJoining
	if !c.cooperative {
		c.lose()
	}
	c.sendJoin()
}

func (c *simClient) sendJoin() {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID, req.ProtocolType = 9, simGroup, c.member, c.instance, "consumer"
	req.SessionTimeoutMillis = int32(c.session.Milliseconds())
	req.RebalanceTimeoutMillis = 10_000
	sub := assignors.Subscription{Topics: []string{"bar", "foo"}, Generation: c.ownedGen}
	if c.cooperative {
		for _, tp := range sortedOwned(c.owned) {
			sub.Owned = append(sub.Owned, assignors.TopicPartition{Topic: tp.topic, Partition: tp.partition})
		}
		sub.UserData = assignors.EncodeCooperativeUserData(c.ownedGen)
	}
	metadata, err := assignors.EncodeSubscription(sub, 3)
	if err != nil {
		c.r.fail("%v", err)
		return
	}
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = c.r.settings.style, metadata
	req.Protocols = append(req.Protocols, p)
	c.send(req, 15*time.Second, func(resp kmsg.Response) { c.joined(resp.(*kmsg.JoinGroupResponse)) }, c.join)
}

func sortedOwned(owned map[topicPartition]bool) []topicPartition {
	keys := make([]topicPartition, 0, len(owned))
	for tp := range owned {
		keys = append(keys, tp)
	}
	slices.SortFunc(keys, compareTopicPartitions)
	return keys
}

func (c *simClient) joined(resp *kmsg.JoinGroupResponse) {
	switch resp.ErrorCode {
	case errNone:
		c.gen, c.member = resp.Generation, resp.MemberID
		c.assign = nil
		if resp.LeaderID == resp.MemberID && !resp.SkipAssignment {
			c.assign = c.compute(resp)
		}
		c.state = simSyncing
		c.sync(*resp.Protocol)
	case errMemberIDRequired:
		c.member = resp.MemberID
		c.sendJoin()
	case errUnknownMemberID:
		c.restart("")
	case errFencedInstanceID:
		// Only a crashed predecessor can be fenced here: there is one client an instance id.
		c.restart("")
	case errNotCoordinator, errCoordinatorNotAvailable, errCoordinatorLoadInProgress, errRebalanceInProgress:
		c.retry(c.join)
	default:
		c.r.fail("%s: JoinGroup answered %s", c.name, code(resp.ErrorCode))
	}
}

// compute is what the leader does.
func (c *simClient) compute(resp *kmsg.JoinGroupResponse) []kmsg.SyncGroupRequestGroupAssignment {
	assignor, err := assignors.Named(*resp.Protocol)
	if err != nil {
		c.r.fail("%v", err)
		return nil
	}
	g := assignors.Group{Topics: map[string]assignors.Topic{}, LedGeneration: c.leading}
	for _, name := range c.r.meta.TopicNames() {
		t, _ := c.r.meta.Topic(name)
		g.Topics[name] = assignors.Topic{Partitions: t.Partitions}
	}
	for _, m := range resp.Members {
		sub, err := assignors.DecodeSubscription(m.ProtocolMetadata)
		if err != nil {
			c.r.fail("the leader can't read the metadata of %s: %v", m.MemberID, err)
			return nil
		}
		g.Members = append(g.Members, assignors.Member{ID: m.MemberID, InstanceID: m.InstanceID, Subscription: sub})
	}
	out, err := assignor.Assign(g)
	if err != nil {
		c.r.fail("%v", err)
		return nil
	}
	c.leading = max(c.leading, resp.Generation)
	var list []kmsg.SyncGroupRequestGroupAssignment
	for _, m := range resp.Members {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID = m.MemberID
		a.MemberAssignment, _ = assignors.EncodeAssignment(assignors.Assignment{Partitions: out[m.MemberID]}, 3)
		list = append(list, a)
	}
	return list
}

func (c *simClient) sync(protocol string) {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID, req.Generation = 5, simGroup, c.member, c.instance, c.gen
	req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), &protocol
	req.GroupAssignment = c.assign
	again := func() { c.sync(protocol) }
	c.send(req, 5*time.Second, func(resp kmsg.Response) { c.synced(resp.(*kmsg.SyncGroupResponse), again) }, again)
}

func (c *simClient) synced(resp *kmsg.SyncGroupResponse, again func()) {
	switch resp.ErrorCode {
	case errNone:
		assigned, ok := assignedPartitions(resp.MemberAssignment)
		if !ok {
			c.r.fail("%s got an assignment it can't read", c.name)
			return
		}
		before := c.owned
		c.owned, c.ownedGen = map[topicPartition]bool{}, c.gen
		for topic, partitions := range assigned {
			for _, p := range partitions {
				c.owned[topicPartition{topic, p}] = true
			}
		}
		c.r.say("%s owns %s by generation %d", c.name, showPartitions(assigned), c.gen)
		for tp := range before {
			if !c.owned[tp] {
				c.join() // KIP-429: who gave something up rejoins at once
				return
			}
		}
		c.state = simStable
		c.heartbeat()
	case errUnknownMemberID, errFencedInstanceID:
		c.restart("")
	case errIllegalGeneration:
		c.restart(c.member)
	case errRebalanceInProgress:
		c.join()
	case errNotCoordinator, errCoordinatorNotAvailable, errCoordinatorLoadInProgress:
		c.retry(again)
	default:
		c.r.fail("%s: SyncGroup answered %s", c.name, code(resp.ErrorCode))
	}
}

// heartbeat sends the next one after the interval.
func (c *simClient) heartbeat() {
	life := c.life
	c.r.after(time.Second, func() {
		if !c.running || c.life != life {
			return
		}
		req := kmsg.NewPtrHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.InstanceID, req.Generation = 4, simGroup, c.member, c.instance, c.gen
		c.beat = c.send(req, 10*time.Second, func(resp kmsg.Response) {
			switch said := resp.(*kmsg.HeartbeatResponse).ErrorCode; said {
			case errNone, errNotCoordinator:
				c.heartbeat()
			case errRebalanceInProgress:
				c.join()
			case errUnknownMemberID, errFencedInstanceID:
				c.restart("")
			case errIllegalGeneration:
				c.restart(c.member)
			default:
				c.r.fail("%s: Heartbeat answered %s", c.name, code(said))
			}
		}, c.heartbeat)
	})
}

func (c *simClient) commit() {
	if !c.running || c.state != simStable {
		return
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID, req.Generation = 9, simGroup, c.member, c.instance, c.gen
	for _, tp := range sortedOwned(c.owned) {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic = tp.topic
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = tp.partition, int64(c.r.rng.IntN(1000))
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
	}
	c.send(req, 10*time.Second, func(kmsg.Response) {}, func() {})
}

// txnCommit commits in a transaction whose producer id is the client's number.
func (c *simClient) txnCommit() {
	if !c.running || c.state != simStable {
		return
	}
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID, req.Generation = 3, simGroup, c.member, c.instance, c.gen
	req.ProducerID = int64(slices.Index(c.r.clients, c))
	for _, tp := range sortedOwned(c.owned) {
		t := kmsg.NewTxnOffsetCommitRequestTopic()
		t.Topic = tp.topic
		p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = tp.partition, int64(c.r.rng.IntN(1000))
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
	}
	c.send(req, 10*time.Second, func(kmsg.Response) {}, func() {})
}
