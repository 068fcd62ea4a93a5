package broker

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// loop is the control loop: one goroutine on which groups and cluster metadata change. What it runs is the total
// order of events. Nothing it runs may wait: not for a socket, a lock that is held over I/O, or itself.
type loop struct {
	clock *clock

	mu     sync.Mutex
	queue  []func()
	closed bool

	wake chan struct{} // capacity 1: there is something in the queue
	done chan struct{} // closed when the goroutine has ended

	// While lent is true the loop waits, in the middle of a step, for user code (an assignor of the test's own). That code may look at the
	// cluster meanwhile: looks carries what it wants to be run.
	looks chan func()
	lent  atomic.Bool
	// still is held by a look that runs after the loop has ended. Nothing changes any more, but looks may come from several goroutines.
	still sync.Mutex

	// failed is told of a panic in something that was posted; the loop goes on.
	failed func(*panicked)
	// endTurn runs after each drained queue, before the loop sleeps.
	endTurn func(now time.Time)
	// deadline is when tick is next wanted.
	deadline func() (time.Time, bool)
	tick     func(now time.Time)
}

// maxTicks bounds how often timers that set each other anew fire before the queue gets its turn.
const maxTicks = 1000

func newLoop(c *clock) *loop {
	return &loop{clock: c, wake: make(chan struct{}, 1), done: make(chan struct{}), looks: make(chan func())}
}

// post queues fn. It answers false when the loop has ended and fn will never run.
func (l *loop) post(fn func()) bool {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false
	}
	l.queue = append(l.queue, fn)
	l.mu.Unlock()
	signal(l.wake)
	return true
}

// do runs fn on the loop and waits for it. It must not be called on the loop. A panic of fn is the caller's.
func (l *loop) do(fn func()) bool {
	ran := make(chan struct{})
	var failed *panicked
	if !l.post(func() { failed = caught(fn); close(ran) }) {
		return false
	}
	select {
	case <-ran:
	case <-l.done:
		// The loop drains its queue before it ends, so fn may have run all the same.
		select {
		case <-ran:
		default:
			return false
		}
	}
	if failed != nil {
		panic(failed)
	}
	return true
}

// look runs fn, which changes nothing, between two steps, and waits for it; when the loop has ended it finds everything as it was left.
func (l *loop) look(fn func()) {
	var once sync.Once
	var failed *panicked
	ran := make(chan struct{})
	run := func() { once.Do(func() { failed = caught(fn); close(ran) }) }
	if l.post(run) {
		var looks chan<- func()
		if l.lent.Load() && inUserCode() {
			looks = l.looks
		}
		select {
		case <-ran:
		case looks <- run:
			<-ran
		case <-l.done:
		}
	} else {
		<-l.done
	}
	select {
	case <-ran:
	default:
		l.still.Lock()
		run()
		l.still.Unlock()
	}
	if failed != nil {
		panic(failed)
	}
}

// lend starts user code in the middle of a step, waits for it, and lets it look at the state meanwhile. It answers the function that the code
// returned: nil with ok if that took longer than patience, nil without ok if the code panicked or the cluster closes. On the loop.
func (l *loop) lend(start func() (result <-chan func()), patience time.Duration, closing <-chan struct{}) (take func(), ok bool) {
	l.lent.Store(true) // before the code runs: its first look must find it so
	defer l.lent.Store(false)
	result := start()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case take, ok = <-result:
			return take, ok
		case look := <-l.looks:
			look()
		case <-late.C:
			return nil, true
		case <-closing:
			return nil, false
		}
	}
}

// panicked is a panic on the loop, with the stack there.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("%v\n%s", p.value, p.stack) }

// caught runs fn and answers its panic, nil if it returned.
func caught(fn func()) (p *panicked) {
	defer func() {
		if v := recover(); v != nil {
			p = &panicked{v, debug.Stack()}
		}
	}()
	fn()
	return nil
}

// guarded runs fn; a panic in it is told, and the loop goes on. It answers whether fn came to its end.
func (l *loop) guarded(fn func(time.Time), now time.Time) bool {
	p := caught(func() { fn(now) })
	if p != nil {
		l.failed(p)
	}
	return p == nil
}

// afterFailure is how long a tick that failed is left alone, in real time: its deadline may stay past, and a loop that tried again at once would do nothing
// else and fill the log.
const afterFailure = time.Second

// close makes the loop end after what is queued. It doesn't wait.
func (l *loop) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	signal(l.wake)
}

func (l *loop) run() {
	defer close(l.done)
	var timer *time.Timer
	var batch []func()
	for {
		l.mu.Lock()
		batch, l.queue = l.queue, batch[:0]
		closed := l.closed
		l.mu.Unlock()
		for i, fn := range batch {
			if p := caught(fn); p != nil {
				l.failed(p)
			}
			batch[i] = nil
		}
		now := l.clock.Now()
		if len(batch) > 0 {
			l.guarded(l.endTurn, now)
		}
		if closed { // nothing is queued any more, and the token by which close woke the loop may be used up: don't wait for another
			if timer != nil {
				timer.Stop()
			}
			return
		}
		// All that is due is done before the next of the queue, so that under a manual clock nobody's speed decides the order.
		at, ok := l.deadline()
		sound := true
		for n := 0; ok && !at.After(now) && n < maxTicks && sound; n++ {
			sound = l.guarded(l.tick, now)
			l.guarded(l.endTurn, now)
			at, ok = l.deadline()
		}
		if !sound {
			at, ok = now.Add(afterFailure), true
		}
		if ok && !at.After(now) {
			continue
		}
		var due <-chan time.Time
		if ok && !l.clock.manual {
			if timer == nil {
				timer = time.NewTimer(at.Sub(now))
			} else {
				timer.Reset(at.Sub(now))
			}
			due = timer.C
		}
		select {
		case <-l.wake:
		case <-due:
		}
	}
}

// onLoop runs fn on the control loop and gives its answer.
func onLoop[T any](c *Cluster, fn func() T) (T, error) {
	var v T
	if !c.loop.do(func() { v = fn() }) {
		return v, errClosed
	}
	return v, nil
}
