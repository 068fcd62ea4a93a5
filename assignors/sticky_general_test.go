package assignors

import (
	"reflect"
	"testing"
)

// TestRecordsOfMovesInACircle is a group from which Kafka 4.3.1's leader never comes back (as a run of it against the real classes
// showed): the records of earlier moves divert new ones so that partitions chase each other. Here it is balanced, and stays as it is.
func TestRecordsOfMovesInACircle(t *testing.T) {
	t.Parallel()
	owned := func(topic string, from, to int32) (tps []TopicPartition) {
		for p := from; p <= to; p++ {
			tps = append(tps, TopicPartition{topic, p})
		}
		return tps
	}
	member := func(id string, tps []TopicPartition, topics ...string) Member {
		return Member{ID: id, Subscription: Subscription{Topics: topics, Owned: tps, Generation: 4}}
	}
	g := Group{
		Topics: map[string]Topic{"orders": {Partitions: 5}, "payments": {Partitions: 12}, "refunds": {Partitions: 5}, "audit": {Partitions: 12}},
		Members: []Member{
			member("m0", owned("orders", 0, 1), "orders"),
			member("B", owned("orders", 2, 4), "orders"),
			member("m1", owned("audit", 0, 11), "orders", "payments"), // it changed its subscription
			member("a", owned("payments", 3, 11), "payments"),
			member("m7", append(owned("payments", 0, 2), owned("refunds", 0, 4)...), "payments", "refunds"),
		},
	}
	for _, a := range []Assignor{NewSticky(), NewCooperativeSticky()} {
		p, err := Predict(a, g)
		if err != nil {
			t.Fatal(err)
		}
		if !p.Settled() {
			t.Fatalf("%s: not settled\n%v", a.Name(), p)
		}
		if err := balanced(g, p.Final()); err != nil {
			t.Errorf("%s: %v\n%v", a.Name(), err, p)
		}
		if again, err := Predict(a, p.After()); err != nil || !reflect.DeepEqual(again.Final(), p.Final()) {
			t.Errorf("%s: %v became %v, %v", a.Name(), p, again, err)
		}
	}
}
