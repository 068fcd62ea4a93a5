package fakekafka_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// codes is what a fault makes of the partitions of one request.
type codes = map[int32]fakekafka.ErrorCode

func TestFailFailsWhatItNames(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 3), fakekafka.Topic("refunds", 3))
	r := dialRaw(t, k, "producer")
	rule := k.On(fakekafka.Produce).Topic("orders").Partition(1).Times(2).Fail(fakekafka.NotLeaderOrFollower)

	require.Equal(t, codes{1: 0}, producedCodes(r.ask(produceTo(t, "refunds", 1))), "another topic")
	require.Equal(t, codes{0: 0, 1: fakekafka.NotLeaderOrFollower, 2: 0}, producedCodes(r.ask(produceTo(t, "orders", 0, 1, 2))))
	require.Equal(t, codes{2: 0}, producedCodes(r.ask(produceTo(t, "orders", 2))), "another partition")
	require.Equal(t, codes{1: fakekafka.NotLeaderOrFollower}, producedCodes(r.ask(produceTo(t, "orders", 1))))
	require.Equal(t, codes{1: 0}, producedCodes(r.ask(produceTo(t, "orders", 1))), "twice was asked for")
	require.Equal(t, 2, rule.Count())
	require.Equal(t, []int64{1, 1, 2}, []int64{k.Topic("orders").EndOffset(0), k.Topic("orders").EndOffset(1), k.Topic("orders").EndOffset(2)})
}

// A request about several topics, or several groups, fails for the one that the rule names.
func TestFailFailsOneOfSeveral(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1), fakekafka.Topic("refunds", 1))
	r := dialRaw(t, k, "client")
	k.On(fakekafka.Metadata).Topic("orders").Fail(fakekafka.LeaderNotAvailable)
	metadata := versioned(kmsg.NewPtrMetadataRequest(), 12)
	for _, name := range []string{"orders", "refunds"} {
		mt := kmsg.NewMetadataRequestTopic()
		mt.Topic = &name
		metadata.Topics = append(metadata.Topics, mt)
	}
	told := r.ask(metadata).(*kmsg.MetadataResponse)
	require.Len(t, told.Brokers, 1)
	require.Equal(t, []int16{int16(fakekafka.LeaderNotAvailable), 0}, []int16{told.Topics[0].ErrorCode, told.Topics[1].ErrorCode})
	require.Len(t, told.Topics[1].Partitions, 1)

	k.On(fakekafka.FindCoordinator).Group("billing").Fail(fakekafka.CoordinatorNotAvailable)
	find := versioned(kmsg.NewPtrFindCoordinatorRequest(), 4)
	find.CoordinatorKeys = []string{"shipping", "billing"}
	found := r.ask(find).(*kmsg.FindCoordinatorResponse).Coordinators
	require.Equal(t, []int16{0, int16(fakekafka.CoordinatorNotAvailable)}, []int16{found[0].ErrorCode, found[1].ErrorCode})
}

func TestAfterFromAndWhen(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	one, two := dialRaw(t, k, "one"), dialRaw(t, k, "two")
	k.On(fakekafka.Produce).From("one").After(1).Times(1).Fail(fakekafka.NotEnoughReplicas)
	var asked atomic.Int32
	k.On(fakekafka.Produce).From("two").When(func(c *fakekafka.Call) bool {
		_ = k.Group("any").State() // user code may ask
		return asked.Add(1) == 2 && c.Client == "two" && c.API == fakekafka.Produce && c.Broker == 1 && c.Version == 9
	}).Fail(fakekafka.RequestTimedOut)
	var got []fakekafka.ErrorCode
	for range 3 {
		got = append(got, producedCodes(one.ask(produceTo(t, "orders", 0)))[0], producedCodes(two.ask(produceTo(t, "orders", 0)))[0])
	}
	require.Equal(t, []fakekafka.ErrorCode{0, 0, fakekafka.NotEnoughReplicas, fakekafka.RequestTimedOut, 0, 0}, got)
}

func TestFailedFetch(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 3), fakekafka.Topic("refunds", 1))
	r, other := dialRaw(t, k, "consumer"), dialRaw(t, k, "other")
	opened := r.ask(fetchFrom(0, 0, 0, "orders", 0, 1, 2)).(*kmsg.FetchResponse)
	require.NotZero(t, opened.SessionID)
	elsewhere := other.ask(fetchFrom(0, 0, 0, "refunds", 0)).(*kmsg.FetchResponse)

	// An incremental request names nothing; what its session has decides, and it is not kept waiting.
	rule := k.On(fakekafka.Fetch).Topic("orders").Partition(1).Times(1).Fail(fakekafka.NotLeaderOrFollower)
	require.Empty(t, fetchedCodes(other.ask(fetchFrom(time.Millisecond, elsewhere.SessionID, 1, ""))))
	require.Zero(t, rule.Count())
	require.Equal(t, codes{1: fakekafka.NotLeaderOrFollower}, fetchedCodes(r.ask(fetchFrom(time.Minute, opened.SessionID, 1, ""))))

	k.On(fakekafka.Fetch).From("consumer").Times(1).Fail(fakekafka.UnknownLeaderEpoch)
	require.Equal(t, codes{0: fakekafka.UnknownLeaderEpoch, 1: fakekafka.UnknownLeaderEpoch, 2: fakekafka.UnknownLeaderEpoch},
		fetchedCodes(r.ask(fetchFrom(time.Minute, opened.SessionID, 2, ""))))

	k.On(fakekafka.Fetch).From("consumer").Times(1).Fail(fakekafka.FetchSessionIDNotFound)
	require.Equal(t, int16(fakekafka.FetchSessionIDNotFound), r.ask(fetchFrom(time.Minute, opened.SessionID, 3, "")).(*kmsg.FetchResponse).ErrorCode)
}

func TestLoseReplyTookEffectAndDropDidNot(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	k.On(fakekafka.Produce).Times(1).LoseReply()
	k.On(fakekafka.Produce).After(1).Times(1).Drop()
	dialRaw(t, k, "a").cut(produceTo(t, "orders", 0))
	require.Equal(t, int64(1), k.Topic("orders").EndOffset(0))
	dialRaw(t, k, "b").cut(produceTo(t, "orders", 0))
	require.Equal(t, int64(1), k.Topic("orders").EndOffset(0))
	require.Equal(t, codes{0: 0}, producedCodes(dialRaw(t, k, "c").ask(produceTo(t, "orders", 0))))
}

func TestDelayReplyAndObserve(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	r := dialRaw(t, k, "client")
	var seen atomic.Pointer[fakekafka.Call]
	k.On(fakekafka.Produce).Observe(func(c *fakekafka.Call) { seen.Store(c) })
	k.On(fakekafka.Produce).Delay(30 * time.Millisecond)
	began := time.Now()
	r.ask(produceTo(t, "orders", 0))
	require.GreaterOrEqual(t, time.Since(began), 30*time.Millisecond)
	require.Equal(t, codes{0: 0}, producedCodes(seen.Load().Response))

	k.On(fakekafka.Metadata).Reply(func(c *fakekafka.Call) kmsg.Response {
		resp := kmsg.NewPtrMetadataResponse()
		resp.ClusterID = kmsg.StringPtr("made up")
		return resp
	})
	require.Equal(t, "made up", *r.ask(versioned(kmsg.NewPtrMetadataRequest(), 12)).(*kmsg.MetadataResponse).ClusterID)
}

func TestObserveAFetch(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	r := dialRaw(t, k, "client")
	r.ask(produceTo(t, "orders", 0))
	var seen atomic.Pointer[fakekafka.Call]
	k.On(fakekafka.Fetch).Observe(func(c *fakekafka.Call) { seen.Store(c) })
	answer := r.ask(fetchFrom(0, 0, 0, "orders", 0))
	require.NotEmpty(t, answer.(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches)
	require.Equal(t, answer, seen.Load().Response)
}

func TestRulesActInTheirOrder(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	r := dialRaw(t, k, "client")
	var seen atomic.Pointer[fakekafka.Call]
	k.On(fakekafka.Produce).Observe(func(c *fakekafka.Call) { seen.Store(c) })
	first := k.On(fakekafka.Produce).Fail(fakekafka.NotEnoughReplicas)
	second := k.On(fakekafka.Produce).Fail(fakekafka.NotLeaderOrFollower)
	require.Equal(t, codes{0: fakekafka.NotEnoughReplicas}, producedCodes(r.ask(produceTo(t, "orders", 0))))
	require.Zero(t, second.Count())
	require.Equal(t, codes{0: fakekafka.NotEnoughReplicas}, producedCodes(seen.Load().Response))
	first.Remove()
	require.Equal(t, codes{0: fakekafka.NotLeaderOrFollower}, producedCodes(r.ask(produceTo(t, "orders", 0))))
}

func TestHoldStopsARequestThatWasSent(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	hold := k.On(fakekafka.Produce).Hold()
	r := dialRaw(t, k, "gone")
	r.send(produceTo(t, "orders", 0))
	hold.Await(t)
	require.Zero(t, k.Topic("orders").EndOffset(0))
	// Its client gives up; but the request was sent, and takes effect when it is let go: a zombie's.
	require.NoError(t, r.nc.Close())
	hold.Release()
	k.Topic("orders").AwaitRecords(t, fakekafka.InOrder(fakekafka.V("x")))
}

func TestFailedProduceWithoutAcks(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	k.On(fakekafka.Produce).Times(1).Fail(fakekafka.NotEnoughReplicas)
	k.On(fakekafka.Produce).Topic("orders").Times(1).Fail(fakekafka.NotEnoughReplicas) // the rest of the request would be served
	for range 2 {                                                                      // there is no answer that could have an error
		req := produceTo(t, "orders", 0)
		req.Acks = 0
		dialRaw(t, k, "a").cut(req)
	}
	require.Zero(t, k.Topic("orders").EndOffset(0))
}

func TestHoldReplyStopsAnAnswer(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	hold := k.On(fakekafka.Produce).HoldReply()
	r := dialRaw(t, k, "a")
	r.send(produceTo(t, "orders", 0))
	hold.Await(t)
	require.Equal(t, int64(1), k.Topic("orders").EndOffset(0))
	hold.Release()
	resp, err := r.receive(produceTo(t, "orders", 0))
	require.NoError(t, err)
	require.Equal(t, codes{0: 0}, producedCodes(resp))
}

func TestWhatIsLeftOverFailsTheTest(t *testing.T) {
	for want, story := range map[string]func(tb testing.TB, k *fakekafka.Cluster){
		`On(Produce).Topic("orders").Times(2).Fail(NOT_LEADER_OR_FOLLOWER) never acted`: func(_ testing.TB, k *fakekafka.Cluster) {
			k.On(fakekafka.Produce).Topic("orders").Times(2).Fail(fakekafka.NotLeaderOrFollower)
		},
		`topic "orders" has no partition 7; it has 1: no client sent Produce; the rule is at fault_test.go:`: func(_ testing.TB, k *fakekafka.Cluster) {
			k.On(fakekafka.Produce).Topic("orders").Partition(7).Drop()
		},
		`1 matched, all of them let pass by After(3)`: func(tb testing.TB, k *fakekafka.Cluster) {
			k.On(fakekafka.Produce).After(3).Drop()
			dialRaw(t, k, "a").ask(produceTo(t, "orders", 0))
		},
		`On(Fetch).Drop() never acted`: func(_ testing.TB, k *fakekafka.Cluster) { k.On(fakekafka.Fetch).Drop().Remove() },
		`On(Produce).Hold() still holds: Produce v9 from "a"`: func(tb testing.TB, k *fakekafka.Cluster) {
			h := k.On(fakekafka.Produce).Hold()
			dialRaw(t, k, "a").send(produceTo(t, "orders", 0))
			h.Await(tb)
		},
		`NOT_COORDINATOR is never answered to Produce by Apache Kafka`: func(_ testing.TB, k *fakekafka.Cluster) {
			k.On(fakekafka.Produce).Fail(fakekafka.NotCoordinator)
		},
		`COORDINATOR_LOAD_IN_PROGRESS is never answered to Heartbeat`: func(_ testing.TB, k *fakekafka.Cluster) {
			k.On(fakekafka.Heartbeat).Fail(fakekafka.CoordinatorLoadInProgress)
		},
		`NOT_CONTROLLER is never answered to ListConfigResources by Apache Kafka, which answers [UNKNOWN_SERVER_ERROR CLUSTER_AUTHORIZATION_FAILED UNSUPPORTED_VERSION]; Forced() sends it all the same`: func(_ testing.TB, k *fakekafka.Cluster) {
			k.On(fakekafka.ListConfigResources).Fail(fakekafka.NotController)
		},
		`NOT_COORDINATOR is never answered to every API`: func(_ testing.TB, k *fakekafka.Cluster) {
			k.On(fakekafka.AnyAPI).Fail(fakekafka.NotCoordinator)
		},
		`Heartbeat requests name no topic`:         func(_ testing.TB, k *fakekafka.Cluster) { k.On(fakekafka.Heartbeat).Topic("orders").Drop() },
		`Produce requests name no group`:           func(_ testing.TB, k *fakekafka.Cluster) { k.On(fakekafka.Produce).Group("g").Drop() },
		`there is no broker 4`:                     func(_ testing.TB, k *fakekafka.Cluster) { k.On(fakekafka.Produce).Broker(4).Drop() },
		`Times and After count`:                    func(_ testing.TB, k *fakekafka.Cluster) { k.On(fakekafka.Produce).Times(-1).Drop() },
		`what is given to Topic names nothing`:     func(_ testing.TB, k *fakekafka.Cluster) { k.On(fakekafka.Produce).Topic("").Drop() },
		`what is given to Partition names nothing`: func(_ testing.TB, k *fakekafka.Cluster) { k.On(fakekafka.Produce).Partition(-1).Drop() },
		`what is given to From names nothing`:      func(_ testing.TB, k *fakekafka.Cluster) { k.On(fakekafka.Produce).From("").Drop() },
		`there is no broker 0`:                     func(_ testing.TB, k *fakekafka.Cluster) { k.On(fakekafka.Produce).Broker(0).Drop() },
		`give Times 1 or more`:                     func(_ testing.TB, k *fakekafka.Cluster) { k.On(fakekafka.Produce).Times(0).Drop() },
		`has its action already`: func(_ testing.TB, k *fakekafka.Cluster) {
			k.On(fakekafka.Produce).Drop().LoseReply()
		},
		`When of On(Produce).When(…).Drop() panicked: oh no`: func(_ testing.TB, k *fakekafka.Cluster) {
			k.On(fakekafka.Produce).When(func(*fakekafka.Call) bool { panic("oh no") }).Drop()
			dialRaw(t, k, "a").ask(produceTo(t, "orders", 0))
		},
		`client "old" sent ReadShareGroupState v0, which is not served here`: func(_ testing.TB, k *fakekafka.Cluster) {
			dialRaw(t, k, "old").cut(kmsg.NewPtrReadShareGroupStateRequest())
		},
		`there is no step "Lunch"`:                 func(_ testing.TB, k *fakekafka.Cluster) { k.Group("g").Hold("Lunch") },
		`client "nobody" is not paused; nobody is`: func(_ testing.TB, k *fakekafka.Cluster) { _ = k.Group("g").Member("nobody").Resume() },
	} {
		t.Run(want, func(t *testing.T) {
			tb := &recorder{TB: t}
			k := fakekafka.Start(tb, fakekafka.Topic("orders", 1))
			story(tb, k)
			require.Contains(t, tb.end(), want)
		})
	}
}

func TestForcedFails(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	k.On(fakekafka.Produce).Forced().Fail(fakekafka.NotCoordinator)
	require.Equal(t, codes{0: fakekafka.NotCoordinator}, producedCodes(dialRaw(t, k, "a").ask(produceTo(t, "orders", 0))))
}

func TestIgnoredRequestsDoNotFailTheTest(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Ignore("ReadShareGroupState"))
	dialRaw(t, k, "old").cut(kmsg.NewPtrReadShareGroupStateRequest())
}

func TestRequestLogAndDropConnections(t *testing.T) {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1), fakekafka.Brokers(2))
	r := dialRaw(t, k, "producer")
	for range 3 {
		r.ask(produceTo(t, "orders", 0))
	}
	dialRaw(t, k, "other").ask(produceTo(t, "orders", 0))
	require.Equal(t, 3, k.Requests(fakekafka.Produce).From("producer").Count())
	require.Equal(t, 4, k.Requests(fakekafka.AnyAPI).Count())
	require.Equal(t, 0, k.Requests(fakekafka.Produce).Broker(2).Count())
	require.Equal(t, "producer", k.Requests(fakekafka.Produce).List()[0].Client)
	k.Requests(fakekafka.Produce).From("other").AwaitCount(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, k.Requests(fakekafka.Fetch).From("other").Broker(1).Counted(ctx, 2), `wanted 2 requests (Fetch from "other" to broker 1); after`)
	require.Equal(t, 1, k.DropConnections("producer"))
	_, err := r.nc.Read(make([]byte, 1))
	require.Error(t, err)
	require.Equal(t, 3, k.Requests(fakekafka.Produce).From("producer").Count(), "of connections that have ended too")
}

// A rule without a bound that a client can't get by is told once, where it stands.
func TestEndlessRuleIsTold(t *testing.T) {
	t.Parallel()
	rec := &recorder{TB: t}
	k := fakekafka.Start(rec, fakekafka.Topic("orders", 1))
	k.On(fakekafka.Produce).Fail(fakekafka.NotLeaderOrFollower)
	k.On(fakekafka.Metadata).Times(2000).Fail(fakekafka.LeaderNotAvailable)
	k.On(fakekafka.Metadata).Observe(func(*fakekafka.Call) {})
	r := dialRaw(t, k, "producer")
	for range 2001 {
		r.ask(produceTo(t, "orders", 0))
		r.ask(metadataRequest())
	}
	require.Empty(t, rec.end())
	var told []string
	for _, line := range rec.logs {
		if strings.Contains(line, "without a bound") {
			told = append(told, line)
		}
	}
	require.Len(t, told, 1)
	require.Regexp(t, `rule="?On\(Produce\)\.Fail\(NOT_LEADER_OR_FOLLOWER\)"? at=fault_test.go:\d+ client=producer`, told[0])
	require.Contains(t, told[0], "has acted 1000 times on one client")
	require.Contains(t, told[0], "Times(n) bounds it")
}
