package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// MemoryNetwork is a network inside the process: listeners and connections without sockets. Its waits are on channels, never on a
// lock, so that all of it can live in a testing/synctest bubble.
type MemoryNetwork struct {
	mu        sync.Mutex
	listeners map[string]*memListener // by address
	nextPort  int
}

// NewMemoryNetwork makes an empty network.
func NewMemoryNetwork() *MemoryNetwork {
	return &MemoryNetwork{listeners: map[string]*memListener{}, nextPort: 9092}
}

// Listen opens a listener. Port 0 takes a free one, from 9092 on.
func (n *MemoryNetwork) Listen(addr string) (net.Listener, error) {
	host, port, err := splitAddr(addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for port == 0 {
		at := net.JoinHostPort(host, strconv.Itoa(n.nextPort))
		if n.listeners[at] == nil {
			port = int32(n.nextPort)
		}
		n.nextPort++
	}
	l := &memListener{
		network: n, addr: memAddr(net.JoinHostPort(host, strconv.Itoa(int(port)))),
		accepts: make(chan *memConn), done: make(chan struct{}),
	}
	if n.listeners[string(l.addr)] != nil {
		return nil, fmt.Errorf("listen %s: %w", l.addr, syscall.EADDRINUSE)
	}
	n.listeners[string(l.addr)] = l
	return l, nil
}

// DialContext connects to a listener of this network by its address.
func (n *MemoryNetwork) DialContext(ctx context.Context, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[addr]
	n.nextPort++
	from := memAddr(net.JoinHostPort("127.0.0.1", strconv.Itoa(40000+n.nextPort%20000)))
	n.mu.Unlock()
	if l == nil {
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: memAddr(addr), Err: syscall.ECONNREFUSED}
	}
	up, down := newPipe(), newPipe()
	client := &memConn{in: down, out: up, local: from, remote: l.addr}
	server := &memConn{in: up, out: down, local: l.addr, remote: from}
	select {
	case l.accepts <- server:
		return client, nil
	case <-l.done:
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: l.addr, Err: syscall.ECONNREFUSED}
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: l.addr, Err: ctx.Err()}
	}
}

// memAddr is HOST:PORT.
type memAddr string

func (memAddr) Network() string  { return "memory" }
func (a memAddr) String() string { return string(a) }

type memListener struct {
	network *MemoryNetwork
	addr    memAddr
	accepts chan *memConn
	once    sync.Once
	done    chan struct{}
}

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepts:
		return c, nil
	case <-l.done:
		return nil, &net.OpError{Op: "accept", Net: "memory", Addr: l.addr, Err: net.ErrClosed}
	}
}

func (l *memListener) Close() error {
	l.once.Do(func() {
		l.network.mu.Lock()
		delete(l.network.listeners, string(l.addr))
		l.network.mu.Unlock()
		close(l.done)
	})
	return nil
}

func (l *memListener) Addr() net.Addr { return l.addr }

// memConn is one end of a connection: it reads from one pipe and writes to the other.
type memConn struct {
	in, out       *pipe
	local, remote memAddr
}

func (c *memConn) Read(b []byte) (int, error)  { return c.in.read(b) }
func (c *memConn) Write(b []byte) (int, error) { return c.out.write(b) }

// Close ends both directions. What was written before can still be read by the other end.
func (c *memConn) Close() error {
	c.out.closeWrite()
	c.in.closeRead()
	return nil
}

// ended tells whether the other end has closed the connection, and nothing that it sent is left to read.
func (c *memConn) ended() bool {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	return c.in.eof && c.in.at == len(c.in.buf)
}

func (c *memConn) LocalAddr() net.Addr  { return c.local }
func (c *memConn) RemoteAddr() net.Addr { return c.remote }

func (c *memConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}
func (c *memConn) SetReadDeadline(t time.Time) error  { return c.in.setDeadline(&c.in.readBy, t) }
func (c *memConn) SetWriteDeadline(t time.Time) error { return c.out.setDeadline(&c.out.writeBy, t) }

// pipeBuffer is how much a pipe takes before a writer waits, as a socket's buffers do.
const pipeBuffer = 256 << 10

// pipe is one direction of a connection.
type pipe struct {
	mu      sync.Mutex
	buf     []byte        // written, not yet read: buf[at:]
	at      int           //
	changed chan struct{} // closed at the next change; nil while nobody waits
	readBy  time.Time     // deadlines, zero: none
	writeBy time.Time
	eof     bool // the writing end is closed
	reset   bool // the reading end is closed
}

func newPipe() *pipe { return &pipe{} }

// change wakes who waits. With p.mu held.
func (p *pipe) change() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// wait gives up the lock until something changes or the deadline passes.
func (p *pipe) wait(deadline time.Time) {
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	changed := p.changed
	p.mu.Unlock()
	defer p.mu.Lock()
	if deadline.IsZero() {
		<-changed
		return
	}
	t := time.NewTimer(time.Until(deadline))
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	}
}

func passed(deadline time.Time) bool { return !deadline.IsZero() && !time.Now().Before(deadline) }

func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.reset:
			return 0, net.ErrClosed
		case passed(p.readBy):
			return 0, os.ErrDeadlineExceeded
		case len(b) == 0:
			return 0, nil
		case p.at < len(p.buf):
			n := copy(b, p.buf[p.at:])
			if p.at += n; p.at == len(p.buf) {
				p.at = 0
				if p.buf = p.buf[:0]; cap(p.buf) > pipeBuffer {
					p.buf = nil
				}
			}
			p.change()
			return n, nil
		case p.eof:
			return 0, io.EOF
		}
		p.wait(p.readBy)
	}
}

func (p *pipe) write(b []byte) (written int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.eof:
			return written, net.ErrClosed
		case p.reset:
			return written, syscall.EPIPE
		case passed(p.writeBy):
			return written, os.ErrDeadlineExceeded
		case len(b) == 0:
			return written, nil
		}
		if room := pipeBuffer - (len(p.buf) - p.at); room > 0 {
			if p.at > 0 && len(p.buf)+min(room, len(b)) > cap(p.buf) {
				p.buf = p.buf[:copy(p.buf, p.buf[p.at:])]
				p.at = 0
			}
			n := min(room, len(b))
			p.buf = append(p.buf, b[:n]...)
			b = b[n:]
			written += n
			p.change()
			continue
		}
		p.wait(p.writeBy)
	}
}

func (p *pipe) closeWrite() {
	p.mu.Lock()
	p.eof = true
	p.change()
	p.mu.Unlock()
}

func (p *pipe) closeRead() {
	p.mu.Lock()
	p.reset, p.buf, p.at = true, nil, 0
	p.change()
	p.mu.Unlock()
}

func (p *pipe) setDeadline(which *time.Time, t time.Time) error {
	p.mu.Lock()
	*which = t
	p.change()
	p.mu.Unlock()
	return nil
}
