package fakekafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fakekafka/fakekafka/internal/broker"
)

// A wait is woken by the change that it waits for; it never sleeps or polls. The limit is a safety net.

// limited is a context for one Await call: WaitLimit, or what is left of the test's own deadline if that is less.
func (k *Cluster) limited(tb testing.TB) (context.Context, context.CancelFunc) {
	limit := k.o.waitLimit
	if at, ok := testDeadline(tb); ok {
		// A second is left for the report.
		limit = min(limit, max(time.Until(at)-time.Second, time.Millisecond))
	}
	return context.WithTimeout(context.Background(), limit)
}

// within runs a wait of an Await call and fails the test if it ends with an error.
func (k *Cluster) within(tb testing.TB, wait func(ctx context.Context) error) {
	tb.Helper()
	ctx, cancel := k.limited(tb)
	defer cancel()
	check(tb, wait(ctx))
}

// testDeadline is when the test binary is killed.
func testDeadline(tb testing.TB) (at time.Time, ok bool) {
	at, ok, _ = deadlineOf(tb)
	return at, ok
}

// inBubble tells whether the test is in a synctest bubble.
func inBubble(tb testing.TB) bool {
	_, _, bubble := deadlineOf(tb)
	return bubble
}

// deadlineOf asks the test for its deadline. In a synctest bubble the testing package panics then, by which one is known.
func deadlineOf(tb testing.TB) (at time.Time, ok, bubble bool) {
	t, has := tb.(interface{ Deadline() (time.Time, bool) })
	if !has {
		return time.Time{}, false, false
	}
	defer func() {
		if p := recover(); p != nil {
			at, ok, bubble = time.Time{}, false, strings.Contains(fmt.Sprint(p), "synctest")
		}
	}()
	at, ok = t.Deadline()
	return at, ok, false
}

// await waits until check, which runs on the control loop, says that it is so; if it never does, the error says what was
// wanted and what check saw last.
func (k *Cluster) await(ctx context.Context, wanted string, check func() (ok bool, saw string)) error {
	began := time.Now()
	wanted = broker.OneLine(wanted)
	var saw string
	err := k.b.Await(ctx, func() bool {
		var ok bool
		ok, saw = check()
		return ok
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return &waitError{fmt.Sprintf("wanted %s; after %s there was:%s", wanted, time.Since(began).Round(time.Millisecond), after(saw)), err}
	case errors.Is(err, context.Canceled):
		return &waitError{fmt.Sprintf("wanted %s; there was, when the wait was canceled:%s", wanted, after(saw)), err}
	}
	if k.ended.Load() {
		err = k.late()
	}
	return fmt.Errorf("wanted %s: %w", wanted, err)
}

// after is a text behind a colon: on the same line, or on its own lines.
func after(text string) string {
	if text == "" || strings.HasPrefix(text, "\n") {
		return text
	}
	return " " + text
}

// waitError is a wait whose context ended: it says what was wanted and seen, and is still the context's error to errors.Is.
type waitError struct {
	text  string
	cause error
}

func (e *waitError) Error() string { return e.text }
func (e *waitError) Unwrap() error { return e.cause }

// now runs check on the control loop, once.
func (k *Cluster) now(wanted string, check func() (ok bool, saw string)) error {
	var ok bool
	var saw string
	k.b.Look(func() { ok, saw = check() })
	if !ok {
		return fmt.Errorf("wanted %s; there was: %s", broker.OneLine(wanted), saw)
	}
	return nil
}

// steered reports the error of a steering call: it is returned, and under Start it fails the test too, so that the
// call can be written without a check. What the call made scripted members do is done when it returns.
func (k *Cluster) steered(what string, err error) error {
	k.b.Rest()
	if err == nil {
		return nil
	}
	if k.ended.Load() {
		err = k.late()
	}
	err = fmt.Errorf("fakekafka: %s: %w", what, err)
	if k.tb != nil {
		k.tb.Helper()
		k.fail(err)
	}
	return err
}

// late is the error of what is asked of a cluster whose test has ended.
func (k *Cluster) late() error {
	return fmt.Errorf("the cluster is closed: it was started for %s, which has ended; start it with the test that needs it", k.tb.Name())
}

// fail fails the test. One that has ended can't be failed: testing panics. The tests around it can, and of a subtest testing has done so by then.
func (k *Cluster) fail(err error) {
	k.tb.Helper()
	defer func() {
		switch p := recover(); {
		case p == nil:
		case !k.ended.Load():
			panic(p)
		case !strings.Contains(k.tb.Name(), "/") || p != fmt.Sprintf("Fail in goroutine after %s has completed", k.tb.Name()):
			panic(err) // nobody is there to fail
		}
	}()
	k.tb.Error(err)
}
