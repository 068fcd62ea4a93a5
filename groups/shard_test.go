package groups

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What a step returned is its driver's until it gives it back, and nothing of it comes again then.
func TestRecycle(t *testing.T) {
	t.Parallel()
	s, ids, now := benchGroup(t, 2, false)
	beat := func(ticket Ticket, member string) Effects {
		return s.Handle(now, Command{Ticket: ticket, Request: beatOf(member)})
	}
	first := beat(100, ids[0])
	second := beat(101, ids[1])
	require.Equal(t, Ticket(100), first.Replies[0].Ticket)
	s.Recycle(first)
	third := beat(102, ids[0])
	require.Len(t, third.Replies, 1)
	require.Equal(t, Ticket(102), third.Replies[0].Ticket)
	require.Equal(t, Ticket(101), second.Replies[0].Ticket)
	require.Empty(t, third.Events)
	s.Recycle(third)
	require.Empty(t, s.Flush(now).Replies)

	// A large step's lists are not kept.
	large := Effects{Replies: make([]Reply, maxRecycled+1)}
	s.Recycle(large)
	require.LessOrEqual(t, cap(s.spare.Replies), maxRecycled)
	s.Recycle(Effects{Events: make([]Event, maxRecycled+1)})
	require.LessOrEqual(t, cap(s.spare.Events), maxRecycled)
}

// Time never goes back in a shard, and events have the time of their step.
func TestTimeOnlyGoesOn(t *testing.T) {
	t.Parallel()
	s, _, now := benchGroup(t, 1, false)
	fx, err := s.Rebalance(now.Add(time.Minute), "g", "test")
	require.NoError(t, err)
	require.NotEmpty(t, fx.Events)
	for _, e := range fx.Events {
		require.Equal(t, now.Add(time.Minute), e.At)
	}
	fx = s.Handle(now, Command{Ticket: 100, Client: Client{ID: "late"}, Request: benchJoin("", nil)})
	require.NotEmpty(t, fx.Events)
	for _, e := range fx.Events {
		require.Equal(t, now.Add(time.Minute), e.At)
	}
}

// A shard is loaded once, and of no use but for looking when it has moved; ticket 0 is nobody's.
func TestPhases(t *testing.T) {
	t.Parallel()
	s, ids, now := benchGroup(t, 1, false)
	require.Empty(t, s.Loaded(now))
	require.True(t, s.HasMember("g", ids[0]))
	require.False(t, s.HasMember("g", "nobody"))
	require.False(t, s.HasMember("none", ids[0]))
	_, ok := s.Epoch("none")
	require.False(t, ok)
	_, ok = s.Committed("none", "foo", 0)
	require.False(t, ok)
	_, ok = s.Committed("g", "foo", 0)
	require.False(t, ok)
	require.Empty(t, s.Handle(now, Command{Request: beatOf(ids[0])}).Replies)

	answer := s.Handle(now, Command{Ticket: 1, Request: kmsg.NewPtrMetadataRequest()})
	require.IsType(t, &kmsg.MetadataResponse{}, answer.Replies[0].Response)

	s.Unload(now)
	_, ok = s.Deadline()
	require.False(t, ok, "no timer runs")
	state, ok := s.State("g")
	require.True(t, ok)
	require.Equal(t, "Dead", state.State)
	require.Empty(t, s.MetadataChanged(now, (&fakeMetadata{byName: map[string]Topic{}}).with("foo", 3)))
	require.Empty(t, s.Flush(now))
	require.Empty(t, s.LookedUp(now, "g"))
	s.Touch(now, "g", ids[0])
	_, ok = s.Deadline()
	require.False(t, ok)
	for _, steer := range []func() (Effects, error){
		func() (Effects, error) { return s.Evict(now, "g", ids[0], "test") },
		func() (Effects, error) { return s.Fence(now, "g", ids[0]) },
		func() (Effects, error) { return s.Rebalance(now, "g", "test") },
	} {
		fx, err := steer()
		require.ErrorContains(t, err, `"g"`)
		require.Empty(t, fx)
	}
}
