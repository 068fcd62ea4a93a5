package assignors

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

type serverFunc func(ServerInput) (map[string]Partitions, error)

func (serverFunc) Name() string                                           { return "mine" }
func (f serverFunc) Assign(in ServerInput) (map[string]Partitions, error) { return f(in) }

var (
	idOrders   = TopicID{1}
	idPayments = TopicID{2}
)

func checkedInput() ServerInput {
	return ServerInput{
		Topics: map[TopicID]ServerTopic{idOrders: {Name: "orders", Partitions: 3}, idPayments: {Name: "payments", Partitions: 1}},
		Members: []ServerMember{
			{ID: "m0", Topics: []TopicID{idOrders}, Target: Partitions{idOrders: {0, 1, 2}}},
			{ID: "m1", Topics: []TopicID{idOrders, idPayments}},
		},
	}
}

func TestCheckedNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, c := range []struct {
		explanation string
		assign      serverFunc
		want        string
	}{
		{"a panic", func(ServerInput) (map[string]Partitions, error) { panic("index out of my mind") },
			`assignor "mine" panicked: index out of my mind`},
		{"a runtime error", func(in ServerInput) (map[string]Partitions, error) { _ = in.Members[len(in.Members)]; return nil, nil },
			`assignor "mine" panicked: runtime error: index out of range [2] with length 2`},
		{"its own error", func(ServerInput) (map[string]Partitions, error) { return nil, boom },
			`assignor "mine" failed: boom`},
		{"an unknown member", func(ServerInput) (map[string]Partitions, error) { return map[string]Partitions{"m9": {}}, nil },
			`assignor "mine" gave partitions to "m9", which is not in the group; its members are ["m0" "m1"]`},
		{"two owners", func(ServerInput) (map[string]Partitions, error) {
			return map[string]Partitions{"m0": {idOrders: {0, 1}}, "m1": {idOrders: {1, 2}}}, nil
		}, `assignor "mine" gave partition 1 of topic orders to "m0" and to "m1"`},
		{"the same partition twice", func(ServerInput) (map[string]Partitions, error) {
			return map[string]Partitions{"m0": {idOrders: {1, 1}}}, nil
		}, `assignor "mine" gave partition 1 of topic orders to "m0" and to "m0"`},
		{"a topic the member does not want", func(ServerInput) (map[string]Partitions, error) {
			return map[string]Partitions{"m0": {idPayments: {0}}}, nil
		}, `assignor "mine" gave "m0" partitions [0] of topic payments, to which it does not subscribe`},
		{"a topic that does not exist", func(ServerInput) (map[string]Partitions, error) {
			return map[string]Partitions{"m0": {TopicID{9}: {0}}}, nil
		}, `assignor "mine" gave "m0" partitions [0] of topic id CQAAAAAAAAAAAAAAAAAAAA, which does not exist`},
		{"a partition too high", func(ServerInput) (map[string]Partitions, error) {
			return map[string]Partitions{"m1": {idOrders: {3}}}, nil
		}, `assignor "mine" gave "m1" partition 3 of topic orders, which has 3 partitions`},
		{"a negative partition", func(ServerInput) (map[string]Partitions, error) {
			return map[string]Partitions{"m1": {idOrders: {-1}}}, nil
		}, `assignor "mine" gave "m1" partition -1 of topic orders, which has 3 partitions`},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			t.Parallel()
			got, err := Checked(c.assign).Assign(checkedInput())
			var wrong *AssignorError
			if !errors.As(err, &wrong) || err.Error() != c.want || got != nil {
				t.Errorf("got %v %v\nwant %s", got, err, c.want)
			}
			if panicked := strings.Contains(c.want, "panicked"); wrong != nil && (len(wrong.Stack) > 0) != panicked {
				t.Errorf("stack: %s", wrong.Stack)
			}
			if c.explanation == "its own error" && !errors.Is(err, boom) {
				t.Error("the assignor's own error is lost")
			}
		})
	}
}

type namelessAssignor struct{ serverFunc }

func (namelessAssignor) Name() string { panic("no name") }

func TestCheckedSurvivesAPanickingName(t *testing.T) {
	t.Parallel()
	if got := Checked(namelessAssignor{}).Name(); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestCheckedIsolatesTheAssignor(t *testing.T) {
	t.Parallel()
	kept := map[string]Partitions{}
	vandal := serverFunc(func(in ServerInput) (map[string]Partitions, error) {
		in.Members[0].Target[idOrders][0] = 7
		in.Members[0].Topics[0] = TopicID{9}
		delete(in.Topics, idPayments)
		kept["m0"] = Partitions{idOrders: {2, 0, 1}}
		kept["m1"] = Partitions{idPayments: {0}, idOrders: {}}
		return kept, nil
	})
	in := checkedInput()
	got, err := Checked(vandal).Assign(in)
	if err != nil {
		t.Fatal(err)
	}
	kept["m1"][idPayments][0] = 5
	if want := checkedInput(); !reflect.DeepEqual(in, want) {
		t.Errorf("the input became %+v", in)
	}
	want := map[string]Partitions{"m0": {idOrders: {0, 1, 2}}, "m1": {idPayments: {0}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v: sorted, without empty topics", got, want)
	}
	if reflect.ValueOf(got["m0"]).Pointer() != reflect.ValueOf(in.Members[0].Target).Pointer() {
		t.Error("an unchanged target is not the map it came as")
	}
}

func TestCheckedAllowsLeavingPartitionsOut(t *testing.T) {
	t.Parallel()
	got, err := Checked(serverFunc(func(ServerInput) (map[string]Partitions, error) { return nil, nil })).Assign(checkedInput())
	if want := (map[string]Partitions{"m0": {}, "m1": {}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v %v, want %v", got, err, want)
	}
}
