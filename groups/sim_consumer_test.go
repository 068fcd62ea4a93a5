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

// simMember is one client, of either protocol.
type simMember struct {
	name     string
	instance *string
	classic  bool

	member  string // id
	running bool
	epoch   int32 // or generation; 0: has to join
	names   []string
	regex   string
	told    map[string][]int32
	owned   map[string][]int32
	tell    bool // must acknowledge
	full    bool // an answer was lost
	waiting Ticket
	rejoin  bool // classic
	synced  bool // classic
	leader  bool // classic: it has to hand out assignments
	members []kmsg.JoinGroupResponseMember
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
		c := &simMember{name: fmt.Sprintf("c%d", i)}
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
		Client: Client{ID: c.name, Host: "/127.0.0.1", Software: "apache-kafka-java", Principal: "User:ANONYMOUS"},
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
		*c = simMember{name: c.name, instance: c.instance, classic: c.classic}
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
	case n < 95 && c.waiting != 0:
		w.effects(w.shard.Unpark(w.now, c.waiting))
	}
}

func (w *consumerSim) subscribe(c *simMember) {
	c.names, c.regex = nil, ""
	switch w.rng.IntN(4) {
	case 0:
		c.names = []string{"foo"}
	case 1:
		c.names = []string{"foo", "bar"}
	case 2:
		c.regex = "foo|bar"
	case 3:
		c.names, c.regex = []string{"foo"}, "b.*"
	}
	if c.classic && c.names == nil {
		c.names = []string{"bar", "foo"}
	}
}

func (w *consumerSim) start(c *simMember) {
	w.seq++
	c.running, c.epoch, c.told, c.owned = true, 0, nil, nil
	c.member = ""
	if !c.classic {
		c.member = fmt.Sprintf("%s-%d", c.name, w.seq)
	}
	w.subscribe(c)
	w.live(c)
}

// live is what a running client does next.
func (w *consumerSim) live(c *simMember) {
	if c.waiting != 0 {
		if w.fault() {
			c.waiting = 0 // it gives up, and asks for everything
			c.full, c.tell = true, true
		}
		return
	}
	if c.classic {
		w.liveClassic(c)
		return
	}
	c.owned = c.told // callbacks are done
	w.beat(c)
}

func (w *consumerSim) beat(c *simMember) {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.MemberEpoch = 1, "g", c.member, c.epoch
	req.RebalanceTimeoutMillis = -1
	if c.instance != nil {
		req.InstanceID = c.instance
	}
	if c.epoch == 0 || c.full {
		req.RebalanceTimeoutMillis = 20_000
		req.SubscribedTopicNames = append([]string{}, c.names...)
		req.SubscribedTopicRegex = kmsg.StringPtr(c.regex)
	}
	if c.epoch == 0 || c.full || c.tell {
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		if c.epoch != 0 {
			for _, name := range sortedNames(c.owned) {
				if id, ok := w.idOf(name); ok {
					req.Topics = append(req.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: id, Partitions: c.owned[name]})
				}
			}
		}
	}
	w.say("%s beats: epoch %d full %v owned %v", c.name, req.MemberEpoch, c.full, showPartitions(c.owned))
	wasFull := c.full
	c.full, c.tell = false, false
	if w.fault() && w.rng.IntN(4) == 0 { // a slow one: it says nothing of what it owns
		req.Topics = nil
		if c.epoch == 0 {
			req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		} else {
			c.full = wasFull
			c.tell = true
		}
	}
	w.send(c, req, w.fault(), func(r kmsg.Response) {
		resp := r.(*kmsg.ConsumerGroupHeartbeatResponse)
		w.say("  %s: %s epoch %d", c.name, code(resp.ErrorCode), resp.MemberEpoch)
		switch resp.ErrorCode {
		case errNone:
			if resp.MemberEpoch < c.epoch {
				w.say("EPOCH WENT BACK for %s", c.name)
				w.epochs["back"] = 1
			}
			c.epoch = resp.MemberEpoch
			if resp.Assignment != nil {
				c.told = make(map[string][]int32)
				for _, t := range resp.Assignment.Topics {
					c.told[w.nameOf(t.TopicID)] = t.Partitions
				}
				// What is gone it stops to consume before it starts what is new.
				c.owned = intersect(c.owned, c.told)
				c.tell = true
			}
		case errFencedMemberEpoch, errUnknownMemberID:
			c.epoch, c.told, c.owned = 0, nil, nil
		case errNotCoordinator:
			c.full, c.tell = true, true
		case errGroupIDNotFound:
			c.epoch, c.told, c.owned = 0, nil, nil // fatal for a real one; here it tries again
		default: // fatal: FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID, ...
			*c = simMember{name: c.name, instance: c.instance, classic: c.classic}
		}
	})
}

func intersect(a, b map[string][]int32) map[string][]int32 {
	out := make(map[string][]int32)
	for name, parts := range a {
		for _, p := range parts {
			if slices.Contains(b[name], p) {
				out[name] = append(out[name], p)
			}
		}
	}
	return out
}

// Topics of the simulation are told apart by id, also after they were made anew.
func (w *consumerSim) nameOf(id assignors.TopicID) string { return string(id[:]) }
func (w *consumerSim) idOf(name string) (id assignors.TopicID, ok bool) {
	copy(id[:], name)
	return id, len(name) == len(id)
}

// liveClassic is a classic client of the cooperative protocol; in a classic group it may have to lead.
func (w *consumerSim) liveClassic(c *simMember) {
	switch {
	case c.epoch == 0 || c.rejoin:
		req := kmsg.NewPtrJoinGroupRequest()
		req.Version, req.Group, req.MemberID, req.InstanceID = 9, "g", c.member, c.instance
		req.SessionTimeoutMillis, req.RebalanceTimeoutMillis, req.ProtocolType = 10_000, 20_000, "consumer"
		sub := assignors.Subscription{Topics: c.names, Generation: -1}
		for name, parts := range c.owned {
			for _, p := range parts {
				sub.Owned = append(sub.Owned, assignors.TopicPartition{Topic: name, Partition: p})
			}
		}
		slices.SortFunc(sub.Owned, func(a, b assignors.TopicPartition) int { return strings.Compare(a.String(), b.String()) })
		metadata, _ := assignors.EncodeSubscription(sub, 1)
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = "range", metadata
		req.Protocols = append(req.Protocols, p)
		w.say("%s joins: owned %v", c.name, showPartitions(c.owned))
		w.send(c, req, w.fault(), func(r kmsg.Response) {
			resp := r.(*kmsg.JoinGroupResponse)
			w.say("  %s: %s generation %d", c.name, code(resp.ErrorCode), resp.Generation)
			switch resp.ErrorCode {
			case errNone:
				c.member, c.epoch, c.rejoin, c.synced = resp.MemberID, resp.Generation, false, false
				c.leader, c.members = resp.LeaderID == resp.MemberID && len(resp.Members) > 0, resp.Members
			case errMemberIDRequired:
				c.member = resp.MemberID
			case errRebalanceInProgress, errNotCoordinator:
			default:
				w.loseClassic(c)
			}
		})
	case !c.synced:
		req := kmsg.NewPtrSyncGroupRequest()
		req.Version, req.Group, req.MemberID, req.InstanceID, req.Generation = 5, "g", c.member, c.instance, c.epoch
		req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
		if c.leader {
			for i, m := range c.members {
				sa := kmsg.NewSyncGroupRequestGroupAssignment()
				sa.MemberID = m.MemberID
				assigned := map[string][]int32{}
				for _, name := range []string{"bar", "foo"} {
					for p := range w.meta.byName[name].Partitions {
						if int(p)%len(c.members) == i {
							assigned[name] = append(assigned[name], p)
						}
					}
				}
				sa.MemberAssignment = assignmentBytes(assigned)
				req.GroupAssignment = append(req.GroupAssignment, sa)
			}
		}
		w.say("%s syncs", c.name)
		w.send(c, req, w.fault(), func(r kmsg.Response) {
			resp := r.(*kmsg.SyncGroupResponse)
			w.say("  %s: %s", c.name, code(resp.ErrorCode))
			switch resp.ErrorCode {
			case errNone:
				told, _ := assignedPartitions(resp.MemberAssignment)
				for name, parts := range c.owned {
					for _, p := range parts {
						if !slices.Contains(told[name], p) {
							c.rejoin = true
						}
					}
				}
				c.owned, c.synced = told, true
			case errRebalanceInProgress:
				c.rejoin = true
			case errNotCoordinator:
			default:
				w.loseClassic(c)
			}
		})
	default:
		req := kmsg.NewPtrHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.InstanceID, req.Generation = 4, "g", c.member, c.instance, c.epoch
		w.send(c, req, w.fault(), func(r kmsg.Response) {
			resp := r.(*kmsg.HeartbeatResponse)
			w.say("  %s: heartbeat %s", c.name, code(resp.ErrorCode))
			switch resp.ErrorCode {
			case errNone, errNotCoordinator:
			case errRebalanceInProgress:
				c.rejoin = true
			default:
				w.loseClassic(c)
			}
		})
	}
}

func (w *consumerSim) loseClassic(c *simMember) {
	c.epoch, c.owned, c.rejoin, c.synced, c.member = 0, nil, false, false, ""
}

func (w *consumerSim) leave(c *simMember) {
	if c.classic {
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Version, req.Group = 5, "g"
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID, m.InstanceID = c.member, c.instance
		req.Members = append(req.Members, m)
		w.say("%s leaves", c.name)
		w.send(c, req, false, func(kmsg.Response) {})
	} else {
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.MemberEpoch, req.InstanceID = 1, "g", c.member, -1, c.instance
		if c.instance != nil && w.rng.IntN(2) == 0 {
			req.MemberEpoch = -2
		}
		w.say("%s leaves with %d", c.name, req.MemberEpoch)
		w.send(c, req, false, func(kmsg.Response) {})
	}
	*c = simMember{name: c.name, instance: c.instance, classic: c.classic}
}

func (w *consumerSim) advance(d time.Duration) {
	end := w.now.Add(d)
	for {
		at, ok := w.shard.Deadline()
		if !ok || at.After(end) {
			break
		}
		if at.After(w.now) {
			w.now = at
		}
		w.effects(w.shard.Tick(w.now))
		w.effects(w.shard.Flush(w.now))
	}
	w.now = end
}

func (w *consumerSim) restart() {
	w.say("the coordinator restarts")
	w.effects(w.shard.Unload(w.now))
	// Half of the time from a log that was compacted: that is all the same to it, as check finds out.
	gone, compact := overwritten(w.log), w.rng.IntN(2) == 0
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

func (w *consumerSim) check() error {
	if err := checkIndexes(w.shard); err != nil {
		return err
	}
	if w.epochs["back"] != 0 {
		return fmt.Errorf("a member epoch went back")
	}
	if w.step%7 == 0 {
		for ; w.shadowed < len(w.log); w.shadowed++ {
			r := w.log[w.shadowed]
			w.shadow.Replay(int64(w.shadowed), r.Record, r.producer)
		}
		if live, replayed := durable(w.shard), durable(w.shadow); live != replayed {
			return fmt.Errorf("the replayed state differs from the live one\nlive:\n%s\nreplayed:\n%s", live, replayed)
		}
	}
	g := w.shard.groups["g"]
	if g == nil || g.consumer == nil {
		return nil
	}
	for _, c := range w.clients {
		m := g.consumer.members[c.member]
		if c.classic || m == nil || c.epoch == 0 || m.epoch == epochLeaveStatic {
			continue
		}
		for name, parts := range c.owned {
			id, _ := w.idOf(name)
			for _, p := range parts {
				if !m.assigned.has(id, p) && !m.pending.has(id, p) {
					return fmt.Errorf("%s consumes partition %d of %x, which is not its own", c.name, p, id)
				}
			}
		}
	}
	return nil
}

// settled says what keeps the group from being so that everybody has all it shall have; "" if nothing does.
func (w *consumerSim) settled() string {
	g := w.shard.groups["g"]
	if g == nil {
		return "no group"
	}
	if g.classic != nil {
		if g.classic.state != classicStable {
			return "the classic group is " + string(g.classic.state)
		}
		for _, c := range w.clients {
			if c.running && !c.classic && w.cfg.ConsumerMigrationPolicy != "upgrade" && w.cfg.ConsumerMigrationPolicy != "bidirectional" {
				return "" // those can't join: nothing more to expect
			}
		}
	}
	for _, c := range w.clients {
		if !c.running {
			continue
		}
		if g.consumer != nil {
			if c.classic && w.cfg.ConsumerMigrationPolicy == "disabled" {
				continue
			}
			m := g.consumer.members[c.member]
			if m == nil {
				return c.name + " is not a member"
			}
			if !g.consumer.settled(m) {
				return c.name + " is " + m.state.String()
			}
			if !equalSets(m.assigned.partitions(), g.consumer.target[m.id]) {
				return c.name + " does not have its target"
			}
			if !c.classic {
				mine := make(partitionSet)
				for name, parts := range c.owned {
					id, _ := w.idOf(name)
					mine[id] = slices.Sorted(slices.Values(parts))
				}
				if !equalSets(mine, g.consumer.target[m.id]) {
					return c.name + " does not know its target"
				}
			}
		} else if g.classic.members[c.member] == nil {
			return c.name + " is not a member of the classic group"
		}
	}
	if g.consumer == nil {
		return ""
	}
	if g.consumer.classicMembers == len(g.consumer.members) && g.consumer.groupEpoch > g.consumer.assignmentEpoch && !w.cfg.Prompt {
		return "" // classic heartbeats don't run the assignor: so it stays until somebody joins
	}
	if state := g.consumer.stateName(); state != "Stable" && state != "Empty" {
		return "the group is " + state
	}
	for _, name := range g.consumer.subscribedTopics() {
		t, ok := w.meta.Topic(name)
		for p := range t.Partitions {
			if ok && g.consumer.free(t.ID, p) {
				return fmt.Sprintf("nobody has %s-%d", name, p)
			}
		}
	}
	return ""
}

// equalSets compares two sets; a topic without partitions is as good as none.
func equalSets(a, b partitionSet) bool {
	return within(a, b) && within(b, a)
}

func within(a, b partitionSet) bool {
	for id, parts := range a {
		if len(parts) > 0 && !slices.Equal(parts, b[id]) {
			return false
		}
	}
	return true
}
