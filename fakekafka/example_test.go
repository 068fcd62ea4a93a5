package fakekafka_test

import (
	"context"
	"fmt"
	"time"

	"github.com/fakekafka/fakekafka/fakekafka"
	"github.com/fakekafka/fakekafka/groups"
)

// Outside a test New returns errors; in a test it is Start(t, ...), which closes by itself.
func ExampleNew() {
	k, err := fakekafka.New(fakekafka.Topic("orders", 6, fakekafka.With("cleanup.policy", "compact")), fakekafka.Config("message.max.bytes", "2000000"))
	if err != nil {
		panic(err)
	}
	defer k.Close()
	fmt.Println(k.Topic("orders").Partitions()) // clients connect to k.Bootstrap()

	_, err = fakekafka.New(fakekafka.Config("mesage.max.bytes", "2000000"))
	fmt.Println(err)
	// Output:
	// 6
	// fakekafka: config mesage.max.bytes: Apache Kafka has no broker setting of this name; did you mean message.max.bytes?
}

// Records are seeded and read without a client.
func ExampleTopicHandle_Produce() {
	k := newCluster()
	defer k.Close()
	orders := k.Topic("orders")
	must(orders.Produce(fakekafka.KV("ada", "o-1").On(0).With("trace", "7"), fakekafka.V("o-2").On(0), fakekafka.Tombstone("ada").On(1)))
	for _, r := range orders.Records() {
		fmt.Printf("%d@%d %s\n", r.Partition, r.Offset, r)
	}
	fmt.Println("end of partition 0:", orders.EndOffset(0))
	// Output:
	// 0@0 "ada"="o-1" {trace: "7"}
	// 0@1 null="o-2"
	// 1@0 "ada"=null
	// end of partition 0: 2
}

// A mismatch is shown as a diff. In a test it is AwaitRecords or RequireRecords, which fail with the same text.
func ExampleTopicHandle_Has() {
	k := newCluster()
	defer k.Close()
	receipts := k.Topic("receipts")
	must(receipts.Create(1))
	must(receipts.Produce(fakekafka.KV("ada", "1"), fakekafka.KV("ada", "3")))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	fmt.Println(receipts.Has(ctx, fakekafka.InOrder(fakekafka.KV("ada", "1"), fakekafka.KV("ada", "2"))))
	// Output:
	// fakekafka: wanted topic receipts to hold, in order, 2 records; there was:
	//     "ada"="1"   (partition 0 offset 0)
	//   - "ada"="2"
	//   + "ada"="3"   (partition 0 offset 1)
}

// What happened to a group, in its own words.
func ExampleGroup_Timeline() {
	k := newCluster(fakekafka.Seed(7))
	defer k.Close()
	a := k.Join("billing", fakekafka.Member{ClientID: "worker-1", Topics: []string{"orders"}, Protocol: fakekafka.Consumer})
	must(a.FallSilent())
	must(k.FastForward(time.Minute))
	fmt.Println(k.Group("billing").Timeline())
	// Output:
	// group billing · consumer protocol · uniform assignor
	//      t       epoch  member                what
	//    +0.000s   2      worker-1 (62EWXUNX…)  joined: subscribes to orders
	//    +0.000s   2                            epoch: worker-1 joined
	//    +0.000s   2                            target: assignor uniform gave 1 members their target; it changed for 1
	//    +0.000s   2      worker-1              assigned orders 0-3: its target of epoch 2
	//    +0.000s   2                            stable: all 1 members are at their target
	//    +0.000s                                time moved: FastForward(1m0s)
	//    +45.000s  2      worker-1              expired: session timeout of 45s passed without a heartbeat
	//    +45.000s  3                            epoch: worker-1: session timeout of 45s passed without a heartbeat
	//    +45.000s  3                            empty: the last member is gone
}

// Why the group rebalanced: kinds of events are constants of the groups package, and Cause is in words.
func ExampleGroup_History() {
	k := newCluster(fakekafka.ManualClock(start))
	defer k.Close()
	members := k.JoinAll("billing", fakekafka.Member{ClientID: "worker-1", Topics: []string{"orders"}}, fakekafka.Member{ClientID: "worker-2", Topics: []string{"orders"}})
	must(members[1].FallSilent())
	must(k.FastForward(46 * time.Second))
	for _, e := range k.Group("billing").History() {
		switch e.Kind {
		case groups.EventExpired, groups.EventRebalance:
			fmt.Printf("%s: %s\n", e.Kind, e.Cause)
		}
	}
	// Output:
	// rebalance: worker-1 joined
	// expired: session timeout of 45s passed
	// rebalance: worker-2 expired
}

// Lag and committed offsets: 41 says that records 0 to 40 are done.
func ExampleGroup_Committed() {
	k := newCluster()
	defer k.Close()
	worker := k.Join("billing", fakekafka.Member{Topics: []string{"orders"}})
	for range 42 {
		must(k.Topic("orders").Produce(fakekafka.V("an order").On(0)))
	}
	worker.Commit("orders", 0, 41)
	fmt.Println(k.Group("billing").Committed("orders", 0))
	fmt.Println("lag", k.Group("billing").Lag())
	// Output:
	// 41 true
	// lag 1
}
