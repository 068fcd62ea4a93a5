package broker

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fetchsession"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// Fetch, v4-18. v5 log start offsets, v7 sessions (KIP-227), v9 leader epoch check, v11 preferred read replica (KIP-392),
// v12 diverging epochs, v13 topic ids, v15 replica state, v16 leader hints (KIP-951).
//
// Here a request becomes a list of partitions and the results become an answer; fetch_read.go reads, fetch_wait.go waits,
// fetch_sessions.go keeps the sessions.

// fetching is one Fetch under way. A connection has one and uses its memory again.
type fetching struct {
	r         *request
	byID      bool // v13+
	follower  bool // replica id >= 0
	replica   int32
	committed bool // a consumer that reads committed records only
	// onlyLeader: followers, and consumers before v11, may only read from the leader.
	onlyLeader bool
	selector   bool // a replica selector may send the consumer elsewhere
	rack       string
	reading    fetchsession.Reading
	maxWait    time.Duration
	minBytes   int64
	maxBytes   int

	sessions *fetchSessions
	session  *openSession
	targets  []*target
	box      *inbox                // told when targets change
	watches  bool                  // targets that have nothing to say watch their partition, for the session
	parts    []wire.FetchPartition // what reading the targets came to
	results  []result
	bytes    int64 // read
	tried    int   // targets without an early error
	settled  bool  // something other than bytes asks for an answer

	// while it waits
	wake      chan struct{}
	timer     *time.Timer
	sum       int64
	waitID    uint32
	overtaken bool
	emptied   bool   // the request that overtook it left the session without partitions, which ended it
	own       *inbox // after it was overtaken

	// memory
	list     []fetchsession.Partition
	memory   []target
	records  [][]byte
	spare    []*target
	order    []int
	named    []wire.FetchPartition
	topics   []wire.FetchTopic
	response wire.FetchResponse
}

func (r *request) fetch() (answer, error) {
	req := r.body.(*kmsg.FetchRequest)
	f := r.newFetching(req)
	defer f.forget()
	id, epoch := req.SessionID, req.SessionEpoch
	if r.version < 7 {
		id, epoch = fetchsession.NoSession, fetchsession.FinalEpoch
	}
	f.sessions = r.node.sessions.Load()
	kind := fetchsession.KindOf(epoch)
	if kind == fetchsession.Incremental {
		return f.incremental(req, id, epoch)
	}
	if !f.sessions.close(id, "closed by its client") {
		return errorForm(r, wire.UnknownServerError), nil
	}
	return f.full(req, kind)
}

func (r *request) newFetching(req *kmsg.FetchRequest) *fetching {
	f := &r.conn.fetching
	replica := req.ReplicaID
	if r.version >= 15 {
		replica = req.ReplicaState.ID
	}
	settings := r.cluster.settings(r.node.id)
	clear(f.parts) // of the last request
	f.r, f.session, f.overtaken, f.emptied, f.own = r, nil, false, false, nil
	f.byID = r.version >= 13
	f.follower, f.replica = replica >= 0, replica
	f.committed = req.IsolationLevel == 1 && !f.follower
	f.onlyLeader = f.follower || r.version < 11
	f.rack = req.Rack
	f.reading = fetchsession.Reading{Version: r.version, Isolation: req.IsolationLevel, Rack: req.Rack, Replica: replica}
	f.selector = r.version >= 11 && !f.follower && r.node.selectsReplicas()
	f.maxWait = time.Duration(req.MaxWaitMillis) * time.Millisecond
	f.maxBytes = int(min(req.MaxBytes, settings.Int32("fetch.max.bytes")))
	f.minBytes = min(int64(req.MinBytes), int64(f.maxBytes))
	return f
}

// forget lets go of what the request held, but for memory to be used again.
func (f *fetching) forget() {
	f.r, f.sessions, f.session, f.own, f.box, f.named = nil, nil, nil, nil, nil, nil
	if len(f.targets) > 1024 { // a full request of a large consumer, not to be kept for the life of the connection
		f.list, f.memory, f.targets, f.parts, f.results, f.order, f.spare = nil, nil, nil, nil, nil, nil, nil
	}
	clear(f.targets)
}

// partitions reads the request's list. Topics named by id get their names, where they have one.
func (f *fetching) partitions(req *kmsg.FetchRequest) []fetchsession.Partition {
	m := f.r.cluster.meta.Load()
	n := 0
	for i := range req.Topics {
		n += len(req.Topics[i].Partitions)
	}
	list := f.list[:0]
	if cap(list) < n {
		list = make([]fetchsession.Partition, 0, n)
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		name := t.Topic
		if f.byID {
			name = ""
			if known := m.ids[t.TopicID]; known != nil {
				name = known.name
			}
		}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			list = append(list, fetchsession.Partition{
				Topic: name, TopicID: t.TopicID, Partition: p.Partition,
				FetchOffset: p.FetchOffset, LogStartOffset: p.LogStartOffset, MaxBytes: p.PartitionMaxBytes,
				CurrentLeaderEpoch: p.CurrentLeaderEpoch, LastFetchedEpoch: p.LastFetchedEpoch,
			})
		}
	}
	f.list = list
	return list
}

func forgotten(req *kmsg.FetchRequest) []fetchsession.Partition {
	var list []fetchsession.Partition
	for i := range req.ForgottenTopics {
		t := &req.ForgottenTopics[i]
		for _, p := range t.Partitions {
			list = append(list, fetchsession.Partition{Topic: t.Topic, TopicID: t.TopicID, Partition: p})
		}
	}
	return list
}

// validIsolation: the levels that exist. Another one fails a request that has something to read, after the session's epoch has moved on.
func validIsolation(level int8) bool { return level == 0 || level == 1 }

// full answers all partitions of the request, and may open a session.
func (f *fetching) full(req *kmsg.FetchRequest, kind fetchsession.Kind) (answer, error) {
	list := fetchsession.Merge(f.partitions(req), f.byID)
	opening := &openSession{}
	f.box = &opening.inbox
	targets := f.memory
	if f.watches = kind == fetchsession.Full; f.watches || cap(targets) < len(list) {
		// If a session is opened the targets will be its own, so that its first request need not look at what has nothing to say.
		targets = make([]target, len(list))
	}
	targets = targets[:len(list)]
	f.targets = slices.Grow(f.targets[:0], len(list))
	for i := range list {
		targets[i] = target{part: &list[i], inbox: f.box}
		f.targets = append(f.targets, &targets[i])
		f.start(&targets[i])
	}
	if !validIsolation(req.IsolationLevel) && f.reads() {
		f.release()
		return errorForm(f.r, wire.UnknownServerError), nil
	}
	f.readAll()
	if !f.answerNow() {
		if err := f.wait(); err != nil {
			f.release()
			return nil, err
		}
		f.readAll()
	}

	if !f.build(func(int) bool { return true }) {
		f.release()
		return errorForm(f.r, wire.UnknownServerError), nil
	}
	id := fetchsession.NoSession
	if kind == fetchsession.Full {
		id = f.open(opening)
	} else {
		sh := f.sessions.shardOf(fetchsession.NoSession)
		sh.mu.Lock()
		sh.CountFull(f.r.client)
		sh.mu.Unlock()
	}
	if id == fetchsession.NoSession {
		if f.watches {
			f.release()
		}
		clear(targets)
		f.memory = targets
	}
	return f.end(id), nil
}

// open opens a session for a full answer, in the shard whose turn it is. It returns the session's id, 0 when there was no room.
func (f *fetching) open(o *openSession) int32 {
	sh := f.sessions.shard(fetchsession.ShardForTurn(f.sessions.turn.Add(1) - 1))
	fill := func(i int, m *fetchsession.Member) fetchsession.Result {
		at := f.order[i]
		t := f.targets[at]
		m.Partition, m.Watch = *t.part, t
		t.part, t.member = &m.Partition, m
		return f.result(at)
	}
	sh.mu.Lock()
	sh.CountFull(f.r.client)
	opened, evicted := sh.Open(f.r.cluster.clock.Now(), f.r.client, f.follower, f.byID, len(f.targets),
		func(s *fetchsession.Session) {
			s.Holder, o.s = o, s
			s.StartReading(f.reading)
		}, fill)
	sh.mu.Unlock()
	f.sessions.gone(evicted, "evicted for another one")
	if opened == nil {
		return fetchsession.NoSession
	}
	f.sessions.tell(EventSessionOpened, opened, fmt.Sprintf("%d partitions", len(f.targets)))
	return opened.ID()
}

// result is what a session must know of what was read.
func (f *fetching) result(i int) fetchsession.Result {
	p := &f.parts[i]
	return fetchsession.Result{
		HighWatermark: p.HighWatermark, LogStart: p.LogStartOffset, Bytes: f.results[i].bytes,
		Error: p.ErrorCode != wire.None, Hint: hint(p), Readable: f.results[i].readable,
	}
}

// release stops the watching of a request whose targets are its own.
func (f *fetching) release() {
	for _, t := range f.targets {
		t.release()
	}
}

// incremental changes and reads a session.
func (f *fetching) incremental(req *kmsg.FetchRequest, id, epoch int32) (answer, error) {
	sh := f.sessions.shardOf(id)
	if sh == nil {
		return errorForm(f.r, wire.UnknownServerError), nil
	}
	named, left := f.partitions(req), forgotten(req)

	sh.mu.Lock()
	s := sh.Session(id)
	var o *openSession
	var overtaken *fetching
	if s != nil {
		o = s.Holder.(*openSession)
		o.mu.Lock()
		if o.waiter != nil && s.Epoch() == epoch && s.ByTopicID() == f.byID {
			overtaken = o.waiter
			overtaken.overtake()
		}
	}
	gone, empty, code := sh.Use(s, f.r.cluster.clock.Now(), f.r.client, epoch, f.byID, named, left)
	sh.mu.Unlock()

	if code != fetchsession.OK {
		if o != nil {
			o.mu.Unlock()
		}
		return f.sessionError(wire.Code(code), fetchsession.NoSession), nil
	}
	for _, m := range gone {
		release(m)
	}
	if empty {
		if overtaken != nil {
			overtaken.emptied = true
		}
		o.mu.Unlock()
		f.sessions.gone(s, "its client forgot the last partition")
		return f.full(req, fetchsession.Sessionless)
	}
	f.session, f.box, f.watches = o, &o.inbox, true
	a, err := f.incrementalAnswer(req, epoch)
	if o.closed && o.waiter == nil {
		o.release()
	}
	o.mu.Unlock()
	if f.overtaken && !f.emptied && err == nil {
		sh.mu.Lock()
		sh.CountOvertaken(f.r.client)
		sh.mu.Unlock()
	}
	return a, err
}

// incrementalAnswer reads what is due in the session and answers it. With the session's lock.
func (f *fetching) incrementalAnswer(req *kmsg.FetchRequest, epoch int32) (answer, error) {
	o := f.session
	if !validIsolation(req.IsolationLevel) {
		o.s.TouchAll() // each member counts, due or not
		f.takeDue()
		for _, t := range f.targets {
			f.start(t)
		}
		if f.reads() {
			return errorForm(f.r, wire.UnknownServerError), nil
		}
	}
	o.s.StartReading(f.reading)
	if f.maxBytes < 0 || f.r.fails != nil {
		o.s.TouchAll() // the limit fails the first member of all, due or not
	}
	f.takeDue()
	for _, t := range f.targets {
		f.start(t)
	}
	f.readAll()
	if !f.answerNow() {
		if err := f.wait(); err != nil {
			return nil, err
		}
		switch {
		case f.emptied: // the epoch is still its own, but of its partitions none is left to be named
			return f.sessionError(wire.None, o.s.ID()), nil
		case f.overtaken:
			return f.sessionError(wire.InvalidFetchSessionEpoch, o.s.ID()), nil
		}
		f.takeDue()
		f.readAll()
	}

	if !f.build(func(i int) bool { return o.s.Answer(f.targets[i].member, f.result(i)) }) {
		o.s.TouchAll() // what was read has not been answered
		return errorForm(f.r, wire.UnknownServerError), nil
	}
	return f.end(o.s.ID()), nil
}

// reads reports whether there is something to read among the targets, which have been started.
func (f *fetching) reads() bool {
	return slices.ContainsFunc(f.targets, func(t *target) bool { return t.early == wire.None })
}

// takeDue makes the session's due members the targets.
func (f *fetching) takeDue() {
	f.session.drain(nil)
	f.targets = f.targets[:0]
	for _, m := range f.session.s.Due() {
		f.targets = append(f.targets, f.targetOf(m))
	}
}

// sessionError is an answer without partitions.
func (f *fetching) sessionError(code wire.Code, session int32) answer {
	f.response = wire.FetchResponse{ErrorCode: code, SessionID: session}
	return &f.response
}

// build makes the answer of the results that are named, in the order of the list, then the early errors: to a consumer first
// those of unknown ids, as they are found first. Neighbours of the same topic share an entry. It answers false, with nothing done, when the request fails.
func (f *fetching) build(named func(i int) bool) bool {
	f.order = slices.Grow(f.order[:0], len(f.targets))
	for i, t := range f.targets {
		if t.early == wire.None {
			f.order = append(f.order, i)
		}
	}
	out := f.parts[:0] // in place, which needs their order
	if len(f.order) < len(f.targets) {
		out = make([]wire.FetchPartition, 0, len(f.parts))
		for i, t := range f.targets {
			if t.early != wire.None && (t.early == wire.UnknownTopicID || f.follower) {
				f.order = append(f.order, i)
			}
		}
		for i, t := range f.targets {
			if t.early != wire.None && t.early != wire.UnknownTopicID && !f.follower {
				f.order = append(f.order, i)
			}
		}
	}
	if f.zeroIDBreaks() {
		return false
	}
	f.response = wire.FetchResponse{}
	f.topics = f.topics[:0]
	for _, i := range f.order {
		if !named(i) {
			continue
		}
		out = append(out, f.parts[i])
		at, part := len(out)-1, f.targets[i].part
		if n := len(f.topics); n > 0 {
			last := &f.topics[n-1]
			if f.byID && last.TopicID == part.TopicID || !f.byID && last.Topic == part.Topic {
				last.Partitions = out[at-len(last.Partitions) : at+1]
				continue
			}
		}
		f.topics = append(f.topics, wire.FetchTopic{Topic: part.Topic, TopicID: part.TopicID, Partitions: out[at : at+1]})
	}
	f.named = out
	return true
}

// zeroIDBreaks: where Kafka compares a partition's topic with that of the one before and that has the zero id, it goes by names,
// of which there are none. So a partition of the zero id has an answer only as the last of all; else the request fails.
func (f *fetching) zeroIDBreaks() bool {
	if !f.byID {
		return false
	}
	for n := len(f.order) - 1; n >= 0 && f.targets[f.order[n]].early != wire.None; n-- { // no topic has this id
		if n < len(f.order)-1 && f.targets[f.order[n]].part.TopicID == [16]byte{} {
			return true
		}
	}
	return false
}

// end completes the answer.
func (f *fetching) end(session int32) answer {
	if f.r.version < 12 { // a session remembers what a request of v12 asked for; Kafka fails when it writes that
		for i := range f.named {
			if f.named[i].DivergingEpoch != (wire.EpochEndOffset{Epoch: -1, EndOffset: -1}) {
				return errorForm(f.r, wire.UnsupportedVersion)
			}
		}
	}
	f.response.SessionID = session
	f.response.Topics = f.topics
	if f.r.version >= 16 && !f.follower { // a follower knows the brokers
		var nodes hintedNodes
		m := f.r.cluster.meta.Load()
		for i := range f.named {
			if id := f.named[i].CurrentLeader.LeaderID; id >= 0 {
				nodes.add(m, id)
			}
		}
		for _, n := range nodes {
			f.response.NodeEndpoints = append(f.response.NodeEndpoints, wire.FetchNode{NodeID: n.id, Host: f.r.brokerHost(n), Port: n.port, Rack: n.rack})
		}
	}
	return &f.response
}
