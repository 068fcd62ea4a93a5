package fakekafka

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/fakekafka/fakekafka/groups"
)

// story is a history written by hand: a second passes with each event.
func story(events ...Event) []Event {
	at := time.Unix(1000, 0)
	for i := range events {
		events[i].At = at.Add(time.Duration(i) * time.Second)
		if events[i].ClientID == "" {
			events[i].ClientID = "client-" + events[i].Member
		}
	}
	return events
}

func orders(ps ...int32) map[string][]int32 { return map[string][]int32{"orders": ps} }

func TestOwnershipOfAnEagerRebalance(t *testing.T) {
	t.Parallel()
	o := replayOwnership(story(
		Event{Kind: groups.EventJoined, Member: "a"},
		Event{Kind: groups.EventAssigned, Member: "a", Partitions: orders(0, 1)},
		Event{Kind: groups.EventJoined, Member: "b"},
		Event{Kind: groups.EventRejoined, Member: "a"},
		Event{Kind: groups.EventAssigned, Member: "a", Partitions: orders(0)},
		Event{Kind: groups.EventAssigned, Member: "b", Partitions: orders(1)},
	))
	assert.Empty(t, o.doubles)
	in := interruptions(o)
	if assert.Len(t, in, 2, "an eager member gives everything up") {
		assert.Equal(t, "orders-0: nobody for 1s, from client-a to client-a (client-a rejoined)", in[0].String())
		assert.Equal(t, "orders-1: nobody for 2s, from client-a to client-b (client-a rejoined)", in[1].String())
	}
	assert.Equal(t, []Moved{{"orders", 1, "client-a", "client-b"}}, movedIn(o, []string{"a", "b"}))
	assert.Equal(t, 1, leastMoved(o, []string{"a", "b"}))
}

func TestOwnershipOfACooperativeRebalance(t *testing.T) {
	t.Parallel()
	o := replayOwnership(story(
		Event{Kind: groups.EventJoined, Member: "a"},
		Event{Kind: groups.EventAssigned, Member: "a", Partitions: orders(0, 1)},
		Event{Kind: groups.EventJoined, Member: "b"},
		Event{Kind: groups.EventRejoined, Member: "a", Partitions: orders(0, 1)},
		Event{Kind: groups.EventAssigned, Member: "a", Partitions: orders(0)},
		Event{Kind: groups.EventAssigned, Member: "b"},
		Event{Kind: groups.EventRejoined, Member: "a", Partitions: orders(0)},
		Event{Kind: groups.EventRejoined, Member: "b"},
		Event{Kind: groups.EventAssigned, Member: "a", Partitions: orders(0)},
		Event{Kind: groups.EventAssigned, Member: "b", Partitions: orders(1)},
	))
	assert.Empty(t, o.doubles)
	in := interruptions(o)
	if assert.Len(t, in, 1, "only the moved one stops") {
		assert.EqualValues(t, 1, in[0].Partition)
	}
}

func TestDoubleOwnerIsSeen(t *testing.T) {
	t.Parallel()
	o := replayOwnership(story(
		Event{Kind: groups.EventAssigned, Member: "a", Partitions: orders(0)},
		Event{Kind: groups.EventAssigned, Member: "b", Partitions: orders(0)},
	))
	assert.Equal(t, []string{"orders-0 was given to client-b (b) while client-a (a) still owned it"}, o.doubles)
}

func TestConsumerGroupRevokesOneByOne(t *testing.T) {
	t.Parallel()
	o := replayOwnership(story(
		Event{Kind: groups.EventAssigned, Member: "a", Partitions: orders(0, 1, 2)},
		Event{Kind: groups.EventJoined, Member: "b"},
		Event{Kind: groups.EventAssigned, Member: "b"},
		Event{Kind: groups.EventToldToRevoke, Member: "a", Partitions: orders(2)},
		Event{Kind: groups.EventRevoked, Member: "a", Partitions: orders(2), Cause: "acknowledged the revocation"},
		Event{Kind: groups.EventAssigned, Member: "b", Partitions: orders(2)},
		Event{Kind: groups.EventExpired, Member: "b", Cause: "session timeout of 45s passed"},
	))
	assert.Empty(t, o.doubles)
	in := interruptions(o)
	if assert.Len(t, in, 2) {
		assert.Equal(t, "orders-2: nobody for 1s, from client-a to client-b (client-a revoked: acknowledged the revocation)", in[0].String())
		assert.Equal(t, "orders-2: nobody since client-b lost it (client-b expired: session timeout of 45s passed)", in[1].String())
	}
}

func TestStaticMemberKeepsItsPartitions(t *testing.T) {
	t.Parallel()
	o := replayOwnership(story(
		Event{Kind: groups.EventAssigned, Member: "a1", InstanceID: "a", Partitions: orders(0)},
		Event{Kind: groups.EventReplaced, Member: "a2", InstanceID: "a", Replaces: "a1"},
		Event{Kind: groups.EventAssigned, Member: "a2", InstanceID: "a", Partitions: orders(0)},
	))
	assert.Empty(t, o.doubles)
	assert.Empty(t, interruptions(o))
}
