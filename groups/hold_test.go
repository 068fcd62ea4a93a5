package groups

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What stands at a held step is known, as is that nothing does yet.
func TestHeld(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	cfg := DefaultConfig()
	cfg.InitialRebalanceDelay = 0
	s := NewShard(cfg, Deps{})
	s.Loaded(now)
	require.False(t, s.Held("g", StepJoinBarrier))
	s.Hold("g", StepJoinBarrier)
	s.Hold("g", StepAssign)
	require.False(t, s.Held("g", StepJoinBarrier), "nothing stands there")
	req := benchJoin("", nil)
	req.Version = 3
	s.Handle(now, Command{Ticket: 1, Client: Client{ID: "c"}, Request: req})
	s.Tick(now)
	require.True(t, s.Held("g", StepJoinBarrier))
	require.False(t, s.Held("g", StepAssign))
	require.False(t, s.Held("h", StepJoinBarrier))
	s.Hold("g", StepJoinBarrier)
	require.True(t, s.Held("g", StepJoinBarrier), "held twice is held")
	require.Len(t, s.Release(now, "g", StepJoinBarrier).Replies, 1)
	require.False(t, s.Held("g", StepJoinBarrier))
}

// The shard that follows is given what stood, in no matter which order it was asked.
func TestSteeringOfManyGroups(t *testing.T) {
	t.Parallel()
	s := NewShard(DefaultConfig(), Deps{})
	now := time.Unix(1_700_000_000, 0)
	s.Loaded(now)
	for _, group := range []string{"b", "a", "c"} {
		s.Hold(group, StepJoinBarrier)
		s.Hold(group, StepAssign)
		s.ExpectMembers(now, group, len(group)+1, time.Minute)
	}
	s.Release(now, "b", StepAssign)
	s.Release(now, "c", StepAssign)
	s.Release(now, "c", StepJoinBarrier)
	s.ExpectMembers(now, "c", 0, time.Minute)
	want := Steering{
		holds:    map[string][]Step{"a": {StepAssign, StepJoinBarrier}, "b": {StepJoinBarrier}},
		expected: map[string]expectation{"a": {n: 2, limit: time.Minute}, "b": {n: 2, limit: time.Minute}},
	}
	require.Equal(t, want, s.Steering())
	next := NewShard(DefaultConfig(), Deps{})
	next.Resteer(s.Steering())
	require.Equal(t, want, next.Steering())
	for group, wanted := range map[string]bool{"a": true, "b": true, "c": false} {
		expecting, limited := next.Expecting(group)
		require.Equal(t, wanted, expecting, group)
		require.False(t, limited, group)
	}
}

// Who waits when the coordinator moves is told so once, in the order in which the requests came; nothing that is asked for later is answered again.
func TestHeldHeartbeatsWhenTheCoordinatorMoves(t *testing.T) {
	t.Parallel()
	s, ids, now := benchGroup(t, 40, true)
	s.Hold("h", StepJoinBarrier)
	join := benchJoin("", nil)
	join.Group = "h"
	s.Handle(now, Command{Ticket: 90, Client: Client{ID: "h"}, Request: join})
	s.Tick(now)
	require.True(t, s.Held("h", StepJoinBarrier))
	for i, id := range ids {
		require.Empty(t, s.Handle(now, Command{Ticket: Ticket(100 + i), Client: Client{Software: "kgo"}, Request: beatOf(id)}).Replies)
	}
	replies := s.Unload(now).Replies
	require.Len(t, replies, 41)
	require.Equal(t, Ticket(90), replies[0].Ticket)
	for i, r := range replies[1:] {
		require.Equal(t, Ticket(100+i), r.Ticket)
		require.Equal(t, errNotCoordinator, r.Response.(*kmsg.HeartbeatResponse).ErrorCode)
	}
	require.Empty(t, s.Unpark(now, 100))
	require.Empty(t, s.EndWait(now, "g", 100))
	require.Empty(t, s.Release(now, "h", StepJoinBarrier).Replies)
}
