package broker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// flight is a request of a scripted member to which a rule of the test may apply. Rules wait and run user code, so it can't be handled on the
// control loop, as the scripts' other requests are. Flights move one at a time: each until it is answered or stands at a gate; one that is let go
// from there waits for its turn again. So their order is the loop's, and a scenario with faults has the same timeline every time.
type flight struct {
	s      *Script
	r      *request
	aloft  bool          // it has taken off
	turn   chan struct{} // capacity 1: it may move
	landed chan struct{} // capacity 1: it has come to rest, or to its end
	rests  atomic.Bool
}

// flights are those under way.
type flights struct {
	busy  atomic.Int32 // that are not at rest
	mu    sync.Mutex
	queue []*flight // to take off or to move on
	going bool
}

// takeOff queues a request. On the loop.
func (fs *flights) takeOff(s *Script, r *request) {
	f := &flight{s: s, r: r, turn: make(chan struct{}, 1), landed: make(chan struct{}, 1)}
	r.conn.flight = f
	fs.add(s.c, f)
}

func (fs *flights) add(c *Cluster, f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.busy.Add(1)
	fs.queue = append(fs.queue, f)
	if !fs.going {
		fs.going = c.spawn(func() { fs.run(c) })
	}
}

func (fs *flights) run(c *Cluster) {
	for {
		fs.mu.Lock()
		if len(fs.queue) == 0 {
			fs.going = false
			fs.mu.Unlock()
			return
		}
		f := fs.queue[0]
		fs.queue = fs.queue[1:]
		fs.mu.Unlock()
		if f.aloft {
			f.turn <- struct{}{}
		} else {
			f.aloft = true
			if !c.spawn(func() { f.fly(c) }) {
				return
			}
		}
		select {
		case <-f.landed:
		case <-c.closing:
			return
		}
	}
}

func (f *flight) fly(c *Cluster) {
	ans, err := c.intercepted(f.r, c.handlers[f.r.key])
	failed := caught(func() {
		c.loop.do(func() {
			defer c.groups.scripts.flights.busy.Add(-1) // landed, whatever became of it
			if resp, ok := ans.(kmsg.Response); ok && err == nil {
				f.s.hear(resp)
			} else {
				f.s.lost()
			}
			c.endTurn(c.clock.Now()) // what follows from it takes off before this one counts as landed
		})
	})
	if failed != nil {
		c.bug("the answer of a scripted member's %s: %v", f.r.key, failed.value)
	}
	f.landed <- struct{}{}
}

// rests marks the time in which the request stands somewhere; the returned function ends it, when it is its turn.
func (c *conn) rests() func() {
	f := c.flight
	if f == nil || !f.rests.CompareAndSwap(false, true) {
		return func() {}
	}
	c.cluster.groups.scripts.flights.busy.Add(-1)
	f.landed <- struct{}{}
	c.cluster.changed()
	return func() {
		f.goesOn()
		select {
		case <-f.turn:
		case <-c.cluster.closing:
		}
	}
}

// goesOn queues a request that stands somewhere to move on; who lets it go calls it before the request itself knows.
func (f *flight) goesOn() {
	if f != nil && f.rests.CompareAndSwap(true, false) {
		f.s.c.groups.scripts.flights.add(f.s.c, f)
	}
}

// restLimit bounds how long a steering call waits for the scripted members: user code in a rule may itself be what steers.
const restLimit = 2 * time.Second

// Rest waits until the scripted members have done what they can do without any time passing. From off the loop.
func (c *Cluster) Rest() {
	ctx, cancel := context.WithTimeout(context.Background(), restLimit)
	defer cancel()
	_ = c.Await(ctx, func() bool {
		co := c.groups
		return len(co.scripts.ready) == 0 && len(co.dirty) == 0 && co.scripts.flights.busy.Load() == 0 // not in the middle of a turn
	})
}
