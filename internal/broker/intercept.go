package broker

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// Interception is the one mechanism by which a test steers requests: faults, delays and holds are all rules; pauses stand beside it. A request meets
// its rules in the order in which they were made, before it is handled; a rule that ends the request (Drop, Reply, a Fail that leaves nothing of it) ends the walk.
// What the rules before that one say of the answer (LoseReply, HoldReply, Observe) is done when there is one, in the same order.

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
	w := &walk{
		c: c, r: r, call: r.call(),
		fn: fn, serving: true, left: r.body,
	}
	for _, rule := range *list {
		if w.left == nil {
			break
		}
		if failedInside(w.partial, rule, r.body) || !rule.takes(c, w.call, w.left) {
			continue
		}
		if err := w.meet(rule); err != nil {
			return nil, err
		}
	}
	ans, err := w.handle()
	if err != nil {
		return nil, err
	}
	return ans, w.answered(ans)
}

// walk is a request's way along its rules.
type walk struct {
	c    *Cluster
	r    *request
	call *Call

	fn      handler      // what is to answer it
	serving bool         // fn is the broker's own
	left    kmsg.Request // what no rule has failed yet; nil: nothing
	partial []*Rule      // those that fail some of it
	after   []*Rule      // those that want its answer
}

// meet does what a rule says of the request before it is handled.
func (w *walk) meet(rule *Rule) error {
	c, r, a := w.c, w.r, &rule.Action
	switch {
	case a.Drop:
		c.noteRule(rule, r, "connection cut before the request was handled")
		return fmt.Errorf("%s: cut by the test before it was handled", rule.Name)
	case a.Fail != nil:
		c.noteRule(rule, r, "failed with "+a.Fail.String())
		if failsPart(rule, r) {
			w.partial = append(w.partial, rule)
			w.left = c.leftBy(r, w.partial)
			return nil
		}
		w.fn, w.serving, w.left = func(r *request) (answer, error) { return errorForm(r, *a.Fail), nil }, false, nil
	case a.Reply != nil:
		c.noteRule(rule, r, "answered by the test")
		own := errorForm(r, wire.UnknownServerError)
		if resp := c.userReply(rule, w.call); resp != nil {
			own = resp
		}
		w.fn, w.serving, w.left, w.partial = func(*request) (answer, error) { return own, nil }, false, nil, nil // it answers for everything
	case a.Delay > 0:
		c.noteRule(rule, r, fmt.Sprintf("delayed by %s", a.Delay))
		return r.conn.sleep(a.Delay)
	case a.Hold != nil:
		c.noteRule(rule, r, "stands here before it is handled")
		return r.conn.waitAt(a.Hold, r, sent)
	case a.HoldReply != nil, a.LoseReply, a.Observe != nil:
		w.after = append(w.after, rule)
	}
	return nil
}

// handle answers the request, or what the rules have left of it.
func (w *walk) handle() (answer, error) {
	fn := w.fn
	if len(w.partial) > 0 { // what takes requests apart is under run's eyes, too
		fn = func(r *request) (answer, error) { return w.c.handlePartly(r, w.fn, w.serving, w.partial) }
	}
	ans, err := w.r.run(fn)
	if err != nil {
		return nil, err
	}
	if p, ok := w.r.body.(*kmsg.ProduceRequest); ok && p.Acks == 0 && (!w.serving || len(w.partial) > 0) {
		return nil, noAnswer("a Produce with acks=0 was failed by the test: Kafka closes the connection")
	}
	return ans, nil
}

// answered does what the rules say of the answer.
func (w *walk) answered(ans answer) error {
	for _, rule := range w.after {
		a := &rule.Action
		switch {
		case a.Observe != nil:
			w.call.Response = messageOf(ans, w.r.version)
			w.c.userObserve(rule, w.call)
		case a.HoldReply != nil:
			w.c.noteRule(rule, w.r, "was handled; its answer stands here")
			if err := w.r.conn.waitAt(a.HoldReply, w.r, sent); err != nil {
				return err
			}
		case a.LoseReply:
			w.c.noteRule(rule, w.r, "handled, the answer was lost")
			return fmt.Errorf("%s: answer lost by the test", rule.Name)
		}
	}
	return nil
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

// noteRule writes into the history what a rule did to a request.
func (c *Cluster) noteRule(rule *Rule, r *request, what string) {
	c.note(groups.Event{
		Kind: EventFault, Group: groupOf(r.body), ClientID: r.client,
		Cause: r.call().String() + ": " + what + " (" + rule.Name + ")",
	})
}
