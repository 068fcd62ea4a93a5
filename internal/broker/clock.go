package broker

import (
	"sync/atomic"
	"time"
)

// EndOfTime is as far as the clock may go: later on what is counted in nanoseconds would overflow.
var EndOfTime = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

// clock is the broker's time: the machine's, moved ahead by FastForward, or (manual) only ever what the test made it.
// Everything that Kafka decides by time goes by it. Only waits of I/O, and the quotas that count bytes a second, are on the machine's own time:
// clients live in that.
type clock struct {
	manual bool
	// ahead is what FastForward added to the machine's time; for a manual clock the time itself, in Unix nanoseconds.
	ahead atomic.Int64
}

func newClock() *clock { return &clock{} }

// newManualClock stands at start until it is moved.
func newManualClock(start time.Time) *clock {
	c := &clock{manual: true}
	c.ahead.Store(start.UnixNano())
	return c
}

// Now is the broker's time.
func (c *clock) Now() time.Time {
	if c.manual {
		return time.Unix(0, c.ahead.Load())
	}
	return time.Now().Add(time.Duration(c.ahead.Load()))
}

// NowMillis is Now as Kafka counts it on the wire.
func (c *clock) NowMillis() int64 { return c.Now().UnixMilli() }

// moveTo sets the time to t if that is later.
func (c *clock) moveTo(t time.Time) {
	if d := t.Sub(c.Now()); d > 0 {
		c.ahead.Add(int64(d))
	}
}

// recordTime is what a record's timestamp is judged against: the later of both clocks, so that a client that lives in
// the machine's time can produce to a broker whose manual clock stands in the past, and the other way round.
func (c *clock) recordTime() time.Time {
	now := c.Now()
	if !c.manual { // it is the machine's, or ahead of that
		return now
	}
	if machine := time.Now(); machine.After(now) {
		return machine
	}
	return now
}

// afterReal runs fn on the control loop after d of real time, unless the cluster is closed before.
func (c *Cluster) afterReal(d time.Duration, fn func()) {
	c.spawn(func() {
		if sleepUnless(d, c.closing) {
			c.loop.post(fn)
		}
	})
}
