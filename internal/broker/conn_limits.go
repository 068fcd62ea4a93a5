package broker

import (
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"
)

// closeIdle cuts connections on which nothing was read or written for connections.max.idle.ms, whatever they wait for: also those
// with a fetch that waits, and those whose client doesn't read.
//
// It is a timer and not a goroutine, so that an idle broker costs none; it ends when the broker is stopped.
func (n *node) closeIdle(idle time.Duration, l net.Listener) {
	now := time.Now()
	next := now.Add(idle)
	n.mu.Lock()
	var cut []*conn
	for _, c := range n.sortedConns() {
		if at := time.Unix(0, c.active.Load()).Add(idle); !at.After(now) {
			cut = append(cut, c)
		} else if at.Before(next) {
			next = at
		}
	}
	if n.listener == l {
		n.idle.Reset(max(time.Until(next), time.Millisecond))
	}
	n.mu.Unlock()
	for _, c := range cut {
		c.shut(fmt.Sprintf("idle for %s (connections.max.idle.ms)", idle))
	}
}

// watchIdle begins to look for idle connections, if nobody does yet. With n.mu held.
func (n *node) watchIdle(l net.Listener) {
	idle := n.cluster.derived(n.id).connectionsMaxIdle
	if n.idle != nil || idle < 0 {
		return
	}
	n.idle = time.AfterFunc(max(idle, time.Millisecond), func() {
		n.cluster.spawn(func() { n.closeIdle(idle, l) })
	})
}

// admit applies the limits of connections. One above max.connections.per.ip is refused; one above max.connections waits until another
// ends, and all who come after it.
func (n *node) admit(nc net.Conn, host string, stopped <-chan struct{}) bool {
	d := n.cluster.derived(n.id)
	limit := perHost(host, d.maxConnectionsPerIP, d.perIPOverrides)
	if limit < math.MaxInt32 && n.countFrom(host) >= limit { // no limit needs no counting
		n.cluster.log.Warn("connection refused: too many from its address", "broker", n.id, "remote", nc.RemoteAddr().String(), "limit", limit)
		return false
	}
	for n.count() >= n.cluster.derived(n.id).maxConnections {
		select {
		case <-n.freed:
		case <-stopped:
			return false
		}
	}
	return true
}

// perHost is how many connections an address may have.
func perHost(host string, limit int, overrides string) int {
	if overrides == "" {
		return limit
	}
	for _, o := range splitList(overrides) { // host:count, checked when it was set
		i := strings.LastIndex(o, ":")
		if i < 0 || strings.Trim(o[:i], "[]") != strings.TrimPrefix(host, "/") {
			continue
		}
		if count, err := strconv.Atoi(o[i+1:]); err == nil {
			return count
		}
	}
	return limit
}

func (n *node) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.conns)
}

func (n *node) countFrom(host string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := 0
	for c := range n.conns {
		if c.host == host {
			count++
		}
	}
	return count
}
