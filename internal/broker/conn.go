package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// conn is one client connection. One goroutine serves it: reads a frame, handles it, writes the answer.
type conn struct {
	cluster *Cluster
	node    *node
	nc      net.Conn
	id      uint64
	host    string // "/127.0.0.1", as Kafka names a client's host

	frames *wire.FrameReader
	header wire.Header
	fetch  wire.FetchEncoder
	mute   time.Duration // after the next answer nothing is read for so long: the client is over a quota

	underway *underway // answers that travel; nil while the link is fast

	fetching   fetching    // the Fetch under way
	fetches    *fetchPulse // nil if it hasn't fetched
	fetchesFor string      // the client id of that

	// ahead carries the one frame that may be read while a request is parked; nil when nobody reads ahead. reader says what the goroutine that
	// reads it will do, or has done.
	ahead     chan frameOrError
	aheadChan chan frameOrError // the channel of ahead, kept for the next time: it is empty between two uses
	reader    atomic.Int32

	// what ApiVersions told, "" if the client sent none
	software, softwareVersion string

	requests *requestLog
	standing *standing
	flight   *flight // of a scripted member's request, nil of a client
	doing    doing

	telemetry  atomic.Pointer[telemetryKey] // of the telemetry client that last came by this connection for the first time; a broker forgets it with the connection
	speaks     *speaker                     // of the last request
	lastClient atomic.Pointer[string]       // client id of the last request, for messages
	active     atomic.Int64                 // clock of the last byte in or out, Unix nanoseconds of the machine's time

	lastAnswer atomic.Pointer[string] // why the connection is closed after the answer under way; nil: it isn't
	closeOnce  sync.Once
	done       chan struct{} // closed by shut: whoever waits on behalf of this connection stops
	reason     atomic.Pointer[string]
}

func newConn(n *node, nc net.Conn, host string) *conn {
	c := &conn{
		cluster: n.cluster, node: n, nc: nc, id: n.cluster.connIDs.Add(1), host: host,
		done: make(chan struct{}), requests: &requestLog{}, standing: &standing{},
	}
	c.frames = wire.NewFrameReader(c, n.cluster.derived(n.id).frameLimit)
	c.touch()
	return c
}

type frameOrError struct {
	frame []byte
	err   error
}

// What becomes of a goroutine that reads ahead.
const (
	readsAhead int32 = iota
	hasRead          // its frame is in the channel, and it has ended
	takesOver        // it goes on serving the connection
)

// errTakenOver ends a goroutine that served a connection: the one that reads ahead goes on.
var errTakenOver = errors.New("another goroutine serves the connection")

// request is one decoded request and where it came from. A handler answers it by returning.
type request struct {
	conn    *conn
	cluster *Cluster
	node    *node
	key     wire.Key
	version int16
	corr    int32
	client  string // client.id, "" if null
	body    kmsg.Request
	script  *Script  // of a scripted member, nil for a client
	fails   failCode // what the handler answers for a part of it, by the test; nil: nothing
	frame   []byte   // the whole frame: record bytes of a Produce point into it

	wait time.Duration // the client is over a quota: after the answer nothing is read for so long
}

// call is the request as rules see it, before it is handled.
func (r *request) call() *Call {
	return &Call{Key: r.key, Version: r.version, Client: r.client, Broker: r.node.id, Request: r.body}
}

// answer is what a handler returns: a kmsg.Response, a *wire.FetchResponse, or nil for no answer at all (acks 0).
type answer any

// badInput is a request that is refused by closing its connection, as a real broker does.
type badInput struct{ error }

func (e badInput) Unwrap() error { return e.error }

// remedy is what a reader of the log can do about a bad request; "" for nothing.
func remedy(err error) string {
	var u *wire.UnsupportedError
	if errors.As(err, &u) && u.TooOld() {
		return ". Apache Kafka 4 serves no version older than that either (KIP-896): update the client (sarama: to 1.41 or newer), or have it take the broker for 2.1 or newer (sarama: Config.Version)"
	}
	return ""
}

// errNoAnswer closes the connection without an answer.
type errNoAnswer struct{ why string }

func (e errNoAnswer) Error() string { return e.why }

// noAnswer is the error of a handler that wants the connection closed unanswered.
func noAnswer(format string, args ...any) error { return errNoAnswer{fmt.Sprintf(format, args...)} }

var errClosed = errors.New("the cluster is closed")

func (c *conn) serve() { c.end(c.loop(c.next())) }

// end closes the connection because of err. If another goroutine has taken the connection over, it does nothing.
func (c *conn) end(err error) {
	if err == errTakenOver {
		return
	}
	var bad badInput
	if errors.As(err, &bad) {
		c.cluster.log.Warn("bad request, connection closed", "client", c.clientID(), "remote", c.nc.RemoteAddr().String(), "reason", err.Error()+remedy(err))
	}
	switch {
	case c.reason.Load() != nil: // it was cut, which has told why
	case errors.Is(err, io.EOF):
		c.shut("the client closed it")
	default:
		c.shut(err.Error())
	}
	if c.ahead != nil {
		<-c.ahead // the reader ends with the socket
	}
	if k := c.telemetry.Load(); k != nil {
		c.cluster.loop.post(func() { delete(c.cluster.telemetry.instances, *k) })
	}
	c.endPulse()
	c.cluster.forget(c)
}

// loop serves requests, that of a frame first, until one of them, or the socket, ends the connection; the error says why.
func (c *conn) loop(frame []byte, err error) error {
	for ; ; frame, err = c.next() {
		if err != nil {
			return err
		}
		c.doing.Store(handles)
		a, err := c.handle(frame)
		if err != nil {
			return err
		}
		if err := c.write(a); err != nil {
			return err
		}
		c.doing.Store(doesNothing)
		if why := c.lastAnswer.Load(); why != nil {
			c.shut(*why)
			return errClosed
		}
		c.cluster.changed()
		c.touch()
		if c.mute > 0 {
			wait := c.mute
			c.mute = 0
			if !sleepUnless(wait, c.done) {
				return errClosed
			}
		}
	}
}

// touch notes that a byte came in or went out.
func (c *conn) touch() { c.active.Store(time.Now().UnixNano()) }

// Read reads from the socket, for the reader of frames.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.nc.Read(b)
	if n > 0 {
		c.touch()
		if slow := c.received(n); slow != nil {
			return 0, slow
		}
	}
	return n, err
}

// readFrame reads the next frame from the socket.
func (c *conn) readFrame() ([]byte, error) {
	frame, err := c.frames.Next()
	var bad *wire.FrameError
	if errors.As(err, &bad) {
		err = badInput{err}
	}
	return frame, err
}

// next is the next frame: the one read ahead, or a fresh one. While that frame is still being read, the goroutine that reads it takes the
// connection over (errTakenOver), so that a request that was parked costs one change of goroutines and not two.
func (c *conn) next() ([]byte, error) {
	if ch := c.ahead; ch != nil {
		c.ahead = nil
		if c.reader.CompareAndSwap(readsAhead, takesOver) {
			return nil, errTakenOver
		}
		f := <-ch
		return f.frame, f.err
	}
	return c.readFrame()
}

// readAhead reads the next frame while a request is parked. The channel has the frame, or the end of the connection,
// when it comes; it is left full for next.
func (c *conn) readAhead() chan frameOrError {
	if c.ahead == nil {
		if c.aheadChan == nil {
			c.aheadChan = make(chan frameOrError, 1)
		}
		c.ahead = c.aheadChan
		c.reader.Store(readsAhead)
		c.cluster.wg.Add(1) // not while Close sees a count of 0: the goroutine that calls this is counted, too
		go c.aheadReader()
	}
	return c.ahead
}

// aheadReader is the goroutine of readAhead.
func (c *conn) aheadReader() {
	defer c.cluster.wg.Done()
	f, err := c.readFrame()
	if c.reader.CompareAndSwap(readsAhead, hasRead) {
		c.aheadChan <- frameOrError{f, err}
		return
	}
	c.end(c.loop(f, err))
}

func (c *conn) handle(frame []byte) (answer, error) {
	h := &c.header
	body, err := h.Parse(frame)
	if c.speaks == nil || c.speaks.client != h.ClientID {
		c.speaks = &speaker{conn: c, client: h.ClientID}
		c.lastClient.Store(&c.speaks.client)
	}
	if err != nil {
		return nil, badInput{err}
	}
	if h.Key == wire.ApiVersions && !wire.Accepted(h.Key, h.Version) {
		return apiVersionsUnsupported(), nil
	}
	fn := c.cluster.handlers[h.Key]
	if fn == nil {
		c.cluster.unserved(c, h.Key, h.Version)
		return nil, &wire.UnsupportedError{Key: h.Key, Version: h.Version}
	}
	cost, text, err := wire.CheckBody(h.Key, h.Version, body)
	if err != nil {
		return nil, badInput{err}
	}
	release, err := c.cluster.decoding.take(cost, c.done)
	if err != nil {
		return nil, badInput{fmt.Errorf("%s v%d: %w", h.Key, h.Version, err)}
	}
	req, err := wire.Decode(h.Key, h.Version, body, text)
	if err != nil {
		release()
		return nil, badInput{err}
	}
	if mayWait(h.Key) {
		release() // what waits for others must not hold them back
	} else {
		defer release()
	}
	r := &request{
		conn: c, cluster: c.cluster, node: c.node,
		key: h.Key, version: h.Version, corr: h.CorrelationID, client: h.ClientID,
		body: req, frame: frame,
	}
	if r.key == wire.Fetch {
		p := c.pulse(r.client)
		p.begin()
		defer p.end()
	}
	r.clampFetch()
	a, err := c.cluster.intercepted(r, fn)
	if p, ok := req.(*kmsg.ProduceRequest); ok && p.Acks == 0 && a != nil && err == nil {
		return nil, noAnswer("a Produce with acks 0 failed; there is no other way to tell")
	}
	if err == nil {
		a, c.mute = r.throttled(a)
		c.mute = max(c.mute, r.wait)
	}
	return a, err
}

// mayWait tells whether requests of an API may be parked for long.
func mayWait(k wire.Key) bool {
	switch k {
	case wire.Produce, wire.Fetch, wire.JoinGroup, wire.SyncGroup, wire.Heartbeat, wire.ConsumerGroupHeartbeat:
		return true
	}
	return false
}

// run calls a handler. One that fails unexpectedly answers the API's error form with UNKNOWN_SERVER_ERROR, as a real broker
// does, and the connection goes on; the stack goes to the log and fails a test.
func (r *request) run(fn handler) (a answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.cluster.bug("%s v%d from %q: %v\n%s", r.key, r.version, r.client, p, debug.Stack())
			a, err = errorForm(r, wire.UnknownServerError), nil
		}
	}()
	a, err = fn(r)
	if resp, ok := a.(kmsg.Response); ok && err == nil && r.key != wire.Produce && len(r.frame) > quotable && !wire.Writable(resp) {
		a = errorForm(r, wire.UnknownServerError)
	}
	return a, err
}

// quotable is the size of requests whose errors may quote more than an answer can hold, which fails the request in Kafka, after it was handled. Those of a Produce,
// which are large every time, quote no text of its own.
const quotable = 8 << 10

// lent are the buffers in which answers are encoded, for the time of a write: a test has many connections, of which few write at once.
var lent = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// largestLent is the size from which on a buffer isn't kept: one large answer must not stay in memory.
const largestLent = 64 << 10

// write sends an answer.
func (c *conn) write(a answer) error {
	if c.underway != nil || c.node.link.slow() {
		return c.send(a)
	}
	switch a := a.(type) {
	case nil:
		return nil
	case *wire.FetchResponse:
		parts := net.Buffers(c.fetch.Encode(c.header.CorrelationID, c.header.Version, a))
		_, err := parts.WriteTo(c.nc)
		return err
	case kmsg.Response:
		buf := lent.Get().(*[]byte)
		*buf = wire.AppendResponse((*buf)[:0], c.header.CorrelationID, a)
		_, err := c.nc.Write(*buf)
		if cap(*buf) <= largestLent {
			lent.Put(buf)
		}
		return err
	default:
		panic(fmt.Sprintf("broker: an answer of type %T", a))
	}
}

// lastAnswerLimit bounds, in real time, how long a stopping broker waits for clients to take their answers.
const lastAnswerLimit = time.Second

// finish closes connections when the answer that each waits for is written.
func finish(conns []*conn, why string) {
	for _, c := range conns {
		c.lastAnswer.Store(&why)
		if c.doing.Load() == doesNothing {
			c.shut(why)
		}
	}
	if len(conns) == 0 {
		return
	}
	late := time.NewTimer(lastAnswerLimit)
	defer late.Stop()
	for _, c := range conns {
		select {
		case <-c.done:
		case <-late.C:
			return
		}
	}
}

// shut closes the connection. why goes to the log, and to whoever asks for the reason; the first one counts.
func (c *conn) shut(why string) {
	c.closeOnce.Do(func() {
		c.reason.Store(&why)
		close(c.done)
		c.nc.Close()
		if c.cluster.log.Enabled(context.Background(), slog.LevelDebug) {
			c.cluster.log.Debug("connection closed", "client", c.clientID(), "remote", c.nc.RemoteAddr().String(), "reason", why)
		}
	})
}

func (c *conn) clientID() string {
	if id := c.lastClient.Load(); id != nil {
		return *id
	}
	return ""
}

// hostOf is a client's address in Kafka's notation, "/127.0.0.1".
func hostOf(a net.Addr) string {
	if t, ok := a.(*net.TCPAddr); ok && t.Zone == "" {
		return "/" + t.IP.String()
	}
	if host, _, err := net.SplitHostPort(a.String()); err == nil {
		return "/" + host
	}
	return "/" + a.String()
}

// splitAddr is host and port of an address such as 127.0.0.1:9092.
func splitAddr(addr string) (string, int32, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	p, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("port %q is not a number from 0 to 65535", port)
	}
	return host, int32(p), nil
}
