package broker

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// Interception is the one mechanism by which a test steers requests: faults, delays and holds are all rules; pauses stand beside it. A request meets
// its rules in the order in which they were made, before it is handled; a rule that ends the request (Drop, Reply, a Fail that leaves nothing of it) ends the walk.
// What the rules before that one say of the answer (LoseReply, HoldReply, Observe) is done when there is one, in the same order.

// Call is a request as rules see it.
type Call struct {
	Key     wire.Key
	Version int16
	Client  string // client.id
	Broker  int32  // node id
	Request kmsg.Request
	// Response is nil before the request is handled, and for requests that have no answer.
	Response kmsg.Response
}

// Rule is a matcher with an action. Its fields are fixed once it is added.
type Rule struct {
	Key       wire.Key // AnyKey: every API
	Topic     string   // "": any
	Partition int32    // -1: any
	Group     string   // "": any
	Client    string   // "": any
	Broker    int32    // 0: any
	// Times is how many matching requests the rule acts on; 0: all. After is how many it lets pass first.
	Times, After int
	// When is asked last, off the control loop; nil: always.
	When func(*Call) bool
	// Internal rules belong to holds of a group: they aren't reported as never matched.
	Internal bool
	Name     string // for messages: "On(Produce).Topic(orders).Fail(NOT_LEADER_OR_FOLLOWER)"
	At       string // where the test began it, "orders_test.go:12"; "": unknown

	Action Action

	mu      sync.Mutex
	matched int // requests that matched, the ones let pass included
	acted   int
	removed bool
	endless endless
}

// AnyKey matches requests of every API.
const AnyKey wire.Key = -1

// Action is what a rule does to a request. One of the fields is set.
type Action struct {
	Fail      *wire.Code
	Delay     time.Duration
	Hold      *Gate // the request waits at the gate before it is handled
	HoldReply *Gate // it is handled; its answer waits at the gate
	LoseReply bool  // it is handled, then the connection is cut instead of answering
	Drop      bool  // the connection is cut before it is handled
	Reply     func(*Call) kmsg.Response
	Observe   func(*Call)
}

// ends tells whether the action ends a request, so that later rules don't see it.
func (a *Action) ends() bool { return a.Drop || a.Reply != nil || a.Fail != nil }

// rules are replaced as a whole when one is added or removed, so that a request without rules costs one atomic read.
type rules struct {
	mu   sync.Mutex
	list atomic.Pointer[[]*Rule]
	// idle are the names of removed rules that never acted: their test believes in a fault that never was.
	idle []string
}

// mayTake tells whether a rule may apply to a request, by those of its conditions that neither run user code nor count.
func (rs *rules) mayTake(r *request) bool {
	for _, rule := range rs.all() {
		if (rule.Key == AnyKey || rule.Key == r.key) && (rule.Client == "" || rule.Client == r.client) && (rule.Broker == 0 || rule.Broker == r.node.id) &&
			(rule.Group == "" || slices.Contains(groupsOf(r.body), rule.Group)) && !rule.spent() {
			return true
		}
	}
	return false
}

// AddRule makes a rule count from the next request on.
func (c *Cluster) AddRule(r *Rule) {
	c.rules.mu.Lock()
	defer c.rules.mu.Unlock()
	next := append(slices.Clone(c.rules.all()), r)
	c.rules.list.Store(&next)
}

// RemoveRule ends a rule; requests it holds are let go by its gate, not by this.
func (c *Cluster) RemoveRule(r *Rule) {
	c.rules.mu.Lock()
	defer c.rules.mu.Unlock()
	r.mu.Lock()
	if slices.Contains(c.rules.all(), r) && !r.Internal && r.acted == 0 {
		c.rules.idle = append(c.rules.idle, c.idleRule(r))
	}
	r.removed = true
	r.mu.Unlock()
	next := slices.DeleteFunc(slices.Clone(c.rules.all()), func(o *Rule) bool { return o == r })
	if len(next) == 0 {
		c.rules.list.Store(nil)
	} else {
		c.rules.list.Store(&next)
	}
}

func (rs *rules) all() []*Rule {
	if p := rs.list.Load(); p != nil {
		return *p
	}
	return nil
}

// Unmatched names the rules that never acted on a request.
func (c *Cluster) Unmatched() []string {
	c.rules.mu.Lock()
	names := slices.Clone(c.rules.idle)
	c.rules.mu.Unlock()
	for _, r := range c.rules.all() {
		r.mu.Lock()
		if !r.Internal && r.acted == 0 {
			names = append(names, c.idleRule(r))
		}
		r.mu.Unlock()
	}
	return names
}

// idleRule says of a rule that it never acted, why as far as that is known, and where it is. With r.mu held.
func (c *Cluster) idleRule(r *Rule) string {
	text := c.whyIdle(r)
	if r.At != "" {
		text += "; the rule is at " + r.At
	}
	return text
}

// WhyIdle says of a rule that it has not acted, and why as far as that is known; "" where it has.
func (c *Cluster) WhyIdle(r *Rule) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.acted > 0 {
		return ""
	}
	return c.whyIdle(r)
}

func (c *Cluster) whyIdle(r *Rule) string {
	text := r.Name + " never acted on a request"
	if r.matched > 0 {
		text = fmt.Sprintf("%s: %d matched, all of them let pass by After(%d)", text, r.matched, r.After)
		if slices.ContainsFunc(c.rules.all(), func(o *Rule) bool { return o != r && (o.Key == r.Key || o.Key == AnyKey) && o.Action.ends() }) {
			text += "; a request that a rule before this one ends doesn't count, for it never comes here"
		}
		return text
	}
	if t := c.meta.Load().topics[r.Topic]; r.Topic != "" && t == nil {
		text += fmt.Sprintf("; there is no topic %q", r.Topic)
	} else if t != nil && r.Partition >= 0 && t.partition(r.Partition) == nil {
		text += "; " + noPartition(t, r.Partition).Error()
	}
	if r.Key == AnyKey {
		return text
	}
	count, recent := c.Requests(RequestQuery{Key: r.Key})
	if count == 0 {
		return fmt.Sprintf("%s: no client sent %s", text, r.Key)
	}
	of := ""
	if r.Group != "" {
		var ids []string
		for i := range recent {
			if id := recent[i].Group; id != "" && !slices.Contains(ids, id) && len(ids) < 5 {
				ids = append(ids, id)
			}
		}
		of = fmt.Sprintf(", for groups %q", ids)
	}
	return fmt.Sprintf("%s: %d %s came, from %s%s, and none fitted", text, count, r.Key, ClientsOf(recent), of)
}

// RulesThatActed tells of them in their order, for messages. Those that only look, and holds, which tell of themselves, are left out.
func (c *Cluster) RulesThatActed() (told []string) {
	for _, r := range c.rules.all() {
		if a := &r.Action; a.Observe != nil || a.Hold != nil || a.HoldReply != nil {
			continue
		}
		switch n := r.Acted(); {
		case n == 1:
			told = append(told, r.Name+" has acted on 1 request")
		case n > 1:
			told = append(told, fmt.Sprintf("%s has acted on %d requests", r.Name, n))
		}
	}
	return told
}

// Acted is on how many requests the rule has acted.
func (r *Rule) Acted() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.acted
}

// spent tells whether the rule has acted as often as it was to.
func (r *Rule) spent() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.removed || r.Times > 0 && r.acted >= r.Times
}

// takes tells whether the rule acts on this request, and counts it. A Fail acts only where the rules before it have left something of what it names.
func (r *Rule) takes(c *Cluster, call *Call, left kmsg.Request) bool {
	if r.Key != AnyKey && r.Key != call.Key || r.Client != "" && r.Client != call.Client || r.Broker != 0 && r.Broker != call.Broker {
		return false
	}
	about := call.Request
	if r.Action.Fail != nil {
		about = left
	}
	if r.Group != "" && !slices.Contains(groupsOf(about), r.Group) {
		return false
	}
	if (r.Topic != "" || r.Partition >= 0) && !c.names(about, call, r) {
		return false
	}
	if r.spent() {
		return false
	}
	if r.When != nil && !c.userBool(r, call) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.removed || r.Times > 0 && r.acted >= r.Times {
		return false
	}
	r.matched++
	if r.matched <= r.After {
		return false
	}
	r.acted++
	if r.Times == 0 && (r.Action.Fail != nil || r.Action.Drop || r.Action.LoseReply) && r.endless.add(call.Client) {
		c.log.Warn(fmt.Sprintf("a rule without a bound has acted %d times on one client, which seems to try for ever; Times(n) bounds it", endlessTries),
			"rule", r.Name, "at", r.At, "client", call.Client)
	}
	return true
}

// endless notices a client that a rule will never let through.
type endless struct {
	acts  map[string]int // by client, of the first few; the names are the clients' own
	noted bool
}

const (
	endlessTries   = 1000 // more than a client needs to get by any fault that passes
	endlessClients = 64
)

// add counts an act and tells whether it is time for a warning: once for a rule.
func (e *endless) add(client string) bool {
	if n, known := e.acts[client]; e.noted || !known && len(e.acts) >= endlessClients {
		return false
	} else if n+1 < endlessTries {
		if e.acts == nil {
			e.acts = map[string]int{}
		}
		e.acts[client] = n + 1
		return false
	}
	e.acts, e.noted = nil, true
	return true
}

// userBool asks a rule's When; a panic in it is the test's failure, not the broker's.
func (c *Cluster) userBool(r *Rule, call *Call) (yes bool) {
	if r.Internal { // a hold's own
		return r.When(call)
	}
	c.runUser("When of "+r.Name, func() func() {
		answer := r.When(call)
		return func() { yes = answer }
	})
	return yes
}

// intercepted runs a request's handler, with what the test wants done before and after it.
func (c *Cluster) intercepted(r *request, fn handler) (answer, error) {
	r.conn.requests.add(r)
	c.changed()
	if err := r.atPause(); err != nil {
		return nil, err
	}
	ans, err := c.underRules(r, fn)
	if err != nil {
		return nil, err
	}
	return ans, r.atPause()
}

// underRules handles a request by the rules that match it.
func (c *Cluster) underRules(r *request, fn handler) (answer, error) {
	list := c.rules.list.Load()
	if list == nil {
		return r.run(fn)
	}
	call := &Call{Key: r.key, Version: r.version, Client: r.client, Broker: r.node.id, Request: r.body}
	var after, partial []*Rule
	left := r.body // what no rule has failed yet; nil: nothing
	serving := true
	for _, rule := range *list {
		if left == nil {
			break
		}
		if failedInside(partial, rule, r.body) || !rule.takes(c, call, left) {
			continue
		}
		a := &rule.Action
		switch {
		case a.Drop:
			c.noteRule(rule, r, "connection cut before the request was handled")
			return nil, fmt.Errorf("%s: cut by the test before it was handled", rule.Name)
		case a.Fail != nil:
			c.noteRule(rule, r, "failed with "+a.Fail.String())
			if failsPart(rule, r) {
				partial = append(partial, rule)
				left = c.leftBy(r, partial)
				continue
			}
			fn, serving, left = func(r *request) (answer, error) { return errorForm(r, *a.Fail), nil }, false, nil
		case a.Reply != nil:
			c.noteRule(rule, r, "answered by the test")
			own := errorForm(r, wire.UnknownServerError)
			if resp := c.userReply(rule, call); resp != nil {
				own = resp
			}
			fn, serving, left, partial = func(*request) (answer, error) { return own, nil }, false, nil, nil // it answers for everything
		case a.Delay > 0:
			c.noteRule(rule, r, fmt.Sprintf("delayed by %s", a.Delay))
			if err := r.conn.sleep(a.Delay); err != nil {
				return nil, err
			}
		case a.Hold != nil:
			c.noteRule(rule, r, "stands here before it is handled")
			if err := r.conn.waitAt(a.Hold, r, sent); err != nil {
				return nil, err
			}
		case a.HoldReply != nil, a.LoseReply, a.Observe != nil:
			after = append(after, rule)
		}
	}
	if len(partial) > 0 { // what takes requests apart is under run's eyes, too
		whole := fn
		fn = func(r *request) (answer, error) { return c.handlePartly(r, whole, serving, partial) }
	}
	ans, err := r.run(fn)
	if err != nil {
		return nil, err
	}
	if p, ok := r.body.(*kmsg.ProduceRequest); ok && p.Acks == 0 && (!serving || len(partial) > 0) {
		return nil, noAnswer("a Produce with acks=0 was failed by the test: Kafka closes the connection")
	}
	for _, rule := range after {
		a := &rule.Action
		switch {
		case a.Observe != nil:
			call.Response = messageOf(ans, r.version)
			c.userObserve(rule, call)
		case a.HoldReply != nil:
			c.noteRule(rule, r, "was handled; its answer stands here")
			if err := r.conn.waitAt(a.HoldReply, r, sent); err != nil {
				return nil, err
			}
		case a.LoseReply:
			c.noteRule(rule, r, "handled, the answer was lost")
			return nil, fmt.Errorf("%s: answer lost by the test", rule.Name)
		}
	}
	return ans, nil
}

// messageOf is an answer as kmsg's struct, nil for none.
func messageOf(a answer, version int16) kmsg.Response {
	switch a := a.(type) {
	case *wire.FetchResponse:
		return a.Message(version)
	case kmsg.Response:
		return a
	}
	return nil
}

func (c *Cluster) userReply(rule *Rule, call *Call) (resp kmsg.Response) {
	c.runUser("Reply of "+rule.Name, func() func() {
		answer := rule.Action.Reply(call)
		return func() { resp = answer }
	})
	if resp != nil && resp.Key() != int16(call.Key) {
		c.reportUser(fmt.Sprintf("Reply of %s returned a %T; the request is a %s: return its %T, or nil for UNKNOWN_SERVER_ERROR", rule.Name, resp, call.Key, call.Request.ResponseKind()), nil)
		return nil
	}
	return resp
}

func (c *Cluster) userObserve(rule *Rule, call *Call) {
	c.runUser("Observe of "+rule.Name, func() func() { rule.Action.Observe(call); return nil })
}

// Gate is where requests wait until the test lets them go. The zero value is not useful: see NewGate.
type Gate struct {
	Name  string
	c     *Cluster
	mu    sync.Mutex
	open  chan struct{} // closed when the gate is open for good
	done  bool
	ever  int
	stood []*Call // who waits now
	// flights are the requests of scripted members among them.
	flights []*flight
}

// NewGate makes a closed gate.
func (c *Cluster) NewGate(name string) *Gate {
	return &Gate{Name: name, c: c, open: make(chan struct{})}
}

// Open lets everybody go, now and later.
func (g *Gate) Open() {
	g.mu.Lock()
	if !g.done {
		g.done = true
		for _, f := range g.flights {
			f.goesOn()
		}
		close(g.open)
	}
	g.mu.Unlock()
	g.c.Rest()
}

// Waiting are the requests that stand at the gate.
func (g *Gate) Waiting() []*Call {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.stood)
}

// Ever is how many requests have stood at the gate.
func (g *Gate) Ever() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ever
}

func (g *Gate) enter(call *Call, f *flight) (open <-chan struct{}, leave func()) {
	g.mu.Lock()
	if f != nil {
		g.flights = append(g.flights, f)
	}
	g.stood = append(g.stood, call)
	g.ever++
	g.mu.Unlock()
	g.c.changed()
	return g.open, func() {
		g.mu.Lock()
		g.flights = slices.DeleteFunc(g.flights, func(o *flight) bool { return o == f })
		g.stood = slices.DeleteFunc(g.stood, func(o *Call) bool { return o == call })
		g.mu.Unlock()
		g.c.changed()
	}
}

// orphan says what becomes of a waiting request when its client ends the connection.
type orphan bool

const (
	// sent: the request has been sent and takes effect all the same, as in Kafka.
	sent orphan = true
	// unhandled: it is dropped. The client's process or network is what hangs; it never got here.
	unhandled orphan = false
)

// waitAt keeps the request at a gate. The connection reads one frame ahead meanwhile, so that a client that gives up is noticed.
func (c *conn) waitAt(g *Gate, r *request, o orphan) error {
	c.standing.Store(int32(r.key) + 1) // before the gate tells that somebody came, or a wait that looks then finds the client still busy
	open, leave := g.enter(&Call{Key: r.key, Version: r.version, Client: r.client, Broker: r.node.id, Request: r.body}, c.flight)
	defer leave()
	defer c.standing.Store(0)
	defer c.rests()()
	return c.waitFor(open, o)
}

// sleep waits for d of real time.
func (c *conn) sleep(d time.Duration) error {
	over := make(chan struct{})
	t := time.AfterFunc(d, func() { close(over) })
	defer t.Stop()
	defer c.rests()()
	return c.waitFor(over, sent)
}

func (c *conn) waitFor(ready <-chan struct{}, o orphan) error {
	select {
	case <-ready:
		return nil
	default:
	}
	var ahead chan frameOrError
	if o == unhandled {
		ahead = c.readAhead()
	}
	for {
		select {
		case <-ready:
			return nil
		case <-c.done:
			return errClosed
		case f := <-ahead:
			ahead <- f // left for conn.next
			if f.err != nil {
				return f.err
			}
			ahead = nil
		}
	}
}

// groupsOf are the groups a request names.
func groupsOf(req kmsg.Request) []string {
	switch req := req.(type) {
	case *kmsg.JoinGroupRequest:
		return []string{req.Group}
	case *kmsg.SyncGroupRequest:
		return []string{req.Group}
	case *kmsg.HeartbeatRequest:
		return []string{req.Group}
	case *kmsg.LeaveGroupRequest:
		return []string{req.Group}
	case *kmsg.OffsetCommitRequest:
		return []string{req.Group}
	case *kmsg.TxnOffsetCommitRequest:
		return []string{req.Group}
	case *kmsg.AddOffsetsToTxnRequest:
		return []string{req.Group}
	case *kmsg.OffsetDeleteRequest:
		return []string{req.Group}
	case *kmsg.ConsumerGroupHeartbeatRequest:
		return []string{req.Group}
	case *kmsg.ConsumerGroupDescribeRequest:
		return req.Groups
	case *kmsg.DescribeGroupsRequest:
		return req.Groups
	case *kmsg.DeleteGroupsRequest:
		return req.Groups
	case *kmsg.FindCoordinatorRequest:
		if req.CoordinatorType != coordinatorGroup {
			return nil
		}
		if req.Version < 4 {
			return []string{req.CoordinatorKey}
		}
		return req.CoordinatorKeys
	case *kmsg.OffsetFetchRequest:
		if req.Version < 8 {
			return []string{req.Group}
		}
		ids := make([]string, len(req.Groups))
		for i, g := range req.Groups {
			ids[i] = g.Group
		}
		return ids
	}
	return nil
}

// isGroupKey tells whether an API is group traffic: what a member of a group sends to its coordinator.
func isGroupKey(k wire.Key) bool {
	switch k {
	case wire.JoinGroup, wire.SyncGroup, wire.Heartbeat, wire.LeaveGroup, wire.OffsetCommit, wire.OffsetFetch, wire.ConsumerGroupHeartbeat,
		wire.TxnOffsetCommit:
		return true
	}
	return false
}

// describeCall names a request for messages.
func describeCall(c *Call) string {
	s := fmt.Sprintf("%s v%d from %q", c.Key, c.Version, c.Client)
	if g := groupsOf(c.Request); len(g) > 0 {
		s += " for group " + strings.Join(g, ", ")
	}
	return s
}

// String names the request.
func (c *Call) String() string { return describeCall(c) }
