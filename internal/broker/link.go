package broker

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// link is the network in front of a broker: how long an answer travels, and how many bytes a second go through in each direction. All of it is
// real time, since clients live in that.
type link struct {
	latency   atomic.Int64 // nanoseconds
	bandwidth atomic.Int64 // bytes a second in each direction, 0: no limit
	in, out   pacer
}

// pacer gives every byte of a direction its time, whichever connection it is of.
type pacer struct {
	mu   sync.Mutex
	free time.Time // when the last byte given out is through
}

// take is how long to wait until n bytes are through.
func (p *pacer) take(now time.Time, n int, perSecond int64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(time.Duration(float64(n) / float64(perSecond) * float64(time.Second)))
	return p.free.Sub(now)
}

// SetLatency makes every answer of a broker arrive later by d; 0 takes it back.
func (c *Cluster) SetLatency(broker int32, d time.Duration) error {
	n, err := c.needNode(broker)
	if err != nil {
		return err
	}
	if d < 0 {
		return fmt.Errorf("a latency of %s: give 0 or more", d)
	}
	n.link.latency.Store(int64(d))
	return nil
}

// SetBandwidth limits what a broker sends and what it receives, each to so many bytes a second; 0 takes it back.
func (c *Cluster) SetBandwidth(broker int32, perSecond int64) error {
	n, err := c.needNode(broker)
	if err != nil {
		return err
	}
	if perSecond < 0 {
		return fmt.Errorf("a bandwidth of %d bytes a second: give 0 (no limit) or more", perSecond)
	}
	n.link.bandwidth.Store(perSecond)
	return nil
}

func (l *link) slow() bool { return l.latency.Load() > 0 || l.bandwidth.Load() > 0 }

// received waits until the bytes that were read are through.
func (c *conn) received(n int) error {
	perSecond := c.node.link.bandwidth.Load()
	if perSecond <= 0 {
		return nil
	}
	if !sleepUnless(c.node.link.in.take(time.Now(), n, perSecond), c.done) {
		return net.ErrClosed
	}
	return nil
}

// underway are the answers of a connection that travel: one goroutine lets them arrive, in order.
type underway struct {
	mu    sync.Mutex
	queue []delayed
	bytes int           // of the queue and of what was taken from it and isn't written yet
	wake  chan struct{} // capacity 1
	room  chan struct{} // capacity 1: something was written
}

// mostUnderway is how many bytes of answers may travel on a connection; the next request is handled when there is room. So a client that
// asks and never reads can't make a slow broker hold more than that, as a socket's buffers would see to on a fast one.
const mostUnderway = 16 << 20

type delayed struct {
	b  []byte
	at time.Time
}

// send lets an answer travel. What follows on this connection travels behind it, also when the link is fast again.
func (c *conn) send(a answer) error {
	var b []byte
	switch a := a.(type) {
	case nil:
		return nil
	case *wire.FetchResponse:
		for _, part := range c.fetch.Encode(c.header.CorrelationID, c.header.Version, a) {
			b = append(b, part...)
		}
	case kmsg.Response:
		b = wire.AppendResponse(nil, c.header.CorrelationID, a)
	default:
		panic(fmt.Sprintf("broker: an answer of type %T", a))
	}
	if c.underway == nil {
		u := &underway{wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
		if !c.cluster.spawn(func() { c.deliver(u) }) {
			return errClosed
		}
		c.underway = u
	}
	u := c.underway
	for !u.put(delayed{b, time.Now().Add(time.Duration(c.node.link.latency.Load()))}) {
		select {
		case <-u.room:
		case <-c.done:
			return errClosed
		}
	}
	signal(u.wake)
	return nil
}

// put lets an answer travel if there is room for it; one alone always has room.
func (u *underway) put(d delayed) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.bytes > 0 && u.bytes+len(d.b) > mostUnderway {
		return false
	}
	u.queue = append(u.queue, d)
	u.bytes += len(d.b)
	return true
}

// written makes room.
func (u *underway) written(d delayed) {
	u.mu.Lock()
	u.bytes -= len(d.b)
	u.mu.Unlock()
	signal(u.room)
}

func (c *conn) deliver(u *underway) {
	for {
		u.mu.Lock()
		list := u.queue
		u.queue = nil
		u.mu.Unlock()
		if len(list) == 0 {
			select {
			case <-u.wake:
				continue
			case <-c.done:
				return
			}
		}
		for _, d := range list {
			wait := time.Until(d.at)
			if perSecond := c.node.link.bandwidth.Load(); perSecond > 0 {
				wait = max(wait, 0) + c.node.link.out.take(time.Now().Add(max(wait, 0)), len(d.b), perSecond)
			}
			if wait > 0 && !sleepUnless(wait, c.done) {
				return
			}
			if _, err := c.nc.Write(d.b); err != nil {
				c.shut(err.Error())
				return
			}
			u.written(d)
		}
	}
}
