package fakekafka_test

import (
	"context"
	"fmt"
	"time"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// must ends an example at a mistake. Under Start the test fails by itself.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func newCluster(opts ...fakekafka.Option) *fakekafka.Cluster {
	k, err := fakekafka.New(append([]fakekafka.Option{fakekafka.Topic("orders", 4), fakekafka.ManualClock(start)}, opts...)...)
	must(err)
	return k
}

// An error for the first two commits of one partition; the third is served.
func ExampleCluster_On() {
	k := newCluster()
	defer k.Close()
	rule := k.On(fakekafka.OffsetCommit).Topic("orders").Partition(0).From("worker-1").Times(2).Fail(fakekafka.CoordinatorNotAvailable)

	worker := k.Join("billing", fakekafka.Member{ClientID: "worker-1", Topics: []string{"orders"}})
	for range 3 {
		fmt.Println(worker.Commit("orders", 0, 41))
	}
	fmt.Println(rule.Count(), "commits failed")
	// Output:
	// COORDINATOR_NOT_AVAILABLE
	// COORDINATOR_NOT_AVAILABLE
	// NONE
	// 2 commits failed
}

// What a client did is in the request log.
func ExampleCluster_Requests() {
	k := newCluster()
	defer k.Close()
	k.Join("billing", fakekafka.Member{ClientID: "worker-1", Topics: []string{"orders"}})
	must(k.Group("billing").Stable(context.Background(), 1))
	fmt.Println(k.Requests(fakekafka.JoinGroup).From("worker-1").Count())
	fmt.Println(k.Requests(fakekafka.SyncGroup).Group("billing").Count())
	// Output:
	// 2
	// 1
}

// A member is thrown out without any time passing, and comes back as another one.
func ExampleMemberHandle_Evict() {
	k := newCluster()
	defer k.Close()
	g := k.Group("billing")
	worker := k.Join("billing", fakekafka.Member{ClientID: "worker-1", Topics: []string{"orders"}})
	before := worker.ID()
	must(g.Member("worker-1").Evict())
	fmt.Println("generation", g.State().Epoch, "another id:", worker.ID() != before)
	// Output: generation 3 another id: true
}

// A paused client's session ages; it learns what happened when it goes on.
func ExampleMemberHandle_Pause() {
	k := newCluster()
	defer k.Close()
	g := k.Group("billing")
	two := k.JoinAll("billing",
		fakekafka.Member{ClientID: "worker-1", Topics: []string{"orders"}}, fakekafka.Member{ClientID: "worker-2", Topics: []string{"orders"}})

	must(g.Member("worker-2").Pause())
	must(k.FastForward(46 * time.Second)) // past session.timeout.ms
	fmt.Println("worker-1 owns", g.Assignment()["worker-1"])
	fmt.Println("worker-2 believes to own", two[1].Owned())
	must(g.Member("worker-2").Resume())
	fmt.Println("then", g.Assignment())
	// Output:
	// worker-1 owns map[orders:[0 1 2 3]]
	// worker-2 believes to own map[orders:[2 3]]
	// then map[worker-1:map[orders:[0 1]] worker-2:map[orders:[2 3]]]
}

// A group stands between two steps of its protocol for as long as the test likes.
func ExampleGroup_Hold() {
	k := newCluster()
	defer k.Close()
	g := k.Group("billing")
	k.Join("billing", fakekafka.Member{ClientID: "worker-1", Topics: []string{"orders"}})

	must(g.Stable(context.Background(), 1))

	sync := g.Hold(fakekafka.Sync)
	must(g.Rebalance())
	must(sync.Reached(context.Background())) // sync.Await(t) in a test
	fmt.Println(g.State().State)
	sync.Release()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	must(g.Stable(ctx, 1))
	fmt.Println(g.State().State)
	// Output:
	// CompletingRebalance
	// Stable
}

// Ten minutes in which the living stay alive.
func ExampleCluster_FastForward() {
	k := newCluster()
	defer k.Close()
	g := k.Group("billing")
	two := k.JoinAll("billing",
		fakekafka.Member{ClientID: "worker-1", Topics: []string{"orders"}}, fakekafka.Member{ClientID: "worker-2", Topics: []string{"orders"}})
	must(two[1].FallSilent())
	must(k.FastForward(10 * time.Minute))
	fmt.Println(k.Now().UTC())
	fmt.Println(g.Assignment())
	// Output:
	// 2026-01-01 00:10:00 +0000 UTC
	// map[worker-1:map[orders:[0 1 2 3]]]
}

// A member that does what the test says: here it doesn't give up what it has to.
func ExampleCluster_Join() {
	k := newCluster()
	defer k.Close()
	g := k.Group("billing")
	m := fakekafka.Member{Protocol: fakekafka.Consumer, Topics: []string{"orders"}}
	one := k.Join("billing", m)
	must(one.RefuseRevoke(true))
	two := k.Join("billing", m)
	fmt.Println(g.State().State, one.Owned(), two.Owned())
	must(one.RefuseRevoke(false))
	fmt.Println(g.State().State, one.Owned(), two.Owned())
	// Output:
	// Reconciling map[orders:[0 1 2 3]] map[]
	// Stable map[orders:[0 1]] map[orders:[2 3]]
}

// The broker that coordinates a group stops; another one goes on at the same generation.
func ExampleBrokerHandle_Stop() {
	k := newCluster(fakekafka.Brokers(3))
	defer k.Close()
	g := k.Group("billing")
	must(g.MoveCoordinator(1))
	worker := k.Join("billing", fakekafka.Member{Topics: []string{"orders"}})
	fmt.Println(worker.Commit("orders", 0, 41))
	must(k.Broker(1).Stop())
	offset, _ := g.Committed("orders", 0)
	fmt.Println("generation", g.State().Epoch, "offset", offset, worker.Commit("orders", 0, 42))
	// Output:
	// NONE
	// generation 1 offset 41 NONE
}

// One client can't reach a broker; the others can.
func ExampleBrokerHandle_Isolate() {
	k := newCluster()
	defer k.Close()
	g := k.Group("billing")
	k.JoinAll("billing",
		fakekafka.Member{ClientID: "worker-1", Topics: []string{"orders"}}, fakekafka.Member{ClientID: "worker-2", Topics: []string{"orders"}})
	must(k.Broker(1).Isolate("worker-1"))
	must(k.FastForward(46 * time.Second))
	fmt.Println(g.Assignment())
	must(k.Broker(1).Heal())
	fmt.Println(g.Assignment())
	// Output:
	// map[worker-2:map[orders:[0 1 2 3]]]
	// map[worker-1:map[orders:[0 1]] worker-2:map[orders:[2 3]]]
}
