package broker

import "syscall"

// loopbackWindow is how much a client may send at once from its first byte on: two batches of the size that clients cut them at.
const loopbackWindow = 2 << 20

// tuneLoopback sets what the connections of a listener on a loopback address inherit from it. A kernel that refuses has its defaults, which work.
func tuneLoopback(fd uintptr) {
	// A congestion control that paces what it sends, such as BBR where that is the system's default, costs a fifth of the CPU of an answer, on a path that
	// is never congested. Reno doesn't, and every kernel has it.
	_ = syscall.SetsockoptString(int(fd), syscall.IPPROTO_TCP, syscall.TCP_CONGESTION, "reno")
	// A receive window that grows from 64 KiB lets a producer send in small pieces, each of which wakes the reader. To ask for the wanted low-water mark
	// raises the buffer to hold it and leaves its growth to the kernel; SO_RCVBUF would end the growth, at a limit that is often far below this.
	if syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, loopbackWindow) == nil {
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, 1)
	}
}
