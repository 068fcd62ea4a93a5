package assignors

import (
	"fmt"
	"strings"
	"testing"
)

// explained writes the placements that the story is about, one a line.
func explained(t *testing.T, name string, g Group, about func(Placement) bool) string {
	t.Helper()
	placements, err := Explain(mustName(name), g)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, p := range placements {
		if about(p) {
			fmt.Fprintln(&b, p)
		}
	}
	return b.String()
}

func TestExplain(t *testing.T) {
	t.Parallel()
	all := func(Placement) bool { return true }
	moved := Placement.Moved
	racks := func(rs ...string) Topic {
		topic := Topic{Partitions: int32(len(rs))}
		for _, r := range rs {
			topic.Racks = append(topic.Racks, []string{r})
		}
		return topic
	}
	inRack := func(g Group, racks ...string) Group {
		for i, r := range racks {
			if r != "" {
				g.Members[i].Rack = &r
			}
		}
		return g
	}
	owns := func(g Group, generation int32, owned map[string][]int32) Group {
		for i := range g.Members {
			g.Members[i].Generation = generation
			for _, p := range owned[g.Members[i].ID] {
				g.Members[i].Owned = append(g.Members[i].Owned, TopicPartition{"orders", p})
			}
		}
		return g
	}
	orders := func(n int32) map[string]int32 { return map[string]int32{"orders": n} }
	rackGroup := NewGroup(orders(4), "c1", "c2", "c3")
	rackGroup.Topics["orders"] = racks("b", "a", "a", "c")

	outdated := owns(NewGroup(orders(2), "c1", "c2"), 5, map[string][]int32{"c1": {0, 1}, "c2": {1}})
	outdated.Members[1].Generation = 4

	for _, c := range []struct {
		explanation string
		assignor    string
		group       Group
		about       func(Placement) bool
		want        string
	}{
		{"range by rack, a rackless member takes what comes", "range", inRack(rackGroup, "a", "", "b"), all, `
orders-0: c2: matched by rack: c2 has no rack, which matches all
orders-1: c1: matched by rack: a replica is in its rack a
orders-2: c1: matched by rack: a replica is in its rack a
orders-3: c3: c3 had room for it after the matching by rack
`},
		{"nobody wants the topic", "range", NewGroup(map[string]int32{"audit": 1, "orders": 1}).Join("c1", "orders"), all, `
audit-0: nobody: nobody subscribes to audit
orders-0: c1: 1 partition for 1 subscriber make 1 each; c1 is number 1
`},
		{"roundrobin passes over", "roundrobin", NewGroup(map[string]int32{"audit": 1, "orders": 2}).Join("c1", "orders").Join("c2", "audit", "orders").Join("c3", "orders"), all, `
audit-0: c2: c2 is the first in the ring that subscribes to audit
orders-0: c3: c3's turn after c2
orders-1: c1: c1's turn after c3
`},
		{"roundrobin passes over in the middle", "roundrobin", NewGroup(map[string]int32{"audit": 2}).Join("c1", "audit").Join("c2", "nothing").Join("c3", "audit"), all, `
audit-0: c1: c1 is the first in the ring that subscribes to audit
audit-1: c3: c3's turn after c1, passing over 1 that do not subscribe to audit
`},
		{"sticky, one joins", "sticky", owns(NewGroup(orders(5), "c1", "c2"), 1, map[string][]int32{"c1": {0, 1, 2, 3, 4}}), all, `
orders-0: c1: c1 had it
orders-1: c1: c1 had it
orders-2: c1: c1 had it
orders-3: c1 -> c2: c1 had 5; fills c2 up to its share of 2
orders-4: c1 -> c2: c1 had 5; fills c2 up to its share of 2
`},
		{"sticky, extras", "sticky", NewGroup(orders(3), "c1", "c2"), all, `
orders-0: c1: fills c1 up to its share of 1
orders-1: c2: fills c2 up to its share of 1
orders-2: c1: c1 gets one of 1 left over when everyone has 1
`},
		{"an outdated claim loses", "sticky", outdated, all, `
orders-0: c1: c1 had it
orders-1: c1 -> c2: c1 had 2; fills c2 up to its share of 1
`},
		{"two claims of one generation", "sticky", owns(NewGroup(orders(2), "c1", "c2"), 5, map[string][]int32{"c1": {0, 1}, "c2": {1}}), all, `
orders-0: c1: c1 had it
orders-1: c2: each of ["c1" "c2"] says it has it, so none does; fills c2 up to its share of 1
`},
		{"two claims of one generation, cooperatively", "cooperative-sticky", owns(NewGroup(orders(2), "c1", "c2"), 5, map[string][]int32{"c1": {0, 1}, "c2": {1}}), all, `
orders-0: c1: c1 had it
orders-1: nobody: withheld for a round before c2 gets it, as each of ["c1" "c2"] says it has it
`},
		{"a member changed its rack", "sticky", inRack(owns(func() Group {
			g := NewGroup(orders(2), "c1", "c2")
			g.Topics["orders"] = racks("a", "b")
			return g
		}(), 1, map[string][]int32{"c1": {0}, "c2": {1}}), "b", "a"), all, `
orders-0: c1 -> c2: it has no replica in rack b of c1; fills c2 up to its share of 1: a replica is in its rack a
orders-1: c2 -> c1: it has no replica in rack a of c2; fills c1 up to its share of 1: a replica is in its rack b
`},
		{"a subscription ends", "sticky", func() Group {
			g := owns(NewGroup(orders(2)).Join("c1", "other").Join("c2"), 1, map[string][]int32{"c1": {0}, "c2": {1}})
			return g
		}(), all, `
orders-0: c1 -> c2: c1 no longer subscribes to orders; c2 had the least of the subscribers of orders
orders-1: c2: c2 had it
`},
		{"mixed subscriptions, one joins", "sticky", owns(NewGroup(map[string]int32{"audit": 1, "orders": 4}).Join("c1", "orders").Join("c2"), 1, map[string][]int32{"c1": {0, 1, 2, 3}}), moved, `
orders-0: c1 -> c2: c1 had 4; moved to c2, which had at least two fewer
`},
		{"uniform, one joins", "uniform", owns(NewGroup(orders(5), "c1", "c2"), 1, map[string][]int32{"c1": {0, 1, 2, 3, 4}}), all, `
orders-0: c1: c1 had it
orders-1: c1: c1 had it
orders-2: c1: c1 had it
orders-3: c1 -> c2: c1 had 5; fills c2 up to its share of 2 or 3
orders-4: c1 -> c2: c1 had 5; fills c2 up to its share of 2 or 3
`},
		{"uniform, mixed", "uniform", NewGroup(map[string]int32{"audit": 1, "orders": 1}).Join("c1", "orders").Join("c2"), all, `
audit-0: c2: c2 had the least of the subscribers of audit
orders-0: c1: c1 had the least of the subscribers of orders
`},
		{"uniform, an even share, after a leave", "uniform", owns(NewGroup(orders(2), "c1", "c2"), 1, map[string][]int32{"c1": {0}, "c2": {1}}).Leave("c1").Join("c3"), all, `
orders-0: c1 -> c3: c1 has left; fills c3 up to its share of 1
orders-1: c2: c2 had it
`},
		{"server-side range", "server-range", NewGroup(orders(3), "c1", "c2"), all, `
orders-0: c1: 3 partitions for 2 subscribers make 1 each and 1 more for the first 1; c1 is number 1
orders-1: c1: 3 partitions for 2 subscribers make 1 each and 1 more for the first 1; c1 is number 1
orders-2: c2: 3 partitions for 2 subscribers make 1 each and 1 more for the first 1; c2 is number 2
`},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			t.Parallel()
			if got := explained(t, c.assignor, c.group, c.about); got != strings.TrimPrefix(c.want, "\n") {
				t.Errorf("got\n%swant%s", got, c.want)
			}
		})
	}
}

func TestExplainOfAnotherAssignor(t *testing.T) {
	t.Parallel()
	lazy := ServerSide(serverFunc(func(in ServerInput) (map[string]Partitions, error) {
		return map[string]Partitions{"c1": {in.Members[0].Topics[0]: {0}}}, nil
	}))
	placements, err := Explain(lazy, NewGroup(map[string]int32{"orders": 2}, "c1"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(placements), "[orders-0: c1: decided by mine orders-1: nobody: mine gave it to nobody]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNamedKnowsItsNames(t *testing.T) {
	t.Parallel()
	if _, err := Named("stickier"); err == nil || !strings.Contains(err.Error(), `no assignor "stickier"; there are range`) {
		t.Errorf("got %v", err)
	}
}

func TestPredictRefuses(t *testing.T) {
	t.Parallel()
	for _, name := range builtIn {
		if _, err := Predict(mustName(name), NewGroup(map[string]int32{"orders": 1}, "c1", "c1")); err == nil || !strings.Contains(err.Error(), `lists member "c1" twice`) {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := Explain(mustName(name), NewGroup(map[string]int32{"orders": 1 << 30, "payments": 1 << 30}, "c1")); err == nil {
			t.Errorf("%s took 2^31 partitions", name)
		}
	}
	if got := (Prediction{}).Final(); got != nil {
		t.Errorf("an empty prediction has %v", got)
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<15)
	for what, encode := range map[string]func() ([]byte, error){
		"subscription version -1": func() ([]byte, error) { return EncodeSubscription(Subscription{}, -1) },
		"assignment version -1":   func() ([]byte, error) { return EncodeAssignment(Assignment{}, -1) },
		"a long topic": func() ([]byte, error) {
			return EncodeSubscription(Subscription{Topics: []string{long}}, ConsumerProtocolVersion)
		},
		"a long topic in user data": func() ([]byte, error) { return EncodeStickyUserData([]TopicPartition{{long, 0}}, 1) },
	} {
		if b, err := encode(); err == nil || b != nil {
			t.Errorf("%s: got %d bytes", what, len(b))
		}
	}
}
