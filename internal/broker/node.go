package broker

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fakekafka/fakekafka/internal/config"
)

// node is one broker of the cluster: a listener and its connections.
type node struct {
	cluster *Cluster
	id      int32
	listen  string // as asked for; after the first start with the port it got, which a restart keeps
	rack    string

	values atomic.Pointer[config.Values] // the settings in force, replaced by the loop when they change

	link link

	killed atomic.Bool // it was stopped without warning, and hasn't come back

	sessions atomic.Pointer[fetchSessions]             // new with each start
	expired  struct{ consumer, follower atomic.Int64 } // fetches ended by the clock

	mu       sync.Mutex
	listener net.Listener  // nil while stopped
	stopped  chan struct{} // closed by stop, new with each start
	conns    map[*conn]struct{}
	idle     *time.Timer // looks for idle connections, from the first one on; nil where connections.max.idle.ms says never

	freed chan struct{} // capacity 1: a connection has ended
}

// start opens the listener and begins to accept.
func (n *node) start() error {
	if err := n.open(); err != nil {
		return err
	}
	return n.begin()
}

// open opens the listener. Who connects waits until begin.
func (n *node) open() error {
	l, err := n.cluster.network.Listen(n.listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("broker %d can't listen on %s: %w; another program has this port: port 0 takes a free one", n.id, n.listen, err)
	}
	if err != nil {
		return fmt.Errorf("broker %d can't listen on %s: %w", n.id, n.listen, err)
	}
	n.newSessions()
	stopped := make(chan struct{})
	n.mu.Lock()
	n.listener, n.stopped = l, stopped
	n.listen = l.Addr().String()
	n.mu.Unlock()
	return nil
}

// begin lets clients in.
func (n *node) begin() error {
	n.mu.Lock()
	l, stopped := n.listener, n.stopped
	n.mu.Unlock()
	if l == nil {
		return fmt.Errorf("broker %d was stopped while it started", n.id)
	}
	if !n.cluster.spawn(func() { n.accept(l, stopped) }) {
		n.stop("the broker is closing")
		return errClosed
	}
	return nil
}

func (n *node) accept(l net.Listener, stopped chan struct{}) {
	for {
		nc, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files: other connections may end
			n.cluster.log.Warn("a connection can't be accepted", "broker", n.id, "reason", err)
			if !sleepUnless(10*time.Millisecond, stopped) {
				return
			}
			continue
		}
		host := hostOf(nc.RemoteAddr())
		if !n.admit(nc, host, stopped) {
			nc.Close()
			continue
		}
		if wait := n.overConnectionRate(host); wait > 0 {
			if !n.cluster.spawn(func() { sleepUnless(wait, stopped); nc.Close() }) {
				nc.Close()
				return
			}
			continue
		}
		c := newConn(n, nc, host)
		n.mu.Lock()
		gone := n.listener != l
		if !gone {
			n.conns[c] = struct{}{}
			n.watchIdle(l)
		}
		n.mu.Unlock()
		if gone {
			nc.Close()
			return
		}
		if !n.cluster.spawn(c.serve) {
			c.shut("the broker is closing")
			return
		}
	}
}

// sleepUnless waits for d. It answers false when the broker was stopped meanwhile.
func sleepUnless(d time.Duration, stopped <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-stopped:
		return false
	}
}

// connections are the open ones in the order in which they were accepted, so that what is done to all of them has the same order in every run.
func (n *node) connections() []*conn {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sortedConns()
}

// sortedConns is connections with n.mu held.
func (n *node) sortedConns() []*conn {
	return slices.SortedFunc(maps.Keys(n.conns), func(a, b *conn) int { return cmp.Compare(a.id, b.id) })
}

// stop closes the listener and cuts the connections.
func (n *node) stop(why string) {
	n.mu.Lock()
	l := n.listener
	n.listener = nil
	if l != nil {
		close(n.stopped)
		if n.idle != nil {
			n.idle.Stop()
			n.idle = nil
		}
	}
	conns := n.sortedConns()
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
	switch {
	case n.cluster.advertise != "":
		host = n.cluster.advertise
	case unspecified(host):
		host = "127.0.0.1"
	}
	return host, port
}

// listeners tells package config where a broker listens, and where clients are told to connect to; "" while it doesn't listen.
func (c *Cluster) listeners(id int32) (listens, advertised string) {
	n := c.nodes[id-1]
	n.mu.Lock()
	open := n.listener != nil
	listens = n.listen
	n.mu.Unlock()
	if !open {
		return "", ""
	}
	host, port := n.addr()
	return listens, net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// unspecified tells whether a host stands for all addresses of the machine. To a client it is no address: it would connect to itself.
func unspecified(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsUnspecified()
}

// brokerHost is the host by which the client is told to reach a broker. Of one that listens on all addresses that is the address by which the client has reached this
// broker: another machine is told another one than this one.
func (r *request) brokerHost(n *nodeInfo) string {
	if n.everywhere && r.conn.nc != nil {
		if a, ok := r.conn.nc.LocalAddr().(*net.TCPAddr); ok {
			return a.IP.String()
		}
	}
	return n.host
}
