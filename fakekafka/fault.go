package fakekafka

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/broker"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// Call is one request as the functions of a fault see it: what was asked, by whom, and, in Observe, the answer.
type Call struct {
	API      API
	Version  int16
	Client   string // client.id
	Broker   int    // node id
	Request  kmsg.Request
	Response kmsg.Response // nil before the request is handled, and where there is no answer
}

func callOf(c *broker.Call) *Call {
	return &Call{API: API(c.Key), Version: c.Version, Client: c.Client, Broker: int(c.Broker), Request: c.Request, Response: c.Response}
}

// FaultRule chooses requests by API, topic, partition, group, client and broker, and says what becomes of them. It begins with [Cluster.On], and counts from the call
// of its action on (Fail, Delay, Hold, LoseReply, Drop, Reply, Observe) until the cluster closes or Remove is called.
//
// Several rules on one request act in the order in which they were made. One that ends the request (Drop, Reply, a Fail that leaves nothing of it to be served)
// ends that walk; what rules before it say of the answer (Observe, LoseReply, HoldReply) is done to the answer that it makes. Under
// [Start] a rule that never acted fails the test by name.
type FaultRule struct {
	k      *Cluster
	rule   *broker.Rule
	name   string
	forced bool
	added  bool
	// nothing: a function that was given is nil.
	nothing bool
	// empty is the call that was given a name that names nothing; to the broker such a rule would be one for all.
	empty string
}

// On begins a rule for requests of one API; [AnyAPI] takes all.
func (k *Cluster) On(api API) *FaultRule {
	f := &FaultRule{k: k, name: fmt.Sprintf("On(%s)", api), rule: &broker.Rule{Key: wire.Key(api), Partition: -1}}
	if _, file, line, ok := runtime.Caller(1); ok { // what is left over is told at the line of Start
		f.rule.At = fmt.Sprintf("%s:%d", filepath.Base(file), line)
	}
	k.faults.add(f)
	return f
}

// with narrows the rule, which must not have begun: from then on requests read it.
func (f *FaultRule) with(narrow func(*broker.Rule), format string, args ...any) *FaultRule {
	f.k.mark.Helper()
	how := fmt.Sprintf(format, args...)
	if f.added {
		_ = f.k.steered(f.name, fmt.Errorf("%s comes too late, the rule counts from its action on: put it before", how))
		return f
	}
	narrow(f.rule)
	f.name += how
	return f
}

// needs notes that a call was given a name that names something.
func (f *FaultRule) needs(named bool, call string) {
	if !named && f.empty == "" {
		f.empty = call
	}
}

// Topic takes only requests that name this topic, by name or by id, or its configs. A request for all topics names none. Of a request that names other topics, too, a Fail
// fails only what is about this one; the other actions are done to the whole request.
func (f *FaultRule) Topic(name string) *FaultRule {
	f.k.mark.Helper()
	f.needs(name != "", "Topic")
	return f.with(func(r *broker.Rule) { r.Topic = name }, ".Topic(%q)", name)
}

// Partition takes only requests that name this partition (of Topic, if that is given), and those of APIs that name topics without their partitions, such as Metadata.
// As with Topic, a Fail fails only what is named; in a Metadata that is the partition for LEADER_NOT_AVAILABLE, LISTENER_NOT_FOUND and REPLICA_NOT_AVAILABLE, and the
// topic for errors that Kafka has only there.
func (f *FaultRule) Partition(p int32) *FaultRule {
	f.k.mark.Helper()
	f.needs(p >= 0, "Partition")
	return f.with(func(r *broker.Rule) { r.Partition = p }, ".Partition(%d)", p)
}

// Group takes only requests for this group. Of a request for several (DescribeGroups, DeleteGroups, ConsumerGroupDescribe, and with newer clients OffsetFetch and
// FindCoordinator) a Fail fails this one only.
func (f *FaultRule) Group(id string) *FaultRule {
	f.k.mark.Helper()
	f.needs(id != "", "Group")
	return f.with(func(r *broker.Rule) { r.Group = id }, ".Group(%q)", id)
}

// From takes only requests of this client, by client.id.
func (f *FaultRule) From(client string) *FaultRule {
	f.k.mark.Helper()
	f.needs(client != "", "From")
	return f.with(func(r *broker.Rule) { r.Client = client }, ".From(%q)", client)
}

// Broker takes only requests to this broker, by node id.
func (f *FaultRule) Broker(id int) *FaultRule {
	f.k.mark.Helper()
	f.needs(id != 0, "Broker")
	return f.with(func(r *broker.Rule) { r.Broker = int32(id) }, ".Broker(%d)", id)
}

// Times acts on the first n matching requests only, 1 or more. Default: on all. A Fail, Drop or LoseReply without it may keep a client trying for ever: when it
// has acted 1000 times on one client, a line in the test's log says so.
func (f *FaultRule) Times(n int) *FaultRule {
	f.k.mark.Helper()
	if n == 0 { // to the broker that is a rule without a bound; add refuses this one
		return f.with(func(r *broker.Rule) { r.Times = -1 }, ".Times(0)")
	}
	return f.with(func(r *broker.Rule) { r.Times = n }, ".Times(%d)", n)
}

// After lets the first n matching requests pass. A request that a rule before this one has ended doesn't count: it never came here. So errors one after the other need no
// After: rules of Times(1) take their turns.
func (f *FaultRule) After(n int) *FaultRule {
	f.k.mark.Helper()
	return f.with(func(r *broker.Rule) { r.After = n }, ".After(%d)", n)
}

// When takes only requests for which fn answers true. It runs off the control loop and may call the API; a panic in it fails the test.
func (f *FaultRule) When(fn func(*Call) bool) *FaultRule {
	f.k.mark.Helper()
	f.nothing = f.nothing || fn == nil
	return f.with(func(r *broker.Rule) { r.When = func(c *broker.Call) bool { return fn(callOf(c)) } }, ".When(…)")
}

// Forced allows Fail with a code that Apache Kafka never answers for this API.
func (f *FaultRule) Forced() *FaultRule {
	f.k.mark.Helper()
	return f.with(func(*broker.Rule) { f.forced = true }, ".Forced()")
}

// add makes the rule count.
func (f *FaultRule) add(action string, a broker.Action) *FaultRule {
	f.k.mark.Helper()
	f.k.faults.remove(f)
	name := f.name + action
	if err := f.senseless(a); err != nil {
		_ = f.k.steered(name, err)
		return f
	}
	f.added, f.name = true, name
	f.rule.Name, f.rule.Action = name, a
	f.k.b.AddRule(f.rule)
	return f
}

// senseless tells why a rule could never act.
func (f *FaultRule) senseless(a broker.Action) error {
	r := f.rule
	api := API(r.Key)
	if err := f.k.b.CheckOpen(); err != nil {
		return err // steered says more where the test has ended
	}
	switch {
	case f.added:
		return errors.New("the rule has its action already; begin another one with On")
	case f.nothing:
		return errors.New("there is no function: give one")
	case api != AnyAPI && !knownAPI(api.String()):
		return noAPI(api)
	case api != AnyAPI && !broker.Served(r.Key):
		return fmt.Errorf("%s is not served here, so that no rule acts on it: its connection is closed, and the test fails unless fakekafka.Ignore(%[1]q) is given", api)
	case f.empty == "Broker":
		return noBroker(0, len(f.k.Addrs()))
	case f.empty != "":
		return fmt.Errorf("what is given to %s names nothing: give a name, or leave %[1]s out", f.empty)
	case (r.Topic != "" || r.Partition >= 0) && !broker.NamesTopics(r.Key):
		return fmt.Errorf("%s requests name no topic; leave Topic and Partition out", api)
	case r.Group != "" && !broker.NamesGroups(r.Key):
		return fmt.Errorf("%s requests name no group; leave Group out", api)
	case a.Delay < 0:
		return fmt.Errorf("a delay of %s: give 0 or more", a.Delay)
	case r.Times < 0 || r.After < 0:
		return errors.New("Times and After count requests: give Times 1 or more, After 0 or more")
	case r.Broker < 0 || int(r.Broker) > len(f.k.Addrs()):
		return noBroker(int(r.Broker), len(f.k.Addrs()))
	case a.Fail != nil && !f.forced:
		if err := broker.CheckFail(r.Key, *a.Fail); err != nil {
			return err
		}
	}
	return nil
}

// Fail answers the error, where the API and its version have a place for it: at the top, or at every topic, partition, group or member that the
// request names. With Topic, Partition or Group only what these name fails, and takes no effect; the rest of the request is served, in one answer. What Kafka can't
// tell apart fails together, too: an error that is one of the request as a whole (such as NOT_CONTROLLER for an ElectLeaders), or of a group or a transaction
// (NOT_COORDINATOR for an OffsetFetch), fails all of that; and as a transaction gets all partitions of an AddPartitionsToTxn or none, those beside the
// one that is named are OPERATION_NOT_ATTEMPTED.
//
// A code that Kafka never answers for the API is refused, unless Forced.
func (f *FaultRule) Fail(code ErrorCode) *FaultRule {
	f.k.mark.Helper()
	c := wire.Code(code)
	return f.add(fmt.Sprintf(".Fail(%s)", code), broker.Action{Fail: &c})
}

// Delay handles the request after d of real time. Like everything of a connection, what the client sends after it on the same connection waits too.
func (f *FaultRule) Delay(d time.Duration) *FaultRule {
	f.k.mark.Helper()
	return f.add(fmt.Sprintf(".Delay(%s)", d), broker.Action{Delay: d})
}

// Hold stops the requests before they are handled, until the hold is released.
func (f *FaultRule) Hold() *Hold {
	f.k.mark.Helper()
	h := &Hold{k: f.k, gate: f.k.b.NewGate(f.name + ".Hold()"), rule: f.rule}
	f.add(".Hold()", broker.Action{Hold: h.gate})
	f.k.holds.add(h)
	return h
}

// HoldReply handles the requests, so that they take effect, and stops the answers until the hold is released.
func (f *FaultRule) HoldReply() *Hold {
	f.k.mark.Helper()
	h := &Hold{k: f.k, gate: f.k.b.NewGate(f.name + ".HoldReply()"), rule: f.rule}
	f.add(".HoldReply()", broker.Action{HoldReply: h.gate})
	f.k.holds.add(h)
	return h
}

// LoseReply handles the request, so that it took effect, and cuts the connection instead of answering.
func (f *FaultRule) LoseReply() *FaultRule {
	f.k.mark.Helper()
	return f.add(".LoseReply()", broker.Action{LoseReply: true})
}

// Drop cuts the connection before the request is handled: it took no effect.
func (f *FaultRule) Drop() *FaultRule {
	f.k.mark.Helper()
	return f.add(".Drop()", broker.Action{Drop: true})
}

// Reply answers what fn returns instead of handling the request. The response's version is set to the request's. fn runs off the control loop.
func (f *FaultRule) Reply(fn func(*Call) kmsg.Response) *FaultRule {
	f.k.mark.Helper()
	f.nothing = f.nothing || fn == nil
	return f.add(".Reply(…)", broker.Action{Reply: func(c *broker.Call) kmsg.Response {
		resp := fn(callOf(c))
		if resp != nil {
			resp.SetVersion(c.Version)
		}
		return resp
	}})
}

// Observe shows fn each request with its answer, before that is sent. fn runs off the control loop.
func (f *FaultRule) Observe(fn func(*Call)) *FaultRule {
	f.k.mark.Helper()
	f.nothing = f.nothing || fn == nil
	return f.add(".Observe(…)", broker.Action{Observe: func(c *broker.Call) { fn(callOf(c)) }})
}

// Count is on how many requests the rule has acted.
func (f *FaultRule) Count() int { return f.rule.Acted() }

// Remove ends the rule.
func (f *FaultRule) Remove() { f.k.b.RemoveRule(f.rule) }

// Hold is a place where requests, or a group, stand until the test releases them.
type Hold struct {
	k        *Cluster
	gate     *broker.Gate // of requests; nil for a step inside the coordinator
	rule     *broker.Rule
	group    *Group
	step     Step
	once     sync.Once // it is opened
	released atomic.Bool
	letGo    bool   // as the test ended
	left     string // what stood here then; "" for nothing
}

// Name says what is held, for messages.
func (h *Hold) Name() string {
	if h.gate != nil {
		return h.gate.Name
	}
	return fmt.Sprintf("Group(%q).Hold(%s)", h.group.id, h.step)
}

// standing tells whether something stands here. On the loop.
func (h *Hold) standing() (bool, string) {
	if h.gate == nil {
		if h.k.b.HeldAt(h.group.id, groupsStep(h.step)) {
			return true, "group " + h.group.id
		}
		return false, "nothing stands there"
	}
	w := h.gate.Waiting()
	if len(w) == 0 {
		return false, fmt.Sprintf("nothing stands there (%s did)", count(h.gate.Ever(), "request"))
	}
	return true, w[0].String()
}

// Reached waits until something stands at the hold. After Release it is an error at once: nothing can.
func (h *Hold) Reached(ctx context.Context) error {
	if h.released.Load() {
		return fmt.Errorf("fakekafka: wanted something that stands at %s; it was released, and nothing stops there any more: call Await before Release", h.Name())
	}
	err := h.k.await(ctx, "something that stands at "+h.Name(), h.standing)
	if err != nil && h.group != nil {
		return h.group.unmet(fmt.Errorf("%w%s", err, lines(h.unreached())), 1)
	}
	if err != nil {
		var hints []string
		if why := h.k.b.WhyIdle(h.rule); why != "" {
			hints = append(hints, why)
		}
		return fmt.Errorf("fakekafka: %w%s", err, lines(append(hints, h.k.inTheWay()...)))
	}
	return nil
}

// Await waits until something stands at the hold.
func (h *Hold) Await(tb testing.TB) {
	tb.Helper()
	h.k.within(tb, func(ctx context.Context) error { return h.Reached(ctx) })
}

// Release lets go what stands here, and ends the hold.
func (h *Hold) Release() {
	h.released.Store(true)
	h.k.holds.remove(h)
	h.once.Do(h.open)
}

func (h *Hold) open() {
	h.k.mark.Helper()
	if h.gate != nil {
		if h.rule != nil { // nil: there is no such step
			h.k.b.RemoveRule(h.rule)
		}
		h.gate.Open()
		return
	}
	_ = h.k.steered("Release of "+h.Name(), h.k.b.ReleaseGroup(h.group.id, groupsStep(h.step)))
}
