package broker

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Java consumer waits for its heartbeat's answer when it is closed. Mostly it sends a LeaveGroup before that, which has a held heartbeat answered; one that
// closes without leaving sends nothing at all. What can be seen of it is that it fetches no more.

// silentFor is for how long, in real time, a client that may be closing has had no Fetch under way when its held heartbeat is answered.
const silentFor = 500 * time.Millisecond

// fetchPulse tells when a client fetches, over all its connections.
type fetchPulse struct {
	connections int // that hold it; with fetchPulses.mu
	underway    atomic.Int32
	ended       atomic.Int64 // when the last one ended, by the machine's clock in Unix nanoseconds
}

func (p *fetchPulse) begin() { p.underway.Add(1) }

func (p *fetchPulse) end() {
	p.ended.Store(time.Now().UnixNano())
	p.underway.Add(-1)
}

// fetchPulses are those of the clients that fetch.
type fetchPulses struct {
	mu sync.Mutex
	of map[pulseKey]*fetchPulse
}

type pulseKey struct{ client, host string }

// join is the pulse of a client one more connection of which fetches.
func (ps *fetchPulses) join(k pulseKey) *fetchPulse {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.of[k]
	if p == nil {
		if ps.of == nil {
			ps.of = map[pulseKey]*fetchPulse{}
		}
		p = &fetchPulse{}
		ps.of[k] = p
	}
	p.connections++
	return p
}

func (ps *fetchPulses) leave(k pulseKey) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p := ps.of[k]; p != nil {
		if p.connections--; p.connections == 0 {
			delete(ps.of, k)
		}
	}
}

// silence is for how long a client has had no Fetch under way; from is what counts for one that has never fetched.
func (ps *fetchPulses) silence(k pulseKey, from time.Time) time.Duration {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.of[k]
	if p == nil {
		return time.Since(from)
	}
	if p.underway.Load() > 0 {
		return 0
	}
	return min(time.Since(from), time.Duration(time.Now().UnixNano()-p.ended.Load()))
}

// pulse is that of the connection's client, whose Fetch comes.
func (c *conn) pulse(client string) *fetchPulse {
	if c.fetches == nil || c.fetchesFor != client {
		c.endPulse()
		c.fetchesFor = client
		c.fetches = c.cluster.pulses.join(pulseKey{client, c.host})
	}
	return c.fetches
}

// endPulse forgets that the connection fetched.
func (c *conn) endPulse() {
	if c.fetches != nil {
		c.cluster.pulses.leave(pulseKey{c.fetchesFor, c.host})
		c.fetches = nil
	}
}

// silenceOf is a timer for the next look whether the client of a held heartbeat is silent; nil unless it may be closing unheard.
func (r *request) silenceOf(w *waitingRequest) *time.Timer {
	if !w.mayClose {
		return nil
	}
	return time.NewTimer(silentFor)
}

// closesUnheard tells whether the request is the heartbeat of a member that sends nothing when its client is closed. On the loop.
func (w *waitingRequest) closesUnheard() bool {
	req, ok := w.body.(*kmsg.HeartbeatRequest)
	return ok && w.shard.ClosesUnheard(req.Group, req.MemberID, w.client)
}
