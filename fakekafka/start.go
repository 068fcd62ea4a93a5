package fakekafka

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/broker"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// start builds the cluster; tb is nil outside a test.
func start(o *options, tb testing.TB) (*Cluster, error) {
	k := &Cluster{o: o, tb: tb, mark: noTest{}}
	if tb != nil {
		k.mark = tb
		if o.broker.Logger == nil {
			o.broker.Logger = slog.New(slog.NewTextHandler(testLog{tb}, &slog.HandlerOptions{Level: slog.LevelWarn}))
		}
		o.broker.Unserved = k.unserved
		o.broker.User = func(text string) { tb.Errorf("fakekafka: the test's own code: %s", text) }
		o.broker.Bug = func(text string) { tb.Errorf("fakekafka: a defect of fakekafka itself: %s", text) }
	}
	b, err := broker.New(o.broker)
	if err != nil {
		if more := o.tooFewBrokers(); more != "" {
			err = fmt.Errorf("%s; %s", strings.TrimSuffix(err.Error(), "."), more)
		}
		return nil, fmt.Errorf("fakekafka: %w", err)
	}
	k.b = b
	return k, nil
}

// noTest stands for the test under New.
type noTest struct{}

func (noTest) Helper() {}

// unserved fails the test by the name of the request that nobody serves, unless the test ignores it.
func (k *Cluster) unserved(client string, key wire.Key, version int16) {
	if k.o.ignored[key.String()] {
		return
	}
	k.tb.Errorf("fakekafka: client %q sent %s v%d, which is not served here; its connection was closed. fakekafka.Ignore(%q) allows it", client, key, version, key)
}

// Ignore allows clients to send requests of these APIs, named as in Kafka's protocol ("ShareFetch"), though they are not served here: their
// connection is closed, but the test doesn't fail for it. One that is served is an error.
func Ignore(apis ...string) Option {
	return func(o *options) error {
		for _, a := range apis {
			if !knownAPI(a) {
				return fmt.Errorf("Ignore(%q): Kafka has no API of this name; they are named as the constants here, such as %q", a, ShareFetch)
			}
			if served(a) {
				return fmt.Errorf("Ignore(%q): it is served here, so that there is nothing to ignore: leave it out", a)
			}
			o.ignored[a] = true
		}
		return nil
	}
}

func knownAPI(name string) bool {
	_, known := wire.KeyNamed(name)
	return known
}

func served(name string) bool {
	key, known := wire.KeyNamed(name)
	return known && broker.Served(key)
}

// end closes the cluster at the end of its test and reports what the test left behind.
func (k *Cluster) end() {
	k.tb.Helper()
	k.untied()
	patience := 20 * time.Millisecond
	if k.o.noLeaks {
		patience = time.Second // a busy machine may not fail the test
	}
	if left := k.b.StillConnected(patience); len(left) > 0 {
		text := fmt.Sprintf("fakekafka: still connected at the end of the test: %s", strings.Join(left, ", "))
		if k.o.noLeaks {
			k.tb.Error(text)
		} else {
			k.tb.Log(text)
		}
	}
	for _, h := range k.holds.all() {
		if h.left != "" {
			k.tb.Errorf("fakekafka: at the end of the test %s still holds: %s. Release it", h.Name(), h.left)
		}
	}
	for _, f := range k.faults.all() {
		k.tb.Errorf("fakekafka: %s has no action; add Fail, Delay, Hold, HoldReply, LoseReply, Drop, Reply or Observe; the rule is at %s", f.name, f.rule.At)
	}
	for _, name := range k.b.Unmatched() {
		k.tb.Errorf("fakekafka: %s", name)
	}
	if k.tb.Failed() {
		k.report()
	}
	k.Close()
	k.ended.Store(true)
}

// untieAtEnd lifts every pause, isolation and hold as soon as the test's function has ended. Cleanups run in the reverse order of their
// registration, so that those of the clients come before the cluster's, and a client that is closed while nobody answers it takes a minute or two.
func (k *Cluster) untieAtEnd() {
	done := make(chan struct{})
	stop := context.AfterFunc(testContext(k.tb), func() {
		defer close(done)
		k.untie(broker.EventTestEnded)
	})
	k.untied = func() {
		if stop() {
			k.untie(broker.EventTestEnded)
			return
		}
		<-done
	}
}

// lastWords is how long before go test ends it a test is told what it may be waiting for.
const lastWords = 2 * time.Second

// untieBeforeDeadline is for a test that stands until go test ends it, which prints nothing of what the test has said: mostly a client that is closed in a defer waits
// for an answer that a pause or a hold keeps from it. A moment before the deadline that is said, and all are let go, so that the test can end by itself.
func (k *Cluster) untieBeforeDeadline() {
	at, ok := testDeadline(k.tb)
	if !ok {
		return
	}
	done := make(chan struct{})
	timer := time.AfterFunc(time.Until(at)-lastWords, func() {
		defer close(done)
		stopped := k.stops()
		if len(stopped) == 0 {
			return
		}
		k.tb.Errorf("fakekafka: go test ends this test in %s. It may wait for what it has stopped itself: %s. That is let go now. A client is to be closed in t.Cleanup, "+
			"which comes after the end of pauses and holds, and not in a defer; or Resume and Release before", lastWords, strings.Join(stopped, "; "))
		k.untie(broker.EventDeadline)
	})
	untied := k.untied
	k.untied = func() {
		if !timer.Stop() {
			<-done
		}
		untied()
	}
}

// untie lets go what the test has stopped, and notes how the test ends.
func (k *Cluster) untie(how groups.EventKind) {
	k.untying.Lock()
	defer k.untying.Unlock()
	holds := slices.DeleteFunc(k.holds.all(), func(h *Hold) bool { return h.letGo })
	var names []string
	for _, h := range holds {
		names = append(names, h.Name())
		h.letGo = true
	}
	k.b.NoteEnd(how, names)
	for _, h := range holds {
		if stands, what := k.standsAt(h); stands {
			h.left = what
		}
		h.once.Do(h.open)
	}
	k.b.LiftPauses()
}

// testContext is done when the test's function has ended. The TB of another framework may have none.
func testContext(tb testing.TB) (ctx context.Context) {
	defer func() {
		if recover() != nil {
			ctx = context.Background()
		}
	}()
	return tb.Context()
}

// stops is what the test has stopped: brokers that don't run, pauses, isolations, holds at which something stands.
func (k *Cluster) stops() []string {
	stopped := k.b.Disturbances()
	for _, h := range k.holds.all() {
		if stands, what := k.standsAt(h); stands {
			stopped = append(stopped, h.Name()+" holds "+what)
		}
	}
	return stopped
}

// standsAt tells whether something stands at a hold.
func (k *Cluster) standsAt(h *Hold) (stands bool, what string) {
	k.b.Look(func() { stands, what = h.standing() })
	return stands, what
}

// mostReported is how many groups' timelines the end of a failed test prints: many subtests may share a cluster.
const mostReported = 8

// report prints what helps to understand a failed test: the groups' timelines as far as no failure has shown them, first of the groups that a failure was about; records
// that were matched and are not committed; and the seed.
func (k *Cluster) report() {
	k.tb.Helper()
	var ids []string
	k.b.Look(func() { ids = k.b.GroupIDs() })
	slices.SortStableFunc(ids, func(a, b string) int { return min(k.shown.of(b), 1) - min(k.shown.of(a), 1) })
	printed, more := 0, 0
	for _, id := range ids {
		switch text := k.Group(id).unshown(); {
		case text == "":
		case printed == mostReported:
			more++
		default:
			k.tb.Log("fakekafka: " + text)
			printed++
		}
	}
	if more > 0 {
		k.tb.Logf("fakekafka: … and timelines of %s more: Group(id).Timeline() has each", count(more, "group"))
	}
	k.reportLoose()
	k.tb.Logf("fakekafka: this run's seed: fakekafka.Seed(%d)", k.b.Seed())
}

// testLog writes the brokers' log to the test's.
type testLog struct{ tb testing.TB }

func (l testLog) Write(line []byte) (int, error) {
	l.tb.Log("fakekafka: " + strings.TrimRight(string(line), "\n"))
	return len(line), nil
}
