package broker

import (
	"github.com/fakekafka/fakekafka/fetchsession"
	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
)

// target is a partition as one fetch, or one fetch session, sees it.
type target struct {
	part   *fetchsession.Partition
	member *fetchsession.Member // nil outside a session
	early  wire.Code            // found before any log was touched, and not looked at again in this request
	p      *partition           // as last resolved; it may have been deleted since

	inbox *inbox // told when p changes
	place int    // 1 + its index among p's watchers, 0 if it isn't there; guarded by p.mu

	begin     partitionlog.Position // where the last read began
	counted   int64                 // bytes it adds to what a waiting fetch has
	countedIn uint32                // by which wait of the session
}

// release stops the watching.
func (t *target) release() {
	if p := t.p; p != nil {
		p.mu.Lock()
		p.unwatch(t)
		p.mu.Unlock()
	}
}

// result is what reading a target came to, beside its entry of the answer.
type result struct {
	bytes    int
	readable bool // records are there, whether or not the limits left room for them
}

// resolve finds a target's partition by what the cluster looks like now. Errors found here stand at the end of the answer and
// don't shorten the waiting: an id without a name, an unknown topic or partition.
func (f *fetching) resolve(t *target) wire.Code {
	m := f.r.cluster.meta.Load()
	if f.byID && t.part.Topic == "" {
		topic := m.ids[t.part.TopicID]
		if topic == nil {
			return wire.UnknownTopicID
		}
		t.part.Topic = topic.name // a session remembers it
	}
	p := m.partition(t.part.Topic, t.part.Partition)
	if p == nil {
		return wire.UnknownTopicOrPartition
	}
	if p != t.p {
		t.release()
		t.p = p
	}
	return wire.None
}

// start readies a target for a new request.
func (f *fetching) start(t *target) {
	t.early = wire.None
	if p := t.p; p == nil || p.deleted.Load() {
		t.early = f.resolve(t)
	}
}

// readAll reads f.targets in order into f.results and f.parts.
func (f *fetching) readAll() {
	n := len(f.targets)
	if cap(f.parts) < n {
		f.parts, f.results = make([]wire.FetchPartition, n), make([]result, n)
	}
	f.parts, f.results = f.parts[:n], f.results[:n]
	clear(f.results)
	clear(f.records)
	f.records = f.records[:0]
	f.bytes, f.settled, f.tried = 0, false, 0
	budget, first := f.maxBytes, true
	for i, t := range f.targets {
		res, part := &f.results[i], &f.parts[i]
		if t.early != wire.None {
			*part = wire.NewFetchPartition(t.part.Partition, t.early)
			part.AbortedTransactions = noneAborted
			continue
		}
		f.tried++
		f.read(t, part, res, min(int(t.part.MaxBytes), budget), first)
		if res.bytes > 0 {
			first = false
		}
		budget = max(0, budget-res.bytes)
		f.bytes += int64(res.bytes)
		if part.ErrorCode != wire.None || hint(part) {
			f.settled = true
		}
	}
}

// noneAborted is an empty list, where null would be something else.
var noneAborted = []wire.AbortedTransaction{}

// hint tells whether the answer sends the client elsewhere.
func hint(p *wire.FetchPartition) bool {
	return p.PreferredReadReplica >= 0 || p.DivergingEpoch.Epoch >= 0
}

// read reads one partition, in Kafka's order of checks.
func (f *fetching) read(t *target, out *wire.FetchPartition, res *result, limit int, first bool) {
	part := t.part
	if code := f.r.failedPartition(part.Topic, part.TopicID, part.Partition); code != wire.None {
		*out = wire.NewFetchPartition(part.Partition, code)
		return
	}
	p := t.p
	p.mu.Lock()
	for p.deleted.Load() {
		p.mu.Unlock()
		// It went while the request waited. Its name may stand for another partition by now.
		if p = f.r.cluster.meta.Load().partition(part.Topic, part.Partition); p == nil {
			*out = wire.NewFetchPartition(part.Partition, wire.UnknownTopicOrPartition)
			return
		}
		t.p = p
		p.mu.Lock()
	}
	defer p.mu.Unlock()

	s := p.state.Load()
	fail := func(c wire.Code) { f.fail(out, part.Partition, s, c) }
	if !s.hosted(f.r.node.id) {
		fail(wire.NotLeaderOrFollower)
		return
	}
	if f.byID && p.id != part.TopicID {
		fail(wire.InconsistentTopicID)
		return
	}
	if part.CurrentLeaderEpoch >= 0 {
		if c := s.checkLeaderEpoch(part.CurrentLeaderEpoch); c != wire.None {
			fail(c)
			return
		}
	}
	leads := s.leader == f.r.node.id
	if f.selector && leads {
		if id := f.preferredReadReplica(s, p.log.LogStart(), p.log.End(), part.FetchOffset); id >= 0 {
			*out = wire.NewFetchPartition(part.Partition, wire.None)
			out.HighWatermark, out.LastStableOffset, out.LogStartOffset = p.log.HighWatermark(), p.log.LastStable(), p.log.LogStart()
			out.PreferredReadReplica = id
			return
		}
	}
	if f.onlyLeader && !leads {
		fail(wire.NotLeaderOrFollower)
		return
	}
	if f.follower && (f.replica == s.leader || !s.hosted(f.replica)) {
		// Nobody knows this follower. One that knows the leader epoch must know something newer.
		if part.CurrentLeaderEpoch >= 0 {
			fail(wire.UnknownLeaderEpoch)
		} else {
			fail(wire.NotLeaderOrFollower)
		}
		return
	}
	before := len(f.records)
	o := f.options(part, leads)
	o.MaxBytes, o.First, o.Into = limit, first, f.records
	got := p.log.Read(o)
	t.begin = got.Start
	if got.Code != partitionlog.CodeNone {
		fail(wire.Code(got.Code))
		return
	}
	p.noteFetch(f.r, part.FetchOffset, f.session != nil)
	*out = wire.NewFetchPartition(part.Partition, wire.None)
	out.HighWatermark, out.LastStableOffset, out.LogStartOffset = got.HighWatermark, got.LastStable, got.LogStart
	if got.HasDiverging {
		out.DivergingEpoch = wire.EpochEndOffset(got.Diverging)
	}
	switch {
	case len(got.Aborted) > 0:
		out.AbortedTransactions = make([]wire.AbortedTransaction, len(got.Aborted))
		for i, a := range got.Aborted {
			out.AbortedTransactions[i] = wire.AbortedTransaction{ProducerID: a.ProducerID, FirstOffset: a.FirstOffset}
		}
	case got.Aborted != nil:
		out.AbortedTransactions = noneAborted
	}
	if len(got.Records) > before {
		out.Records = got.Records[before:len(got.Records):len(got.Records)]
		f.records = got.Records
	}
	res.bytes = got.Bytes
	end := got.HighWatermark
	if f.committed {
		end = got.LastStable
	}
	res.readable = part.FetchOffset < end
	if f.watches && !res.readable && res.bytes == 0 && !hint(out) {
		p.watch(t) // it has nothing more to say, so the next request need not look at it
	}
}

// options are what the log must know to read, without limits.
func (f *fetching) options(part *fetchsession.Partition, leads bool) partitionlog.ReadOptions {
	return partitionlog.ReadOptions{
		Offset: part.FetchOffset, ReadCommitted: f.committed, Follower: f.follower, FromFollower: !leads, Broker: f.r.node.id,
		CurrentLeaderEpoch: -1, // checked before, since a follower of the partition must answer it too
		LastFetchedEpoch:   part.LastFetchedEpoch,
	}
}

// fail is the answer of a partition whose reading failed.
func (f *fetching) fail(out *wire.FetchPartition, index int32, s *partitionState, code wire.Code) {
	*out = wire.NewFetchPartition(index, code)
	if f.r.version >= 16 && (code == wire.NotLeaderOrFollower || code == wire.FencedLeaderEpoch) {
		out.CurrentLeader = wire.LeaderIDAndEpoch{LeaderID: s.leader, LeaderEpoch: s.epoch}
	}
}
