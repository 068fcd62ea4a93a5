package fakekafka

import (
	"slices"
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
		Event{Kind: groups.EventGeneration, Member: "a"},
		Event{Kind: groups.EventStable, Member: "a"},
		Event{Kind: groups.EventAssigned, Member: "a", Partitions: orders(0, 1)},
		Event{Kind: groups.EventJoined, Member: "b"},
		Event{Kind: groups.EventRejoined, Member: "a"},
		Event{Kind: groups.EventGeneration, Member: "a"},
		Event{Kind: groups.EventStable, Member: "a"},
		Event{Kind: groups.EventAssigned, Member: "a", Partitions: orders(0)},
		Event{Kind: groups.EventAssigned, Member: "b", Partitions: orders(1)},
	))
	assert.Empty(t, o.doubles)
	in := interruptions(o)
	if assert.Len(t, in, 2, "an eager member gives everything up") {
		assert.Equal(t, "orders-0: nobody for 3s, from client-a to client-a (client-a rejoined)", in[0].String())
		assert.Equal(t, "orders-1: nobody for 4s, from client-a to client-b (client-a rejoined)", in[1].String())
	}
	assert.Equal(t, []Moved{{"orders", 1, "client-a", "client-b"}}, movedIn(o, []string{"a", "b"}))
	assert.Equal(t, 1, leastMoved(o))
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

// A fourth member comes before a and b have given up what the third shall have. The assignor takes from c's target then, or from a's or b's; a and b lose one more
// than they would have, had both come at once.
func TestMovesOfOverlappingChanges(t *testing.T) {
	t.Parallel()
	began := []Event{
		{Kind: groups.EventJoined, Member: "a"},
		{Kind: groups.EventJoined, Member: "b"},
		{Kind: groups.EventTarget},
		{Kind: groups.EventAssigned, Member: "a", Partitions: orders(0, 1, 2)},
		{Kind: groups.EventAssigned, Member: "b", Partitions: orders(3, 4, 5)},
		{Kind: groups.EventStable},
		{Kind: groups.EventJoined, Member: "c"},
		{Kind: groups.EventTarget},
		{Kind: groups.EventToldToRevoke, Member: "a", Partitions: orders(2)},
		{Kind: groups.EventJoined, Member: "d"},
		{Kind: groups.EventTarget},
	}
	ended := []Event{
		{Kind: groups.EventRevoked, Member: "a", Partitions: orders(1, 2)},
		{Kind: groups.EventRevoked, Member: "b", Partitions: orders(5)},
		{Kind: groups.EventAssigned, Member: "c", Partitions: orders(2, 5)},
		{Kind: groups.EventAssigned, Member: "d", Partitions: orders(1)},
		{Kind: groups.EventStable},
	}
	o := replayOwnership(story(append(began, ended...)...))
	assert.Equal(t, []Moved{{"orders", 1, "client-a", "client-d"}, {"orders", 2, "client-a", "client-c"}, {"orders", 5, "client-b", "client-c"}},
		movedIn(o, []string{"a", "b", "c", "d"}))
	assert.Equal(t, 2+1, leastMoved(o))

	// At once.
	at := slices.Delete(slices.Clone(began), 7, 9)
	assert.Equal(t, 2, leastMoved(replayOwnership(story(append(at, ended...)...))))

	// One after the other.
	settled := slices.Insert(slices.Clone(began), 9, Event{Kind: groups.EventStable})
	assert.Equal(t, 2, leastMoved(replayOwnership(story(append(settled, ended...)...))))

	// A member that goes meanwhile makes room.
	gone := slices.Clone(began)
	gone[9] = Event{Kind: groups.EventLeft, Member: "c"}
	assert.Equal(t, 2, leastMoved(replayOwnership(story(append(gone, Event{Kind: groups.EventStable})...))))
}
