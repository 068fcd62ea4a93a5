package broker

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
)

// User code (When, Observe, Reply, a custom assignor) runs on a goroutine of its own, and whoever needs its answer waits. So a panic fails the
// test and not the broker, FailNow, which ends the goroutine that calls it, ends no connection, and Close can be called from inside.

// runUser runs fn and then, here, what it returned, if the call came to its end. It answers false where it did not: after a panic or FailNow, which it
// reports, and when the cluster is closed meanwhile.
func (c *Cluster) runUser(where string, fn func() (take func())) bool {
	select {
	case take, ok := <-c.startUser(where, fn):
		if ok && take != nil {
			take()
		}
		return ok
	case <-c.closing:
		return false
	}
}

// startUser begins fn; the channel has what it returned, or is closed without.
func (c *Cluster) startUser(where string, fn func() (take func())) <-chan func() {
	result := make(chan func(), 1)
	c.users.Add(1)
	userGoroutines.Add(1)
	go c.userGoroutine(where, fn, result)
	return result
}

func (c *Cluster) userGoroutine(where string, fn func() func(), result chan<- func()) {
	defer c.users.Done()
	defer userGoroutines.Add(-1)
	defer close(result)
	ended := false
	defer func() {
		if p := recover(); p != nil {
			c.reportUser(fmt.Sprintf("%s panicked: %v", where, p), debug.Stack())
		} else if !ended {
			c.reportUser(where+" ended its goroutine, as t.Fatal and t.FailNow do; use t.Error there", debug.Stack())
		}
	}()
	take := fn()
	ended = true
	result <- take
}

// userGoroutines counts those of all clusters.
var userGoroutines atomic.Int64

// inUserCode tells whether the caller runs in user code, of whatever cluster.
func inUserCode() bool {
	if userGoroutines.Load() == 0 {
		return false // the usual case, known without a walk up the stack
	}
	pcs := make([]uintptr, 16)
	for skip := 0; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs)
		if n == 0 {
			return false
		}
		frames := runtime.CallersFrames(pcs[:n])
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			if strings.HasSuffix(f.Function, "(*Cluster).userGoroutine") {
				return true
			}
		}
	}
}

// reportUser reports a mistake in the test's own code.
func (c *Cluster) reportUser(text string, stack []byte) {
	if len(stack) > 0 {
		text += "\n" + string(stack)
	}
	if f := c.options.User; f != nil {
		f(text) // the test says it: in the log it would stand there twice
		return
	}
	c.log.Error("in the test's own code", "what", text)
}
