package assignors_test

import (
	"fmt"
	"log"

	"github.com/fakekafka/fakekafka/assignors"
)

// Three partitions, two consumers: range gives the first one more.
func ExamplePredict() {
	group := assignors.NewGroup(map[string]int32{"orders": 3}, "c1", "c2")
	p, err := assignors.Predict(assignors.NewRange(), group)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(p)
	// Output:
	// c1: orders[0 1]
	// c2: orders[2]
}

// Why is each partition where it is?
func ExampleExplain() {
	group := assignors.NewGroup(map[string]int32{"orders": 3}, "c1", "c2")
	placements, err := assignors.Explain(assignors.NewRange(), group)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range placements {
		fmt.Println(p)
	}
	// Output:
	// orders-0: c1: 3 partitions for 2 subscribers make 1 each and 1 more for the first 1; c1 is number 1
	// orders-1: c1: 3 partitions for 2 subscribers make 1 each and 1 more for the first 1; c1 is number 1
	// orders-2: c2: 3 partitions for 2 subscribers make 1 each and 1 more for the first 1; c2 is number 2
}

// Two topics with as many partitions and the same key: an order and its payment have the same partition number, and under range one
// consumer gets both. Under roundrobin with three consumers they can end up apart.
func ExampleNewRange_coPartitioned() {
	group := assignors.NewGroup(map[string]int32{"orders": 4, "payments": 4}, "c1", "c2", "c3")
	for _, name := range []string{"range", "roundrobin"} {
		a, err := assignors.Named(name)
		if err != nil {
			log.Fatal(err)
		}
		p, err := assignors.Predict(a, group)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n%v", name, p)
	}
	// Output:
	// range
	// c1: orders[0 1] payments[0 1]
	// c2: orders[2] payments[2]
	// c3: orders[3] payments[3]
	// roundrobin
	// c1: orders[0 3] payments[2]
	// c2: orders[1] payments[0 3]
	// c3: orders[2] payments[1]
}

// Consumer 2 of 3 leaves. Under roundrobin also partitions move whose owner is still there; under sticky only those of the one that
// left do.
func ExampleNewSticky() {
	for _, a := range []assignors.Assignor{assignors.NewRoundRobin(), assignors.NewSticky()} {
		p, err := assignors.Predict(a, assignors.NewGroup(map[string]int32{"orders": 6}, "c1", "c2", "c3"))
		if err != nil {
			log.Fatal(err)
		}
		placements, err := assignors.Explain(a, p.After().Leave("c2"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n%v", a.Name(), p)
		for _, moved := range placements {
			if moved.Moved() {
				fmt.Println(moved)
			}
		}
	}
	// Output:
	// roundrobin
	// c1: orders[0 3]
	// c2: orders[1 4]
	// c3: orders[2 5]
	// orders-1: c2 -> c3: c2 has left; c3's turn after c1
	// orders-2: c3 -> c1: roundrobin has no memory; c1's turn after c3
	// orders-3: c1 -> c3: roundrobin has no memory; c3's turn after c1
	// orders-4: c2 -> c1: c2 has left; c1's turn after c3
	// sticky
	// c1: orders[0 3]
	// c2: orders[1 4]
	// c3: orders[2 5]
	// orders-1: c2 -> c1: c2 has left; fills c1 up to its share of 3
	// orders-4: c2 -> c3: c2 has left; fills c3 up to its share of 3
}

// The cooperative hand-over takes two rounds: in the first, what c3 shall get is taken from c1 and c2 and goes to nobody; once they
// have given it up and rejoined, the second gives it to c3. All other partitions are consumed throughout.
func ExampleNewCooperativeSticky() {
	cooperative := assignors.NewCooperativeSticky()
	p, err := assignors.Predict(cooperative, assignors.NewGroup(map[string]int32{"orders": 6}, "c1", "c2"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(p)
	if p, err = assignors.Predict(cooperative, p.After().Join("c3")); err != nil {
		log.Fatal(err)
	}
	fmt.Print(p)
	for _, placement := range p.Rounds[0].Explain() {
		if placement.Moved() {
			fmt.Println(placement)
		}
	}
	// Output:
	// c1: orders[0 2 4]
	// c2: orders[1 3 5]
	// round 1
	// c1: orders[0 2]
	// c2: orders[1 3]
	// c3: nothing
	// withheld: orders[4 5]
	// round 2
	// c1: orders[0 2]
	// c2: orders[1 3]
	// c3: orders[4 5]
	// orders-4: c1 -> nobody: withheld for a round: c1 has to give it up before c3 gets it
	// orders-5: c2 -> nobody: withheld for a round: c2 has to give it up before c3 gets it
}

// Nine members share 90 partitions, ten each, and a tenth joins: everyone gives up one, nothing else moves. Who deals anew moves
// nearly all.
func ExamplePrediction_After() {
	ids := []string{"m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8"}
	for _, name := range []string{"uniform", "sticky", "roundrobin"} {
		a, err := assignors.Named(name)
		if err != nil {
			log.Fatal(err)
		}
		p, err := assignors.Predict(a, assignors.NewGroup(map[string]int32{"orders": 90}, ids...))
		if err != nil {
			log.Fatal(err)
		}
		joined := p.After().Join("m9")
		placements, err := assignors.Explain(a, joined)
		if err != nil {
			log.Fatal(err)
		}
		moved := 0
		for _, placement := range placements {
			if placement.Moved() {
				moved++
			}
		}
		if p, err = assignors.Predict(a, joined); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %d moved; m9 has %d: %v\n", name, moved, len(p.Final()["m9"]), p.Final()["m9"])
	}
	// Output:
	// uniform: 9 moved; m9 has 9: [orders-9 orders-19 orders-29 orders-39 orders-49 orders-59 orders-69 orders-79 orders-89]
	// sticky: 9 moved; m9 has 9: [orders-81 orders-82 orders-83 orders-84 orders-85 orders-86 orders-87 orders-88 orders-89]
	// roundrobin: 81 moved; m9 has 9: [orders-9 orders-19 orders-29 orders-39 orders-49 orders-59 orders-69 orders-79 orders-89]
}

// everythingToOne is an assignor of one's own, and a wrong one: it forgets who subscribes to what.
type everythingToOne struct{}

func (everythingToOne) Name() string { return "everything-to-one" }

func (everythingToOne) Assign(in assignors.ServerInput) (map[string]assignors.Partitions, error) {
	all := assignors.Partitions{}
	for id, topic := range in.Topics {
		for p := range topic.Partitions {
			all[id] = append(all[id], p)
		}
	}
	return map[string]assignors.Partitions{in.Members[0].ID: all}, nil
}

// An assignor of one's own can be predicted with, too; Checked tells what it does wrong.
func ExampleChecked() {
	mine := assignors.ServerSide(assignors.Checked(everythingToOne{}))
	p, err := assignors.Predict(mine, assignors.NewGroup(map[string]int32{"orders": 3}, "c1", "c2"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(p)

	group := assignors.NewGroup(map[string]int32{"orders": 3, "payments": 1}).Join("c1", "orders").Join("c2", "payments")
	_, err = assignors.Predict(mine, group)
	fmt.Println(err)
	// Output:
	// c1: orders[0-2]
	// c2: nothing
	// assignor "everything-to-one" gave "c1" partitions [0] of topic payments, to which it does not subscribe
}

// What a member of a classic group says about itself, as it stands in its JoinGroup request.
func ExampleDecodeSubscription() {
	b, err := assignors.EncodeSubscription(assignors.Subscription{
		Topics:     []string{"orders", "payments"},
		Owned:      []assignors.TopicPartition{{Topic: "orders", Partition: 2}},
		Generation: 7,
	}, assignors.ConsumerProtocolVersion)
	if err != nil {
		log.Fatal(err)
	}
	s, err := assignors.DecodeSubscription(b)
	fmt.Println(s.Topics, s.Owned, s.Generation, err)
	_, err = assignors.DecodeSubscription(b[:9])
	fmt.Println(err)
	// Output:
	// [orders payments] [orders-2] 7 <nil>
	// assignors: subscription of 9 bytes: 6 bytes wanted, 1 left
}
