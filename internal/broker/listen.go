package broker

import (
	"context"
	"net"
	"net/netip"
	"syscall"
)

// network is where brokers listen: TCP, or memory.
type network interface {
	Listen(addr string) (net.Listener, error)
}

type tcp struct{}

// Listen listens with plain TCP: no client of Kafka's speaks more, and trying multipath TCP first costs each start and each connection. So do
// keep-alives, by four calls of the system: they find peers whose machine is gone, and behind a loopback address there is no other machine.
func (tcp) Listen(addr string) (net.Listener, error) {
	var lc net.ListenConfig
	lc.SetMultipathTCP(false)
	if at, err := netip.ParseAddrPort(addr); err == nil && at.Addr().IsLoopback() {
		lc.KeepAlive = -1
		lc.Control = func(_, _ string, c syscall.RawConn) error { return c.Control(tuneLoopback) }
	}
	return lc.Listen(context.Background(), "tcp", addr)
}
