package broker

import (
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is set on a listener on loopback is what its connections have: the room for a client's first batches, and a reader that wakes at the first byte.
func TestConnectionsInheritTheTuningOfLoopback(t *testing.T) {
	t.Parallel()
	l, err := tcp{}.Listen("127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	server, err := l.Accept()
	require.NoError(t, err)
	defer server.Close()

	raw, err := server.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		least, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT)
		require.NoError(t, err)
		require.Equal(t, 1, least)
		room, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF)
		require.NoError(t, err)
		if largest := largestReceiveBuffer(t); largest/2 >= loopbackWindow {
			require.GreaterOrEqual(t, room, loopbackWindow)
		}
	}))
	_, err = client.Write([]byte{1})
	require.NoError(t, err)
	_, err = io.ReadFull(server, make([]byte, 1))
	require.NoError(t, err)
}

// largestReceiveBuffer is the third number of net.ipv4.tcp_rmem, up to which the kernel lets a receive buffer grow.
func largestReceiveBuffer(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_rmem")
	require.NoError(t, err)
	limits := strings.Fields(string(text))
	require.Len(t, limits, 3)
	largest, err := strconv.Atoi(limits[2])
	require.NoError(t, err)
	return largest
}
