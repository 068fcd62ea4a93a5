package assignors

import (
	"math/rand/v2"
	"testing"
)

// With many subscribers the ladder looks at sets of them; it must find what looking at each finds.
func TestLadderFindsTheFirst(t *testing.T) {
	t.Parallel()
	g := mixedClientGroup(300, 8, 10)
	g.Members[7].Topics = []string{"topic-000"}
	r, err := newRound("sticky", &g, false)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	count := make([]int32, len(g.Members))
	for m := range count {
		count[m] = int32(rng.IntN(4))
	}
	count[3] = 500 // far above the others
	l := newLadder(r, count)
	among := newBitset(len(count))
	for range 2000 {
		m := int32(rng.IntN(len(count)))
		if by := int32(1 - 2*rng.IntN(2)); l.count[m]+by >= 0 {
			l.add(m, by)
		}
		clear(among)
		for range rng.IntN(40) {
			among.set(rng.IntN(len(count)))
		}
		for topic := range r.topics {
			if l.subscribers[topic] == nil {
				t.Fatalf("%s has too few subscribers for this test", r.topics[topic])
			}
			for _, set := range []bitset{nil, among} {
				if got, want := l.first(int32(topic), set), l.scan(int32(topic), set); got != want {
					t.Fatalf("%s among %v: got %d with %v, want %d", r.topics[topic], set, got, l.count, want)
				}
			}
		}
		least := l.count[0]
		for _, n := range l.count {
			least = min(least, n)
		}
		if l.least != least {
			t.Fatalf("least is %d, want %d", l.least, least)
		}
	}
}

// The general algorithm on a scale at which it works with sets: everyone's load is level with that of all who could take over.
func TestLargeMixedGroups(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sticky", "cooperative-sticky", "uniform"} {
		g := mixedClientGroup(201, 12, 40)
		last := g.Members[200]
		g.Members = g.Members[:200]
		p, err := Predict(mustName(name), g)
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range []func(Group) Group{
			func(g Group) Group { return g.Join(last.ID, last.Topics...) },
			func(g Group) Group { return g.Leave(g.Members[0].ID, g.Members[50].ID, g.Members[51].ID) },
		} {
			g = change(p.After())
			if p, err = Predict(mustName(name), g); err != nil {
				t.Fatal(err)
			}
			if err := valid(g, p.Final(), false); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := balanced(g, p.Final()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
