package broker

import (
	"fmt"
	"slices"
	"syscall"
	"time"
)

// StillConnected names the clients that are connected: client id and address, sorted. One that has just closed its socket is given until
// patience to be noticed, and is not named.
func (c *Cluster) StillConnected(patience time.Duration) []string {
	var conns []*conn
	for _, n := range c.nodes {
		conns = append(conns, n.connections()...)
	}
	if len(conns) == 0 {
		return nil
	}
	limit := make(chan struct{})
	timer := time.AfterFunc(patience, func() { close(limit) })
	defer timer.Stop()
	var left []string
	for _, cn := range conns {
		if cn.abandoned() {
			continue
		}
		select {
		case <-cn.done:
		case <-limit:
			if cn.open() && !cn.abandoned() {
				left = append(left, fmt.Sprintf("%q (%s)", cn.clientID(), cn.nc.RemoteAddr()))
			}
		}
	}
	slices.Sort(left)
	return left
}

// abandoned tells whether the client has closed the connection, even where its reader can't know: it stands behind a fetch that waits, for fetch.max.wait.ms,
// and requests that the client sent before it closed may wait behind that one.
func (c *conn) abandoned() bool {
	if c.closedByPeer() {
		return true
	}
	sc, socket := c.nc.(syscall.Conn)
	return socket && hungUp(sc)
}
