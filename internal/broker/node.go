package broker

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
)

// node is one broker of the cluster: a listener and its connections.
type node struct {
	cluster *Cluster
	id      int32
	listen  string // as asked for; after the first start with the port it got, which a restart keeps
	rack    string

	sessions atomic.Pointer[fetchSessions]             // new with each start
	expired  struct{ consumer, follower atomic.Int64 } // fetches ended by the clock

	mu       sync.Mutex
	listener net.Listener // nil while stopped
	conns    map[*conn]struct{}
}

// start opens the listener and begins to accept.
func (n *node) start() error {
	l, err := n.cluster.network.Listen(n.listen)
	if err != nil {
		return fmt.Errorf("broker %d can't listen on %s: %w", n.id, n.listen, err)
	}
	n.newSessions()
	n.mu.Lock()
	n.listener = l
	n.listen = l.Addr().String()
	n.mu.Unlock()
	n.cluster.spawn(func() { n.accept(l) })
	return nil
}

func (n *node) accept(l net.Listener) {
	for {
		nc, err := l.Accept()
		if err != nil {
			return // closed; any other error of a listener is as final
		}
		c := newConn(n, nc)
		n.mu.Lock()
		stopped := n.listener != l
		if !stopped {
			n.conns[c] = struct{}{}
		}
		n.mu.Unlock()
		if stopped {
			nc.Close()
			return
		}
		if !n.cluster.spawn(c.serve) {
			c.shut("the broker is closing")
			return
		}
	}
}

// stop closes the listener and cuts the connections.
func (n *node) stop(why string) {
	n.mu.Lock()
	l := n.listener
	n.listener = nil
	conns := make([]*conn, 0, len(n.conns))
	for c := range n.conns {
		conns = append(conns, c)
	}
	n.mu.Unlock()
	if l != nil {
		l.Close()
	}
	for _, c := range conns {
		c.shut(why)
	}
}

// addr is where clients reach the node: the advertised host with the listener's port.
func (n *node) addr() (host string, port int32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	host, port, err := splitAddr(n.listen)
	if err != nil {
		panic(err) // the listener's own address
	}
	if n.cluster.advertise != "" {
		host = n.cluster.advertise
	}
	return host, port
}

// network is where brokers listen: TCP, or memory.
type network interface {
	Listen(addr string) (net.Listener, error)
}

type tcp struct{}

func (tcp) Listen(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }
