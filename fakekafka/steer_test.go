package fakekafka_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/fakekafka"
)

// rawMember is a classic member on a connection of its own, whose heartbeats the broker may hold.
type rawMember struct {
	*raw
	group, id  string
	generation int32
	software   string // that it names
	instance   *string
	assignor   string // "": range
	kind       string // protocol type, "": consumer
}

// joinRaw makes a lone member of a new group; it assigns itself all of orders-0.
func joinRaw(t *testing.T, k *fakekafka.Cluster, group, client string) *rawMember {
	t.Helper()
	m := &rawMember{raw: dialRaw(t, k, client), group: group, software: "kgo"} // a client that bears held heartbeats
	m.joins()
	return m
}

// names tells the broker by this connection which client it is.
func (m *rawMember) names() {
	m.t.Helper()
	versions := versioned(kmsg.NewPtrApiVersionsRequest(), 3)
	versions.ClientSoftwareName, versions.ClientSoftwareVersion = m.software, "1"
	m.ask(versions)
}

func (m *rawMember) joins() {
	m.t.Helper()
	m.names()
	find := versioned(kmsg.NewPtrFindCoordinatorRequest(), 2)
	find.CoordinatorKey = m.group
	require.Zero(m.t, m.ask(find).(*kmsg.FindCoordinatorResponse).ErrorCode)
	if m.instance == nil {
		m.id = m.ask(m.join()).(*kmsg.JoinGroupResponse).MemberID
	}
	joined := m.ask(m.join()).(*kmsg.JoinGroupResponse)
	require.Zero(m.t, joined.ErrorCode)
	m.id, m.generation = joined.MemberID, joined.Generation
	require.Zero(m.t, m.ask(m.sync()).(*kmsg.SyncGroupResponse).ErrorCode)
}

func (m *rawMember) protocol() string     { return cmp.Or(m.assignor, "range") }
func (m *rawMember) protocolType() string { return cmp.Or(m.kind, "consumer") }

func (m *rawMember) join() *kmsg.JoinGroupRequest {
	req := versioned(kmsg.NewPtrJoinGroupRequest(), 9)
	req.Group, req.MemberID, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis, req.ProtocolType = m.group, m.id, 45_000, 60_000, m.protocolType()
	req.InstanceID = m.instance
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name = m.protocol()
	p.Metadata, _ = assignors.EncodeSubscription(assignors.Subscription{Topics: []string{"orders"}, Generation: -1}, 3)
	req.Protocols = append(req.Protocols, p)
	return req
}

func (m *rawMember) sync() *kmsg.SyncGroupRequest {
	req := versioned(kmsg.NewPtrSyncGroupRequest(), 5)
	req.Group, req.MemberID, req.Generation, req.ProtocolType, req.Protocol = m.group, m.id, m.generation, kmsg.StringPtr(m.protocolType()), kmsg.StringPtr(m.protocol())
	req.InstanceID = m.instance
	a := kmsg.NewSyncGroupRequestGroupAssignment()
	a.MemberID = m.id
	a.MemberAssignment, _ = assignors.EncodeAssignment(assignors.Assignment{Partitions: []assignors.TopicPartition{{Topic: "orders", Partition: 0}}}, 3)
	req.GroupAssignment = append(req.GroupAssignment, a)
	return req
}

func (m *rawMember) beat() *kmsg.HeartbeatRequest {
	req := versioned(kmsg.NewPtrHeartbeatRequest(), 4)
	req.Group, req.MemberID, req.Generation = m.group, m.id, m.generation
	req.InstanceID = m.instance
	return req
}

func (m *rawMember) commit(offset int64) *kmsg.OffsetCommitRequest {
	req := versioned(kmsg.NewPtrOffsetCommitRequest(), 8)
	req.Group, req.MemberID, req.Generation = m.group, m.id, m.generation
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = "orders"
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset = offset
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	return req
}

// hold sends a heartbeat and returns once the coordinator holds it.
func (m *rawMember) hold(k *fakekafka.Cluster) *kmsg.HeartbeatRequest {
	m.t.Helper()
	req := m.beat()
	m.send(req)
	awaitParked(m.t, k, m.group, "heartbeat")
	return req
}

func awaitParked(t testing.TB, k *fakekafka.Cluster, group, in string) {
	t.Helper()
	require.Eventually(t, func() bool {
		s := k.Group(group).State()
		return len(s.Members) > 0 && s.Members[0].ParkedIn == in
	}, 10*time.Second, time.Millisecond)
}

func startRaw(t *testing.T, opts ...fakekafka.Option) *fakekafka.Cluster {
	return fakekafka.Start(t, append([]fakekafka.Option{fakekafka.Topic("orders", 1)}, opts...)...)
}

func beatCode(t *testing.T, resp kmsg.Response, err error) fakekafka.ErrorCode {
	t.Helper()
	require.NoError(t, err)
	return fakekafka.ErrorCode(resp.(*kmsg.HeartbeatResponse).ErrorCode)
}

func TestPauseOfAMemberWhoseHeartbeatIsHeld(t *testing.T) {
	k := startRaw(t)
	m := joinRaw(t, k, "billing", "worker-1")
	held := m.hold(k)
	require.NoError(t, k.Group("billing").Member("worker-1").Pause())
	require.Empty(t, k.Group("billing").State().Members[0].ParkedIn, "let go into the pause")
	require.NoError(t, m.nc.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	_, err := m.nc.Read(make([]byte, 1))
	require.Error(t, err, "nothing is answered")

	require.NoError(t, k.FastForward(46*time.Second))
	require.Empty(t, k.Group("billing").State().Members)
	require.NoError(t, k.Group("billing").Member("worker-1").Resume())
	resp, err := m.receive(held)
	require.Equal(t, fakekafka.NoError, beatCode(t, resp, err), "it was answered before the session ended")
	resp, err = m.try(m.beat())
	require.Equal(t, fakekafka.UnknownMemberID, beatCode(t, resp, err))
}

func TestAHeldHeartbeatAnswersWhatHappens(t *testing.T) {
	for name, s := range map[string]struct {
		steer func(k *fakekafka.Cluster) error
		want  fakekafka.ErrorCode
	}{
		"evict":     {func(k *fakekafka.Cluster) error { return k.Group("billing").Member("worker-1").Evict() }, fakekafka.UnknownMemberID},
		"fence":     {func(k *fakekafka.Cluster) error { return k.Group("billing").Member("worker-1").Fence() }, fakekafka.UnknownMemberID},
		"rebalance": {func(k *fakekafka.Cluster) error { return k.Group("billing").Rebalance() }, fakekafka.RebalanceInProgress},
		"reload":    {func(k *fakekafka.Cluster) error { return k.Group("billing").ReloadCoordinator() }, fakekafka.NotCoordinator},
		"move":      {func(k *fakekafka.Cluster) error { return k.Group("billing").MoveCoordinator(2) }, fakekafka.NotCoordinator},
	} {
		t.Run(name, func(t *testing.T) {
			k := startRaw(t, fakekafka.Brokers(2))
			require.NoError(t, k.Group("billing").MoveCoordinator(1))
			m := joinRaw(t, k, "billing", "worker-1")
			held := m.hold(k)
			require.NoError(t, s.steer(k))
			resp, err := m.receive(held)
			require.Equal(t, s.want, beatCode(t, resp, err))
		})
	}
}

// A heartbeat that waits for news came before the hold, and would keep the next one, which stands there, away for as long as its client bears it.
func TestHoldOfHeartbeatsLetsThoseGoThatWait(t *testing.T) {
	t.Parallel()
	k := startRaw(t)
	m, other := joinRaw(t, k, "billing", "worker-1"), joinRaw(t, k, "refunds", "worker-2")
	held, others := m.hold(k), other.hold(k)
	hold := k.Group("billing").Hold(fakekafka.Beat)
	resp, err := m.receive(held)
	require.Equal(t, fakekafka.NoError, beatCode(t, resp, err))
	awaitParked(t, k, "refunds", "heartbeat")
	next := m.beat()
	m.send(next)
	hold.Await(t)
	require.NoError(t, k.Group("billing").Rebalance())
	hold.Release()
	resp, err = m.receive(next)
	require.Equal(t, fakekafka.RebalanceInProgress, beatCode(t, resp, err))
	require.NoError(t, k.Group("refunds").Rebalance())
	resp, err = other.receive(others)
	require.Equal(t, fakekafka.RebalanceInProgress, beatCode(t, resp, err))
}

func TestRulesOnHeldHeartbeats(t *testing.T) {
	k := startRaw(t)
	m := joinRaw(t, k, "billing", "worker-1")
	lost := k.On(fakekafka.Heartbeat).Group("billing").Times(1).LoseReply()
	held := m.hold(k)
	require.NoError(t, k.Group("billing").Rebalance())
	_, err := m.receive(held)
	require.Error(t, err, "the news was lost with its connection")
	require.Equal(t, 1, lost.Count())
}

func TestFastForwardWithARealConnection(t *testing.T) {
	for name, opts := range map[string][]fakekafka.Option{
		"machine time": nil, "manual clock": {fakekafka.ManualClock(start)}, "in memory": {fakekafka.InMemoryNetwork()},
	} {
		t.Run(name, func(t *testing.T) {
			k := startRaw(t, opts...)
			g := k.Group("billing")
			m := joinRaw(t, k, "billing", "worker-1")
			held := m.hold(k)
			require.NoError(t, k.FastForward(time.Hour))
			s := g.State()
			require.Len(t, s.Members, 1, "it is connected")
			require.Equal(t, "heartbeat", s.Members[0].ParkedIn, "who waits for an answer waits on real time")
			require.Greater(t, s.Members[0].SessionDeadline.Sub(k.Now()), 40*time.Second)

			// A rebalance waits for it, however far time is to go.
			require.NoError(t, g.Rebalance())
			resp, err := m.receive(held)
			require.Equal(t, fakekafka.RebalanceInProgress, beatCode(t, resp, err))
			done := make(chan error, 1)
			go func() { done <- k.FastForward(10 * time.Minute) }()
			joined := m.ask(m.join()).(*kmsg.JoinGroupResponse)
			m.generation = joined.Generation
			require.Zero(t, m.ask(m.sync()).(*kmsg.SyncGroupResponse).ErrorCode)
			require.NoError(t, <-done)
			require.Len(t, g.State().Members, 1)

			// Gone is gone.
			require.NoError(t, m.nc.Close())
			require.Eventually(t, func() bool { return len(k.Requests(fakekafka.AnyAPI).List()) > 0 && k.DropConnections("worker-1") == 0 }, 20*time.Second, time.Millisecond)
			require.NoError(t, k.FastForward(46*time.Second))
			require.Empty(t, g.State().Members)
		})
	}
}

func TestFastForwardNamesWhoDoesNotAnswer(t *testing.T) {
	tb := &recorder{TB: t}
	defer tb.end()
	k := fakekafka.Start(tb, fakekafka.Topic("orders", 1), fakekafka.WaitLimit(50*time.Millisecond))
	joinRaw(t, k, "billing", "lazy")
	require.NoError(t, k.Group("billing").Rebalance())
	err := k.FastForward(10 * time.Minute)
	require.Regexp(t, `the join timer of group "billing" waits for lazy \([0-9a-f]{8}…\), which did not answer within`, err.Error())
	require.ErrorContains(t, err, "did not answer within 50ms of real time")
	require.Contains(t, tb.errors(), "FastForward(10m0s)")
	// A paused one isn't waited for.
	require.NoError(t, k.Group("billing").Member("lazy").Pause())
	require.NoError(t, k.FastForward(10*time.Minute))
	require.Empty(t, k.Group("billing").State().Members)
}

func TestAHeartbeatIsHeldOnRealTimeUnderAManualClock(t *testing.T) {
	k := startRaw(t, fakekafka.ManualClock(start), fakekafka.InMemoryNetwork())
	m := joinRaw(t, k, "billing", "worker-1")
	began := time.Now()
	versions := versioned(kmsg.NewPtrApiVersionsRequest(), 3)
	held := m.hold(k)
	m.send(versions) // something else to say: it must not wait behind the heartbeat
	resp, err := m.receive(held)
	require.Equal(t, fakekafka.NoError, beatCode(t, resp, err))
	_, err = m.receive(versions)
	require.NoError(t, err)
	require.Less(t, time.Since(began), 7*time.Second)
}

func TestPauseOfGroupTrafficLeavesAZombie(t *testing.T) {
	k := startRaw(t)
	m := joinRaw(t, k, "billing", "worker-1")
	require.NoError(t, k.Group("billing").Member("worker-1").Pause(fakekafka.GroupTraffic))
	fetcher := dialRaw(t, k, "worker-1")
	require.Equal(t, codes{0: 0}, producedCodes(fetcher.ask(produceTo(t, "orders", 0))), "it still works")
	m.send(m.commit(5))
	require.NoError(t, k.FastForward(46*time.Second))
	require.Empty(t, k.Group("billing").State().Members)
	require.NoError(t, k.Group("billing").Member("worker-1").Resume())
	resp, err := m.receive(m.commit(5))
	require.NoError(t, err)
	require.Equal(t, int16(fakekafka.UnknownMemberID), resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
}

func TestHoldAndStep(t *testing.T) {
	t.Run("a commit that comes after its member was thrown out", func(t *testing.T) {
		k := startRaw(t)
		g := k.Group("billing")
		m := joinRaw(t, k, "billing", "worker-1")
		hold := g.Hold(fakekafka.Commit)
		m.send(m.commit(5))
		hold.Await(t)
		require.NoError(t, g.Member("worker-1").Evict())
		hold.Release()
		resp, err := m.receive(m.commit(5))
		require.NoError(t, err)
		require.Equal(t, int16(fakekafka.UnknownMemberID), resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
	})
	t.Run("time passes a step that the test holds", func(t *testing.T) {
		k := startRaw(t)
		g := k.Group("billing")
		m := joinRaw(t, k, "billing", "worker-1")
		require.NoError(t, g.Rebalance())
		hold := g.Hold(fakekafka.Join)
		m.send(m.join())
		hold.Await(t)
		require.NoError(t, k.FastForward(61*time.Second), "nobody can answer")
		require.Empty(t, g.State().Members)
		hold.Release()
		resp, err := m.receive(m.join())
		require.NoError(t, err)
		require.Equal(t, int16(fakekafka.UnknownMemberID), resp.(*kmsg.JoinGroupResponse).ErrorCode)
	})
	t.Run("two holds and an order", func(t *testing.T) {
		k := startRaw(t, fakekafka.ManualClock(start))
		g := k.Group("billing")
		list := k.JoinAll("billing", members(2, fakekafka.Member{Topics: []string{"orders"}})...)
		g.AwaitStable(t, 2)
		barrier, sync := g.Hold(fakekafka.JoinBarrier), g.Hold(fakekafka.Sync)
		require.NoError(t, g.Rebalance())
		barrier.Await(t)
		require.Equal(t, []string{"join", "join"}, []string{g.State().Members[0].ParkedIn, g.State().Members[1].ParkedIn})
		barrier.Release()
		sync.Await(t)
		require.Equal(t, "CompletingRebalance", g.State().State)
		require.Equal(t, int32(2), list[0].Epoch())
		sync.Release()
		g.AwaitStable(t, 2)
	})
	t.Run("the server's assignor", func(t *testing.T) {
		k := startRaw(t, fakekafka.ManualClock(start))
		g := k.Group("billing")
		hold := g.Hold(fakekafka.Assign)
		m := k.Join("billing", fakekafka.Member{Protocol: fakekafka.Consumer, Topics: []string{"orders"}})
		hold.Await(t)
		require.Empty(t, m.Owned())
		hold.Release()
		m.AwaitOwned(t, map[string][]int32{"orders": {0}})
	})
	t.Run("the coordinator moves while a step is held", func(t *testing.T) {
		k := startRaw(t, fakekafka.ManualClock(start), fakekafka.Brokers(2))
		g := k.Group("billing")
		m := fakekafka.Member{Topics: []string{"orders"}}
		hold := g.Hold(fakekafka.JoinBarrier)
		require.NoError(t, g.ExpectMembers(2))
		require.NoError(t, g.MoveCoordinator(1))
		require.NoError(t, g.MoveCoordinator(2))
		k.Join("billing", m)
		k.Join("billing", m)
		hold.Await(t)
		require.NoError(t, g.MoveCoordinator(1))
		hold.Await(t)
		hold.Release()
		g.AwaitStable(t, 2)
	})
	for _, step := range []fakekafka.Step{fakekafka.Join, fakekafka.Beat, fakekafka.Leave, fakekafka.RevokeAck} {
		t.Run(string(step)+" of KIP-848", func(t *testing.T) {
			k := fakekafka.Start(t, fakekafka.Topic("orders", 2), fakekafka.ManualClock(start))
			g := k.Group("billing")
			m := fakekafka.Member{Protocol: fakekafka.Consumer, Topics: []string{"orders"}}
			one := k.Join("billing", m)
			g.AwaitStable(t, 1)
			hold, want := g.Hold(step), 1
			var left chan fakekafka.ErrorCode
			switch step {
			case fakekafka.Leave:
				left = make(chan fakekafka.ErrorCode, 1)
				go func() { left <- one.Leave() }()
			case fakekafka.Beat:
				require.NoError(t, g.Rebalance())
			default:
				k.Join("billing", m)
				want = 2
			}
			hold.Await(t)
			hold.Release()
			if left != nil {
				require.Equal(t, fakekafka.NoError, <-left)
				g.AwaitStable(t, 0)
				return
			}
			g.AwaitStable(t, want)
		})
	}
}

func TestHoldThatNothingReachesSaysWhatItSaw(t *testing.T) {
	k := startRaw(t)
	hold := k.Group("billing").Hold(fakekafka.Sync)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, hold.Reached(ctx), `wanted something that stands at Group("billing").Hold(Sync)`)
	hold.Release()
}

func TestBrokersStopKillAndRestart(t *testing.T) {
	for _, kill := range []bool{false, true} {
		t.Run(fmt.Sprintf("kill %t", kill), func(t *testing.T) {
			k := fakekafka.Start(t, fakekafka.Topic("orders", 3, fakekafka.Replicas(3)), fakekafka.Brokers(3))
			g := k.Group("billing")
			addr := k.Broker(1).Addr()
			require.NoError(t, g.MoveCoordinator(1))
			m := joinRaw(t, k, "billing", "worker-1")
			require.Zero(t, m.ask(m.commit(7)).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
			dialRaw(t, k, "producer").ask(produceTo(t, "orders", 0))
			stop := k.Broker(1).Stop
			if kill {
				stop = k.Broker(1).Kill
			}
			require.NoError(t, stop())
			_, err := m.nc.Read(make([]byte, 1))
			require.Error(t, err, "its clients lose their connections")
			require.NotEqual(t, 1, k.Topic("orders").Leader(0))
			g.RequireCommitted(t, "orders", 0, 7)
			require.Len(t, g.State().Members, 1, "the coordinator has moved and knows the member")

			require.NoError(t, k.Broker(1).Start())
			require.Equal(t, addr, k.Broker(1).Addr())
			require.Equal(t, int64(1), k.Topic("orders").EndOffset(0))
			require.NoError(t, k.Topic("orders").MoveLeader(0, 1))
			require.Equal(t, codes{0: 0}, producedCodes(dialRaw(t, k, "producer").ask(produceTo(t, "orders", 0))))
		})
	}
}

func TestRestartOfTheOnlyBroker(t *testing.T) {
	k := startRaw(t)
	g := k.Group("billing")
	m := joinRaw(t, k, "billing", "worker-1")
	m.ask(m.commit(7))
	require.NoError(t, k.Broker(1).Restart())
	g.RequireCommitted(t, "orders", 0, 7)
	again := &rawMember{raw: dialRaw(t, k, "worker-1"), group: m.group, id: m.id, generation: m.generation}
	resp, err := again.try(again.commit(8))
	require.NoError(t, err)
	require.Zero(t, resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode, "it goes on at the same generation")
}

func TestIsolatedFromABroker(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2, fakekafka.Replicas(2)), fakekafka.Brokers(2))
	cut := dialRaw(t, k, "cut-off")
	require.NoError(t, k.Broker(1).Isolate("cut-off"))
	req := produceTo(t, "orders", 0)
	cut.send(req)
	require.Equal(t, codes{0: 0}, producedCodes(dialRaw(t, k, "other").ask(produceTo(t, "orders", 0))))
	require.Equal(t, codes{1: 0}, producedCodes(dialBroker(t, k, "cut-off", k.Broker(2).Addr()).ask(produceTo(t, "orders", 1))))
	require.Equal(t, int64(1), k.Topic("orders").EndOffset(0))
	require.NoError(t, k.Broker(1).Heal())
	resp, err := cut.receive(req)
	require.NoError(t, err)
	require.Equal(t, codes{0: 0}, producedCodes(resp))
	require.Equal(t, int64(2), k.Topic("orders").EndOffset(0))
}

func TestAnIsolatedMemberExpires(t *testing.T) {
	k := startRaw(t, fakekafka.Brokers(2))
	g := k.Group("billing")
	require.NoError(t, g.MoveCoordinator(1))
	m := joinRaw(t, k, "billing", "worker-1")
	held := m.hold(k)
	require.NoError(t, k.Broker(1).Isolate())
	require.NoError(t, k.FastForward(46*time.Second))
	require.Empty(t, g.State().Members)
	require.NoError(t, k.Broker(1).Heal())
	_, err := m.receive(held)
	require.NoError(t, err)
}

func TestLatencyAndBandwidth(t *testing.T) {
	k := startRaw(t)
	r := dialRaw(t, k, "client")
	const d = 30 * time.Millisecond
	require.NoError(t, k.Broker(1).Latency(d))
	began := time.Now()
	for range 5 {
		r.send(produceTo(t, "orders", 0))
	}
	for range 5 {
		_, err := r.receive(produceTo(t, "orders", 0))
		require.NoError(t, err)
	}
	took := time.Since(began)
	require.GreaterOrEqual(t, took, d)
	require.Equal(t, int64(5), k.Topic("orders").EndOffset(0))
	require.NoError(t, k.Broker(1).Latency(0))
	require.NoError(t, k.Broker(1).Bandwidth(10_000))
	began = time.Now()
	big := produceTo(t, "orders", 0)
	big.Topics[0].Partitions[0].Records = oneRecord(t, strings.Repeat("x", 1000))
	require.Equal(t, codes{0: 0}, producedCodes(r.ask(big)))
	require.GreaterOrEqual(t, time.Since(began), 90*time.Millisecond)
}

func TestExpectMembers(t *testing.T) {
	for name, opts := range map[string][]fakekafka.Option{"machine time": nil, "manual clock": {fakekafka.ManualClock(start)}} {
		for _, kind := range []string{"range", "consumer"} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				k := startRaw(t, opts...)
				met := k.Group("billing")
				require.NoError(t, met.ExpectMembers(2))
				k.Join("billing", kinds[kind])
				k.Join("billing", kinds[kind])
				met.AwaitStable(t, 2)
				require.Equal(t, 1, count(met.History(), "expectation met"))

				k = startRaw(t, append(slices.Clone(opts), fakekafka.WaitLimit(50*time.Millisecond))...)
				missed := k.Group("billing")
				require.NoError(t, missed.ExpectMembers(2))
				k.Join("billing", kinds[kind])
				require.NoError(t, missed.Stable(t.Context(), 1))
				require.Equal(t, 1, count(missed.History(), "expectation missed"))
			})
		}
	}
}

// TestFastForwardToTheEndOfASession is what the docs say of clients whose session timeout the test doesn't know.
func TestFastForwardToTheEndOfASession(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, m fakekafka.Member) {
		k := fakekafka.Start(t, fakekafka.Topic("orders", 6),
			fakekafka.Config("group.consumer.min.heartbeat.interval.ms", "50"), fakekafka.Config("group.consumer.heartbeat.interval.ms", "100"))
		k.JoinAll("billing", members(2, m)...)
		g := k.Group("billing")
		g.AwaitStable(t, 2)
		require.NoError(t, g.Member("worker-2").Pause())
		s, err := g.Member("worker-2").State()
		require.NoError(t, err)
		require.NoError(t, k.FastForward(s.SessionDeadline.Sub(k.Now())+time.Millisecond))
		g.AwaitStable(t, 1)
		g.RequireOwner(t, "orders", 5, "worker-1")
	})
}
