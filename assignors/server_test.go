package assignors

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// Who asks for maps tells an unchanged target by its map.
func TestUnchangedTargetsAreTheSameMap(t *testing.T) {
	t.Parallel()
	for _, a := range []ServerAssignor{NewUniform(), NewServerRange()} {
		for _, homogeneous := range []bool{true, false} {
			in := serverGroup(7, 3, 10)
			in.Homogeneous = homogeneous
			targets, err := a.Assign(in)
			if err != nil {
				t.Fatal(err)
			}
			for i := range in.Members {
				in.Members[i].Target = targets[in.Members[i].ID]
			}
			again, err := a.Assign(in)
			if err != nil {
				t.Fatal(err)
			}
			for id, target := range targets {
				if reflect.ValueOf(target).Pointer() != reflect.ValueOf(again[id]).Pointer() {
					t.Errorf("%s, homogeneous %v: %s got another map: %v", a.Name(), homogeneous, id, again[id])
				}
			}
		}
	}
}

// A wrong Homogeneous flag must not give a member a topic it did not ask for, nor leave one out that another asked for.
func TestHomogeneousIsNotTrustedBlindly(t *testing.T) {
	t.Parallel()
	for _, a := range []ServerAssignor{NewUniform(), NewServerRange()} {
		for _, swap := range []bool{false, true} {
			in := checkedInput()
			if swap {
				in.Members[0].ID, in.Members[1].ID = in.Members[1].ID, in.Members[0].ID
				slices.Reverse(in.Members)
			}
			want, err := a.Assign(in)
			if err != nil {
				t.Fatal(err)
			}
			in.Homogeneous = true
			got, err := Checked(a).Assign(in)
			if err != nil {
				t.Errorf("%s: %v", a.Name(), err)
			}
			if !reflect.DeepEqual(want, got) {
				t.Errorf("%s, members swapped %v: %v, without the flag %v", a.Name(), swap, got, want)
			}
		}
	}
}

func TestServerErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		explanation string
		change      func(*ServerInput)
		want        string
	}{
		{"a topic that has just been deleted", func(in *ServerInput) { delete(in.Topics, idOrders) },
			"a member subscribes to topic id AQAAAAAAAAAAAAAAAAAAAA, which the metadata does not know"},
		{"two members with one id", func(in *ServerInput) { in.Members[1].ID = "m0" }, `the group lists member "m0" twice`},
		{"a partition in two targets", func(in *ServerInput) {
			in.Homogeneous, in.Members[1].Topics, in.Members[1].Target = true, in.Members[0].Topics, Partitions{idOrders: {1}}
		},
			`the previous target gives partition 1 of topic orders to "m0" and to "m1"`},
		{"too many partitions", func(in *ServerInput) {
			in.Topics[idOrders] = ServerTopic{Partitions: 1 << 30}
			in.Topics[idPayments] = ServerTopic{Partitions: 1 << 30}
		}, "the subscribed topics have more than 2147483647 partitions"},
	} {
		in := checkedInput()
		c.change(&in)
		if _, err := NewUniform().Assign(in); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want …%s", c.explanation, err, c.want)
		}
	}
}

func TestServerAssignorsWithoutMembers(t *testing.T) {
	t.Parallel()
	for _, a := range []ServerAssignor{NewUniform(), NewServerRange()} {
		if got, err := a.Assign(ServerInput{}); err != nil || got == nil || len(got) != 0 {
			t.Errorf("%s: %v %v", a.Name(), got, err)
		}
	}
}

// Java's order is that of UTF-16 code units, which is what a naive implementation over utf16.Encode says.
func TestCompareJava(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	letters := []rune("aB_0é\uD7FF\uE000\uFFFD\U00010000\U0010FFFF")
	var all []string
	for range 300 {
		var b strings.Builder
		b.WriteString("consumer-")
		for range rng.IntN(5) {
			b.WriteRune(letters[rng.IntN(len(letters))])
		}
		all = append(all, b.String())
	}
	naive := func(a, b string) int { return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))) }
	for _, a := range all {
		for _, b := range all {
			if got, want := compareJava(a, b), naive(a, b); sign(got) != sign(want) {
				t.Fatalf("%q and %q: got %d, want %d", a, b, got, want)
			}
		}
	}
	order, _ := javaOrder(len(all), func(i int) string { return all[i] })
	for k := 1; k < len(order); k++ {
		if c := naive(all[order[k-1]], all[order[k]]); c > 0 || c == 0 && order[k-1] > order[k] {
			t.Fatalf("%q before %q", all[order[k-1]], all[order[k]])
		}
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

// A topic id is two signed numbers in Java: one that begins with 0x80 or more comes first.
func TestCompareTopicIDs(t *testing.T) {
	t.Parallel()
	ids := []TopicID{{0: 0x80}, {0: 0xFF}, {8: 0x80}, {}, {15: 1}, {8: 1}, {7: 1}, {0: 0x7F}}
	if !slices.IsSortedFunc(ids, compareTopicIDs) {
		slices.SortFunc(ids, compareTopicIDs)
		t.Errorf("sorted: %v", ids)
	}
}

// In the order in which Kafka's sets are walked the numbers need not ascend: a member with too many keeps the first ones of its list,
// and what it gains goes behind what it had.
func TestAssignOrdered(t *testing.T) {
	t.Parallel()
	ordered, ok := NewUniform().(OrderedServerAssignor)
	if !ok {
		t.Fatal("uniform is no OrderedServerAssignor")
	}
	in := ServerInput{
		Homogeneous: true,
		Topics:      map[TopicID]ServerTopic{idOrders: {Name: "orders", Partitions: 7}, idPayments: {Name: "payments", Partitions: 2}},
		Members: []ServerMember{
			{ID: "m0", Target: Partitions{idOrders: {4, 1, 3, 0, 5}}},
			{ID: "m1", Target: Partitions{idPayments: {1}, idOrders: {6}}},
			{ID: "m2"},
		},
	}
	for i := range in.Members {
		in.Members[i].Topics = []TopicID{idPayments, idOrders}
	}
	got, err := ordered.AssignOrdered(in)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]Share{
		{{idOrders, []int32{4, 1, 3}}},
		{{idOrders, []int32{6, 2}}, {idPayments, []int32{1}}},
		{{idOrders, []int32{0, 5}}, {idPayments, []int32{0}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The last of the members as they are given has the one more, whatever their ids.
func TestAssignOrderedTakesMembersAsTheyCome(t *testing.T) {
	t.Parallel()
	topic := TopicID{1}
	in := ServerInput{
		Homogeneous: true,
		Topics:      map[TopicID]ServerTopic{topic: {Name: "t", Partitions: 3}},
		Members:     []ServerMember{{ID: "b", Topics: []TopicID{topic}}, {ID: "a", Topics: []TopicID{topic}}},
	}
	shares, err := NewUniform().(OrderedServerAssignor).AssignOrdered(in)
	want := [][]Share{{{topic, []int32{0}}}, {{topic, []int32{1, 2}}}}
	if err != nil || !reflect.DeepEqual(want, shares) {
		t.Errorf("want %v, got %v (%v)", want, shares, err)
	}
}

// The answer in lists goes by topic id, tells what does not change, and tells that from getting nothing.
func TestAssignOrderedAnswersShares(t *testing.T) {
	t.Parallel()
	for _, a := range []ServerAssignor{NewUniform(), NewServerRange()} {
		for _, homogeneous := range []bool{true, false} {
			in := serverGroup(5, 1, 3)
			in.Homogeneous = homogeneous
			shares, err := a.(OrderedServerAssignor).AssignOrdered(in)
			if err != nil {
				t.Fatal(err)
			}
			got := 0
			for i, list := range shares {
				if list == nil {
					t.Errorf("%s: new member %d does not change", a.Name(), i)
				}
				for _, s := range list {
					got += len(s.Partitions)
				}
				in.Members[i].Target = Partitions{}
				for _, s := range list {
					in.Members[i].Target[s.Topic] = s.Partitions
				}
			}
			if len(shares) != 5 || got != 3 {
				t.Errorf("%s: %v", a.Name(), shares)
			}
			again, err := a.(OrderedServerAssignor).AssignOrdered(in)
			if err != nil || !reflect.DeepEqual(again, make([][]Share, 5)) {
				t.Errorf("%s: without a change %v, %v", a.Name(), again, err)
			}
		}
	}
	p := Partitions{TopicID{1}: {4}, TopicID{0x80}: {2, 3}, TopicID{2}: {}}
	if got, want := p.Shares(), []Share{{TopicID{0x80}, []int32{2, 3}}, {TopicID{1}, []int32{4}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("shares %v, want %v", got, want)
	}
}
