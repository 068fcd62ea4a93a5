package broker

import (
	"fmt"
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
	committed bool // a consumer that reads committed records only
	// onlyLeader: followers, and consumers before v11, may only read from the leader.
	onlyLeader bool
	selector   bool // a replica selector may send the consumer elsewhere
	rack       string
	maxWait    time.Duration
	minBytes   int64
	maxBytes   int

	sessions *fetchSessions
	session  *openSession
	targets  []*target
	results  []result
	bytes    int64 // read
	tried    int   // results without an early error
	settled  bool  // something other than bytes asks for an answer

	// while it waits
	wake      chan struct{}
	timer     *time.Timer
	sum       int64
	waitID    uint32
	overtaken bool
	own       *inbox // after it was overtaken

	// memory
	list     []fetchsession.Partition
	memory   []target
	records  [][]byte
	spare    []*target
	parts    []wire.FetchPartition
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
	f.r, f.session, f.overtaken, f.own = r, nil, false, nil
	f.byID = r.version >= 13
	f.follower = replica >= 0
	f.committed = req.IsolationLevel == 1 && !f.follower
	f.onlyLeader = f.follower || r.version < 11
	f.rack = req.Rack
	f.selector = r.version >= 11 && !f.follower && r.node.selectsReplicas()
	f.maxWait = time.Duration(req.MaxWaitMillis) * time.Millisecond
	f.maxBytes = int(min(req.MaxBytes, settings.Int32("fetch.max.bytes")))
	f.minBytes = min(int64(req.MinBytes), int64(f.maxBytes))
	return f
}

// forget lets go of what the request held, but for memory to be used again.
func (f *fetching) forget() {
	f.r, f.sessions, f.session, f.own = nil, nil, nil, nil
	if cap(f.results) > 1024 { // a full request of a large consumer, not to be kept for the life of the connection
		f.list, f.memory, f.targets, f.results, f.spare = nil, nil, nil, nil, nil
	}
	clear(f.targets)
	clear(f.results)
}

// partitions reads the request's list. Topics named by id get their names, where they have one.
func (f *fetching) partitions(req *kmsg.FetchRequest) []fetchsession.Partition {
	m := f.r.cluster.meta.Load()
	list := f.list[:0]
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

// validIsolation: the levels that exist. Another one fails the request, but only after the session's epoch has moved on.
func validIsolation(level int8) bool { return level == 0 || level == 1 }

// full answers all partitions of the request, and may open a session.
func (f *fetching) full(req *kmsg.FetchRequest, kind fetchsession.Kind) (answer, error) {
	if !validIsolation(req.IsolationLevel) {
		return errorForm(f.r, wire.UnknownServerError), nil
	}
	list := fetchsession.Merge(f.partitions(req), f.byID)
	if cap(f.memory) < len(list) {
		f.memory = make([]target, len(list))
	}
	f.memory = f.memory[:len(list)]
	f.targets = f.targets[:0]
	for i := range list {
		f.memory[i] = target{part: &list[i]}
		f.targets = append(f.targets, &f.memory[i])
		f.start(&f.memory[i])
	}
	f.readAll()
	if !f.answerNow() {
		if err := f.wait(); err != nil {
			return nil, err
		}
		f.readAll()
	}

	f.begin(len(f.results))
	id := fetchsession.NoSession
	var members []fetchsession.Answered
	if kind == fetchsession.Full {
		members = make([]fetchsession.Answered, 0, len(f.results))
	}
	f.inAnswerOrder(func(r *result) {
		f.name(r)
		if kind == fetchsession.Full {
			members = append(members, fetchsession.Answered{
				Partition: *r.t.part, HighWatermark: r.part.HighWatermark, LogStart: r.part.LogStartOffset,
			})
		}
	})
	if kind == fetchsession.Full {
		id = f.open(members)
	} else {
		sh := f.sessions.shardOf(fetchsession.NoSession)
		sh.mu.Lock()
		sh.CountFull(f.r.client)
		sh.mu.Unlock()
	}
	return f.end(id), nil
}

// open opens a session for a full answer, in the shard whose turn it is. It returns the session's id, 0 when there was no
// room.
func (f *fetching) open(members []fetchsession.Answered) int32 {
	sh := &f.sessions.shards[fetchsession.ShardForTurn(f.sessions.turn.Add(1)-1)]
	sh.mu.Lock()
	sh.CountFull(f.r.client)
	opened, evicted := sh.Open(f.r.cluster.clock.Now(), f.r.client, f.follower, f.byID, members, func(s *fetchsession.Session) {
		s.Holder = &openSession{s: s}
	})
	sh.mu.Unlock()
	f.sessions.gone(evicted, "evicted for another one")
	if opened == nil {
		return fetchsession.NoSession
	}
	f.sessions.tell(EventSessionOpened, opened, fmt.Sprintf("%d partitions", len(members)))
	return opened.ID()
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
	if s != nil {
		o = s.Holder.(*openSession)
		o.mu.Lock()
		if o.waiter != nil && s.Epoch() == epoch && s.ByTopicID() == f.byID {
			o.waiter.overtake()
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
		o.mu.Unlock()
		f.sessions.gone(s, "its client forgot the last partition")
		return f.full(req, fetchsession.Sessionless)
	}
	f.session = o
	a, err := f.incrementalAnswer(req, epoch)
	if o.closed && o.waiter == nil {
		o.release()
	}
	o.mu.Unlock()
	if f.overtaken && err == nil {
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
		return errorForm(f.r, wire.UnknownServerError), nil
	}
	o.s.StartReading(fetchsession.Reading{Version: f.r.version, Isolation: req.IsolationLevel, Rack: f.rack})
	if f.maxBytes < 0 {
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
		if f.overtaken {
			return f.sessionError(wire.InvalidFetchSessionEpoch, o.s.ID()), nil
		}
		f.takeDue()
		f.readAll()
	}

	f.begin(len(f.results))
	f.inAnswerOrder(func(r *result) {
		named := o.s.Answer(r.t.member, fetchsession.Result{
			HighWatermark: r.part.HighWatermark, LogStart: r.part.LogStartOffset, Bytes: r.bytes,
			Error: r.part.ErrorCode != wire.None, Hint: r.hint(), Readable: r.readable,
		})
		if named {
			f.name(r)
		}
	})
	return f.end(o.s.ID()), nil
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

// inAnswerOrder goes through the results: the order of the list, then the early errors.
func (f *fetching) inAnswerOrder(each func(*result)) {
	for i := range f.results {
		if f.results[i].t.early == wire.None {
			each(&f.results[i])
		}
	}
	if f.tried == len(f.results) {
		return
	}
	for i := range f.results {
		if f.results[i].t.early != wire.None {
			each(&f.results[i])
		}
	}
}

// begin starts an answer of at most n partitions.
func (f *fetching) begin(n int) {
	if cap(f.parts) < n || cap(f.parts) > 1024+2*n {
		f.parts = make([]wire.FetchPartition, 0, n)
	}
	f.parts, f.topics = f.parts[:0], f.topics[:0]
	f.response = wire.FetchResponse{}
}

// name puts a partition into the answer. Neighbours of the same topic share an entry.
func (f *fetching) name(r *result) {
	f.parts = append(f.parts, r.part)
	at := len(f.parts) - 1
	if n := len(f.topics); n > 0 {
		last := &f.topics[n-1]
		if f.byID && last.TopicID == r.t.part.TopicID || !f.byID && last.Topic == r.t.part.Topic {
			last.Partitions = f.parts[at-len(last.Partitions) : at+1]
			return
		}
	}
	f.topics = append(f.topics, wire.FetchTopic{Topic: r.t.part.Topic, TopicID: r.t.part.TopicID, Partitions: f.parts[at : at+1]})
}

// end completes the answer.
func (f *fetching) end(session int32) answer {
	f.response.SessionID = session
	f.response.Topics = f.topics
	if f.r.version >= 16 {
		var nodes hintedNodes
		m := f.r.cluster.meta.Load()
		for i := range f.parts {
			if id := f.parts[i].CurrentLeader.LeaderID; id >= 0 {
				nodes.add(m, id)
			}
		}
		for _, n := range nodes {
			f.response.NodeEndpoints = append(f.response.NodeEndpoints, wire.FetchNode{NodeID: n.id, Host: n.host, Port: n.port, Rack: n.rack})
		}
	}
	return &f.response
}
