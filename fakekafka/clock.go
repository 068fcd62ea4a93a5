package fakekafka

import (
	"errors"
	"fmt"
	"sync"
	"testing/synctest"
	"time"

	"github.com/fakekafka/fakekafka/internal/broker"
)

// ManualClock makes the brokers' time stand at start until FastForward moves it. It holds the timers of sessions, rebalances, retention and
// transactions; waits of I/O (a fetch's max wait, a held heartbeat) stay on real time, so that no client hangs, and the initial rebalance delay is 0 unless it is
// set. A record's timestamp is judged against the later of this clock and the machine's.
func ManualClock(start time.Time) Option {
	return func(o *options) error {
		if start.IsZero() {
			return errors.New("ManualClock: give the instant to begin at, such as time.Now()")
		}
		if start.Before(time.Unix(0, 0)) || start.After(broker.EndOfTime) {
			return fmt.Errorf("ManualClock(%s): give an instant from 1970 to %s", start.Format(time.RFC3339), broker.EndOfTime.Format(time.DateOnly))
		}
		o.broker.ManualClock = start
		return nil
	}
}

// Now is the brokers' time.
func (k *Cluster) Now() time.Time { return k.b.Now() }

// FastForward moves the brokers' time ahead by d, in no real time. Timers fire one at a time in order of their deadlines; what one sets off is
// finished before the next. A member whose client is connected and not paused counts as heartbeating all the while: only silent, paused and
// scripted-silent members expire. A timer that waits for a living client (a rebalance, a revocation) is not passed before that client has answered; if it
// doesn't within WaitLimit of real time, the error names it. In a synctest bubble everybody finishes what they do before time moves on.
func (k *Cluster) FastForward(d time.Duration) error {
	k.mark.Helper()
	if to := k.Now().Add(d); to.After(broker.EndOfTime) {
		return k.steered(fmt.Sprintf("FastForward(%s)", d), fmt.Errorf("that would be in %d; the clock ends at %s", to.UTC().Year(), broker.EndOfTime.Format(time.DateOnly)))
	}
	var rest func()
	if k.o.memory != nil {
		rest = restInBubble
	}
	from := k.Now()
	err := k.b.FastForward(d, k.o.waitLimit, rest)
	if err == nil {
		k.moved.add(from, from.Add(d))
	}
	return k.steered(fmt.Sprintf("FastForward(%s)", d), err)
}

// forwards are the times that FastForward moved over.
type forwards struct {
	mu   sync.Mutex
	list [][2]time.Time
}

func (f *forwards) add(from, to time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, [2]time.Time{from, to})
}

// between is how much of the time between two instants was moved over.
func (f *forwards) between(from, to time.Time) (moved time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.list {
		begin, end := s[0], s[1]
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		moved += max(0, end.Sub(begin))
	}
	return min(moved, to.Sub(from)) // calls at the same time overlap
}

// restInBubble waits until everybody else in the synctest bubble waits for time, or for us. Outside of a bubble there is no telling.
func restInBubble() {
	defer func() { _ = recover() }() // the call panics outside of a bubble, and where the test itself is in one
	synctest.Wait()
}
