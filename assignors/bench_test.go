package assignors

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// The shapes are those of Kafka's figures: everyone joins an empty group, then one more member joins.
var benchShapes = []struct{ members, topics, perTopic int }{{100, 10, 100}, {1_000, 100, 100}, {10_000, 100, 1_000}}

func benchMember(i int) string {
	return fmt.Sprintf("consumer-%05d-3f1c9a2e-77aa-4d0b-9c43-%012x", i, uint64(i)*2654435761&0xffffffffffff)
}

func benchID(rng *rand.Rand) (id TopicID) {
	binary.BigEndian.PutUint64(id[:8], rng.Uint64())
	binary.BigEndian.PutUint64(id[8:], rng.Uint64())
	return id
}

func BenchmarkServer(b *testing.B) {
	for _, a := range []struct {
		name string
		ServerAssignor
	}{{"uniform", NewUniform()}, {"server-range", NewServerRange()}} {
		for _, s := range benchShapes {
			in := serverGroup(s.members, s.topics, s.perTopic)
			benchServer(b, fmt.Sprintf("%s/%dx%d", a.name, s.members, s.topics*s.perTopic), a.ServerAssignor, in, ServerMember{ID: benchMember(s.members), Topics: in.Members[0].Topics})
		}
		in, joins := mixedServerGroup(100, 10, 100)
		benchServer(b, a.name+"/mixed-100x1000", a.ServerAssignor, in, joins)
	}
}

func serverGroup(members, topics, perTopic int) ServerInput {
	rng := rand.New(rand.NewPCG(1, 1))
	in := ServerInput{Homogeneous: true, Topics: map[TopicID]ServerTopic{}}
	var ids []TopicID
	for range topics {
		ids = append(ids, benchID(rng))
		in.Topics[ids[len(ids)-1]] = ServerTopic{Partitions: int32(perTopic)}
	}
	for i := range members {
		in.Members = append(in.Members, ServerMember{ID: benchMember(i), Topics: ids})
	}
	return in
}

// mixedServerGroup: every member subscribes to a random half of the topics.
func mixedServerGroup(members, topics, perTopic int) (ServerInput, ServerMember) {
	in := serverGroup(members+1, topics, perTopic)
	in.Homogeneous = false
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range in.Members {
		ids := slices.Clone(in.Members[i].Topics)
		rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		in.Members[i].Topics = ids[:max(1, topics/2)]
	}
	last := in.Members[members]
	in.Members = in.Members[:members]
	return in, last
}

func benchServer(b *testing.B, name string, a ServerAssignor, in ServerInput, joins ServerMember) {
	ask := a.(OrderedServerAssignor).AssignOrdered // what the coordinator calls
	run := func(b *testing.B, in ServerInput) {
		b.ReportAllocs()
		defer reportCPU(b)()
		for b.Loop() {
			if _, err := ask(in); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run(name+"/initial", func(b *testing.B) { run(b, in) })
	targets, err := a.Assign(in)
	if err != nil {
		b.Fatal(err)
	}
	in.Members = append(slices.Clone(in.Members), joins)
	for i := range in.Members {
		in.Members[i].Target = targets[in.Members[i].ID]
	}
	b.Run(name+"/one-joins", func(b *testing.B) { run(b, in) })
}

// BenchmarkServerMaps is what an assignor of one's own pays that asks a built-in one: a map for every member.
func BenchmarkServerMaps(b *testing.B) {
	for _, a := range []struct {
		name string
		ServerAssignor
	}{{"uniform", NewUniform()}, {"server-range", NewServerRange()}} {
		b.Run(a.name+"/100x1000", func(b *testing.B) {
			in := serverGroup(100, 10, 100)
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				if _, err := a.Assign(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkJoins is what the coordinator of a starting group asks for: members come one after the other until the group is
// complete. "ordered" keeps the lists in the order of Kafka's sets.
func BenchmarkJoins(b *testing.B) {
	u := NewUniform()
	ordered := func(in ServerInput) (map[string]Partitions, error) {
		shares, err := u.(OrderedServerAssignor).AssignOrdered(in)
		if err != nil {
			return nil, err
		}
		return targets(in, shares), nil
	}
	for _, way := range []struct {
		name   string
		assign func(ServerInput) (map[string]Partitions, error)
	}{{"plain", u.Assign}, {"ordered", ordered}} {
		b.Run(way.name, func(b *testing.B) {
			full := serverGroup(1_000, 100, 100)
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				in := full
				in.Members = make([]ServerMember, 0, len(full.Members))
				for _, m := range full.Members {
					in.Members = append(in.Members, m)
					targets, err := way.assign(in)
					if err != nil {
						b.Fatal(err)
					}
					for i := range in.Members {
						in.Members[i].Target = targets[in.Members[i].ID]
					}
				}
			}
		})
	}
}

func BenchmarkClient(b *testing.B) {
	for _, a := range []Assignor{NewRange(), NewRoundRobin(), NewSticky(), NewCooperativeSticky()} {
		for _, s := range benchShapes {
			g := clientGroup(s.members+1, s.topics, s.perTopic)
			benchClient(b, fmt.Sprintf("%s/%dx%d", a.Name(), s.members, s.topics*s.perTopic), a, g)
		}
	}
	for _, a := range []Assignor{NewSticky(), NewCooperativeSticky()} {
		for _, s := range benchShapes {
			g := mixedClientGroup(s.members+1, s.topics, s.perTopic)
			benchClient(b, fmt.Sprintf("%s/mixed-%dx%d", a.Name(), s.members, s.topics*s.perTopic), a, g)
		}
	}
}

func clientGroup(members, topics, perTopic int) Group {
	g := Group{Topics: map[string]Topic{}}
	var names []string
	for t := range topics {
		names = append(names, fmt.Sprintf("topic-%03d", t))
		g.Topics[names[t]] = Topic{Partitions: int32(perTopic)}
	}
	for i := range members {
		g.Members = append(g.Members, Member{ID: benchMember(i), Subscription: Subscription{Topics: names, Generation: -1}})
	}
	return g
}

func mixedClientGroup(members, topics, perTopic int) Group {
	g := clientGroup(members, topics, perTopic)
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range g.Members {
		names := slices.Clone(g.Members[i].Topics)
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		g.Members[i].Topics = names[:max(1, topics/2)]
	}
	return g
}

// benchClient starts with all but the last member, which joins then.
func benchClient(b *testing.B, name string, a Assignor, g Group) {
	run := func(b *testing.B, g Group) {
		b.ReportAllocs()
		defer reportCPU(b)()
		for b.Loop() {
			if _, err := a.Assign(g); err != nil {
				b.Fatal(err)
			}
		}
	}
	before := g
	before.Members = g.Members[:len(g.Members)-1]
	b.Run(name+"/initial", func(b *testing.B) { run(b, before) })
	first, err := a.Assign(before)
	if err != nil {
		b.Fatal(err)
	}
	for i := range before.Members {
		m := &before.Members[i]
		m.Generation = 1
		if a.Name() == "cooperative-sticky" {
			m.Owned, m.UserData = first[m.ID], EncodeCooperativeUserData(1)
		} else if m.UserData, err = EncodeStickyUserData(first[m.ID], 1); err != nil {
			b.Fatal(err)
		}
	}
	b.Run(name+"/one-joins", func(b *testing.B) { run(b, g) })
}
