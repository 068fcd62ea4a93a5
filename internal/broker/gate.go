package broker

import (
	"slices"
	"sync"
	"time"
)

// Gate is where requests wait until the test lets them go. The zero value is not useful: see NewGate.
type Gate struct {
	Name  string
	c     *Cluster
	mu    sync.Mutex
	open  chan struct{} // closed when the gate is open for good
	done  bool
	ever  int
	stood []*Call // who waits now
	// flights are the requests of scripted members among them.
	flights []*flight
}

// NewGate makes a closed gate.
func (c *Cluster) NewGate(name string) *Gate {
	return &Gate{Name: name, c: c, open: make(chan struct{})}
}

// Open lets everybody go, now and later.
func (g *Gate) Open() {
	g.mu.Lock()
	if !g.done {
		g.done = true
		for _, f := range g.flights {
			f.goesOn()
		}
		close(g.open)
	}
	g.mu.Unlock()
	g.c.Rest()
}

// Waiting are the requests that stand at the gate.
func (g *Gate) Waiting() []*Call {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.stood)
}

// Ever is how many requests have stood at the gate.
func (g *Gate) Ever() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ever
}

func (g *Gate) enter(call *Call, f *flight) (open <-chan struct{}, leave func()) {
	g.mu.Lock()
	if f != nil {
		g.flights = append(g.flights, f)
	}
	g.stood = append(g.stood, call)
	g.ever++
	g.mu.Unlock()
	g.c.changed()
	return g.open, func() {
		g.mu.Lock()
		g.flights = slices.DeleteFunc(g.flights, func(o *flight) bool { return o == f })
		g.stood = slices.DeleteFunc(g.stood, func(o *Call) bool { return o == call })
		g.mu.Unlock()
		g.c.changed()
	}
}

// orphan says what becomes of a waiting request when its client ends the connection.
type orphan bool

const (
	// sent: the request has been sent and takes effect all the same, as in Kafka.
	sent orphan = true
	// unhandled: it is dropped. The client's process or network is what hangs; it never got here.
	unhandled orphan = false
)

// waitAt keeps the request at a gate. The connection reads one frame ahead meanwhile, so that a client that gives up is noticed.
func (c *conn) waitAt(g *Gate, r *request, o orphan) error {
	c.standing.Store(int32(r.key) + 1) // before the gate tells that somebody came, or a wait that looks then finds the client still busy
	open, leave := g.enter(r.call(), c.flight)
	defer leave()
	defer c.standing.Store(0)
	defer c.rests()()
	return c.waitFor(open, o)
}

// sleep waits for d of real time.
func (c *conn) sleep(d time.Duration) error {
	over := make(chan struct{})
	t := time.AfterFunc(d, func() { close(over) })
	defer t.Stop()
	defer c.rests()()
	return c.waitFor(over, sent)
}

func (c *conn) waitFor(ready <-chan struct{}, o orphan) error {
	select {
	case <-ready:
		return nil
	default:
	}
	var ahead chan frameOrError
	if o == unhandled {
		ahead = c.readAhead()
	}
	for {
		select {
		case <-ready:
			return nil
		case <-c.done:
			return errClosed
		case f := <-ahead:
			ahead <- f // left for conn.next
			if f.err != nil {
				return f.err
			}
			ahead = nil
		}
	}
}
