//go:build linux || darwin

package broker

import "syscall"

// endOfInput tells whether the other end has closed a socket, and nothing that it sent is left to read.
func endOfInput(sc syscall.Conn) (ended bool) {
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		ended = n == 0 && err == nil
	})
	return ended
}
