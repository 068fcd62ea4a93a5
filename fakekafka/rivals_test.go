package fakekafka_test

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// TestTwoClientsOnAConnection: another client of the same connection, such as a proxy's, doesn't speak for the member.
func TestTwoClientsOnAConnection(t *testing.T) {
	t.Parallel()
	k := startRaw(t)
	g := k.Group("billing")
	m := joinRaw(t, k, "billing", "worker")
	m.format = kmsg.NewRequestFormatter(kmsg.FormatterClientID("stranger"))
	m.ask(metadataOf("orders"))
	s, err := g.Member("worker").State()
	require.NoError(t, err)
	require.Equal(t, "worker", s.ClientID)
	g.RequireOwner(t, "orders", 0, "worker")
	require.NoError(t, k.Broker(1).Isolate("stranger"))
	require.NotContains(t, unmet(t, stableWith(g, 2)), "worker is not heard", "the pause is the stranger's")
	require.NoError(t, k.Broker(1).Heal())
	require.NoError(t, g.Member("worker").Pause())
	require.Contains(t, unmet(t, stableWith(g, 2)), "worker is not heard")
	require.NoError(t, g.Member("worker").Resume())
}

// TestAMemberIDThatIsAnothersName: with KIP-848 clients choose their member ids. The id goes before other names, so that each member has one that is its own.
func TestAMemberIDThatIsAnothersName(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
	g := k.Group("billing")
	k.Join("billing", fakekafka.Member{ClientID: "worker", InstanceID: "pod", Topics: []string{"orders"}, Protocol: fakekafka.Consumer})
	rival := dialRaw(t, k, "rival")
	beat := versioned(kmsg.NewPtrConsumerGroupHeartbeatRequest(), 1)
	beat.Group, beat.MemberID, beat.SubscribedTopicNames, beat.Topics, beat.RebalanceTimeoutMillis = "billing", "worker", []string{"orders"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}, 60_000
	require.Zero(t, rival.ask(beat).(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
	s, err := g.Member("worker").State()
	require.NoError(t, err)
	require.Equal(t, "rival", s.ClientID)
	has := g.Assignment()
	require.Len(t, has, 2)
	for name, owned := range has {
		s, err := g.Member(name).State()
		require.NoError(t, err)
		require.Equal(t, s.Owned, owned, name)
	}
	for p := range int32(2) {
		if owner, ok := g.Owner("orders", p); ok {
			g.RequireOwner(t, "orders", p, owner)
		}
	}
}

// TestAStrangerWithAMembersID: one whose requests are refused doesn't speak for the member.
func TestAStrangerWithAMembersID(t *testing.T) {
	t.Parallel()
	k := startRaw(t)
	g := k.Group("billing")
	m := joinRaw(t, k, "billing", "worker")
	stale := m.beat()
	stale.Generation--
	stranger := dialRaw(t, k, "stranger")
	resp, err := stranger.try(stale)
	require.Equal(t, fakekafka.IllegalGeneration, beatCode(t, resp, err))
	s, err := g.Member("worker").State()
	require.NoError(t, err)
	require.Equal(t, m.id, s.ID)

	resp, err = stranger.try(m.beat())
	require.Equal(t, fakekafka.NoError, beatCode(t, resp, err))
	_, err = g.Member("stranger").State()
	require.NoError(t, err, "one that is answered as the member speaks for it")
}

// TestUnconfirmedRecords: without a leader nothing that the test writes is confirmed, and no transaction is in the way.
func TestUnconfirmedRecords(t *testing.T) {
	t.Parallel()
	k := startRaw(t)
	require.NoError(t, k.Broker(1).Stop())
	require.NoError(t, k.Topic("orders").Produce(fakekafka.V("a")))
	topic := k.Topic("orders").ReadCommitted()
	require.Contains(t, failure(t, func(tb testing.TB) { topic.RequireRecords(tb, fakekafka.InOrder(fakekafka.V("a"))) }),
		`null="a" at partition 0 offset 0 doesn't count: not confirmed by enough replicas`)
	require.NoError(t, k.Broker(1).Start())
	topic.AwaitRecords(t, fakekafka.InOrder(fakekafka.V("a")))
}

// TestRivals: members that take each other's places and names, clients that claim the ids of others from several connections and go away in the middle, and a test that
// steers by those names meanwhile, do nothing worse than to get errors.
func TestRivals(t *testing.T) {
	t.Parallel()
	var said lockedBuffer
	k, err := fakekafka.New(fakekafka.Topic("orders", 4), fakekafka.Brokers(2), fakekafka.Logger(slog.New(slog.NewTextHandler(&said, nil))))
	require.NoError(t, err)
	defer k.Close()
	names := []string{"pod-0", "pod-1", "a", "b", ""}
	var all sync.WaitGroup
	for i := range uint64(3) {
		all.Go(func() { rivalMembers(k, names, rand.New(rand.NewPCG(i, 1))) })
		all.Go(func() { claimIDs(t, k, names, rand.New(rand.NewPCG(i, 2))) })
		all.Go(func() { steerRivals(t, k, names, rand.New(rand.NewPCG(i, 3))) })
	}
	within(t, "rivals", all.Wait)
	for _, name := range names {
		_ = k.Group("billing").Member(name).Resume()
	}
	require.NotContains(t, said.String(), "defect in fakekafka")
}

func rivalMembers(k *fakekafka.Cluster, names []string, r *rand.Rand) {
	for range 40 {
		spec := fakekafka.Member{ClientID: names[r.IntN(4)], Topics: []string{"orders"}}
		if r.IntN(2) == 0 {
			spec.InstanceID = names[r.IntN(2)]
		}
		if r.IntN(2) == 0 {
			spec.Protocol = fakekafka.Consumer
		}
		m := k.Join("billing", spec)
		switch r.IntN(4) {
		case 0:
			_ = m.FallSilent()
		case 1:
			m.LeaveForAWhile()
		case 2:
			m.Leave()
		}
	}
}

func claimIDs(t *testing.T, k *fakekafka.Cluster, names []string, r *rand.Rand) {
	for range 40 {
		nc, err := k.DialContext(t.Context(), "tcp", k.Addrs()[r.IntN(2)])
		if err != nil {
			continue
		}
		for corr := range int32(1 + r.IntN(10)) {
			s := k.Group("billing").State()
			id := names[r.IntN(len(names))]
			if len(s.Members) > 0 {
				id = s.Members[r.IntN(len(s.Members))].ID
			}
			client := names[r.IntN(len(names))]
			if r.IntN(3) == 0 {
				client = id
			}
			beat := versioned(kmsg.NewPtrHeartbeatRequest(), 4)
			beat.Group, beat.MemberID, beat.Generation = "billing", id, s.Epoch
			sync := versioned(kmsg.NewPtrSyncGroupRequest(), 5)
			sync.Group, sync.MemberID, sync.Generation = "billing", id, s.Epoch
			consumer := versioned(kmsg.NewPtrConsumerGroupHeartbeatRequest(), 1)
			consumer.Group, consumer.MemberID, consumer.MemberEpoch = "billing", id, s.Epoch
			req := []kmsg.Request{beat, sync, consumer}[r.IntN(3)]
			if _, err := nc.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID(client)).AppendRequest(nil, req, corr)); err != nil {
				break
			}
		}
		nc.Close()
	}
}

func steerRivals(t *testing.T, k *fakekafka.Cluster, names []string, r *rand.Rand) {
	g := k.Group("billing")
	for range 80 {
		m := g.Member(names[r.IntN(len(names))])
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		switch r.IntN(9) {
		case 0:
			_ = m.Pause()
		case 1, 2:
			_ = m.Resume()
		case 3:
			_ = m.Evict()
		case 4:
			_ = g.ReloadCoordinator()
		case 5:
			k.DropConnections(names[r.IntN(4)])
		case 6:
			g.Hold(fakekafka.Beat).Release()
		case 7:
			_ = g.MoveCoordinator(1 + r.IntN(2))
		case 8:
			_ = g.Owned(ctx, "orders", r.Int32N(4), names[r.IntN(4)])
			_ = g.Assigned(ctx, g.Assignment())
			_ = k.FastForward(20 * time.Second)
		}
		cancel()
	}
}

// lockedBuffer is a text that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
