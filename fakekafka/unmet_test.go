package fakekafka_test

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// unmet is what a wait says that can't be met.
func unmet(t *testing.T, wait func(ctx context.Context) error) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := wait(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	return err.Error()
}

// stableWith waits for n members.
func stableWith(g *fakekafka.Group, n int) func(context.Context) error {
	return func(ctx context.Context) error { return g.Stable(ctx, n) }
}

func findGroup(id string) *kmsg.FindCoordinatorRequest {
	find := versioned(kmsg.NewPtrFindCoordinatorRequest(), 4)
	find.CoordinatorKeys = []string{id}
	return find
}

func metadataOf(topic string) *kmsg.MetadataRequest {
	req := versioned(kmsg.NewPtrMetadataRequest(), 9)
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = &topic
	req.Topics = append(req.Topics, rt)
	return req
}

// TestAbsentMembers: a wait for more members than there are says what became of the clients that should be the others.
func TestAbsentMembers(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
	g := k.Group("billing")
	said := unmet(t, stableWith(g, 1))
	require.Contains(t, said, "there was: no such group\n    no client has connected: was one started, with the address of this cluster, "+k.Bootstrap()+`, and with group.id "billing"?`)

	dialRaw(t, k, "producer").ask(produceTo(t, "orders", 0))
	strayed := dialRaw(t, k, "strayed")
	strayed.ask(metadataOf("oders"))
	slow := dialRaw(t, k, "slow")
	slow.ask(findGroup("billing"))
	require.Equal(t, 1, k.Requests(fakekafka.FindCoordinator).Group("billing").Count())
	said = unmet(t, stableWith(g, 1))
	require.Contains(t, said, "\n    client \"producer\" has asked for no group; it sent Produce\n")
	require.Contains(t, said, "\n    client \"strayed\" has asked for no group; it sent Metadata; it asked for topic \"oders\": there is no topic \"oders\"; there are [")
	require.Contains(t, said, "\n    client \"slow\" has asked for its coordinator and not to join; it sent FindCoordinator\ngroup billing")
	require.NotContains(t, said, "was one started", "one did ask for it")

	k.Join("billing", fakekafka.Member{ClientID: "a", Topics: []string{"orders"}})
	left := k.Join("billing", fakekafka.Member{ClientID: "b", Topics: []string{"orders"}})
	k.Join("biling", fakekafka.Member{ClientID: "c", Topics: []string{"orders"}})
	require.Equal(t, fakekafka.NoError, left.Leave())
	g.AwaitStable(t, 1)
	said = unmet(t, stableWith(g, 2))
	require.Contains(t, said, `client "c" has joined another group: "biling" (here it is "billing": is one of them misspelled?)`)
	require.Regexp(t, `client "b" is out of it since \+[0-9.]+s: left`, said)
	require.NotContains(t, said, `client "a"`)
	for what, wait := range map[string]func(context.Context) error{
		"an owner":      func(ctx context.Context) error { return g.Owned(ctx, "orders", 0, "c") },
		"an assignment": func(ctx context.Context) error { return g.Assigned(ctx, fakekafka.Assignment{"c": {"orders": {0}}}) },
	} {
		require.Contains(t, unmet(t, wait), `client "c" has joined another group`, what)
	}
	require.NotContains(t, unmet(t, func(ctx context.Context) error { return g.LagAtMost(ctx, 0) }), `client "c"`, "its member is there")

	alone := fakekafka.Start(t, fakekafka.Topic("orders", 2))
	alone.Join("billing", fakekafka.Member{ClientID: "a", Topics: []string{"orders"}})
	alone.Group("billing").AwaitStable(t, 1)
	require.Contains(t, unmet(t, stableWith(alone.Group("billing"), 2)), "\n    no other client has asked for this group: was another one started, with the address")
}

// TestRefusedMembersAreTold: who isn't there because the coordinator refused it.
func TestRefusedMembersAreTold(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
	g := k.Group("billing")
	k.Join("billing", fakekafka.Member{ClientID: "a", Topics: []string{"orders"}})
	g.AwaitStable(t, 1)
	k.Join("billing", fakekafka.Member{ClientID: "b", Topics: []string{"orders"}, SessionTimeout: time.Millisecond})
	require.Regexp(t, `client "b" is out of it since \+[0-9.]+s: refused: JoinGroup was answered INVALID_SESSION_TIMEOUT`, unmet(t, stableWith(g, 2)))
}

// TestSubscriptionsToNothing: a member whose topic there isn't has nothing for that reason.
func TestSubscriptionsToNothing(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, m fakekafka.Member) {
		k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
		m.ClientID, m.Topics = "a", []string{"oders"}
		k.Join("billing", m)
		k.Group("billing").AwaitStable(t, 1)
		require.Contains(t, unmet(t, func(ctx context.Context) error { return k.Group("billing").Owned(ctx, "orders", 0, "a") }),
			"\n    a subscribes to topic \"oders\": there is no topic \"oders\"; there are [")
	})
}

// TestExpectMembersMissedIsInTheHeadline of what fails for it.
func TestExpectMembersMissedIsInTheHeadline(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, m fakekafka.Member) {
		k := fakekafka.Start(t, fakekafka.Topic("orders", 2), fakekafka.WaitLimit(50*time.Millisecond))
		g := k.Group("billing")
		require.NoError(t, g.ExpectMembers(3))
		require.NotContains(t, unmet(t, stableWith(g, 3)), "ExpectMembers")
		m.ClientID = "a"
		k.Join("billing", m)
		m.ClientID = "b"
		k.Join("billing", m)
		require.NoError(t, g.Stable(t.Context(), 2))
		const headline = "fakekafka: group billing: ExpectMembers(3) was missed, 2 of 3 expected members joined within 50ms: wanted "
		for what, wait := range map[string]func(context.Context) error{
			"a stable group of 3 members": stableWith(g, 3),
			"this assignment":             func(ctx context.Context) error { return g.Assigned(ctx, nil) },
			"orders-0 owned by c":         func(ctx context.Context) error { return g.Owned(ctx, "orders", 0, "c") },
			"something that stands at Group(\"billing\").Hold(Leave)": func(ctx context.Context) error {
				h := g.Hold(fakekafka.Leave)
				defer h.Release()
				return h.Reached(ctx)
			},
		} {
			require.Contains(t, unmet(t, wait), headline+what)
		}
		m.ClientID = "c"
		k.Join("billing", m)
		require.NoError(t, g.Stable(t.Context(), 3))
		require.NotContains(t, unmet(t, stableWith(g, 4)), "ExpectMembers", "they have come since")
	})
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
	g := k.Group("billing")
	require.NoError(t, g.ExpectMembers(2))
	k.Join("billing", fakekafka.Member{ClientID: "a", Topics: []string{"orders"}})
	require.Contains(t, unmet(t, stableWith(g, 1)), "fakekafka: group billing: ExpectMembers(2) still waits, there is 1 member: wanted a stable group of 1 member;")
}

// TestHoldsThatNothingReaches say what comes there, and why it may not have come.
func TestHoldsThatNothingReaches(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
	k.Join("classic", fakekafka.Member{ClientID: "a", Topics: []string{"orders"}})
	k.Join("consumer", fakekafka.Member{ClientID: "b", Topics: []string{"orders"}, Protocol: fakekafka.Consumer})
	k.Group("classic").AwaitStable(t, 1)
	k.Group("consumer").AwaitStable(t, 1)
	for _, c := range []struct {
		group string
		step  fakekafka.Step
		says  string
	}{
		{"none", fakekafka.Join, `client "a" has joined another group: "classic"`},
		{"classic", fakekafka.Join, "its members got through it before the hold: call Hold before the clients start, or make another rebalance"},
		{"classic", fakekafka.JoinBarrier, "its members got through it before the hold"},
		{"classic", fakekafka.Sync, "its members got through it before the hold"},
		{"classic", fakekafka.Commit, "its clients have sent no commit yet: is there a record to read"},
		{"classic", fakekafka.Leave, "no member has left since the hold"},
		{"classic", fakekafka.Beat, "no heartbeat has come since the hold"},
		{"classic", fakekafka.Assign, "Assign is a step of groups of the consumer protocol, this one's is classic: Sync holds the leader's assignment there"},
		{"classic", fakekafka.RevokeAck, "RevokeAck is a step of groups of the consumer protocol, this one's is classic: the second JoinGroup of a cooperative member"},
		{"consumer", fakekafka.Sync, "Sync is a step of groups of the classic protocol, this one's is consumer: Assign holds the assignment there"},
		{"consumer", fakekafka.JoinBarrier, "JoinBarrier is a step of groups of the classic protocol"},
		{"consumer", fakekafka.Assign, "its members got through it before the hold"},
		{"consumer", fakekafka.RevokeAck, "no member has confirmed that it gave partitions up since the hold"},
	} {
		h := k.Group(c.group).Hold(c.step)
		require.Contains(t, unmet(t, h.Reached), "nothing stands there", c.step)
		require.Contains(t, unmet(t, h.Reached), "\n    "+c.says, c.step)
		h.Release()
	}
	rec := &recorder{TB: t} // whose test fails for the rule in the end, too
	h := fakekafka.Start(rec, fakekafka.Topic("orders", 2)).On(fakekafka.Fetch).Topic("oders").HoldReply()
	said := unmet(t, h.Reached)
	require.Contains(t, said, `fakekafka: wanted something that stands at On(Fetch).Topic("oders").HoldReply(); after`)
	require.Contains(t, said, "\n    On(Fetch).Topic(\"oders\").HoldReply() never acted on a request; there is no topic \"oders\": no client sent Fetch")
	h.Release()
	require.Contains(t, rec.end(), "never acted")
}

// TestIdleNamesWhatIsInTheWay of a quiet point.
func TestIdleNamesWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	k.Join("billing", fakekafka.Member{ClientID: "a", Topics: []string{"orders"}})
	k.Group("billing").AwaitStable(t, 1)
	require.NoError(t, k.Topic("orders").Produce(fakekafka.V("x")))
	require.NoError(t, k.Group("billing").Member("a").Pause())
	require.Contains(t, unmet(t, k.Idle), "group billing has a lag of 1: orders-0: 1 (nothing committed, end 1, owned by a)\n    the pause of a goes on")
}

// TestFailureNamesWhatTheTestDid: faults that have acted, requests that stand at a hold, and who is silent.
func TestFailureNamesWhatTheTestDid(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2), fakekafka.ManualClock(start))
	g := k.Group("billing")
	k.On(fakekafka.Metadata).Observe(func(*fakekafka.Call) {})
	k.On(fakekafka.FindCoordinator).Times(1).Fail(fakekafka.CoordinatorNotAvailable)
	r := dialRaw(t, k, "slow")
	r.ask(metadataOf("orders"))
	r.ask(findGroup("billing"))
	hold := k.On(fakekafka.FindCoordinator).Hold()
	r.send(findGroup("billing"))
	hold.Await(t)
	said := unmet(t, stableWith(g, 1))
	require.Contains(t, said, "\n    On(FindCoordinator).Hold() holds FindCoordinator v4 from \"slow\" for group billing\n    On(FindCoordinator).Times(1).Fail(COORDINATOR_NOT_AVAILABLE) has acted on 1 request\n")
	require.NotContains(t, said, "Observe")
	hold.Release()

	k.Join("billing", fakekafka.Member{ClientID: "a", Topics: []string{"orders"}})
	k.Join("billing", fakekafka.Member{ClientID: "b", Topics: []string{"orders"}, SessionTimeout: 10 * time.Second})
	g.AwaitStable(t, 2)
	require.NoError(t, g.Member("b").Pause())
	require.NoError(t, k.FastForward(4*time.Second))
	said = unmet(t, stableWith(g, 1))
	require.Contains(t, said, "\n    b is not heard; its session ends in 6s of the brokers' time: FastForward past it ends it at once\n")
	require.NotContains(t, said, "a is not heard")

	step := g.Hold(fakekafka.JoinBarrier)
	require.NoError(t, g.Rebalance())
	require.NoError(t, k.FastForward(time.Minute))
	step.Await(t)
	said = unmet(t, func(ctx context.Context) error {
		return k.Topic("orders").Has(ctx, fakekafka.AnyOrder(fakekafka.V("x")))
	})
	require.Contains(t, said, "\n    Group(\"billing\").Hold(JoinBarrier) holds group billing\n", "of a group that consumes them, perhaps")
	step.Release()
}

// TestAbsentMembersOfANetworkInMemory need its dialer.
func TestAbsentMembersOfANetworkInMemory(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.InMemoryNetwork())
	require.Contains(t, unmet(t, stableWith(k.Group("billing"), 1)), "no client has connected: was one started, with the address of this cluster, fakekafka.invalid:9092, the cluster's DialContext as its dialer, and with group.id")
	_, err := k.DialContext(t.Context(), "tcp", "localhost:9092")
	require.EqualError(t, err, `dial memory localhost:9092: connection refused: on this network in memory there are only the brokers at ["fakekafka.invalid:9092"]`)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

// TestAClosedClusterIsAllThatIsTold where it is closed.
func TestAClosedClusterIsAllThatIsTold(t *testing.T) {
	t.Parallel()
	k, err := fakekafka.New()
	require.NoError(t, err)
	k.Close()
	require.NotContains(t, k.Group("billing").Stable(t.Context(), 1).Error(), "no client has connected")
}

// TestNobodyCommits: what a wait for commits says of a group in which there are none, and of one in which there are some.
func TestNobodyCommits(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	require.NoError(t, k.Topic("orders").Produce(fakekafka.V("x"), fakekafka.V("y")))
	m := k.Join("billing", fakekafka.Member{ClientID: "a", Topics: []string{"orders"}})
	g := k.Group("billing")
	g.AwaitStable(t, 1)
	const nothing = "there was: no committed offset, of a log that ends at 2\n"
	require.Contains(t, unmet(t, func(ctx context.Context) error { return g.CommittedAt(ctx, "orders", 0, 3) }), nothing)
	require.Contains(t, failure(t, func(tb testing.TB) { g.RequireCommitted(tb, "orders", 0, 3) }), nothing)
	for range 2 {
		for what, wait := range map[string]func(context.Context) error{
			"a lag":     func(ctx context.Context) error { return g.LagAtMost(ctx, 0) },
			"an offset": func(ctx context.Context) error { return g.CommittedAt(ctx, "orders", 0, 2) },
			"a held request": func(ctx context.Context) error {
				h := g.Hold(fakekafka.Commit)
				defer h.Release()
				return h.Reached(ctx)
			},
		} {
			said := unmet(t, wait)
			if _, ok := g.Committed("orders", 0); !ok {
				require.Contains(t, said, "\n    its clients have sent no commit yet: is there a record to read, and do they commit what they have read?", what)
			} else {
				require.NotContains(t, said, "no commit yet", what)
			}
		}
		require.Equal(t, fakekafka.NoError, m.Commit("orders", 0, 1))
	}
	h := g.Hold(fakekafka.Commit)
	require.Contains(t, unmet(t, h.Reached), "\n    its clients have sent 2 commits, none since the hold: is there a record to read since?")
	h.Release()
}

// TestNamesOfManyMembers: of many members the first ones are listed, each time that a name fits none.
func TestNamesOfManyMembers(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
	k.JoinAll("billing", slices.Repeat([]fakekafka.Member{{ClientID: "a", Topics: []string{"orders"}}}, 25)...)
	k.Group("billing").AwaitStable(t, 25)
	_, err := k.Group("billing").Member("b").State()
	require.ErrorContains(t, err, ` (client "a") and 5 more`)
	require.Equal(t, 20, strings.Count(err.Error(), `(client "a")`))
}

// TestRequestsOfAClientThatNeverCame names those that did.
func TestRequestsOfAClientThatNeverCame(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	said := func() string {
		return unmet(t, func(ctx context.Context) error { return k.Requests(fakekafka.Produce).From("worker").Counted(ctx, 1) })
	}
	require.Contains(t, said(), `there was: 0; client "worker" has sent nothing; no client has sent anything`)
	dialRaw(t, k, "worker-1").ask(metadataOf("orders"))
	require.NoError(t, k.Broker(1).Stop())
	require.Contains(t, said(), "there was: 0; client \"worker\" has sent nothing; requests came from \"worker-1\"\n    broker 1 doesn't run")
	require.Contains(t, unmet(t, func(ctx context.Context) error { return k.Requests(fakekafka.Produce).Counted(ctx, 1) }), `there was: 0; no client sent any; requests came from "worker-1"`)
}

// TestRecordsThatDoNotCount: a record that is as wanted and doesn't count is told of, and why.
func TestRecordsThatDoNotCount(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("receipts", 1))
	topic := k.Topic("receipts")
	require.NoError(t, topic.Produce(fakekafka.KV("a", "1"), fakekafka.KV("b", "2")))
	topic.AwaitRecords(t, fakekafka.InOrder(fakekafka.KV("a", "1")))
	const again = "\n    \"a\"=\"1\" at partition 0 offset 0 doesn't count: an earlier Await or Require call has matched it, and each record counts once"
	wanted := fakekafka.AnyOrder(fakekafka.KV("a", "1"), fakekafka.KV("b", "2"))
	require.Contains(t, unmet(t, func(ctx context.Context) error { return topic.Has(ctx, wanted) }), again)
	require.Contains(t, failure(t, func(tb testing.TB) { topic.RequireRecords(tb, wanted) }), again)
	require.ErrorContains(t, topic.Has(t.Context(), fakekafka.InOrder(fakekafka.KV("a", "1"))), again, "which no further record can mend")
	require.NotContains(t, failure(t, func(tb testing.TB) { topic.RequireRecords(tb, fakekafka.InOrder(fakekafka.V("x"))) }), "doesn't count")

	x := dialRaw(t, k, "producer").transaction("x")
	x.add("receipts", 0)
	x.produce("receipts", 0, "c")
	wanted = fakekafka.AnyOrder(fakekafka.V("c"))
	require.Contains(t, failure(t, func(tb testing.TB) { topic.ReadCommitted().RequireRecords(tb, wanted) }), "null=\"c\" at partition 0 offset 2 doesn't count: ")
	topic.RequireRecords(t, wanted)
}

// TestOrderIsTold: records that are there and not in the wanted order are no missing ones.
func TestOrderIsTold(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("one", 1), fakekafka.Topic("three", 3))
	require.NoError(t, k.Topic("one").Produce(fakekafka.KV("ada", "2"), fakekafka.KV("ada", "1")))
	said := failure(t, func(tb testing.TB) {
		k.Topic("one").RequireRecords(tb, fakekafka.PerKey(fakekafka.KV("ada", "1"), fakekafka.KV("ada", "3")))
	})
	require.Contains(t, said, "  - \"ada\"=\"1\"   (there, but not in this order)\n  - \"ada\"=\"3\"   (missing)")
	require.NotContains(t, said, "several partitions")
	require.NoError(t, k.Topic("three").Produce(fakekafka.V("a"), fakekafka.V("b"), fakekafka.V("c")))
	require.Contains(t, failure(t, func(tb testing.TB) { k.Topic("three").RequireRecords(tb, fakekafka.InOrder(fakekafka.V("c"))) }),
		"\n    (they are in several partitions, which InOrder takes one after the other; between partitions there is no order: PerKey and AnyOrder need none)")
	require.Contains(t, failure(t, func(tb testing.TB) { k.Topic("one").RequireRecords(tb, fakekafka.Expectation{}) }),
		"to hold, in an order that is not said, 0 records; there was:\n    the expectation is of no kind: make it with InOrder")
}

// TestNothingIsNotBalanced: where nobody owns anything nothing is proved.
func TestNothingIsNotBalanced(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
	m := k.Join("billing", fakekafka.Member{ClientID: "a", Topics: []string{"orders"}})
	k.Group("billing").AwaitStable(t, 1)
	k.Group("billing").RequireBalanced(t)
	require.Equal(t, fakekafka.NoError, m.Leave())
	require.Contains(t, failure(t, func(tb testing.TB) { k.Group("billing").RequireBalanced(tb) }),
		"wanted partitions spread evenly; there was: nobody owns a partition: Empty")
}

// TestWhoIsNamedWrongIsTold: connections of a client that never came are cut with a line in the log; a rule for a group says which groups came.
func TestWhoIsNamedWrongIsTold(t *testing.T) {
	t.Parallel()
	rec := &recorder{TB: t}
	k := fakekafka.Start(rec, fakekafka.Topic("orders", 1))
	k.On(fakekafka.FindCoordinator).Group("biling").Drop()
	k.On(fakekafka.AnyAPI).From("nobody").Drop()
	r := dialRaw(t, k, "worker-1")
	r.ask(findGroup("billing"))
	require.Zero(t, k.DropConnections("worker"))
	require.Equal(t, 1, k.DropConnections("worker-1"))
	said := rec.end()
	require.Contains(t, said, `On(FindCoordinator).Group("biling").Drop() never acted on a request: 1 FindCoordinator came, from "worker-1", for groups ["billing"], and none fitted`)
	require.Contains(t, said, `On(AnyAPI).From("nobody").Drop() never acted`)
	told := strings.Join(rec.logs, "\n")
	require.Equal(t, 1, strings.Count(told, "did nothing"), told)
	require.Contains(t, told, "DropConnections(\\\"worker\\\") did nothing: no client of this client.id ever sent a request; requests came from")
}

// TestATakenOverClientIsOut of the group, and no longer waited for.
func TestATakenOverClientIsOut(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, m fakekafka.Member) {
		k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
		m.InstanceID, m.ClientID = "pod-1", "one"
		one := k.Join("billing", m)
		k.Group("billing").AwaitStable(t, 1)
		if m.Protocol == fakekafka.Consumer {
			require.Equal(t, fakekafka.NoError, one.LeaveForAWhile())
		}
		m.ClientID = "two"
		k.Join("billing", m)
		k.Group("billing").AwaitStable(t, 1)
		require.Regexp(t, `client "one" is out of it since \+[0-9.]+s: `, unmet(t, stableWith(k.Group("billing"), 2)))
	})
}

// TestRecordsThatNobodyWrote: a wait for records says who may have gone astray, and what the test does to producers.
func TestRecordsThatNobodyWrote(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("receipts", 1), fakekafka.AutoCreateTopics(false))
	has := func() string {
		return unmet(t, func(ctx context.Context) error {
			return k.Topic("receipts").Has(ctx, fakekafka.AnyOrder(fakekafka.V("x")))
		})
	}
	require.Contains(t, has(), "- null=\"x\"   (missing)\n    no client has sent a Produce; no client has sent anything")
	r := dialRaw(t, k, "producer")
	r.ask(metadataOf("reciepts"))
	said := has()
	require.Contains(t, said, "\n    client \"producer\" asked for topic \"reciepts\": there is no topic \"reciepts\"; there are [\"receipts\"]; did you mean \"receipts\"?")
	require.Contains(t, said, "\n    no client has sent a Produce; requests came from \"producer\"")
	k.On(fakekafka.Produce).Fail(fakekafka.NotLeaderOrFollower)
	r.ask(produceTo(t, "receipts", 0))
	said = has()
	require.Contains(t, said, "\n    1 Produce came, for all topics, from \"producer\"\n    On(Produce).Fail(NOT_LEADER_OR_FOLLOWER) has acted on 1 request")
}

// TestAMissingMemberOfASharedName: with clients that all go by their library's default, the one that is missing has the name of one that is there.
func TestAMissingMemberOfASharedName(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
	g := k.Group("billing")
	kgo := fakekafka.Member{ClientID: "kgo", Topics: []string{"orders"}}
	k.Join("billing", kgo)
	g.AwaitStable(t, 1)
	g.AwaitOwner(t, "orders", 0, "kgo")
	k.Join("biling", kgo)
	require.Contains(t, unmet(t, stableWith(g, 2)), `client "kgo" has a member here, and has joined another group, too: "biling" (here it is "billing": is one of them misspelled?)`)

	k.Join("billing", kgo)
	g.AwaitStable(t, 2)
	const advice = `2 members "kgo": give each client a client.id of its own, or name the one you mean by another of its names: kgo-`
	require.Contains(t, unmet(t, func(ctx context.Context) error { return g.Owned(ctx, "orders", 0, "kgo") }), advice)
	require.Contains(t, unmet(t, func(ctx context.Context) error {
		return g.Assigned(ctx, fakekafka.Assignment{"kgo": {"orders": {0, 1}}})
	}), advice)
	require.Contains(t, failure(t, func(tb testing.TB) { g.RequireOwner(tb, "orders", 0, "kgo") }), advice)
	owner, _ := g.Owner("orders", 0)
	require.Contains(t, failure(t, func(tb testing.TB) { g.RequireOwner(tb, "orders", 0, "kgo") }), "there was: "+owner+" owns it; group")
	g.RequireOwner(t, "orders", 0, owner)
	require.Regexp(t, `kgo +assigned orders \d\n.* kgo \(\w+…\) +synced\n`, g.Timeline(), "the other one begins")
}

// TestUnmetOfAGroupWithoutCoordinator: its members have not gone, nor asked to join.
func TestUnmetOfAGroupWithoutCoordinator(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	g := k.Group("billing")
	k.Join("billing", fakekafka.Member{ClientID: "worker-1", Topics: []string{"orders"}})
	require.NoError(t, g.Stable(t.Context(), 1))
	require.NoError(t, k.Broker(1).Kill())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range []error{g.LagAtMost(ctx, 0), g.Stable(ctx, 1), g.Stable(ctx, 0), g.Fetching(ctx), g.Owned(ctx, "orders", 0, "worker-1")} {
		require.ErrorContains(t, err, "there was, when the wait was canceled: nothing, as the group's coordinator doesn't run")
		require.ErrorContains(t, err, "\n    broker 1 doesn't run\ngroup billing")
		require.NotContains(t, err.Error(), "no member")
	}
	require.NoError(t, k.Broker(1).Start())
	g.AwaitStable(t, 1)
}

// TestUnmetTellsWhyBatchesWereRefused: a producer that is refused repeats, and nobody would learn why the record doesn't come.
func TestUnmetTellsWhyBatchesWereRefused(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Brokers(2), fakekafka.Topic("orders", 1, fakekafka.Replicas(2), fakekafka.With("min.insync.replicas", "2")),
		fakekafka.Topic("refunds", 1))
	require.NoError(t, k.Broker(2).Stop())
	said := func(topic string) string {
		return unmet(t, func(ctx context.Context) error { return k.Topic(topic).Has(ctx, fakekafka.InOrder(fakekafka.V("a"))) })
	}
	require.NotContains(t, said("orders"), "refused")
	p := dialRaw(t, k, "producer")
	require.Equal(t, codes{0: fakekafka.NotEnoughReplicas}, producedCodes(p.ask(produceTo(t, "orders", 0))))
	require.Contains(t, said("orders"), "\n    of the batches for topic orders 1 was refused, the last one of \"producer\" with NOT_ENOUGH_REPLICAS\n    broker 2 doesn't run")
	p.ask(produceTo(t, "orders", 0))
	require.Contains(t, said("orders"), "of the batches for topic orders 2 were refused")
	require.NotContains(t, said("refunds"), "refused")
}

// TestAMisspelledMemberOfACompleteGroup: as many members are there as are wanted, so that nobody else is to be started.
func TestAMisspelledMemberOfACompleteGroup(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
	g := k.Group("billing")
	k.JoinAll("billing", fakekafka.Member{ClientID: "worker-1", Topics: []string{"orders"}}, fakekafka.Member{ClientID: "worker-2", Topics: []string{"orders"}})
	g.AwaitStable(t, 2)
	want := g.Assignment()
	want["worker-3"] = want["worker-2"]
	delete(want, "worker-2")
	said := failure(t, func(tb testing.TB) { g.RequireAssignment(tb, want) })
	require.Contains(t, said, `has no member "worker-3"`)
	require.NotContains(t, said, "started, with the address")
	require.NotContains(t, unmet(t, func(ctx context.Context) error { return g.Assigned(ctx, want) }), "started, with the address")

	want["worker-2"] = nil
	require.Contains(t, failure(t, func(tb testing.TB) { g.RequireAssignment(tb, want) }), "no other client has asked for this group: was another one started, with the address", "two of three")
	require.Contains(t, unmet(t, func(ctx context.Context) error { return g.Owned(ctx, "orders", 0, "worker-3") }), "no other client has asked for this group", "an owner may be one more")
}
