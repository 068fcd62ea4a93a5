package fakekafka_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// TestMisuse: a call that makes no sense fails the test with what is wrong and what to do; it neither panics nor hangs.
func TestMisuse(t *testing.T) {
	t.Parallel()
	rec := &recorder{TB: t}
	k := fakekafka.Start(rec, fakekafka.Topic("t", 1), fakekafka.Brokers(2), fakekafka.WaitLimit(time.Second))
	member := k.Join("g", fakekafka.Member{Topics: []string{"t"}})
	observed := k.On(fakekafka.Metadata).Observe(func(*fakekafka.Call) {})
	dialRaw(t, k, "c").ask(metadataRequest())
	for _, c := range []struct {
		call func()
		says string
	}{
		{func() { k.Broker(0).Addr() }, "there is no broker 0; node ids are 1 to 2"},
		{func() { k.Broker(3).Addr() }, "there is no broker 3"},
		{func() { k.Group("g").Hold("Nap").Release() }, `there is no step "Nap"`},
		{func() { k.Join("g", fakekafka.Member{Protocol: 9}).Leave() }, "there is no protocol 9"},
		{func() { _, _ = member.Ask(nil) }, "there is no request: give one"},
		{func() {
			req := kmsg.NewPtrHeartbeatRequest()
			req.Version = 99
			_, _ = member.Ask(req)
		}, "Heartbeat v99 is not served, versions 0 to 4 are; set the request's Version to one of these"},
		{func() { _ = k.Topic("t").AddPartitions(1<<32 + 1) }, "give a number from 1 to 1000000"},
		{func() { _ = k.FastForward(1<<63 - 1) }, "the clock ends at 2200-01-01"},
		{func() { _ = k.FastForward(-1) }, "time doesn't go back"},
		{func() { k.On(fakekafka.Fetch).Observe(nil) }, "there is no function: give one"},
		{func() { k.On(fakekafka.Fetch).When(nil).Drop() }, "there is no function: give one"},
		{func() { k.On(fakekafka.API(999)).Drop() }, "there is no API 999: give one of the constants here, such as Fetch, or AnyAPI"},
		{func() { k.On(fakekafka.API(-2)).Drop() }, "there is no API -2"},
		{func() { k.On(fakekafka.ShareFetch).Drop() }, "ShareFetch is not served here, so that no rule acts on it"},
		{func() { _ = k.Group("").ExpectMembers(2) }, "ExpectMembers: the group has no name: give its group.id"},
		{func() { k.Join("", fakekafka.Member{Topics: []string{"t"}}) }, "Join: the group has no name"},
		{func() { k.Group("").Hold(fakekafka.Join).Release() }, `Group("").Hold(Join): the group has no name`},
		{func() { k.Group("").Hold(fakekafka.JoinBarrier).Release() }, `Group("").Hold(JoinBarrier): the group has no name`},
		{func() { _ = k.Group("bill").Rebalance() }, `Rebalance of group bill: there is no such group; of groups there are ["g"]`},
		{func() { _ = k.Topic("t").SetConfig("cleanup.polcy", "compact") }, "did you mean cleanup.policy?"},
		{func() { k.Requests(fakekafka.API(999)).Count() }, "Requests(key 999): there is no API 999"},
		{func() { k.Requests(fakekafka.Produce).Broker(3).List() }, "Requests(Produce to broker 3): there is no broker 3; node ids are 1 to 2"},
		{func() { k.Requests(fakekafka.Produce).From("").Count() }, "Requests(Produce): From: what is given names nothing"},
		{func() { k.Requests(fakekafka.Heartbeat).Group("").Count() }, "Requests(Heartbeat): Group: what is given names nothing"},
		{func() { _ = k.Broker(1).Isolate("") }, "Isolate of broker 1: a client without a name: give its client.id, or nothing for all"},
		{func() { _ = k.Group("g").Member("member-1").Pause(fakekafka.PauseScope(7)) }, "the scope [7]: give one of Everything and GroupTraffic"},
		{func() { observed.Times(2) }, ".Times(2) comes too late, the rule counts from its action on: put it before"},
	} {
		before := len(rec.errors())
		within(t, c.says, c.call)
		require.Contains(t, rec.errors()[before:], c.says)
	}
	rec.end()
}

func TestOptionsOutOfRange(t *testing.T) {
	t.Parallel()
	for says, opt := range map[string]fakekafka.Option{
		"give an instant from 1970":                   fakekafka.ManualClock(time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)),
		"give an instant from 1970 to 2200":           fakekafka.ManualClock(time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC)),
		"Kafka has no API of this name":               fakekafka.Ignore("Nonsense"),
		`Ignore("Fetch"): it is served here`:          fakekafka.Ignore("Fetch"),
		`did you mean cleanup.policy?`:                fakekafka.Topic("t", 1, fakekafka.With("cleanup.polcy", "compact")),
		`Advertise("host:9092"): give a host name or`: fakekafka.Advertise("host:9092"),
	} {
		_, err := fakekafka.New(opt)
		require.ErrorContains(t, err, says)
	}
}

func TestListenInMemory(t *testing.T) {
	t.Parallel()
	listen, memory := fakekafka.Listen("127.0.0.1:0"), fakekafka.InMemoryNetwork()
	for _, opts := range [][]fakekafka.Option{{listen, memory}, {memory, listen}} {
		_, err := fakekafka.New(opts...)
		require.EqualError(t, err, `fakekafka: Listen("127.0.0.1:0") and InMemoryNetwork: in memory there is nothing to listen on; leave one of them out`)
	}
}

func TestAssignmentOfTopicsThatAreNotThere(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
	k.Join("billing", fakekafka.Member{ClientID: "a", Topics: []string{"orders"}}).AwaitOwned(t, map[string][]int32{"orders": {0, 1}})
	rec := &recorder{TB: t}
	require.Panics(t, func() {
		k.Group("billing").RequireAssignment(rec, fakekafka.Assignment{"a": {"oders": {0, 1}, "orders": {2}}})
	})
	require.Contains(t, rec.errors(), `there is no topic "oders"; there are [`)
	require.Contains(t, rec.errors(), `"orders"`)
	require.Contains(t, rec.errors(), `topic "orders" has no partition 2; it has 2`)
}

// TestEverythingAtOnce steers one cluster from many goroutines: nothing hangs, and no partition has two owners.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	k, err := fakekafka.New(fakekafka.Topic("t", 6), fakekafka.Brokers(2), fakekafka.WaitLimit(10*time.Second))
	require.NoError(t, err)
	defer k.Close()
	within(t, "steering from many goroutines", func() {
		var wg sync.WaitGroup
		times := func(n int, fn func(i int)) {
			wg.Go(func() {
				for i := range n {
					fn(i)
				}
			})
		}
		for w := range 2 {
			times(4, func(int) { _ = k.FastForward(time.Hour) })
			times(4, func(i int) {
				k.Join("classic", fakekafka.Member{ClientID: fmt.Sprintf("%d-%d", w, i), Topics: []string{"t"}})
			})
			times(4, func(i int) {
				m := k.Join("consumer", fakekafka.Member{ClientID: fmt.Sprintf("%d-%d", w, i), Topics: []string{"t"}, Protocol: fakekafka.Consumer})
				if i%2 == 0 {
					m.Leave()
				}
			})
			times(8, func(int) { _ = k.Broker(w + 1).Restart() })
			times(8, func(int) { _ = k.Group("classic").ReloadCoordinator(); _ = k.Group("consumer").Rebalance() })
			times(8, func(i int) { _ = k.Group("consumer").MoveCoordinator(i%2 + 1); _ = k.Topic("t").MoveLeader(0, i%2+1) })
			times(8, func(int) { _ = k.Group("classic").State(); _ = k.Timeline(); k.FetchSessions().EvictAll() })
			times(4, func(int) { k.Group("classic").Hold(fakekafka.JoinBarrier).Release() })
		}
		wg.Wait()
	})
	k.Group("classic").RequireNoDoubleOwner(t)
	k.Group("consumer").RequireNoDoubleOwner(t)
}

func TestCloseDuringFastForward(t *testing.T) {
	t.Parallel()
	k, err := fakekafka.New(fakekafka.Topic("t", 100))
	require.NoError(t, err)
	k.Join("g", fakekafka.Member{Topics: []string{"t"}, Protocol: fakekafka.Consumer})
	moved := make(chan error, 1)
	go func() { moved <- k.FastForward(100 * 365 * 24 * time.Hour) }()
	within(t, "Close while FastForward runs", func() {
		k.Close()
		<-moved
	})
}

func TestFastForwardOfAYear(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("t", 1), fakekafka.ManualClock(time.Now()))
	before := k.Now()
	within(t, "a year", func() { require.NoError(t, k.FastForward(365*24*time.Hour)) })
	require.Equal(t, 365*24*time.Hour, k.Now().Sub(before))
}

// TestLagOfWhatNobodyOwns: a group that has only begun has not caught up.
func TestLagOfWhatNobodyOwns(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("t", 1), fakekafka.WaitLimit(time.Minute))
	require.NoError(t, k.Topic("t").Produce(fakekafka.V("a"), fakekafka.V("b")))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	g := k.Group("g")
	require.ErrorContains(t, g.LagAtMost(gone, 0), "no such group")
	hold := g.Hold(fakekafka.JoinBarrier)
	m := k.Join("g", fakekafka.Member{Topics: []string{"t"}})
	hold.Await(t)
	require.EqualValues(t, 2, g.Lag())
	hold.Release()
	m.AwaitOwned(t, map[string][]int32{"t": {0}})
	require.EqualValues(t, 2, g.Lag())
	require.Equal(t, fakekafka.NoError, m.Commit("t", 0, 2))
	g.AwaitLag(t, 0)
}

// An isolation may be of a client that is still to come; of one that never came the log tells, and who did.
func TestIsolationOfNobodyIsTold(t *testing.T) {
	t.Parallel()
	rec := &recorder{TB: t}
	k := fakekafka.Start(rec, fakekafka.Topic("t", 1))
	require.NoError(t, k.Broker(1).Isolate("nobody", "late"))
	dialRaw(t, k, "c").ask(metadataRequest())
	late := dialRaw(t, k, "late")
	req := metadataRequest()
	late.send(req)
	k.Requests(fakekafka.Metadata).From("late").AwaitCount(t, 1)
	require.NoError(t, k.Broker(1).Heal())
	_, err := late.receive(req)
	require.NoError(t, err)
	require.Empty(t, rec.end())
	told := strings.Join(rec.logs, "\n")
	require.Equal(t, 1, strings.Count(told, "did nothing"), told)
	require.Contains(t, told, "the isolation of broker 1 from client nobody did nothing: no client of this client.id ever sent a request; requests came from")
}

// What is where it shall be already stays there, at the same epoch.
func TestMovesToWhereItIs(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("t", 1), fakekafka.Brokers(2))
	g := k.Group("g")
	require.NoError(t, g.MoveCoordinator(2))
	k.Join("g", fakekafka.Member{Topics: []string{"t"}})
	g.AwaitStable(t, 1)
	before := len(k.Group("g").History())
	require.NoError(t, g.MoveCoordinator(2))
	require.NoError(t, k.Topic("t").MoveLeader(0, k.Topic("t").Leader(0)))
	require.Len(t, g.History(), before)
	require.NotContains(t, k.Timeline(), "t-0 is led")
}

// TestSteeringAClosedCluster: what is done to a cluster that was closed by hand says so, at the line that did it.
func TestSteeringAClosedCluster(t *testing.T) {
	t.Parallel()
	rec := &recorder{TB: t}
	k := fakekafka.Start(rec, fakekafka.Topic("t", 1))
	k.Close()
	for what, call := range map[string]func(){
		"Stop of broker 1":                   func() { _ = k.Broker(1).Restart() },
		"Start of broker 1":                  func() { _ = k.Broker(1).Start() },
		"On(Produce).Drop()":                 func() { k.On(fakekafka.Produce).Drop() },
		"On(Produce).Hold()":                 func() { k.On(fakekafka.Produce).Hold() },
		`Group("billing").Hold(Commit)`:      func() { k.Group("billing").Hold(fakekafka.Commit) },
		`Group("billing").Hold(JoinBarrier)`: func() { k.Group("billing").Hold(fakekafka.JoinBarrier) },
		"Produce to topic t":                 func() { _ = k.Topic("t").Produce(fakekafka.V("a")) },
	} {
		before := len(rec.errors())
		call()
		require.Contains(t, rec.errors()[before:], what+": the cluster is closed")
	}
	said := rec.errors()
	require.Equal(t, said, rec.end()) // and no rule "never acted"
}

// TestWaitsThatCannotEnd fail at once.
func TestWaitsThatCannotEnd(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("t", 1))
	g := k.Group("g")
	k.Join("g", fakekafka.Member{ClientID: "a", Topics: []string{"t"}}).AwaitOwned(t, map[string][]int32{"t": {0}})
	ctx := t.Context() // without a limit
	require.ErrorContains(t, g.Owned(ctx, "t", -1, "a"), "wanted partition -1 of t: give a number from 0 on")
	require.ErrorContains(t, g.Owned(ctx, "t", 0, ""), "a member without a name: give its client id")
	require.ErrorContains(t, g.CommittedAt(ctx, "t", -1, 0), "wanted partition -1 of t")
	require.ErrorContains(t, g.CommittedAt(ctx, "t", 0, -1), "committed up to offset -1: give a number from 0 on")
	for _, err := range []error{
		k.Group("").Stable(ctx, 1), k.Group("").Fetching(ctx), k.Group("").Owned(ctx, "t", 0, "a"), k.Group("").Assigned(ctx, fakekafka.Assignment{"a": {"t": {0}}}),
	} {
		require.ErrorContains(t, err, "the group has no name: give its group.id")
	}
	require.ErrorContains(t, g.LagAtMost(ctx, -1), "a lag of at most -1: give a number from 0 on")
}

// TestFailureNamesWhatIsInTheWay: a broker that doesn't run, a client that is paused, the end of the log.
func TestFailureNamesWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("t", 1), fakekafka.Brokers(2))
	g := k.Group("g")
	m := k.Join("g", fakekafka.Member{ClientID: "a", Topics: []string{"t"}})
	g.AwaitStable(t, 1)
	require.NoError(t, k.Topic("t").Produce(fakekafka.V("x")))
	require.Equal(t, fakekafka.NoError, m.Commit("t", 0, 1))
	require.NoError(t, k.Broker(2).Stop())
	require.NoError(t, g.Member("a").Pause())
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorContains(t, g.CommittedAt(ctx, "t", 0, 2), "there was: offset 1, of a log that ends at 1\n    broker 2 doesn't run\n    the pause of a goes on\n")
	require.ErrorContains(t, m.Has(ctx, map[string][]int32{"t": {0, 1}, "tt": {0}}), "\n    topic \"t\" has no partition 1; it has 1, counted from 0\n    there is no topic \"tt\"")
}

// TestFailureNamesWhoIsWaitedFor: in a rebalance that doesn't end.
func TestFailureNamesWhoIsWaitedFor(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("t", 2))
	g := k.Group("g")
	slow := k.Join("g", fakekafka.Member{ClientID: "slow", Topics: []string{"t"}, ByHand: true})
	require.Equal(t, fakekafka.MemberIDRequired, slow.JoinGroup())
	require.Equal(t, fakekafka.NoError, slow.JoinGroup())
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	require.ErrorContains(t, g.Stable(soon(), 1), "slow: epoch 1, owns nothing, subscribes to t, leads and has not sent the assignment: the others wait for it")
	require.Equal(t, fakekafka.NoError, slow.SyncGroup())
	k.Join("g", fakekafka.Member{ClientID: "b", Topics: []string{"t"}})
	require.ErrorContains(t, g.Stable(soon(), 2), "slow: epoch 1, owns t 0 1, has not joined again: the others wait for it\n    b: epoch 1, owns nothing, subscribes to t, waits in join")
	require.ErrorContains(t, g.Assigned(soon(), fakekafka.Assignment{"b": {"t": {0, 1}}}), "slow: not wanted in the group; owns t 0 1, has not joined again")
	hold := g.Hold(fakekafka.JoinBarrier)
	require.NoError(t, g.Member("slow").Evict())
	require.ErrorContains(t, g.Stable(soon(), 1), "1 member, stands at the test's hold of [")
	hold.Release()
	g.AwaitStable(t, 1)
}

// TestRequestsThatCannotBeAskedFor: an Await of them fails at once.
func TestRequestsThatCannotBeAskedFor(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.WaitLimit(time.Hour))
	require.EqualError(t, k.Requests(fakekafka.API(999)).Counted(t.Context(), 1),
		"fakekafka: wanted 1 request (key 999): there is no API 999: give one of the constants here, such as Fetch, or AnyAPI")
	require.EqualError(t, k.Requests(fakekafka.Fetch).Counted(t.Context(), -1), "fakekafka: wanted -1 requests (Fetch): give a number from 0 on")
}

// TestSteeringGroupsWithoutAnyBroker: before anybody has asked for a coordinator there is none, and with no broker there will be none.
func TestSteeringGroupsWithoutAnyBroker(t *testing.T) {
	t.Parallel()
	rec := &recorder{TB: t}
	k := fakekafka.Start(rec, fakekafka.Topic("t", 1))
	require.NoError(t, k.Broker(1).Stop())
	g := k.Group("billing")
	for what, call := range map[string]func(){
		"Rebalance of group billing":         func() { _ = g.Rebalance() },
		`Group("billing").Hold(JoinBarrier)`: func() { g.Hold(fakekafka.JoinBarrier).Release() },
		"ExpectMembers":                      func() { _ = g.ExpectMembers(2) },
		"MoveCoordinator of group billing":   func() { _ = g.MoveCoordinator(1) },
		"ReloadCoordinator of group billing": func() { _ = g.ReloadCoordinator() },
		"Join of group billing":              func() { k.Join("billing", fakekafka.Member{Topics: []string{"t"}}).Leave() },
	} {
		before := len(rec.errors())
		within(t, what, call)
		require.Contains(t, rec.errors()[before:], what+": no group has a coordinator yet, and __consumer_offsets can't be created: running are the brokers []; Start one")
	}
	require.NoError(t, k.Broker(1).Start())
	k.Join("billing", fakekafka.Member{Topics: []string{"t"}})
	g.AwaitStable(t, 1)
	rec.end()
}
