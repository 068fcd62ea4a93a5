package broker

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/javatext"
	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
)

// coordinator drives the group shards: one for each partition of __consumer_offsets, on the node that leads it.
// Everything here runs on the control loop.
type coordinator struct {
	c      *Cluster
	shards map[int32]*shard
	order  []int32 // the shards' partitions, ascending
	config groups.Config
	// consumerProtocol: group.coordinator.rebalance.protocols has KIP-848. It never changes, and is read off the loop.
	consumerProtocol bool
	dirty            map[int32]struct{}  // shards that handled something in this turn
	voices           map[memberKey]voice // who speaks for a member
	// handling is the request in a shard's Handle, whose events tell for whom it speaks; nil between two of them.
	handling *waitingRequest
	scripts  scripts
	// What the test has ordered for groups. A coordinator that takes a group over obeys it, too.
	holds    map[string][]groups.Step
	expected map[string]Expectation
	// steering is what the test has asked of the groups of a partition whose coordinator is moving.
	steering map[int32]groups.Steering
}

// shard is a group shard and the requests that wait in it.
type shard struct {
	*groups.Shard
	partition int32
	log       *partition // that partition
	node      int32      // the coordinator: leader of the partition
	waiting   map[groups.Ticket]*waitingRequest
	seed      rand.PCG  // of random
	random    rand.Rand // the shard's
}

func newCoordinator(c *Cluster) *coordinator {
	co := &coordinator{
		c: c, shards: map[int32]*shard{}, dirty: map[int32]struct{}{}, voices: map[memberKey]voice{},
		holds: map[string][]groups.Step{}, expected: map[string]Expectation{}, steering: map[int32]groups.Steering{},
	}
	co.config = co.readConfig()
	co.consumerProtocol = co.config.ConsumerProtocol
	return co
}

// readConfig gathers what the shards must know of the settings and the options.
func (co *coordinator) readConfig() groups.Config {
	o := &co.c.options
	cfg := co.c.derived(co.c.nodes[0].id).groups
	cfg.Prompt = !o.KafkaTimings
	_, cfg.InitialRebalanceDelaySet = o.Config["group.initial.rebalance.delay.ms"]
	_, cfg.ConsumerHeartbeatSet = o.Config["group.consumer.heartbeat.interval.ms"]
	_, cfg.ConsumerAssignmentSet = o.Config["group.consumer.assignment.interval.ms"]
	cfg.GroupConfig = co.c.config.GroupSetting
	for _, a := range o.Assignors {
		cfg.Assignors = append(cfg.Assignors, guardAssignor(co.c, a))
	}
	return cfg
}

// serverAssignor is one of Kafka's own, by its name or its class's.
func serverAssignor(name string) assignors.ServerAssignor {
	switch name {
	case "uniform", "org.apache.kafka.coordinator.group.assignor.UniformAssignor":
		return assignors.NewUniform()
	case "range", "org.apache.kafka.coordinator.group.assignor.RangeAssignor":
		return assignors.NewServerRange()
	}
	return nil
}

func (co *coordinator) configChanged() {
	co.config = co.readConfig()
	for _, p := range co.order {
		co.shards[p].SetConfig(co.config)
	}
}

// groupPartition is the partition of __consumer_offsets that holds a group: the absolute value of Java's string hash, modulo.
func groupPartition(group string, partitions int) int32 {
	h := javatext.HashCode(group)
	if h == -1<<31 {
		h = 0
	} else if h < 0 {
		h = -h
	}
	return h % int32(partitions)
}

// partitionOf is the partition of __consumer_offsets that holds a group. While there is no such topic, it is that of
// one with as many partitions as the settings of the asked node give it.
func (co *coordinator) partitionOf(node int32, group string) int32 {
	if t := co.c.meta.Load().topics[offsetsTopic]; t != nil {
		return groupPartition(group, len(t.partitions))
	}
	return groupPartition(group, int(co.c.settings(node).Int32("offsets.topic.num.partitions")))
}

// shardOf finds the shard of a group on a node. The code is NOT_COORDINATOR where the node doesn't coordinate it, or there
// is no __consumer_offsets yet.
func (co *coordinator) shardOf(node int32, group string) (*shard, wire.Code) {
	sh := co.shards[co.partitionOf(node, group)]
	if sh == nil || sh.node != node {
		return nil, wire.NotCoordinator
	}
	return sh, wire.None
}

// metadataChanged follows the leaders of __consumer_offsets and shows the shards the new picture.
func (co *coordinator) metadataChanged(now time.Time) {
	m := co.c.meta.Load()
	t := m.topics[offsetsTopic]
	for _, index := range co.order {
		if sh := co.shards[index]; t.partition(index) != sh.log { // the topic was deleted, and perhaps made anew
			co.unload(now, sh)
		}
	}
	if t != nil {
		for _, p := range t.partitions {
			co.follow(now, p)
		}
	}
	for _, p := range co.order {
		sh := co.shards[p]
		co.dirty[p] = struct{}{} // held heartbeats may have news
		sh.SetReadOnly(sh.log.underMinISR())
		co.apply(now, sh, sh.MetadataChanged(now, groupsMetadata{m}))
	}
	co.scripts.topicsChanged()
}

// follow makes the leader of a partition of __consumer_offsets its coordinator.
func (co *coordinator) follow(now time.Time, p *partition) {
	leader := p.state.Load().leader
	sh := co.shards[p.index]
	if sh != nil && sh.node == leader {
		return
	}
	if sh != nil {
		co.unload(now, sh)
	}
	if leader >= 0 {
		co.load(now, p, leader)
	}
}

func (co *coordinator) unload(now time.Time, sh *shard) {
	co.apply(now, sh, sh.Unload(now))
	for _, w := range co.sortedWaiting(sh) {
		w.tell(groups.Refuse(w.body, int16(wire.NotCoordinator)))
	}
	co.steering[sh.partition] = sh.Steering()
	delete(co.shards, sh.partition)
	co.order = sortedKeys(co.shards)
}

// load replays the partition's log into a fresh shard.
func (co *coordinator) load(now time.Time, p *partition, node int32) {
	sh := &shard{partition: p.index, log: p, node: node, waiting: map[groups.Ticket]*waitingRequest{}}
	sh.seed.Seed(co.c.rand.Uint64(), uint64(p.index))
	sh.random = *rand.New(&sh.seed)
	sh.Shard = groups.NewShard(co.config, groups.Deps{
		Partition: p.index,
		Rand:      &sh.random,
		Metadata:  groupsMetadata{co.c.meta.Load()},

		MaxBatchBytes: p.maxBatchBytes,
	})
	if err := co.replay(p, sh.Shard); err != nil {
		co.c.bug("the log of %s-%d can't be read back: %v", offsetsTopic, p.index, err)
	}
	sh.SetReadOnly(p.underMinISR())
	sh.Resteer(co.steering[p.index])
	delete(co.steering, p.index)
	co.reorder(now, sh)
	co.shards[p.index] = sh
	if i, there := slices.BinarySearch(co.order, p.index); !there {
		co.order = slices.Insert(co.order, i, p.index)
	}
	co.apply(now, sh, sh.Loaded(now))
}

// replay feeds a partition's log to a shard.
func (co *coordinator) replay(p *partition, s *groups.Shard) error {
	return p.eachRecord(co.c.loopCodecs(), func(r partitionlog.Record) error {
		if r.Control {
			if m, ok := partitionlog.ParseMarker(r); ok {
				s.ReplayMarker(r.Offset, r.ProducerID, m.Commit)
			}
			return nil
		}
		producer := int64(-1)
		if r.Transactional {
			producer = r.ProducerID
		}
		s.Replay(r.Offset, groups.Record{Key: r.Key, Value: r.Value}, producer)
		return nil
	})
}

// apply does what a step of a shard asks for: write, answer, tell.
func (co *coordinator) apply(now time.Time, sh *shard, e groups.Effects) {
	for _, b := range e.Batches {
		co.write(now, sh, b)
	}
	for i := range e.Events { // before the answers: a client fetches what it is told to own at once
		ev := &e.Events[i]
		co.noteVoice(ev)
		if ev.Kind == groups.EventAssigned {
			co.c.assigned(*ev)
		}
	}
	var refused []groups.Event
	for _, r := range e.Replies {
		if w := sh.waiting[r.Ticket]; w != nil {
			delete(sh.waiting, r.Ticket)
			if ev, ok := refusal(w.body, r.Response); ok {
				co.unheard(w)
				ev.At, ev.ClientID = now, w.client.ID
				refused = append(refused, ev)
			}
			w.tell(r.Response)
		}
	}
	for _, ev := range e.Events {
		co.c.history.add(ev)
		switch ev.Kind {
		case groups.EventExpectationLimit:
			expected := co.expected[ev.Group]
			expected.Missed = ev.Cause
			co.expected[ev.Group] = expected
		case groups.EventExpectationMet:
			delete(co.expected, ev.Group)
		}
		co.scripts.see(ev)
	}
	for _, ev := range refused { // after the news of this step that may be why
		if !co.c.history.repeats(ev) {
			co.c.history.add(ev)
		}
	}
	sh.Recycle(e)
}

func (co *coordinator) write(now time.Time, sh *shard, b groups.Batch) {
	recs := make([]partitionlog.Record, len(b.Records))
	for i, r := range b.Records {
		recs[i] = partitionlog.Record{Timestamp: now.UnixMilli(), Key: r.Key, Value: r.Value}
	}
	o := partitionlog.BatchOptions{
		Codecs: co.c.loopCodecs(), Codec: co.c.derived(sh.node).offsetsCodec,
		Idempotent: true, ProducerID: -1, ProducerEpoch: -1, // Kafka's coordinator has a base sequence of 0 without a producer, too
	}
	if b.ProducerID >= 0 {
		o.Transactional, o.ProducerID, o.ProducerEpoch = true, b.ProducerID, b.ProducerEpoch
	}
	batch, err := partitionlog.BuildBatch(recs, o)
	if err == nil {
		err = sh.log.appendInternal(now, batch)
	}
	if err != nil {
		co.c.bug("a batch of %d records can't be written to %s-%d: %v", len(recs), offsetsTopic, sh.partition, err)
	}
}

func (co *coordinator) flush(now time.Time) {
	if len(co.dirty) == 0 {
		return
	}
	for _, p := range sortedKeys(co.dirty) {
		delete(co.dirty, p)
		if sh := co.shards[p]; sh != nil {
			co.apply(now, sh, sh.Flush(now))
		}
	}
}

func (co *coordinator) deadline() (at time.Time, ok bool) {
	for _, p := range co.order {
		if d, has := co.shards[p].Deadline(); has && (!ok || d.Before(at)) {
			at, ok = d, true
		}
	}
	return at, ok
}

// tick fires the due timers, of all shards the earliest first.
func (co *coordinator) tick(now time.Time) {
	for {
		var next *shard
		var at time.Time
		for _, p := range co.order {
			sh := co.shards[p]
			if d, has := sh.Deadline(); has && !d.After(now) && (next == nil || d.Before(at)) {
				next, at = sh, d
			}
		}
		if next == nil {
			return
		}
		co.scripts.keepAlive(now, next, co.voices)
		co.apply(now, next, next.Tick(now))
		co.apply(now, next, next.Flush(now))
	}
}
