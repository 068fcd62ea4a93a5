package assignors_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/assignors"
)

// Where every partition is on all racks there are, racks are not looked at: a member in another rack is not put last for it.
func TestRacksThatAllPartitionsHave(t *testing.T) {
	t.Parallel()
	far, near := "c", "a"
	group := assignors.NewGroup(map[string]int32{"orders": 3}, "c1", "c2")
	group.Members[0].Rack, group.Members[1].Rack = &far, &near
	setRacks := func(racks ...[]string) {
		topic := group.Topics["orders"]
		topic.Racks = racks
		group.Topics["orders"] = topic
	}

	setRacks([]string{"a", "b"}, []string{"b", "a"}, []string{"a", "b", "a"})
	for _, a := range []assignors.Assignor{assignors.NewRange(), assignors.NewCooperativeSticky()} {
		p, err := assignors.Predict(a, group)
		require.NoError(t, err)
		require.Len(t, p.Final()["c1"], 2, a.Name())
	}

	setRacks([]string{"a", "b"}, []string{"a", "b"}, []string{"b"})
	p, err := assignors.Predict(assignors.NewRange(), group)
	require.NoError(t, err)
	require.Equal(t, []assignors.TopicPartition{{Topic: "orders", Partition: 2}}, p.Final()["c1"], "c2 has taken what is near")
}
