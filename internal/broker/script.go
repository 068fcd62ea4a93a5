package broker

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// A scripted member is a member of a group without a client: a small state machine on the control loop that sends the requests a
// well-behaved client would send, or those the test asks for. It has no goroutine and no socket. script_classic.go and script_consumer.go
// are the two protocols, script_steer.go is what the test makes it do.

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
	var err error
	ok := c.loop.do(func() {
		if _, err = c.needOffsets(); err != nil {
			return
		}
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
	if err != nil {
		return nil, err
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

// keepAlive renews the sessions that would end now of scripted members that are alive: scripts send no heartbeats by the clock.
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

func (s *Script) clientID() string { return s.spec.Client }

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

// send gives a request of the autopilot to the coordinator: at once, or as a flight if a rule of the test may apply to it.
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

// retriable tells whether an error means no more than that the group has no coordinator at the moment.
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
