package broker

import (
	"encoding/binary"
	"syscall"
)

// hungUp tells whether the other end has closed a TCP connection, though what it sent before may still be unread.
func hungUp(sc syscall.Conn) (closed bool) {
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		info, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO)
		if err != nil {
			return
		}
		var b [4]byte
		binary.NativeEndian.PutUint32(b[:], uint32(info))
		const tcpClose, tcpCloseWait = 7, 8
		closed = b[0] == tcpClose || b[0] == tcpCloseWait // the first byte of struct tcp_info is the state
	})
	return closed
}
