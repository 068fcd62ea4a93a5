package fakekafka_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// client speaks kmsg's structs over one connection.
type client struct {
	t    testing.TB
	nc   net.Conn
	corr int32
}

func dial(t testing.TB, addr string) *client {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { nc.Close() })
	return &client{t: t, nc: nc}
}

var formatter = kmsg.NewRequestFormatter(kmsg.FormatterClientID("lifecycle"))

func (c *client) send(req kmsg.Request) {
	c.t.Helper()
	c.corr++
	_, err := c.nc.Write(formatter.AppendRequest(nil, req, c.corr))
	require.NoError(c.t, err)
}

func (c *client) ask(req kmsg.Request) kmsg.Response {
	c.t.Helper()
	c.send(req)
	require.NoError(c.t, c.nc.SetReadDeadline(time.Now().Add(20*time.Second)))
	var size [4]byte
	_, err := io.ReadFull(c.nc, size[:])
	require.NoError(c.t, err)
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err = io.ReadFull(c.nc, body)
	require.NoError(c.t, err)
	body = body[4:]
	if req.IsFlexible() && req.Key() != 18 { // the answers of ApiVersions never have tags in their header
		body = body[1:]
	}
	resp := req.ResponseKind()
	require.NoError(c.t, resp.ReadFrom(body))
	return resp
}

// requireCut waits for the end of the connection, behind whatever was still answered.
func (c *client) requireCut() {
	c.t.Helper()
	require.NoError(c.t, c.nc.SetReadDeadline(time.Now().Add(20*time.Second)))
	_, err := io.Copy(io.Discard, c.nc)
	var ne net.Error
	require.False(c.t, errors.As(err, &ne) && ne.Timeout(), "the connection is still open")
}

func metadata(topics ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 12
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	return req
}

func describe(t testing.TB, addr string, topics ...string) *kmsg.MetadataResponse {
	t.Helper()
	return dial(t, addr).ask(metadata(topics...)).(*kmsg.MetadataResponse)
}

// ours are the stacks of goroutines that a cluster left behind. It only makes sense while no other cluster runs: not in a parallel test.
func ours() []string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var left []string
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		if strings.Contains(stack, "fakekafka/internal/") && !strings.Contains(stack, "testing.tRunner") {
			left = append(left, stack)
		}
	}
	return left
}

func requireNothingLeft(t *testing.T) {
	t.Helper()
	// The last instructions of a goroutine that Close has waited for may still run.
	require.Eventually(t, func() bool { return len(ours()) == 0 }, 20*time.Second, time.Millisecond, "%v", ours())
}

func TestStartTwice(t *testing.T) {
	t.Parallel()
	a := fakekafka.Start(t, fakekafka.Topic("a", 1))
	b := fakekafka.Start(t, fakekafka.Topic("b", 2))
	require.NotEqual(t, a.Bootstrap(), b.Bootstrap())
	require.Len(t, describe(t, a.Bootstrap()).Topics, 1)
	require.Len(t, describe(t, b.Bootstrap(), "b").Topics[0].Partitions, 2)
	require.NotEqual(t, describe(t, a.Bootstrap()).ClusterID, describe(t, b.Bootstrap()).ClusterID)
}

func TestStartInParallel(t *testing.T) {
	t.Parallel()
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			k := fakekafka.Start(t, fakekafka.Topic("t", i+1))
			require.Len(t, describe(t, k.Bootstrap(), "t").Topics[0].Partitions, i+1)
		})
	}
}

func TestTwoHundredAtOnce(t *testing.T) { // not parallel: it looks at all goroutines
	const n = 200
	all := make([]*fakekafka.Cluster, n)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			var err error
			all[i], err = fakekafka.New(fakekafka.Topic("t", 3))
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	for _, k := range all {
		require.NotNil(t, k)
		require.Len(t, describe(t, k.Bootstrap(), "t").Topics[0].Partitions, 3)
	}
	for _, k := range all {
		wg.Go(k.Close)
	}
	wg.Wait()
	requireNothingLeft(t)
}

// join is a JoinGroup that waits for another member's.
func join(t testing.TB, c *client) {
	t.Helper()
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "g"
	c.ask(find)
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis, req.ProtocolType = "g", 30000, 60000, "consumer"
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name = "range"
	req.Protocols = append(req.Protocols, p)
	c.send(req)
}

func fetch(topic string) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch, req.ReplicaID = 11, 60000, 1, 1<<20, -1, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic = topic
	p := kmsg.NewFetchRequestTopicPartition()
	p.PartitionMaxBytes, p.CurrentLeaderEpoch, p.LogStartOffset = 1<<20, -1, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

func TestCloseWhileRequestsWait(t *testing.T) { // not parallel: it looks at all goroutines
	k, err := fakekafka.New(fakekafka.Topic("t", 1), fakekafka.Brokers(2), fakekafka.Config("group.initial.rebalance.delay.ms", "60000"))
	require.NoError(t, err)
	idle := dial(t, k.Bootstrap())
	half := dial(t, k.Bootstrap()) // in the middle of a frame
	_, err = half.nc.Write([]byte{0, 0, 1, 0, 0, 3})
	require.NoError(t, err)
	joining, fetching := dial(t, k.Bootstrap()), dial(t, k.Bootstrap())
	join(t, joining)
	fetching.send(fetch("t"))
	behind := dial(t, k.Bootstrap()) // a request behind one that waits
	behind.send(fetch("t"))
	behind.send(metadata())
	other := dial(t, k.Addrs()[1])
	other.ask(metadata())

	began := time.Now()
	k.Close()
	require.Less(t, time.Since(began), 5*time.Second)
	for _, c := range []*client{idle, half, joining, fetching, behind, other} {
		c.requireCut()
	}
	requireNothingLeft(t)
	for _, addr := range k.Addrs() {
		_, err := net.Dial("tcp", addr)
		require.Error(t, err, "something still listens on %s", addr)
	}
	k.Close() // a second call does nothing
}

func TestCloseAsClientsCome(t *testing.T) { // not parallel: it looks at all goroutines
	for range 10 {
		k, err := fakekafka.New(fakekafka.Topic("t", 1))
		require.NoError(t, err)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				for {
					nc, err := net.Dial("tcp", k.Bootstrap())
					if err != nil {
						return // closed
					}
					_, _ = nc.Write(formatter.AppendRequest(nil, metadata(), 1))
					_, _ = nc.Read(make([]byte, 100))
					nc.Close()
				}
			})
		}
		describe(t, k.Bootstrap())
		k.Close()
		wg.Wait()
	}
	requireNothingLeft(t)
}

func TestAutoCreateTopics(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		k := fakekafka.Start(t, fakekafka.AutoCreateTopics(on))
		req := metadataRequest()
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr("asked-for")
		req.Topics, req.AllowAutoTopicCreation = append(req.Topics, topic), true
		dialRaw(t, k, "client").ask(req)
		_ = k.Timeline() // what the request set off is done before
		want := 0
		if on {
			want = 1
		}
		require.Equal(t, want, k.Topic("asked-for").Partitions())
	}
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for _, c := range []struct {
		opts []fakekafka.Option
		says []string
	}{
		{[]fakekafka.Option{nil}, []string{"option 1 is nil"}},
		{[]fakekafka.Option{fakekafka.Brokers(0)}, []string{"Brokers(0)", "1 to 1000"}},
		{[]fakekafka.Option{fakekafka.Brokers(2), fakekafka.Racks("a")}, []string{"racks", "1 given for 2 brokers"}},
		{[]fakekafka.Option{fakekafka.Topic("a b", 1)}, []string{`topic "a b"`}},
		{[]fakekafka.Option{fakekafka.Topic("t", 0)}, []string{`Topic("t", 0)`}},
		{[]fakekafka.Option{fakekafka.Topic("t", 1), fakekafka.Topic("t", 2)}, []string{`topic "t"`, "twice"}},
		{[]fakekafka.Option{fakekafka.Topic("t", 1, fakekafka.Replicas(3))}, []string{`topic "t"`, "replication factor of 3", "1 broker", "cordoned; give Brokers(3), or fewer Replicas"}},
		{[]fakekafka.Option{fakekafka.Topic("t", 1, fakekafka.Replicas(0))}, []string{`Topic("t")`, "Replicas(0)"}},
		{[]fakekafka.Option{fakekafka.Topic("t", 1, fakekafka.With("retention.ms", "soon"))}, []string{`topic "t"`, "retention.ms", "soon"}},
		{[]fakekafka.Option{fakekafka.Topic("t", 1, fakekafka.With("retention.ms", "1"), fakekafka.With("retention.ms", "2"))}, []string{`Topic("t"): With("retention.ms") is given twice`}},
		{[]fakekafka.Option{fakekafka.Config("session.timeout.ms", "100")}, []string{"it is a client's setting: give it to the client", "group.consumer.session.timeout.ms"}},
		{[]fakekafka.Option{fakekafka.Topic("t", 1, fakekafka.With("no.such", "1"))}, []string{`topic "t"`, "no.such"}},
		{[]fakekafka.Option{fakekafka.Config("no.such.setting", "1")}, []string{"no.such.setting"}},
		{[]fakekafka.Option{fakekafka.Config("num.partitions", "many")}, []string{"num.partitions", "many"}},
		{[]fakekafka.Option{fakekafka.Config("num.partitions", "1"), fakekafka.Config("num.partitions", "1")}, []string{"num.partitions", "twice"}},
		{[]fakekafka.Option{fakekafka.Config("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer")}, []string{"authorizer.class.name"}},
		{[]fakekafka.Option{fakekafka.Listen("")}, []string{"Listen"}},
		{[]fakekafka.Option{fakekafka.Listen("localhost")}, []string{"listen", `"localhost"`, "HOST:PORT"}},
		{[]fakekafka.Option{fakekafka.Listen("127.0.0.1:70000")}, []string{"listen", "70000"}},
		{[]fakekafka.Option{fakekafka.Listen("127.0.0.1:65535"), fakekafka.Brokers(2)}, []string{"listen", "65536"}},
		{[]fakekafka.Option{fakekafka.Listen(taken.Addr().String())}, []string{"broker 1", taken.Addr().String(), "in use"}},
		{[]fakekafka.Option{fakekafka.Advertise("")}, []string{"Advertise"}},
		{[]fakekafka.Option{fakekafka.Logger(nil)}, []string{"Logger(nil)"}},
		{[]fakekafka.Option{fakekafka.Seed(0)}, []string{"Seed(0)"}},
		{[]fakekafka.Option{fakekafka.WaitLimit(0)}, []string{"WaitLimit(0s)"}},
		{[]fakekafka.Option{fakekafka.Assignor("x", nil)}, []string{`Assignor("x")`}},
	} {
		k, err := fakekafka.New(c.opts...)
		if k != nil {
			k.Close()
		}
		if assert.Error(t, err, "%v", c.says) {
			for _, s := range c.says {
				assert.ErrorContains(t, err, s)
			}
			assert.NotContains(t, err.Error(), "\n", "one line")
			assert.True(t, strings.HasPrefix(err.Error(), "fakekafka: "), err.Error())
		}
	}
}

func TestSettingsWithoutEffectAreLoggedOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(p)
	}), nil))
	k, err := fakekafka.New(fakekafka.Brokers(3), fakekafka.Logger(logger), fakekafka.Config("num.io.threads", "4"), fakekafka.Config("num.partitions", "3"))
	require.NoError(t, err)
	defer k.Close()
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, 1, strings.Count(log.String(), "num.io.threads"), log.String())
	require.NotContains(t, log.String(), "num.partitions", "it has an effect")
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// probe is a testing.TB that notes what a test of Start is told.
type probe struct {
	testing.TB
	mu       sync.Mutex
	errors   []string
	logs     []string
	cleanups []func()
}

func (p *probe) Helper()                      {}
func (p *probe) Cleanup(f func())             { p.cleanups = append(p.cleanups, f) }
func (p *probe) Failed() bool                 { p.mu.Lock(); defer p.mu.Unlock(); return len(p.errors) > 0 }
func (p *probe) Log(args ...any)              { p.note(&p.logs, fmt.Sprintln(args...)) }
func (p *probe) Error(args ...any)            { p.note(&p.errors, fmt.Sprintln(args...)) }
func (p *probe) Fatal(args ...any)            { p.note(&p.errors, fmt.Sprintln(args...)); runtime.Goexit() }
func (p *probe) Logf(f string, args ...any)   { p.note(&p.logs, fmt.Sprintf(f, args...)) }
func (p *probe) Errorf(f string, args ...any) { p.note(&p.errors, fmt.Sprintf(f, args...)) }

func (p *probe) note(list *[]string, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*list = append(*list, text)
}

// end is the end of the probe's test.
func (p *probe) end() {
	for _, f := range p.cleanups {
		f()
	}
}

func (p *probe) failures() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.errors, "\n")
}

func TestStartFailsTheTestForABadOption(t *testing.T) {
	t.Parallel()
	p := &probe{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		fakekafka.Start(p, fakekafka.Brokers(-1))
	}()
	<-done
	require.Contains(t, p.failures(), "Brokers(-1)")
}

func TestNoLeaksNamesTheClient(t *testing.T) {
	t.Parallel()
	p := &probe{TB: t}
	k := fakekafka.Start(p, fakekafka.NoLeaks())
	dial(t, k.Bootstrap()).ask(metadata())
	p.end()
	require.Contains(t, p.failures(), `still connected at the end of the test: "lifecycle"`)

	p = &probe{TB: t}
	k = fakekafka.Start(p)
	dial(t, k.Bootstrap()).ask(metadata())
	p.end()
	require.Empty(t, p.failures())
	require.Contains(t, strings.Join(p.logs, "\n"), `"lifecycle"`)
}

// TestNoLeaksCountsNobodyWhoHasClosed: a broker reads nothing of a connection while a fetch waits there, and doesn't hear that it was closed.
func TestNoLeaksCountsNobodyWhoHasClosed(t *testing.T) {
	t.Parallel()
	for name, behind := range map[string]int{"a fetch waits": 0, "requests stand behind it": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if behind > 0 && runtime.GOOS != "linux" {
				t.Skip("only Linux tells it while there is something left to read")
			}
			p := &probe{TB: t}
			k := fakekafka.Start(p, fakekafka.Topic("orders", 1), fakekafka.NoLeaks())
			c := dial(t, k.Bootstrap())
			fetch := kmsg.NewPtrFetchRequest()
			fetch.Version, fetch.MaxWaitMillis, fetch.MinBytes, fetch.MaxBytes = 11, 20_000, 1, 1<<20
			partition := kmsg.NewFetchRequestTopicPartition()
			partition.PartitionMaxBytes = 1 << 20
			topic := kmsg.NewFetchRequestTopic()
			topic.Topic, topic.Partitions = "orders", []kmsg.FetchRequestTopicPartition{partition}
			fetch.Topics = []kmsg.FetchRequestTopic{topic}
			c.send(fetch)
			k.Requests(fakekafka.Fetch).AwaitCount(t, 1)
			for range behind {
				c.send(metadata())
			}
			require.NoError(t, c.nc.Close())
			p.end()
			require.Empty(t, p.failures())
		})
	}
}

// TestStopAnswersWhoWaitsInAGroup: a broker of Apache Kafka 4.3.1 that shuts down tells who waits in a join or a sync that it is no coordinator any more, and then
// closes the connection; a fetch that waits is not answered. One that is killed answers nobody.
func TestStopAnswersWhoWaitsInAGroup(t *testing.T) {
	for name, s := range map[string]struct {
		stop     func(*fakekafka.BrokerHandle) error
		answered bool
	}{
		"stop": {(*fakekafka.BrokerHandle).Stop, true},
		"kill": {(*fakekafka.BrokerHandle).Kill, false},
	} {
		t.Run(name, func(t *testing.T) {
			k := startRaw(t, fakekafka.Brokers(2))
			require.NoError(t, k.Group("billing").MoveCoordinator(1))
			joinRaw(t, k, "billing", "stays")
			waits := &rawMember{raw: dialRaw(t, k, "waits"), group: "billing"}
			waits.id = waits.ask(waits.join()).(*kmsg.JoinGroupResponse).MemberID
			join := waits.join()
			waits.send(join)
			require.Eventually(t, func() bool {
				return slices.ContainsFunc(k.Group("billing").State().Members, func(m fakekafka.MemberState) bool { return m.ParkedIn == "join" })
			}, 10*time.Second, time.Millisecond)
			require.NoError(t, s.stop(k.Broker(1)))
			resp, err := waits.receive(join)
			if !s.answered {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, int16(fakekafka.NotCoordinator), resp.(*kmsg.JoinGroupResponse).ErrorCode)
			_, err = waits.nc.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF)
		})
	}
}
