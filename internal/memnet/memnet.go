// Package memnet is a network inside the process: listeners and connections without sockets. Its waits are on channels, never on a
// lock, so that all of it can live in a testing/synctest bubble.
package memnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Network is where its listeners are found, by address.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*listener // by address
	nextPort  int
}

// New makes an empty network.
func New() *Network {
	return &Network{listeners: map[string]*listener{}, nextPort: 9092}
}

// Listen opens a listener. Port 0 takes a free one, from 9092 on.
func (n *Network) Listen(addr string) (net.Listener, error) {
	host, given, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(given, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port %q is not a number from 0 to 65535", given)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for port == 0 {
		at := net.JoinHostPort(host, strconv.Itoa(n.nextPort))
		if n.listeners[at] == nil {
			port = uint64(n.nextPort)
		}
		n.nextPort++
	}
	l := &listener{
		network: n, addr: address(net.JoinHostPort(host, strconv.FormatUint(port, 10))),
		accepts: make(chan *Conn), done: make(chan struct{}),
	}
	if n.listeners[string(l.addr)] != nil {
		return nil, fmt.Errorf("listen %s: %w", l.addr, syscall.EADDRINUSE)
	}
	n.listeners[string(l.addr)] = l
	return l, nil
}

// DialContext connects to a listener of this network by its address.
func (n *Network) DialContext(ctx context.Context, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[addr]
	n.nextPort++
	from := address(net.JoinHostPort("127.0.0.1", strconv.Itoa(40000+n.nextPort%20000)))
	n.mu.Unlock()
	if l == nil {
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: address(addr), Err: syscall.ECONNREFUSED}
	}
	up, down := newPipe(), newPipe()
	client := &Conn{in: down, out: up, local: from, remote: l.addr}
	server := &Conn{in: up, out: down, local: l.addr, remote: from}
	select {
	case l.accepts <- server:
		return client, nil
	case <-l.done:
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: l.addr, Err: syscall.ECONNREFUSED}
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: l.addr, Err: ctx.Err()}
	}
}

// address is HOST:PORT.
type address string

func (address) Network() string  { return "memory" }
func (a address) String() string { return string(a) }

type listener struct {
	network *Network
	addr    address
	accepts chan *Conn
	once    sync.Once
	done    chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepts:
		return c, nil
	case <-l.done:
		return nil, &net.OpError{Op: "accept", Net: "memory", Addr: l.addr, Err: net.ErrClosed}
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		l.network.mu.Lock()
		delete(l.network.listeners, string(l.addr))
		l.network.mu.Unlock()
		close(l.done)
	})
	return nil
}

func (l *listener) Addr() net.Addr { return l.addr }

// Conn is one end of a connection: it reads from one pipe and writes to the other.
type Conn struct {
	in, out       *pipe
	local, remote address
}

func (c *Conn) Read(b []byte) (int, error)  { return c.in.read(b) }
func (c *Conn) Write(b []byte) (int, error) { return c.out.write(b) }

// Close ends both directions. What was written before can still be read by the other end.
func (c *Conn) Close() error {
	c.out.closeWrite()
	c.in.closeRead()
	return nil
}

// Ended tells whether the other end has closed the connection, and nothing that it sent is left to read.
func (c *Conn) Ended() bool {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	return c.in.eof && c.in.at == len(c.in.buf)
}

func (c *Conn) LocalAddr() net.Addr  { return c.local }
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}
func (c *Conn) SetReadDeadline(t time.Time) error  { return c.in.setDeadline(&c.in.readBy, t) }
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.out.setDeadline(&c.out.writeBy, t) }
