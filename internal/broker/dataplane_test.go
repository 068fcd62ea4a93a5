package broker

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
)

// rawClient is a connection that speaks kmsg's structs, with nothing of a client around it.
type rawClient struct {
	tb   testing.TB
	node int32
	nc   net.Conn
	corr int32
	buf  []byte
}

func startCluster(tb testing.TB, o Options) *Cluster {
	tb.Helper()
	o.Bug = func(text string) { tb.Error(text) }
	c, err := New(o)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, c.Close()) })
	return c
}

func dialRaw(tb testing.TB, c *Cluster) *rawClient {
	tb.Helper()
	return dialNode(tb, c, 1)
}

func dialNode(tb testing.TB, c *Cluster, id int32) *rawClient {
	tb.Helper()
	nc, err := net.Dial("tcp", c.Addrs()[id-1])
	require.NoError(tb, err)
	tb.Cleanup(func() { nc.Close() })
	return &rawClient{tb: tb, node: id, nc: nc}
}

var rawFormatter = kmsg.NewRequestFormatter(kmsg.FormatterClientID("raw"))

func (c *rawClient) send(req kmsg.Request) {
	c.corr++
	_, err := c.nc.Write(rawFormatter.AppendRequest(nil, req, c.corr))
	require.NoError(c.tb, err)
}

func (c *rawClient) receive(req kmsg.Request) kmsg.Response {
	require.NoError(c.tb, c.nc.SetReadDeadline(time.Now().Add(20*time.Second)))
	var size [4]byte
	_, err := io.ReadFull(c.nc, size[:])
	require.NoError(c.tb, err)
	n := int(binary.BigEndian.Uint32(size[:]))
	if cap(c.buf) < n {
		c.buf = make([]byte, n)
	}
	frame := c.buf[:n]
	_, err = io.ReadFull(c.nc, frame)
	require.NoError(c.tb, err)
	require.Equal(c.tb, uint32(c.corr), binary.BigEndian.Uint32(frame))
	frame = frame[4:]
	if req.IsFlexible() && req.Key() != int16(wire.ApiVersions) {
		frame = frame[1:]
	}
	resp := req.ResponseKind()
	require.NoError(c.tb, resp.ReadFrom(frame))
	return resp
}

// skip reads an answer without looking into it.
func (c *rawClient) skip() int {
	var size [4]byte
	_, err := io.ReadFull(c.nc, size[:])
	require.NoError(c.tb, err)
	n := int(binary.BigEndian.Uint32(size[:]))
	if cap(c.buf) < n {
		c.buf = make([]byte, n)
	}
	_, err = io.ReadFull(c.nc, c.buf[:n])
	require.NoError(c.tb, err)
	return n
}

func (c *rawClient) ask(req kmsg.Request) kmsg.Response {
	c.send(req)
	return c.receive(req)
}

func oneBatch(tb testing.TB, records, valueSize int) []byte {
	tb.Helper()
	list := make([]partitionlog.Record, records)
	for i := range list {
		list[i] = partitionlog.Record{Timestamp: time.Now().UnixMilli(), Value: make([]byte, valueSize)}
	}
	batch, err := partitionlog.BuildBatch(list, partitionlog.BatchOptions{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1})
	require.NoError(tb, err)
	return batch
}

func produceRequest(topic string, partition int32, batch []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 12, -1, 5000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, batch
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

func (c *rawClient) produce(topic string, partition int32, batch []byte) int64 {
	c.tb.Helper()
	p := c.ask(produceRequest(topic, partition, batch)).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	require.Zero(c.tb, p.ErrorCode)
	return p.BaseOffset
}

func fetchRequest(topic string, wait time.Duration, partitions ...int32) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 12, int32(wait.Milliseconds()), 1, 50<<20, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic = topic
	for _, i := range partitions {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.PartitionMaxBytes, p.CurrentLeaderEpoch, p.LastFetchedEpoch = i, 1<<20, -1, -1
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	return req
}

func TestProduceAndFetch(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "orders", Partitions: 3}}})
	a, b := dialRaw(t, c), dialRaw(t, c)

	waiting := fetchRequest("orders", 20*time.Second, 0, 1, 2)
	b.send(waiting)
	batch := oneBatch(t, 3, 100)
	require.Equal(t, int64(0), a.produce("orders", 1, batch))
	got := b.receive(waiting).(*kmsg.FetchResponse)
	require.Len(t, got.Topics, 1)
	require.Len(t, got.Topics[0].Partitions, 3)
	require.Empty(t, got.Topics[0].Partitions[0].RecordBatches)
	require.Len(t, got.Topics[0].Partitions[1].RecordBatches, len(batch))
	require.Equal(t, int64(3), got.Topics[0].Partitions[1].HighWatermark)
}

func TestSessionWaits(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "orders", Partitions: 3}}})
	a, b := dialRaw(t, c), dialRaw(t, c)
	open := fetchRequest("orders", 0, 0, 1, 2)
	open.SessionEpoch = 0
	id := b.ask(open).(*kmsg.FetchResponse).SessionID
	require.Positive(t, id)
	offset := int64(0)
	for epoch := int32(1); epoch < 20; epoch++ {
		req := fetchRequest("orders", 20*time.Second)
		if offset > 0 {
			req = fetchRequest("orders", 20*time.Second, 2)
			req.Topics[0].Partitions[0].FetchOffset = offset
		}
		req.SessionID, req.SessionEpoch = id, epoch
		b.send(req)
		a.produce("orders", 2, oneBatch(t, 2, 10))
		got := b.receive(req).(*kmsg.FetchResponse)
		require.Zero(t, got.ErrorCode)
		require.Equal(t, id, got.SessionID)
		require.Len(t, got.Topics, 1)
		require.Len(t, got.Topics[0].Partitions, 1)
		require.Equal(t, int32(2), got.Topics[0].Partitions[0].Partition)
		offset += 2
		require.Equal(t, offset, got.Topics[0].Partitions[0].HighWatermark)
	}
	list := c.FetchSessions()
	require.Len(t, list, 1)
	require.Equal(t, int32(20), list[0].Epoch)
	require.NoError(t, c.EvictFetchSession(id))
	again := fetchRequest("orders", 0)
	again.SessionID, again.SessionEpoch = id, 20
	require.Equal(t, int16(70), b.ask(again).(*kmsg.FetchResponse).ErrorCode)
	stats := c.FetchSessionStats().Clients["raw"]
	require.Equal(t, int64(1), stats.Full)
	require.Equal(t, int64(19), stats.Incremental)
	require.Equal(t, int64(1), stats.NotFound)
}

// A request that another one overtakes on the same session goes on waiting for what it had asked, and then is told so.
func TestOvertakenWhileWaiting(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "orders", Partitions: 2}}})
	a, b, p := dialRaw(t, c), dialRaw(t, c), dialRaw(t, c)
	open := fetchRequest("orders", 0, 0, 1)
	open.SessionEpoch = 0
	id := a.ask(open).(*kmsg.FetchResponse).SessionID
	incremental := func(epoch int32, wait time.Duration) *kmsg.FetchRequest {
		req := fetchRequest("orders", wait)
		req.SessionID, req.SessionEpoch = id, epoch
		return req
	}
	first := incremental(1, 20*time.Second)
	a.send(first)
	require.Eventually(t, func() bool { return c.FetchSessions()[0].Epoch == 2 }, 10*time.Second, time.Millisecond)
	second := incremental(2, 0)
	require.Zero(t, b.ask(second).(*kmsg.FetchResponse).ErrorCode)
	p.produce("orders", 1, oneBatch(t, 1, 10))
	got := a.receive(first).(*kmsg.FetchResponse)
	require.Equal(t, int16(71), got.ErrorCode)
	require.Equal(t, id, got.SessionID)
	require.Empty(t, got.Topics)
	require.Len(t, b.ask(incremental(3, 0)).(*kmsg.FetchResponse).Topics, 1)
}

// A request that forgets the last partition ends the session. One that waits in it goes on waiting; its answer has no partitions, and is
// no error, as the session's epoch did not move.
func TestEmptiedWhileWaiting(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "orders", Partitions: 2}}})
	a, b, p := dialRaw(t, c), dialRaw(t, c), dialRaw(t, c)
	open := fetchRequest("orders", 0, 0, 1)
	open.SessionEpoch = 0
	id := a.ask(open).(*kmsg.FetchResponse).SessionID
	waiting := fetchRequest("orders", 20*time.Second)
	waiting.SessionID, waiting.SessionEpoch = id, 1
	a.send(waiting)
	require.Eventually(t, func() bool { return c.FetchSessions()[0].Epoch == 2 }, 10*time.Second, time.Millisecond)
	emptying := fetchRequest("orders", 0)
	emptying.SessionID, emptying.SessionEpoch = id, 2
	forgotten := kmsg.NewFetchRequestForgottenTopic()
	forgotten.Topic, forgotten.TopicID, forgotten.Partitions = "orders", c.meta.Load().topics["orders"].id, []int32{0, 1}
	emptying.ForgottenTopics = append(emptying.ForgottenTopics, forgotten)
	got := b.ask(emptying).(*kmsg.FetchResponse)
	require.Zero(t, got.ErrorCode)
	require.Zero(t, got.SessionID)
	require.Empty(t, c.FetchSessions())
	p.produce("orders", 1, oneBatch(t, 1, 10))
	got = a.receive(waiting).(*kmsg.FetchResponse)
	require.Zero(t, got.ErrorCode)
	require.Equal(t, id, got.SessionID)
	require.Empty(t, got.Topics)
	require.Zero(t, c.FetchSessionStats().Clients["raw"].InvalidEpoch)
}

// A session that a consumer and a follower take turns with: what one was told is nothing to the other.
func TestSessionOfAConsumerAndAFollower(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "orders", Partitions: 2}}})
	a := dialRaw(t, c)
	ask := func(id, epoch, replica int32, partitions ...int32) *kmsg.FetchResponse {
		req := fetchRequest("orders", 0, partitions...)
		req.SessionID, req.SessionEpoch = id, epoch
		req.ReplicaID = replica
		return a.ask(req).(*kmsg.FetchResponse)
	}
	id := ask(0, 0, -1, 0, 1).SessionID
	require.Empty(t, ask(id, 1, -1).Topics)
	for epoch := int32(2); epoch < 4; epoch++ {
		got := ask(id, epoch, 7)
		require.Len(t, got.Topics, 1)
		require.Len(t, got.Topics[0].Partitions, 2, "it is no replica")
		require.Equal(t, int16(6), got.Topics[0].Partitions[0].ErrorCode)
	}
	require.Len(t, ask(id, 4, -1).Topics[0].Partitions, 2)
	require.Empty(t, ask(id, 5, -1).Topics)
}

// Watching must not leave anything behind on partitions that nothing ever happens to.
func TestNobodyWatchesForClosedSessions(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "orders", Partitions: 2}}})
	a := dialRaw(t, c)
	for range 5 {
		open := fetchRequest("orders", 0, 0, 1)
		open.SessionEpoch = 0
		id := a.ask(open).(*kmsg.FetchResponse).SessionID
		next := fetchRequest("orders", 0)
		next.SessionID, next.SessionEpoch = id, 1
		require.Zero(t, a.ask(next).(*kmsg.FetchResponse).ErrorCode)
		next.SessionEpoch = -1
		require.Zero(t, a.ask(next).(*kmsg.FetchResponse).ErrorCode)
	}
	short := fetchRequest("orders", 2*time.Millisecond, 0, 1)
	a.ask(short)
	for _, p := range c.meta.Load().topics["orders"].partitions {
		p.mu.Lock()
		require.Empty(t, p.watchers)
		p.mu.Unlock()
	}
}

// What a full fetch has read to its end isn't read again by the first incremental one.
func TestFirstIncrementalReadsOnlyWhatIsOpen(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "orders", Partitions: 50}}})
	a := dialRaw(t, c)
	a.produce("orders", 7, oneBatch(t, 1, 10))
	all := make([]int32, 50)
	for i := range all {
		all[i] = int32(i)
	}
	open := fetchRequest("orders", 0, all...)
	open.SessionEpoch = 0
	id := a.ask(open).(*kmsg.FetchResponse).SessionID
	sh := c.nodes[0].sessions.Load().shardOf(id)
	due := func() []int32 {
		sh.mu.Lock()
		defer sh.mu.Unlock()
		s := sh.Session(id)
		o := s.Holder.(*openSession)
		o.mu.Lock()
		defer o.mu.Unlock()
		list := []int32{}
		for _, m := range s.Due() {
			list = append(list, m.Partition.Partition)
		}
		return list
	}
	require.Equal(t, []int32{7}, due())
	next := fetchRequest("orders", 0, 7)
	next.Topics[0].Partitions[0].FetchOffset = 1
	next.SessionID, next.SessionEpoch = id, 1
	require.Empty(t, a.ask(next).(*kmsg.FetchResponse).Topics)
	require.Empty(t, due())
}

// BenchmarkFullFetch opens a session of so many partitions each time.
func BenchmarkFullFetch(b *testing.B) {
	for _, n := range []int32{1, 100, 10_000} {
		b.Run(fmt.Sprintf("partitions=%d", n), func(b *testing.B) {
			c := startCluster(b, Options{Topics: []TopicSpec{{Name: "wide", Partitions: n}}})
			raw := dialRaw(b, c)
			all := make([]int32, n)
			for i := range all {
				all[i] = int32(i)
			}
			open := fetchRequest("wide", 0, all...)
			open.SessionEpoch = 0
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				open.SessionID = raw.ask(open).(*kmsg.FetchResponse).SessionID
			}
		})
	}
}

// BenchmarkSessionFetch is an incremental fetch through a socket, by the number of partitions of its session, when nothing changed and
// when one did.
func BenchmarkSessionFetch(b *testing.B) {
	for _, n := range []int32{1, 100, 10_000, 100_000} {
		for _, active := range []bool{false, true} {
			b.Run(fmt.Sprintf("active=%v/partitions=%d", active, n), func(b *testing.B) {
				c := startCluster(b, Options{Topics: []TopicSpec{{Name: "wide", Partitions: n}}})
				raw := dialRaw(b, c)
				all := make([]int32, n)
				for i := range all {
					all[i] = int32(i)
				}
				open := fetchRequest("wide", 0, all...)
				open.SessionEpoch = 0
				id := raw.ask(open).(*kmsg.FetchResponse).SessionID
				none := fetchRequest("wide", 0)
				none.Topics = nil
				one := fetchRequest("wide", 0, n/2)
				epoch, offset := int32(1), int64(0)
				next := func(req *kmsg.FetchRequest) *kmsg.FetchResponse {
					req.SessionID, req.SessionEpoch = id, epoch
					epoch++
					return raw.ask(req).(*kmsg.FetchResponse)
				}
				batch := oneBatch(b, 1, 100)
				p := c.meta.Load().topics["wide"].partitions[n/2]
				b.ReportAllocs()
				b.ResetTimer()
				for b.Loop() {
					if !active {
						next(none)
						continue
					}
					_, err := p.append(time.Now().UnixMilli(), append([]byte(nil), batch...), partitionlog.AppendOptions{})
					if err != nil {
						b.Fatal(err)
					}
					one.Topics[0].Partitions[0].FetchOffset = offset
					offset++
					if got := next(one); len(got.Topics) != 1 {
						b.Fatal("no records")
					}
				}
			})
		}
	}
}

// BenchmarkFetchRandom reads so much at random offsets of a log of 100 MB in batches of 14 KB.
func BenchmarkFetchRandom(b *testing.B) {
	c := startCluster(b, Options{Topics: []TopicSpec{{Name: "orders", Partitions: 1}}})
	p := c.meta.Load().topics["orders"].partitions[0]
	const batches = 7000
	for range batches {
		if _, err := p.append(time.Now().UnixMilli(), oneBatch(b, 100, 130), partitionlog.AppendOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	raw := dialRaw(b, c)
	for _, size := range []int32{1, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			req := fetchRequest("orders", 0, 0)
			req.Topics[0].Partitions[0].PartitionMaxBytes = size
			at := int64(1)
			b.ReportAllocs()
			for b.Loop() {
				at = at * 6364136223846793005 % (batches * 90)
				if at < 0 {
					at = -at
				}
				req.Topics[0].Partitions[0].FetchOffset = at
				raw.send(req)
				b.SetBytes(int64(raw.skip()))
			}
		})
	}
}

// Records beyond the memory bound go from the front, the larger topic's first, and nobody's newest.
func TestMemoryBound(t *testing.T) {
	t.Parallel()
	const limit = 2 << 20
	c := startCluster(t, Options{MaxMemory: limit, Topics: []TopicSpec{{Name: "big", Partitions: 2}, {Name: "small", Partitions: 1}}})
	a := dialRaw(t, c)
	a.produce("small", 0, oneBatch(t, 1, 100))
	last := map[int32]int64{}
	for i := range 400 {
		p := int32(i % 2)
		last[p] = a.produce("big", p, oneBatch(t, 1, 16<<10)) + 1
		c.loop.do(func() {}) // what the append has set off is done
		total := int64(0)
		c.eachPartition(func(p *partition) {
			p.mu.Lock()
			total += p.log.Size()
			p.mu.Unlock()
		})
		require.LessOrEqual(t, total, int64(limit))
	}
	m := c.meta.Load()
	for i, p := range m.topics["big"].partitions {
		require.Positive(t, p.log.LogStart())
		require.Equal(t, last[int32(i)], p.log.End())
		require.Greater(t, p.log.Size(), int64(limit)/4)
	}
	require.Zero(t, m.topics["small"].partitions[0].log.LogStart())
	require.True(t, slices.ContainsFunc(c.History(""), func(e groups.Event) bool { return e.Kind == EventDropped }))
}

// A leader that moves ends the wait of a fetch, and its answer, as that of a produce, says where the leader is now (KIP-951).
func TestLeaderMovesWhileAFetchWaits(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Brokers: 2, Racks: []string{"a", "b"}, Topics: []TopicSpec{{Name: "orders", Partitions: 1}}})
	p := c.meta.Load().topics["orders"].partitions[0]
	leader := p.state.Load().leader
	require.Equal(t, int32(1), leader, "the raw client talks to broker 1")
	a, b := dialRaw(t, c), dialRaw(t, c)

	req := fetchRequest("orders", 20*time.Second, 0)
	req.Version = 16
	req.Topics[0].Topic, req.Topics[0].TopicID = "", p.id
	a.send(req)
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.watchers) == 1
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, c.MoveLeader("orders", 0, 2))
	got := a.receive(req).(*kmsg.FetchResponse)
	part := got.Topics[0].Partitions[0]
	require.Equal(t, int16(6), part.ErrorCode)
	require.Equal(t, int32(2), part.CurrentLeader.LeaderID)
	require.Equal(t, int32(1), part.CurrentLeader.LeaderEpoch)
	require.Len(t, got.Brokers, 1)
	require.Equal(t, int32(2), got.Brokers[0].NodeID)
	require.Equal(t, "b", *got.Brokers[0].Rack)

	produced := b.ask(produceRequest("orders", 0, oneBatch(t, 1, 10))).(*kmsg.ProduceResponse)
	require.Equal(t, int16(6), produced.Topics[0].Partitions[0].ErrorCode)
	require.Equal(t, int32(2), produced.Topics[0].Partitions[0].CurrentLeader.LeaderID)
	require.Len(t, produced.Brokers, 1)
	require.Equal(t, got.Brokers[0].Port, produced.Brokers[0].Port)
}

// A client that goes away while its fetch waits is noticed, however long the fetch would wait.
func TestClientGoneWhileAFetchWaits(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "orders", Partitions: 1}}})
	a := dialRaw(t, c)
	a.send(fetchRequest("orders", time.Hour, 0))
	p := c.meta.Load().topics["orders"].partitions[0]
	watched := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.watchers)
	}
	require.Eventually(t, func() bool { return watched() == 1 }, 10*time.Second, time.Millisecond)
	a.nc.Close()
	require.Eventually(t, func() bool { return watched() == 0 }, 10*time.Second, time.Millisecond)
}

// The log keeps the bytes that came in: what it stores of a large batch lies in the request's frame, and a read hands out the same.
func TestProduceKeepsTheFrame(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "orders", Partitions: 1}}})
	req := produceRequest("orders", 0, oneBatch(t, 1, 800<<10))
	frame := rawFormatter.AppendRequest(nil, req, 1)[4:]
	frame = slices.Clip(append(make([]byte, 0, len(frame)), frame...))
	var h wire.Header
	body, err := h.Parse(frame)
	require.NoError(t, err)
	decoded, err := wire.Decode(h.Key, h.Version, body, true)
	require.NoError(t, err)
	r := &request{cluster: c, node: c.nodes[0], key: h.Key, version: h.Version, body: decoded, frame: frame}
	ans, err := r.produce()
	require.NoError(t, err)
	require.Zero(t, ans.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)

	p := c.meta.Load().topics["orders"].partitions[0]
	p.mu.Lock()
	defer p.mu.Unlock()
	inFrame := func(b []byte) bool {
		at := uintptr(unsafe.Pointer(&b[0]))
		return at >= uintptr(unsafe.Pointer(&frame[0])) && at+uintptr(len(b)) <= uintptr(unsafe.Pointer(&frame[0]))+uintptr(len(frame))
	}
	for b := range p.log.Batches(0) {
		require.True(t, inFrame(b), "the kept batch")
	}
	got := p.log.Read(partitionlog.ReadOptions{MaxBytes: 1 << 20, First: true, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1})
	require.Len(t, got.Records, 1)
	require.True(t, inFrame(got.Records[0]), "what a fetch writes")
}

// Kafka lets one client write to internal topics: the one that its own tools are.
func TestInternalTopicsAreWrittenByTheAdminClientOnly(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{}))
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "g"
	cl.ask(find)
	batch, err := partitionlog.BuildBatch([]partitionlog.Record{{Key: []byte("k")}}, partitionlog.BatchOptions{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1})
	require.NoError(t, err)
	for client, want := range map[string]wire.Code{"raw": wire.InvalidTopicException, "__admin_client": wire.None} {
		f := kmsg.NewRequestFormatter(kmsg.FormatterClientID(client))
		cl.corr++
		req := produceRequest("__consumer_offsets", 0, batch)
		_, err := cl.nc.Write(f.AppendRequest(nil, req, cl.corr))
		require.NoError(t, err)
		resp := cl.receive(req).(*kmsg.ProduceResponse)
		require.Equal(t, want, wire.Code(resp.Topics[0].Partitions[0].ErrorCode), client)
	}
}
