package broker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// syncBuffer is a log that many goroutines write.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// frame puts a size before its parts.
func frame(parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// header is a request header without tags, from client "x".
func header(key wire.Key, version int16) []byte {
	h := binary.BigEndian.AppendUint16(nil, uint16(key))
	h = binary.BigEndian.AppendUint16(h, uint16(version))
	h = binary.BigEndian.AppendUint32(h, 1)
	return append(h, 0, 1, 'x')
}

// requireClosed waits until the broker closes the connection, and for nothing before that.
func requireClosed(t *testing.T, nc net.Conn, what string) {
	t.Helper()
	require.NoError(t, nc.SetReadDeadline(time.Now().Add(20*time.Second)))
	got, err := io.ReadAll(nc)
	var timeout net.Error
	require.False(t, errors.As(err, &timeout) && timeout.Timeout(), "%s: the connection is still open", what)
	require.Empty(t, got, "%s: it was answered", what)
}

func dial(t testing.TB, c *Cluster) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", c.Addrs()[0])
	require.NoError(t, err)
	t.Cleanup(func() { nc.Close() })
	return nc
}

func topicsRequest(names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 12
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, n := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(n)
		req.Topics = append(req.Topics, t)
	}
	return req
}

func TestBadInputClosesItsConnectionOnly(t *testing.T) {
	t.Parallel()
	var log syncBuffer
	c := startCluster(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Unserved: func(string, wire.Key, int16) {
		t.Error("what Kafka doesn't serve either is not our hole")
	}})
	other := dialRaw(t, c)
	longArray := func(key wire.Key, version int16) []byte {
		return frame(header(key, version), []byte{0x7f, 0xff, 0xff, 0xff})
	}
	for _, bad := range []struct {
		what   string
		send   []byte
		reason string
	}{
		{"size -1", []byte{0xff, 0xff, 0xff, 0xff}, "frame of -1 bytes"},
		{"size 0", make([]byte, 4), "frame of 0 bytes"},
		{"one byte over the limit", []byte{0x06, 0x40, 0x00, 0x01}, "frame of 104857601 bytes"},
		{"an HTTP request", []byte("GET / HTTP/1.1\r\n\r\n"), "bytes announced"},
		{"a TLS hello", []byte{0x16, 3, 1, 0, 0xc8, 1, 0, 0, 0xc4, 3, 3}, "bytes announced"},
		{"a header cut short", frame([]byte{0, 18, 0}), "request header"},
		{"a client id longer than the frame", frame(header(wire.Metadata, 1)[:8], []byte{0x7f, 0xff, 'x'}), "client id of 32767 bytes"},
		{"an unknown key", frame(header(200, 0)), "API key 200"},
		{"a negative key", frame(header(-7, 0)), "API key -7"},
		{"a removed key", frame(header(4, 0)), "API key 4"},
		{"a key of the controller's", frame(header(52, 0)), "API key 52"},
		{"an unknown version", frame(header(wire.Metadata, 14)), "Metadata v14"},
		{"a negative version", frame(header(wire.Metadata, -1)), "Metadata v-1"},
		{"Produce v2", frame(header(wire.Produce, 2)), "Produce v2"},
		{"a body cut short", frame(header(wire.Metadata, 1), []byte{0, 0, 0, 3}), "Metadata v1"},
		{"an array longer than the frame", longArray(wire.Metadata, 1), "Metadata v1"},
		{"a string of negative length", frame(header(wire.Heartbeat, 0), []byte{0xff, 0xfe}), "Heartbeat v0"},
		{"bad tags", frame(header(wire.Metadata, 9), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}), "request header"},
	} {
		nc := dial(t, c)
		_, err := nc.Write(bad.send)
		require.NoError(t, err)
		requireClosed(t, nc, bad.what)
		require.Eventually(t, func() bool { return strings.Contains(log.String(), bad.reason) }, 20*time.Second, time.Millisecond,
			"%s: the log says nothing of %q:\n%s", bad.what, bad.reason, log.String())
		other.ask(topicsRequest())
	}
}

func TestRequestsBeforeABadOneAreAnswered(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{})
	nc := dial(t, c)
	good := frame(header(wire.ApiVersions, 0))
	_, err := nc.Write(bytes.Join([][]byte{good, good, frame(header(200, 0)), good}, nil))
	require.NoError(t, err)
	require.NoError(t, nc.SetReadDeadline(time.Now().Add(20*time.Second)))
	answers := 0
	for {
		var size [4]byte
		if _, err := io.ReadFull(nc, size[:]); err != nil {
			break
		}
		_, err := io.CopyN(io.Discard, nc, int64(binary.BigEndian.Uint32(size[:])))
		require.NoError(t, err)
		answers++
	}
	require.Equal(t, 2, answers)
}

// TestRandomBytes throws bytes of no meaning, and bodies of no meaning behind headers of every API and version. Whatever comes of it, the
// broker lives, reports no defect of its own (startCluster fails the test for one) and serves the next client.
func TestRandomBytes(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Seed: 1})
	rnd := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rnd.Uint32())
			if rnd.IntN(3) > 0 {
				b[i] &= 3 // small numbers reach further
			}
		}
		return b
	}
	for range 100 {
		nc := dial(t, c)
		_, _ = nc.Write(random(rnd.IntN(2000))) // it may be closed before all is written
		nc.Close()
	}
	for _, key := range wire.Keys() {
		for version := int16(0); version <= 20; version++ {
			if !wire.Accepted(key, version) {
				continue
			}
			for range 4 {
				h := header(key, version)
				if wire.Flexible(key, version) {
					h = append(h, 0)
				}
				nc := dial(t, c)
				_, err := nc.Write(frame(h, random(rnd.IntN(80))))
				require.NoError(t, err)
				require.NoError(t, nc.(*net.TCPConn).CloseWrite())
				if !mayWait(key) { // the others may wait for a minute
					require.NoError(t, nc.SetReadDeadline(time.Now().Add(20*time.Second)))
					_, err = io.Copy(io.Discard, nc)
					var timeout net.Error
					require.False(t, errors.As(err, &timeout) && timeout.Timeout(), "%s v%d is neither answered nor closed", key, version)
				}
				nc.Close()
			}
		}
	}
	dialRaw(t, c).ask(topicsRequest())
}

// TestEveryRequestIsAnswered sends kmsg's default of every served request, at every version.
func TestEveryRequestIsAnswered(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{})
	for _, key := range wire.Keys() {
		if c.handlers[key] == nil {
			continue
		}
		for version := int16(0); version <= 20; version++ {
			if !wire.Accepted(key, version) {
				continue
			}
			req := kmsg.RequestForKey(int16(key))
			req.SetVersion(version)
			setDefaults(req)
			dialRaw(t, c).ask(req)
		}
	}
}

// setDefaults takes what would close the connection or wait out of a default request.
func setDefaults(req kmsg.Request) {
	switch req := req.(type) {
	case *kmsg.ProduceRequest:
		req.Acks = 1
	case *kmsg.DescribeACLsRequest:
		req.ResourceType, req.ResourcePatternType, req.Operation, req.PermissionType = 1, 1, 1, 1
	case *kmsg.CreateACLsRequest:
		for i := range req.Creations {
			a := &req.Creations[i]
			a.ResourceType, a.ResourcePatternType, a.Operation, a.PermissionType = 2, 3, 3, 3
		}
	case *kmsg.DeleteACLsRequest:
		for i := range req.Filters {
			a := &req.Filters[i]
			a.ResourceType, a.ResourcePatternType, a.Operation, a.PermissionType = 1, 1, 1, 1
		}
	}
}

// TestAClientThatNeverReads doesn't keep others, or Close, waiting.
func TestAClientThatNeverReads(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "wide", Partitions: 2000}}})
	stubborn := dial(t, c)
	ask := rawFormatter.AppendRequest(nil, topicsRequest("wide"), 1)
	for { // until neither side's buffers take more
		require.NoError(t, stubborn.SetWriteDeadline(time.Now().Add(200*time.Millisecond)))
		if _, err := stubborn.Write(bytes.Repeat(ask, 100)); err != nil {
			break
		}
	}
	other := dialRaw(t, c)
	for range 10 {
		other.ask(topicsRequest("wide"))
	}
	closed := make(chan error, 1)
	go func() { closed <- c.Close() }()
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("Close waits for a client that doesn't read")
	}
}

// TestAnnouncedBytesAreNotHeld opens 1,000 connections that each announce 100 MiB and send little.
func TestAnnouncedBytesAreNotHeld(t *testing.T) {
	if testing.Short() {
		t.Skip("1,000 connections")
	}
	c := startCluster(t, Options{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const conns, sent = 1000, 1000
	for range conns {
		nc := dial(t, c)
		_, err := nc.Write(append([]byte{0x06, 0x40, 0x00, 0x00}, make([]byte, sent)...))
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return c.nodes[0].count() == conns }, 20*time.Second, time.Millisecond)
	dialRaw(t, c).ask(topicsRequest())
	runtime.GC()
	runtime.ReadMemStats(&after)
	held := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	require.Less(t, held, int64(64<<20), "bytes held for %d connections that sent %d bytes each", conns, sent)
}

// TestCostlyRequestsAreRefused sends a request whose structs would take many times its bytes.
func TestCostlyRequestsAreRefused(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{})
	c.mu.Lock() // which every new connection takes once
	c.decoding = newBudget(1 << 20)
	c.mu.Unlock()
	nc := dial(t, c)
	const topics = 100_000
	body := append([]byte{0}, binary.AppendUvarint(nil, topics+1)...)
	body = append(body, bytes.Repeat(append(make([]byte, 16), 1, 0), topics)...) // no id, empty name, no tags
	body = append(body, 0, 0, 0)
	_, err := nc.Write(frame(header(wire.Metadata, 12), body))
	require.NoError(t, err)
	requireClosed(t, nc, "a request above the budget")
	dialRaw(t, c).ask(topicsRequest())
}

func TestBudget(t *testing.T) {
	t.Parallel()
	b := newBudget(10 * smallCost)
	free, err := b.take(smallCost, nil)
	require.NoError(t, err)
	free()
	require.Zero(t, b.used, "small ones don't count")

	one, err := b.take(6*smallCost, nil)
	require.NoError(t, err)
	granted := make(chan func())
	go func() {
		two, err := b.take(6*smallCost, nil)
		require.NoError(t, err)
		granted <- two
	}()
	require.Eventually(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.queue) == 1 }, 20*time.Second, time.Millisecond)
	gone := make(chan struct{})
	close(gone)
	_, err = b.take(2*smallCost, gone)
	require.ErrorIs(t, err, errClosed, "in order: it would fit, but another waits")
	one()
	(<-granted)()
	require.Zero(t, b.used)
	require.Empty(t, b.queue)
	_, err = b.take(11*smallCost, nil)
	require.ErrorContains(t, err, "the limit is")
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Config: map[string]string{"connections.max.idle.ms": "100"}, Topics: []TopicSpec{{Name: "t", Partitions: 1}}})
	silent := dial(t, c)
	waiting := dialRaw(t, c)
	waiting.send(fetchRequest("t", time.Minute, 0))
	requireClosed(t, silent, "a silent connection")
	requireClosed(t, waiting.nc, "a connection with a fetch that waits")
}

func TestConnectionLimits(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Config: map[string]string{"max.connections": "1"}})
	first := dialRaw(t, c)
	first.ask(topicsRequest())
	second := dialRaw(t, c)
	second.send(topicsRequest())
	require.NoError(t, second.nc.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	_, err := second.nc.Read(make([]byte, 1))
	require.Error(t, err, "the second waits")
	first.nc.Close()
	second.receive(topicsRequest())

	c = startCluster(t, Options{Config: map[string]string{"max.connections.per.ip.overrides": "127.0.0.1:1,10.0.0.1:5"}})
	dialRaw(t, c).ask(topicsRequest())
	requireClosed(t, dial(t, c), "the second from one address")
}

// TestPanicOfAHandler answers the error form, and the connection goes on: on the connection's goroutine and on the loop.
func TestPanicOfAHandler(t *testing.T) {
	t.Parallel()
	var bugs syncBuffer
	c, err := New(Options{Bug: func(text string) { fmt.Fprintln(&bugs, text) }})
	require.NoError(t, err)
	defer c.Close()
	c.mu.Lock() // which every new connection takes once
	own := *c.handlers
	c.handlers = &own
	own[wire.Metadata] = func(*request) (answer, error) { panic("here") }
	own[wire.DescribeCluster] = func(r *request) (answer, error) {
		return onLoop(r.cluster, func() answer { panic("on the loop") })
	}
	c.mu.Unlock()
	cl := dialRaw(t, c)
	resp := cl.ask(topicsRequest("a")).(*kmsg.MetadataResponse)
	require.Len(t, resp.Topics, 1)
	require.EqualValues(t, wire.UnknownServerError, resp.Topics[0].ErrorCode)
	require.Empty(t, resp.Brokers)
	described := cl.ask(kmsg.NewPtrDescribeClusterRequest()).(*kmsg.DescribeClusterResponse)
	require.EqualValues(t, wire.UnknownServerError, described.ErrorCode)
	require.Contains(t, bugs.String(), "here")
	require.Contains(t, bugs.String(), "on the loop")
	require.Contains(t, bugs.String(), "conn_test.go", "the stack says where")
}
