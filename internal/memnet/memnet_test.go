package memnet_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/fakekafka/fakekafka/internal/memnet"
)

func pair(t *testing.T) (client, server net.Conn) {
	n := memnet.New()
	l, err := n.Listen("127.0.0.1:0")
	require.NoError(t, err)
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			accepted <- c
		}
	}()
	client, err = n.DialContext(context.Background(), l.Addr().String())
	require.NoError(t, err)
	server = <-accepted
	t.Cleanup(func() { client.Close(); server.Close(); l.Close() })
	return client, server
}

func TestConnCarriesWhatIsWritten(t *testing.T) {
	client, server := pair(t)
	sent := bytes.Repeat([]byte("fakekafka!"), 200_000) // many times the buffer
	var g errgroup.Group
	g.Go(func() error {
		_, err := client.Write(sent)
		client.Close()
		return err
	})
	got, err := io.ReadAll(server)
	require.NoError(t, err)
	require.NoError(t, g.Wait())
	require.True(t, bytes.Equal(sent, got))
}

func TestConnEnds(t *testing.T) {
	client, server := pair(t)
	_, err := client.Write([]byte("last words"))
	require.NoError(t, err)
	require.NoError(t, client.Close())
	got, err := io.ReadAll(server)
	require.NoError(t, err)
	require.Equal(t, "last words", string(got))
	_, err = server.Write([]byte("nobody reads this"))
	require.Error(t, err)
	_, err = client.Read(make([]byte, 1))
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestConnDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := pair(t)
		began := time.Now()
		require.NoError(t, client.SetReadDeadline(began.Add(time.Minute)))
		_, err := client.Read(make([]byte, 1))
		var timeout net.Error
		require.ErrorAs(t, err, &timeout)
		require.True(t, timeout.Timeout())
		require.Equal(t, time.Minute, time.Since(began))

		// A full buffer makes a writer wait.
		require.NoError(t, client.SetWriteDeadline(time.Now().Add(time.Second)))
		n, err := client.Write(make([]byte, memnet.PipeBuffer+1))
		require.ErrorAs(t, err, &timeout)
		require.Equal(t, memnet.PipeBuffer, n)

		// A deadline taken back wakes who waits for the old one, and data ends the wait.
		require.NoError(t, server.SetReadDeadline(time.Time{}))
		require.NoError(t, client.SetReadDeadline(time.Now().Add(time.Hour)))
		time.AfterFunc(time.Second, func() { client.SetReadDeadline(time.Time{}) })
		time.AfterFunc(2*time.Hour, func() { server.Write([]byte("x")) })
		n, err = client.Read(make([]byte, 1))
		require.NoError(t, err)
		require.Equal(t, 1, n)
	})
}

func TestAddresses(t *testing.T) {
	n := memnet.New()
	l, err := n.Listen("127.0.0.1:0")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:9092", l.Addr().String())
	_, err = n.Listen("127.0.0.1:9092")
	require.Error(t, err)
	other, err := n.Listen("127.0.0.1:0")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:9093", other.Addr().String())

	_, err = n.DialContext(context.Background(), "127.0.0.1:9999")
	require.ErrorContains(t, err, "refused")
	require.NoError(t, l.Close())
	_, err = l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	l, err = n.Listen("127.0.0.1:9092")
	require.NoError(t, err, "a closed listener's address is free")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = n.DialContext(ctx, l.Addr().String()) // nobody accepts
	require.ErrorIs(t, err, context.Canceled)
}
