package broker

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
)

// TestHostileClients: clients that send what they like, in part damaged, pipelined, without reading or to the end, while brokers restart and leaders
// move. Nothing fails unexpectedly, others are served all the while, and Close leaves no goroutine. FAKEKAFKA_SOAK says how long (default 1s).
func TestHostileClients(t *testing.T) {
	long := time.Second
	if s := os.Getenv("FAKEKAFKA_SOAK"); s != "" {
		var err error
		long, err = time.ParseDuration(s)
		require.NoError(t, err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	c, err := New(Options{
		Brokers: 3, Seed: seed | 1, Bug: func(text string) { t.Error(text) },
		Topics: []TopicSpec{{Name: "t", Partitions: 4}, {Name: "u", Partitions: 1, ReplicationFactor: 2}, {Name: "good", Partitions: 1, ReplicationFactor: 3}},
	})
	require.NoError(t, err)
	over := make(chan struct{})
	var wg sync.WaitGroup
	for i := range uint64(6) {
		h := &hostile{randomizer: randomizer{Rand: rand.New(rand.NewPCG(seed, i))}, c: c}
		wg.Go(func() { h.run(over) })
	}
	wg.Go(func() { disturb(c, rand.New(rand.NewPCG(seed, 99)), over) })
	sane(t, c, time.Now().Add(long))
	close(over)
	within(t, "the hostile clients' end", wg.Wait)
	for _, n := range c.nodes {
		if !n.running() {
			require.NoError(t, c.StartBroker(n.id))
		}
	}
	sane(t, c, time.Now())
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	require.Less(t, m.HeapAlloc, uint64(1<<30), "bytes on the heap")
	within(t, "Close", func() { require.NoError(t, c.Close()) })
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, left := range []string{"broker.(*conn)", "broker.(*loop)", "broker.(*node)"} {
		require.NotContains(t, string(stacks), left, "after Close")
	}
}

func within(t *testing.T, what string, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); fn() }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		stacks := make([]byte, 4<<20)
		t.Fatalf("%s hangs\n%s", what, stacks[:runtime.Stack(stacks, true)])
	}
}

// sane is a client like any other: it wants its answers, until the given time and at least once.
func sane(t *testing.T, c *Cluster, until time.Time) {
	t.Helper()
	for first := true; first || time.Now().Before(until); first = false {
		began := time.Now()
		for !saneRound(c) {
			if time.Since(began) > 30*time.Second {
				stacks := make([]byte, 4<<20)
				t.Fatalf("a client that behaves isn't served\n%s", stacks[:runtime.Stack(stacks, true)])
			}
			time.Sleep(time.Millisecond) // a broker restarts
		}
	}
}

// saneRound produces a record and fetches it. It answers false where a broker was restarted or lost its leadership meanwhile.
func saneRound(c *Cluster) bool {
	leader, err := c.Leader("good", 0)
	if err != nil || leader < 0 {
		return false
	}
	nc, err := net.Dial("tcp", c.Addrs()[leader-1])
	if err != nil {
		return false
	}
	defer nc.Close()
	ask := func(req kmsg.Request) kmsg.Response {
		_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
		if _, err := nc.Write(rawFormatter.AppendRequest(nil, req, 1)); err != nil {
			return nil
		}
		var size [4]byte
		if _, err := io.ReadFull(nc, size[:]); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				panic("no answer to " + wire.Key(req.Key()).String())
			}
			return nil
		}
		b := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(nc, b); err != nil {
			return nil
		}
		resp := req.ResponseKind()
		if err := resp.ReadFrom(b[5:]); err != nil {
			panic(err)
		}
		return resp
	}
	if ask(topicsRequest("good")) == nil {
		return false
	}
	produced, ok := ask(goodProduce("good", -1, -1, 0)).(*kmsg.ProduceResponse)
	if !ok || produced.Topics[0].Partitions[0].ErrorCode != 0 {
		return false
	}
	fetched, ok := ask(goodFetch("good", produced.Topics[0].Partitions[0].BaseOffset, 100)).(*kmsg.FetchResponse)
	return ok && len(fetched.Topics) == 1 && len(fetched.Topics[0].Partitions[0].RecordBatches) > 0
}

func goodProduce(topic string, producer int64, epoch int16, sequence int32) *kmsg.ProduceRequest {
	o := partitionlog.BatchOptions{ProducerID: producer, ProducerEpoch: epoch, BaseSequence: sequence, Transactional: producer >= 0, Codecs: new(partitionlog.Codecs)}
	batch, err := partitionlog.BuildBatch([]partitionlog.Record{{Timestamp: time.Now().UnixMilli(), Key: []byte("k"), Value: []byte("v")}}, o)
	if err != nil {
		panic(err)
	}
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 9, -1, 1000
	if producer >= 0 {
		req.TransactionID = kmsg.StringPtr("tx")
	}
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = batch
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic, rt.Partitions = topic, []kmsg.ProduceRequestTopicPartition{p}
	req.Topics = append(req.Topics, rt)
	return req
}

func goodFetch(topic string, offset int64, wait int32) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 12, wait, 1, 1<<20
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = offset, 1<<20, -1
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic, rt.Partitions = topic, []kmsg.FetchRequestTopicPartition{p}
	req.Topics = append(req.Topics, rt)
	return req
}

// disturb restarts brokers, moves leaders and coordinators and evicts fetch sessions.
func disturb(c *Cluster, r *rand.Rand, over <-chan struct{}) {
	for sleepUnless(time.Duration(r.IntN(20))*time.Millisecond, over) {
		id := int32(r.IntN(3) + 1)
		switch r.IntN(6) { // errors are those of a broker that is stopped just now, or a topic that was deleted
		case 0:
			_ = c.StopBroker(id, r.IntN(2) == 0)
			_ = c.StartBroker(id)
		case 1:
			_ = c.MoveLeader("t", int32(r.IntN(4)), id)
			_ = c.MoveLeader("good", 0, id)
		case 2:
			_ = c.MoveCoordinator("g", id)
		case 3:
			_ = c.ReloadCoordinator("g")
		case 4:
			c.EvictAllFetchSessions()
		case 5:
			_ = c.FastForward(time.Duration(r.IntN(60))*time.Second, 10*time.Millisecond, nil)
		}
	}
}

// hostile is a client without manners.
type hostile struct {
	randomizer
	c *Cluster
}

func (h *hostile) run(over <-chan struct{}) {
	for sleepUnless(0, over) {
		m := h.c.meta.Load()
		h.ids = [][16]byte{{9}, {}}
		for _, name := range m.names {
			if name != "good" { // which is not to be deleted
				h.ids = append(h.ids, m.topics[name].id)
			}
		}
		h.connection()
	}
}

// connection sends some requests and takes leave, one way or another.
func (h *hostile) connection() {
	nc, err := net.Dial("tcp", h.c.Addrs()[h.IntN(3)])
	if err != nil {
		return
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(5 * time.Second))
	var out []byte
	for range 1 + h.IntN(8) {
		b := rawFormatter.AppendRequest(nil, h.request(), h.Int32())
		if h.IntN(3) == 0 {
			b = h.damage(b)
		}
		out = append(out, b...)
	}
	if h.IntN(8) == 0 {
		out = out[:h.IntN(len(out)+1)]
	}
	if _, err := nc.Write(out); err != nil {
		return
	}
	patience := time.Duration(h.IntN(50)) * time.Millisecond
	switch h.IntN(4) {
	case 0: // gone at once
	case 1: // has no more to say, but listens
		_ = nc.(*net.TCPConn).CloseWrite()
		_ = nc.SetReadDeadline(time.Now().Add(patience))
		_, _ = io.Copy(io.Discard, nc)
	case 2: // reads slowly
		for range 5 {
			_ = nc.SetReadDeadline(time.Now().Add(patience / 5))
			_, _ = nc.Read(make([]byte, 7))
		}
	case 3:
		_ = nc.SetReadDeadline(time.Now().Add(patience))
		_, _ = io.Copy(io.Discard, nc)
	}
}

// request is one of an API drawn by lot: half of them such as a client sends, half with fields drawn by lot too.
func (h *hostile) request() kmsg.Request {
	if h.IntN(2) == 0 {
		return h.likely()
	}
	for {
		key := wire.Key(h.IntN(maxKey))
		version := int16(h.IntN(20))
		if h.c.handlers[key] == nil || !wire.Accepted(key, version) {
			continue
		}
		req := kmsg.RequestForKey(int16(key))
		h.fill(reflect.ValueOf(req).Elem())
		req.SetVersion(version)
		return req
	}
}

func (h *hostile) likely() kmsg.Request {
	group, member := []string{"g", "h"}[h.IntN(2)], []string{"", "m", "n"}[h.IntN(3)]
	switch h.IntN(10) {
	case 0:
		req := kmsg.NewPtrJoinGroupRequest()
		req.Version, req.Group, req.MemberID, req.ProtocolType = int16(h.IntN(4)), group, member, "consumer"
		req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 6000, 1000
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name = "range"
		req.Protocols = append(req.Protocols, p)
		return req
	case 1:
		req := kmsg.NewPtrSyncGroupRequest()
		req.Version, req.Group, req.MemberID, req.Generation = 4, group, member, int32(h.IntN(4))
		return req
	case 2:
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.MemberEpoch = 1, group, "m"+member, int32(h.IntN(5)-2)
		req.RebalanceTimeoutMillis, req.SubscribedTopicNames = 1000, []string{"t"}
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		return req
	case 3:
		return goodFetch("t", int64(h.IntN(5)), 2000)
	case 4:
		req := goodFetch("t", int64(h.IntN(5)), 2000)
		req.SessionID, req.SessionEpoch = 0, 0
		return req
	case 5:
		return goodProduce("t", -1, -1, 0)
	case 6:
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version, req.TransactionalID, req.TransactionTimeoutMillis = 3, kmsg.StringPtr("tx"), 1000
		return req
	case 7:
		return goodProduce("t", int64(h.IntN(3)), int16(h.IntN(3)), int32(h.IntN(2)))
	case 8:
		req := kmsg.NewPtrAddPartitionsToTxnRequest()
		req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 3, "tx", int64(h.IntN(3)), int16(h.IntN(3))
		rt := kmsg.NewAddPartitionsToTxnRequestTopic()
		rt.Topic, rt.Partitions = "t", []int32{0}
		req.Topics = append(req.Topics, rt)
		return req
	default:
		req := kmsg.NewPtrEndTxnRequest()
		req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = 3, "tx", int64(h.IntN(3)), int16(h.IntN(3)), h.IntN(2) == 0
		return req
	}
}

// damage changes a frame; the size before it stays right, mostly.
func (h *hostile) damage(b []byte) []byte {
	at := func() int { return 4 + h.IntN(len(b)-4) }
	switch h.IntN(5) {
	case 0:
		b[at()] ^= 1 << h.IntN(8)
	case 1:
		for range 4 {
			b[at()] = byte(h.Uint32())
		}
	case 2:
		b = b[:at()]
	case 3:
		i := at()
		b = append(b[:i:i], append([]byte(strings.Repeat("\xff", h.IntN(8))), b[i:]...)...)
	case 4:
		b[h.IntN(4)] ^= 1 << h.IntN(8)
		return b
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}
