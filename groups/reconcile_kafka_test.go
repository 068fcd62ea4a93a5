package groups

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/assignors"
)

// reconcileCase is one line of testdata/reconcile.jsonl: a random member of a group with two topics, and what Apache Kafka 4.3.1's own
// CurrentAssignmentBuilder made of it. Partitions stand by topic, with the epoch since which the member has them.
type reconcileCase struct {
	caseMember
	TargetEpoch int32              `json:"targetEpoch"`
	Target      map[string][]int32 `json:"target"`
	Owned       map[string][]int32 `json:"owned"` // null: the request doesn't list what the member owns
	Changed     bool               `json:"changed"`
	Subscribed  []int              `json:"subscribed"` // for each topic 1 or 0
	Held        map[string][]int32 `json:"held"`       // in some member's assigned or pending set
	Next        *caseMember        `json:"next"`       // null: fenced
}

type caseMember struct {
	State    int8                        `json:"state"`
	Epoch    int32                       `json:"epoch"`
	Previous int32                       `json:"previous"`
	Assigned map[string]map[string]int32 `json:"assigned"`
	Pending  map[string]map[string]int32 `json:"pending"`
}

func TestReconcileAsKafka(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/reconcile.jsonl")
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	lines, fenced := 0, 0
	in := bufio.NewScanner(file)
	for in.Scan() {
		lines++
		var c reconcileCase
		require.NoError(t, json.Unmarshal(in.Bytes(), &c), "line %d", lines)
		next, ok := reconcile(c.assignment(), reconciliation{
			targetEpoch: c.TargetEpoch, target: caseSet(c.Target), told: c.Owned != nil, owned: caseSet(c.Owned), subscriptionChanged: c.Changed,
			subscribesToNothing: !slices.Contains(c.Subscribed, 1),
			subscribed:          func(topic assignors.TopicID) bool { return c.Subscribed[topic[15]-1] == 1 },
			free:                func(topic assignors.TopicID, p int32) bool { return !slices.Contains(caseSet(c.Held)[topic], p) },
		})
		require.Equal(t, c.Next != nil, ok, "line %d: %s", lines, in.Text())
		if !ok {
			fenced++
			continue
		}
		require.Equal(t, c.Next.assignment(), next, "line %d: %s", lines, in.Text())
	}
	require.NoError(t, in.Err())
	require.Greater(t, lines, 500)
	require.Positive(t, fenced)
}

func (m caseMember) assignment() memberAssignment {
	return memberAssignment{epoch: m.Epoch, previous: m.Previous, state: memberStateOf(m.State), assigned: caseOwnership(m.Assigned), pending: caseOwnership(m.Pending)}
}

func caseTopic(name string) assignors.TopicID {
	n, _ := strconv.Atoi(name)
	return assignors.TopicID{15: byte(n)}
}

func caseSet(parts map[string][]int32) partitionSet {
	out := partitionSet{}
	for topic, list := range parts {
		out[caseTopic(topic)] = list
	}
	return out
}

func caseOwnership(parts map[string]map[string]int32) ownership {
	var out ownership
	for _, topic := range slices.Sorted(maps.Keys(parts)) {
		t := ownedTopic{topic: caseTopic(topic)}
		for _, p := range slices.Sorted(maps.Keys(parts[topic])) {
			n, _ := strconv.Atoi(p)
			t.parts, t.epochs = append(t.parts, int32(n)), append(t.epochs, parts[topic][p])
		}
		out = append(out, t)
	}
	return out
}
