package broker

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// A scripted member is a member of a group without a client: a small state machine on the control loop that sends the requests a
// well-behaved client would send, or those the test asks for. It has no goroutine and no socket. script_classic.go and script_consumer.go
// are the two protocols.

// ScriptSpec is what a scripted member is; it doesn't change.
type ScriptSpec struct {
	Client     string
	Instance   string // "": a dynamic member
	Topics     []string
	Regex      string // KIP-848 only
	Consumer   bool   // KIP-848 instead of the classic protocol
	Assignors  []string
	Rack       string
	Session    time.Duration // classic only: in KIP-848 the broker says
	Rebalance  time.Duration
	ByHand     bool // does nothing by itself
	KeepOnLoss bool // doesn't give up what it is told to revoke
}

// scriptPhase is where a script believes to stand.
type scriptPhase uint8

const (
	scriptOut     scriptPhase = iota // no member
	scriptJoined                     // classic: has a generation and is to sync
	scriptIn                         // has its assignment
	scriptGone                       // left, for good or until it is told to return
	scriptStopped                    // an answer left it without a next step: err says which
)

// Script is one scripted member. Everything in it is owned by the control loop.
type Script struct {
	c     *Cluster
	group string
	spec  ScriptSpec

	phase    scriptPhase
	id       string // member id
	epoch    int32  // generation or member epoch
	leader   *kmsg.JoinGroupResponse
	protocol string
	owned    map[string][]int32
	told     map[string][]int32 // KIP-848: what it shall own, while it refuses to give the rest up; nil: no such thing
	counts   map[string]int     // the leader's view of the topics when it assigned
	err      error

	silent  bool
	leaving bool // its LeaveGroup is under way
	refuses bool // doesn't give up what it is told to revoke

	standing standing
	flying   bool          // a request of the autopilot has no answer yet
	late     kmsg.Response // an answer that came while it was paused or silent
	news     bool          // something may have changed: a heartbeat would tell
	rejoins  bool
	tells    bool // KIP-848: what it owns has changed, its next heartbeat says so
	queued   bool
	again    time.Time // after a lost answer or a retriable error
}

// scripts are all scripted members and those that have something to do.
type scripts struct {
	byGroup map[string][]*Script
	ready   []*Script
	waiting []*Script // for a time to come (again)
	flights flights
}

// StoppedScripts says of a group's scripted members which have stopped, and why.
func (c *Cluster) StoppedScripts(group string) (stopped []string) {
	c.loop.look(func() {
		for _, s := range c.groups.scripts.byGroup[group] {
			if s.err != nil {
				stopped = append(stopped, fmt.Sprintf("%s has stopped: %v", s.spec.Client, s.err))
			}
		}
	})
	return stopped
}

// errNoScript is the error of whatever is asked of a member that could not join, for the reason told then.
var errNoScript = errors.New("this member could not join")

// retryAfter is how long a script waits before it repeats a request, in the broker's time: retry.backoff.ms of the clients.
const retryAfter = 100 * time.Millisecond

// AddScripts makes members join a group, all in one step of the loop, in their order.
func (c *Cluster) AddScripts(group string, specs []ScriptSpec) ([]*Script, error) {
	list := make([]*Script, len(specs))
	for i, spec := range specs {
		list[i] = &Script{c: c, group: group, spec: spec, refuses: spec.KeepOnLoss, owned: map[string][]int32{}}
	}
	ok := c.loop.do(func() {
		c.createInternal(offsetsTopic)
		co := c.groups
		if co.scripts.byGroup == nil {
			co.scripts.byGroup = map[string][]*Script{}
		}
		co.scripts.byGroup[group] = append(co.scripts.byGroup[group], list...)
		for _, s := range list {
			co.scripts.wake(s)
		}
		c.endTurn(c.clock.Now())
	})
	if !ok {
		return nil, errClosed
	}
	c.Rest()
	return list, nil
}

// wake puts a script in the queue of those that look for something to do.
func (ss *scripts) wake(s *Script) {
	if !s.queued {
		s.queued = true
		ss.ready = append(ss.ready, s)
	}
}

// see tells the scripts of a group what happened in it: what a heartbeat would tell them.
func (ss *scripts) see(ev groups.Event) {
	list := ss.byGroup[ev.Group]
	if len(list) == 0 {
		return
	}
	if ev.Kind == groups.EventLoaded { // there is somebody to ask again
		for _, s := range list {
			s.again = time.Time{}
		}
	}
	switch ev.Kind {
	case groups.EventRebalance, groups.EventTarget, groups.EventEpoch, groups.EventRevoked, groups.EventLoaded, groups.EventConverted:
		for _, s := range list {
			ss.tell(s)
		}
	case groups.EventExpired, groups.EventEvicted, groups.EventLeft:
		for _, s := range list {
			if s.spec.Consumer || s.id == ev.Member { // what it had may be free now
				ss.tell(s)
			}
		}
	}
}

func (ss *scripts) tell(s *Script) {
	s.news = true
	ss.wake(s)
}

// topicsChanged tells the scripts that the picture of the topics is another one.
func (ss *scripts) topicsChanged() {
	for _, group := range sortedKeys(ss.byGroup) {
		for _, s := range ss.byGroup[group] {
			if s.spec.Consumer {
				ss.tell(s)
			} else {
				s.lookAtTopics()
			}
		}
	}
}

// resumed lets everybody look who may have been paused.
func (ss *scripts) resumed() {
	for _, group := range sortedKeys(ss.byGroup) {
		for _, s := range ss.byGroup[group] {
			ss.tell(s)
		}
	}
}

// keepAlive counts as heartbeats of the living scripts whose session would end now: they send none by the clock.
func (ss *scripts) keepAlive(now time.Time, sh *shard, voices map[memberKey]voice) {
	if len(ss.byGroup) == 0 {
		return
	}
	for {
		t, ok := sh.NextTimer(func(t groups.Timer) bool {
			if t.Kind != "session" || t.Deadline.After(now) {
				return false
			}
			s, scripted := voices[memberKey{t.Group, t.Member}].(*Script)
			return scripted && s.alive()
		})
		if !ok {
			return
		}
		sh.Touch(now, t.Group, t.Member)
	}
}

// deadline is when a script wants to repeat something.
func (ss *scripts) deadline() (at time.Time, ok bool) {
	for _, s := range ss.waiting {
		if !ok || s.again.Before(at) {
			at, ok = s.again, true
		}
	}
	return at, ok
}

// tick wakes those whose time has come.
func (ss *scripts) tick(now time.Time) {
	kept := ss.waiting[:0]
	for _, s := range ss.waiting {
		if s.again.After(now) {
			kept = append(kept, s)
			continue
		}
		s.again = time.Time{}
		ss.tell(s)
	}
	clear(ss.waiting[len(kept):])
	ss.waiting = kept
}

// maxScriptSteps bounds what scripts do without any time passing; nothing well-behaved comes near it.
const maxScriptSteps = 1 << 20

// settle lets the scripts act until none has anything to do, and the shards finish what that began.
func (co *coordinator) settle(now time.Time) {
	for n := 0; len(co.scripts.ready) > 0; {
		for len(co.scripts.ready) > 0 {
			list := co.scripts.ready
			co.scripts.ready = nil
			for _, s := range list {
				s.queued = false
				s.act()
			}
			if n += len(list); n > maxScriptSteps {
				co.c.bug("the scripted members of %q don't come to rest", list[0].group)
				co.scripts.ready = nil
				return
			}
		}
		co.flush(now)
	}
}

// alive tells whether the member can be heard.
func (s *Script) alive() bool {
	return s.phase != scriptGone && !s.silent && !s.standing.heartbeat() && !s.paused(wire.Heartbeat)
}

// acts is false for one that has nothing under way: it has done already what it will do by itself.
func (s *Script) acts() bool { return s.alive() && s.flying && s.standing.Load() == 0 }

func (s *Script) paused(key wire.Key) bool {
	return s.c.pauses.at(s.spec.Client, s.node(), key) != nil
}

// node is the group's coordinator, 0 while there is none.
func (s *Script) node() int32 {
	t := s.c.meta.Load().topics[offsetsTopic]
	if t == nil {
		return 0
	}
	if sh := s.c.groups.shards[groupPartition(s.group, len(t.partitions))]; sh != nil {
		return sh.node
	}
	return 0
}

// act does the next thing, if there is one. On the loop.
func (s *Script) act() {
	if s.silent || s.node() == 0 || s.paused(wire.Heartbeat) {
		return // what ends that wakes it
	}
	if s.late != nil {
		resp := s.late
		s.late = nil
		s.take(resp)
	}
	if s.flying || s.leaving || s.phase == scriptGone || s.phase == scriptStopped || !s.again.IsZero() || s.spec.ByHand {
		return
	}
	var req kmsg.Request
	if s.spec.Consumer {
		req = s.nextConsumer()
	} else {
		req = s.nextClassic()
	}
	if req != nil {
		s.send(req)
	}
}

// send gives a request of the autopilot to the coordinator: at once, or past the rules of the test if one may be meant for it.
func (s *Script) send(req kmsg.Request) {
	s.flying = true
	r := s.request(req)
	if s.c.rules.mayTake(r) {
		s.c.groups.scripts.flights.takeOff(s, r)
		return
	}
	s.c.ended.add(r)
	w := &waitingRequest{body: req, client: r.groupClient(), voice: s, script: s}
	s.c.groups.handle(w, r.node.id, s.group)
	if w.bears > 0 { // under a manual clock nothing else ends this wait
		s.c.afterReal(w.bears, func() { s.c.groups.endWait(w, s.group) })
	}
}

// request dresses a request as if it had come from a client.
func (s *Script) request(req kmsg.Request) *request {
	node := s.c.nodeByID(s.node())
	return &request{
		conn:    &conn{cluster: s.c, node: node, host: "/127.0.0.1", done: s.c.closing, ahead: make(chan frameOrError, 1), requests: &s.c.ended, standing: &s.standing},
		cluster: s.c, node: node, key: wire.Key(req.Key()), version: req.GetVersion(), client: s.spec.Client, body: req, script: s,
	}
}

// hear takes an answer; one that comes while it hangs is looked at later. On the loop.
func (s *Script) hear(resp kmsg.Response) {
	if s.silent || s.paused(wire.Heartbeat) {
		s.late = resp
		return
	}
	s.take(resp)
	s.c.groups.scripts.wake(s)
}

// take follows an answer of a request of the autopilot.
func (s *Script) take(resp kmsg.Response) {
	s.flying = false
	switch resp := resp.(type) {
	case *kmsg.JoinGroupResponse:
		s.joined(resp)
	case *kmsg.SyncGroupResponse:
		s.synced(resp)
	case *kmsg.HeartbeatResponse:
		s.beaten(wire.Code(resp.ErrorCode))
	case *kmsg.ConsumerGroupHeartbeatResponse:
		s.beatenConsumer(resp)
	}
}

// lost is a request without an answer: its client would connect anew and repeat it.
func (s *Script) lost() {
	s.flying = false
	s.later()
}

// later repeats what is to be done after a while.
func (s *Script) later() {
	if s.again.IsZero() {
		s.again = s.c.clock.Now().Add(retryAfter)
		s.c.groups.scripts.waiting = append(s.c.groups.scripts.waiting, s)
	}
}

// stop ends the autopilot: there is nothing that a client would do about this answer.
func (s *Script) stop(api wire.Key, code wire.Code, text *string) {
	s.phase = scriptStopped
	s.err = fmt.Errorf("%s was answered %s", api, code)
	if text != nil && *text != "" {
		s.err = fmt.Errorf("%s was answered %s: %s", api, code, *text)
	}
}

// retriable tells whether the coordinator is only not there just now.
func retriable(code wire.Code) bool {
	switch code {
	case wire.NotCoordinator, wire.CoordinatorNotAvailable, wire.CoordinatorLoadInProgress:
		return true
	}
	return false
}

// topicsOf are the subscribed topics that exist, with their numbers of partitions.
func (s *Script) topicsOf(names []string) map[string]assignors.Topic {
	m := s.c.meta.Load()
	known := map[string]assignors.Topic{}
	for _, name := range names {
		if t, ok := (groupsMetadata{m}).Topic(name); ok {
			known[name] = assignors.Topic{Partitions: t.Partitions, ID: t.ID, Racks: t.Racks}
		}
	}
	return known
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// ScriptState is what a scripted member believes.
type ScriptState struct {
	ID    string
	Epoch int32
	Owned map[string][]int32
	Out   bool  // it is no member: not yet, or no longer
	Err   error // why the autopilot stopped
}

// State is what the script believes now. From off the loop.
func (s *Script) State() (st ScriptState) {
	if s == nil {
		return ScriptState{Out: true, Err: errNoScript}
	}
	s.c.loop.look(func() { st = s.StateNow() })
	return st
}

// StateNow is State for who is on the loop.
func (s *Script) StateNow() ScriptState {
	owned := make(map[string][]int32, len(s.owned))
	for t, ps := range s.owned {
		owned[t] = slices.Clone(ps)
	}
	return ScriptState{ID: s.id, Epoch: s.epoch, Owned: owned, Out: s.phase == scriptOut || s.phase == scriptGone, Err: s.err}
}

// Do runs a change of a script on the loop, and lets it act on it.
func (s *Script) Do(change func(*Script)) error {
	if s == nil {
		return errNoScript
	}
	ok := s.c.loop.do(func() {
		change(s)
		s.c.groups.scripts.wake(s)
		s.c.endTurn(s.c.clock.Now())
	})
	if !ok {
		return errClosed
	}
	s.c.Rest()
	return nil
}

// Silence makes it send nothing more and hear nothing, as a process that hangs or has lost its network.
func (s *Script) Silence() { s.silent = true }

// Speak ends Silence.
func (s *Script) Speak() { s.silent, s.news = false, true }

// Refuse says whether it keeps what it is told to revoke.
func (s *Script) Refuse(on bool) {
	s.refuses, s.news = on, true
	if !on && s.told != nil {
		s.owned, s.told, s.tells = s.told, nil, true
	}
}

// Return makes it join as a new process would, under its instance id if it has one.
func (s *Script) Return() {
	s.phase, s.id, s.epoch, s.err, s.silent, s.late, s.flying = scriptOut, "", 0, nil, false, nil, false
	s.owned, s.told = map[string][]int32{}, nil
}

// gone is after it has left.
func (s *Script) gone() {
	s.phase, s.owned = scriptGone, map[string][]int32{}
}

// Ask sends a request of the test's own as this member and waits for the answer. Group, member id, instance id, and generation or epoch are
// filled in where they are empty. From off the loop.
func (s *Script) Ask(done <-chan struct{}, req kmsg.Request) (kmsg.Response, error) {
	if s == nil {
		return nil, errNoScript
	}
	var r *request
	var err error
	if !s.c.loop.do(func() {
		s.fill(req)
		if s.node() == 0 {
			err = fmt.Errorf("group %q has no coordinator now", s.group)
			return
		}
		r = s.request(req)
	}) {
		return nil, errClosed
	}
	if err != nil {
		return nil, err
	}
	if r.key < 0 || r.key >= maxKey || s.c.handlers[r.key] == nil {
		return nil, fmt.Errorf("%s is not served here", r.key)
	}
	if !wire.Accepted(r.key, r.version) {
		return nil, fmt.Errorf("there is no %s v%d: set the request's Version to one of those that Apache Kafka has", r.key, r.version)
	}
	type result struct {
		ans answer
		err error
	}
	ch := make(chan result, 1)
	if !s.c.spawn(func() {
		ans, err := s.c.intercepted(r, s.c.handlers[r.key])
		ch <- result{ans, err}
	}) {
		return nil, errClosed
	}
	select {
	case res := <-ch:
		if res.err != nil {
			return nil, res.err
		}
		resp, ok := res.ans.(kmsg.Response)
		if !ok {
			return nil, fmt.Errorf("%s has an answer that a scripted member can't read", r.key)
		}
		if s.spec.ByHand {
			return resp, s.Do(func(s *Script) { s.take(resp) })
		}
		s.c.Rest() // others may have something to do now
		return resp, nil
	case <-done:
		return nil, fmt.Errorf("%s of %q for group %q was not answered in time: is it paused, or does it stand at a hold?", r.key, s.spec.Client, s.group)
	}
}

// fill puts in who the member is.
func (s *Script) fill(req kmsg.Request) {
	str := func(p *string, v string) {
		if *p == "" {
			*p = v
		}
	}
	ptr := func(p **string, v string) {
		if *p == nil && v != "" {
			*p = &v
		}
	}
	switch req := req.(type) {
	case *kmsg.JoinGroupRequest:
		str(&req.Group, s.group)
		str(&req.MemberID, s.id)
		ptr(&req.InstanceID, s.spec.Instance)
	case *kmsg.SyncGroupRequest:
		str(&req.Group, s.group)
		str(&req.MemberID, s.id)
		ptr(&req.InstanceID, s.spec.Instance)
		if req.Generation == 0 {
			req.Generation = s.epoch
		}
	case *kmsg.HeartbeatRequest:
		str(&req.Group, s.group)
		str(&req.MemberID, s.id)
		ptr(&req.InstanceID, s.spec.Instance)
		if req.Generation == 0 {
			req.Generation = s.epoch
		}
	case *kmsg.LeaveGroupRequest:
		str(&req.Group, s.group)
		if len(req.Members) == 0 {
			m := kmsg.NewLeaveGroupRequestMember()
			m.MemberID, m.InstanceID = s.id, optional(s.spec.Instance)
			req.Members = append(req.Members, m)
		}
	case *kmsg.OffsetCommitRequest:
		str(&req.Group, s.group)
		str(&req.MemberID, s.id)
		ptr(&req.InstanceID, s.spec.Instance)
		if req.Generation <= 0 {
			req.Generation = s.epoch
		}
	case *kmsg.ConsumerGroupHeartbeatRequest:
		str(&req.Group, s.group)
		str(&req.MemberID, s.id)
		ptr(&req.InstanceID, s.spec.Instance)
	}
}

// Leave leaves the group: a static member of the classic protocol by its instance id, one of KIP-848 with epoch -1, or for a while with -2.
// From off the loop.
func (s *Script) Leave(done <-chan struct{}, forAWhile bool) (wire.Code, error) {
	if s == nil {
		return 0, errNoScript
	}
	var req kmsg.Request
	if s.spec.Consumer {
		hb := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		hb.Version, hb.MemberEpoch = 1, -1
		if forAWhile {
			hb.MemberEpoch = -2
		}
		req = hb
	} else {
		leave := kmsg.NewPtrLeaveGroupRequest()
		leave.Version = 5
		req = leave
	}
	if err := s.Do(func(s *Script) { s.leaving = true }); err != nil {
		return 0, err
	}
	resp, err := s.Ask(done, req)
	if err != nil {
		_ = s.Do(func(s *Script) { s.leaving = false })
		return 0, err
	}
	code := wire.None
	switch resp := resp.(type) {
	case *kmsg.ConsumerGroupHeartbeatResponse:
		code = wire.Code(resp.ErrorCode)
	case *kmsg.LeaveGroupResponse:
		code = wire.Code(resp.ErrorCode)
		if code == wire.None && len(resp.Members) > 0 {
			code = wire.Code(resp.Members[0].ErrorCode)
		}
	}
	return code, s.Do(func(s *Script) {
		s.leaving = false
		if code == wire.None {
			s.gone()
		}
	})
}

// Heartbeat sends one and answers its code; one of KIP-848 that is no member joins by it. From off the loop.
func (s *Script) Heartbeat(done <-chan struct{}) (wire.Code, error) {
	return s.step(done, func() kmsg.Request {
		if s.spec.Consumer {
			return s.consumerBeat(s.phase == scriptOut)
		}
		return s.classicBeat()
	})
}

// JoinGroup sends one and answers its code. From off the loop.
func (s *Script) JoinGroup(done <-chan struct{}) (wire.Code, error) { return s.step(done, s.join) }

// SyncGroup sends one, with the assignment if it leads, and answers its code. From off the loop.
func (s *Script) SyncGroup(done <-chan struct{}) (wire.Code, error) { return s.step(done, s.sync) }

// step sends what build makes on the loop.
func (s *Script) step(done <-chan struct{}, build func() kmsg.Request) (wire.Code, error) {
	if s == nil {
		return 0, errNoScript
	}
	var req kmsg.Request
	if !s.c.loop.do(func() { req = build() }) {
		return 0, errClosed
	}
	resp, err := s.Ask(done, req)
	if err != nil {
		return 0, err
	}
	switch resp := resp.(type) {
	case *kmsg.JoinGroupResponse:
		return wire.Code(resp.ErrorCode), nil
	case *kmsg.SyncGroupResponse:
		return wire.Code(resp.ErrorCode), nil
	case *kmsg.HeartbeatResponse:
		return wire.Code(resp.ErrorCode), nil
	case *kmsg.ConsumerGroupHeartbeatResponse:
		return wire.Code(resp.ErrorCode), nil
	}
	return 0, fmt.Errorf("%s was answered by a %T", wire.Key(req.Key()), resp)
}

// ByHand tells whether it is a classic member whose every step the test takes.
func (s *Script) ByHand() bool { return s != nil && s.spec.ByHand && !s.spec.Consumer }

// Commit commits one offset and answers its code. From off the loop.
func (s *Script) Commit(done <-chan struct{}, topicName string, partition int32, offset int64) (wire.Code, error) {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version = 9
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topicName
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset = partition, offset
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := s.Ask(done, req)
	if err != nil {
		return 0, err
	}
	c, ok := resp.(*kmsg.OffsetCommitResponse)
	if !ok || len(c.Topics) == 0 || len(c.Topics[0].Partitions) == 0 {
		return 0, fmt.Errorf("the answer of OffsetCommit has no partition")
	}
	return wire.Code(c.Topics[0].Partitions[0].ErrorCode), nil
}
