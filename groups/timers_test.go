package groups

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func beatOf(member string) *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.Generation, req.MemberID = 4, "g", 1, member
	return req
}

func allTimers(s *Shard) (all []Timer) {
	s.NextTimer(func(t Timer) bool {
		all = append(all, t)
		return false
	})
	slices.SortFunc(all, func(a, b Timer) int { return a.Deadline.Compare(b.Deadline) })
	return all
}

// The next timer is the earliest of those that are asked for.
func TestNextTimer(t *testing.T) {
	t.Parallel()
	s, ids, now := benchGroup(t, 20, false)
	for i, id := range ids {
		s.Touch(now.Add(time.Duration(i*7%20)*time.Second), "g", id)
	}
	for _, timer := range allTimers(s) {
		if timer.Kind != "session" {
			continue
		}
		next, ok := s.NextTimer(func(t Timer) bool { return !t.Deadline.Before(timer.Deadline) && t.Kind == "session" })
		require.True(t, ok)
		require.Equal(t, timer.Deadline, next.Deadline)
		next, ok = s.NextTimer(func(t Timer) bool { return t.Member == timer.Member })
		require.True(t, ok)
		require.Equal(t, timer, next)
	}
	_, ok := s.NextTimer(func(Timer) bool { return false })
	require.False(t, ok)
}

// The clean-up of a shard is idle while there are no groups.
func TestIdleTimers(t *testing.T) {
	t.Parallel()
	idle := func(s *Shard) (idle, all int) {
		for _, t := range allTimers(s) {
			if all++; s.Idle(t) {
				idle++
			}
		}
		return idle, all
	}
	s := NewShard(DefaultConfig(), Deps{})
	s.Loaded(time.Unix(1_000_000, 0))
	n, all := idle(s)
	require.Equal(t, []int{1, 1}, []int{n, all})
	s, _, _ = benchGroup(t, 2, false)
	n, all = idle(s)
	require.Equal(t, []int{0, 3}, []int{n, all}, "clean-up, and two sessions")
}

// TouchAll counts as a heartbeat of those that are meant. What would have happened at the same moment happens in the order of before.
func TestTouchAll(t *testing.T) {
	t.Parallel()
	s, ids, now := benchGroup(t, 6, false)
	order := func(s *Shard, at time.Time) (expired []string) {
		for _, e := range s.Tick(at).Events {
			if e.Kind == EventExpired {
				expired = append(expired, e.Member)
			}
		}
		return expired
	}
	other, otherIDs, _ := benchGroup(t, 6, false)
	want := order(other, now.Add(45*time.Second))
	require.Len(t, want, 6)
	for i := range want { // as members of the other shard are called
		want[i] = ids[slices.Index(otherIDs, want[i])]
	}
	now = now.Add(20 * time.Second)
	s.TouchAll(now, func(group, member string) bool { return group == "g" && member != ids[2] })
	require.Equal(t, []string{ids[2]}, order(s, now.Add(25*time.Second)), "it was not touched")
	require.Empty(t, order(s, now.Add(45*time.Second-1)))
	rest := slices.DeleteFunc(want, func(id string) bool { return id == ids[2] })
	require.Equal(t, rest, order(s, now.Add(45*time.Second)))
}

// Time that leaps does not leap for clients: what only delays an answer moves along, and nothing else does.
func TestShiftWaits(t *testing.T) {
	t.Parallel()
	s, ids, now := benchGroup(t, 3, true)
	for i, id := range ids[:2] {
		fx := s.Handle(now.Add(time.Duration(i)*time.Second), Command{Ticket: Ticket(100 + i), Client: Client{Software: "kgo"}, Request: beatOf(id)})
		require.Empty(t, fx.Replies)
	}
	s.ExpectMembers(now, "h", 2, time.Minute)
	before := allTimers(s)
	s.ShiftWaits(time.Hour)
	after := allTimers(s)
	require.Len(t, after, len(before))
	moved := 0
	for _, was := range before {
		is := after[slices.IndexFunc(after, func(t Timer) bool { return t.Kind == was.Kind && t.Member == was.Member && t.Group == was.Group })]
		if was.IO {
			moved++
			was.Deadline = was.Deadline.Add(time.Hour)
		}
		require.Equal(t, was, is)
	}
	require.Equal(t, 2, moved)
	at, ok := s.Deadline()
	require.True(t, ok)
	require.Equal(t, after[0].Deadline, at, "the earliest is the first again")
	s.ShiftWaits(-time.Hour)
	require.Equal(t, before, allTimers(s))
}

// How long a request waits yet is known by its ticket, and it can be ended.
func TestWaitsOfTickets(t *testing.T) {
	t.Parallel()
	s, ids, now := benchGroup(t, 2, true)
	for i, id := range ids {
		s.Handle(now, Command{Ticket: Ticket(100 + i), Client: Client{Software: "kgo"}, Request: beatOf(id)})
	}
	left, ok := s.WaitLeft(now.Add(time.Second), "g", 101)
	require.True(t, ok)
	require.Equal(t, 7*time.Second, left)
	for _, group := range []string{"g", "none"} {
		_, ok = s.WaitLeft(now, group, 7)
		require.False(t, ok)
		require.Empty(t, s.EndWait(now, group, 7))
	}
	fx := s.EndWait(now.Add(2*time.Second), "g", 101)
	require.Len(t, fx.Replies, 1)
	require.Equal(t, Ticket(101), fx.Replies[0].Ticket)
	require.Equal(t, errNone, fx.Replies[0].Response.(*kmsg.HeartbeatResponse).ErrorCode)
	_, ok = s.WaitLeft(now, "g", 101)
	require.False(t, ok)
	_, ok = s.WaitLeft(now, "g", 100)
	require.True(t, ok, "the other waits on")
	require.Empty(t, s.EndWait(now, "g", 101), "once")
}

// A second round's answers wait by one timer.
func TestWaitsOfASecondRound(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	cfg.InitialRebalanceDelay, cfg.Prompt = 0, true
	s := NewShard(cfg, Deps{})
	now := time.Unix(1_700_000_000, 0)
	s.Loaded(now)
	join := func(ticket Ticket, member string, owned ...string) Effects {
		req := benchJoin(member, subscriptionBytes([]string{"foo"}, owned))
		req.Protocols[0].Name = "cooperative-sticky"
		return s.Handle(now, Command{Ticket: ticket, Client: Client{ID: "c", Software: "kgo"}, Request: req})
	}
	sync := func(ticket Ticket, generation int32, member string, assigned map[string]map[string][]int32) Effects {
		req := kmsg.NewPtrSyncGroupRequest()
		req.Version, req.Group, req.Generation, req.MemberID = 4, "g", generation, member
		for id, partitions := range assigned {
			a := kmsg.NewSyncGroupRequestGroupAssignment()
			a.MemberID, a.MemberAssignment = id, assignmentBytes(partitions)
			req.GroupAssignment = append(req.GroupAssignment, a)
		}
		return s.Handle(now, Command{Ticket: ticket, Client: Client{ID: "c", Software: "kgo"}, Request: req})
	}
	join(1, "")
	a := s.Tick(now).Replies[0].Response.(*kmsg.JoinGroupResponse).MemberID
	sync(2, 1, a, map[string]map[string][]int32{a: {"foo": {0, 1}}})
	join(3, "")
	var b string
	for _, r := range join(4, a, "foo-0", "foo-1").Replies {
		if id := r.Response.(*kmsg.JoinGroupResponse).MemberID; id != a {
			b = id
		}
	}
	require.NotEmpty(t, b)
	sync(5, 2, a, map[string]map[string][]int32{a: {"foo": {0}}})
	require.Empty(t, sync(6, 2, b, nil).Replies)
	left, ok := s.WaitLeft(now.Add(300*time.Millisecond), "g", 6)
	require.True(t, ok)
	require.Equal(t, 700*time.Millisecond, left)
	_, ok = s.WaitLeft(now, "g", 5)
	require.False(t, ok, "it was answered")
	fx := s.EndWait(now, "g", 6)
	require.Len(t, fx.Replies, 1)
	require.Equal(t, Ticket(6), fx.Replies[0].Ticket)
	require.Equal(t, errNone, fx.Replies[0].Response.(*kmsg.SyncGroupResponse).ErrorCode)
}

// The limit of ExpectMembers can come before its time, and takes effect once.
func TestEndOfAnExpectation(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	cfg.InitialRebalanceDelay = 0
	s := NewShard(cfg, Deps{})
	now := time.Unix(1_700_000_000, 0)
	s.Loaded(now)
	s.ExpectMembers(now, "g", 2, time.Minute)
	expecting, limited := s.Expecting("g")
	require.True(t, expecting)
	require.False(t, limited, "it runs from the first member on")
	s.Handle(now, Command{Ticket: 1, Client: Client{ID: "c"}, Request: benchJoin("", nil)})
	require.Empty(t, s.Tick(now).Replies)
	expecting, limited = s.Expecting("g")
	require.True(t, expecting)
	require.True(t, limited)
	require.Len(t, s.EndExpectation(now, "g").Replies, 1)
	expecting, limited = s.Expecting("g")
	require.False(t, expecting)
	require.False(t, limited)
	require.Empty(t, s.EndExpectation(now, "g"))
	_, ok := s.NextTimer(func(t Timer) bool { return t.Kind == "expect-members" })
	require.False(t, ok)
}

// Timers fire in the order of their deadlines, of equals in the order in which they were set, and none twice in one Tick.
func TestTickFiresInOrder(t *testing.T) {
	t.Parallel()
	s := NewShard(DefaultConfig(), Deps{})
	now := time.Unix(1_700_000_000, 0)
	s.begin(now)
	var fired []int
	timers := make([]timer, 8)
	for i := range timers {
		timers[i] = timer{kind: timerSession, fire: func() { fired = append(fired, i) }}
	}
	for i, d := range []time.Duration{5, 3, 3, 8, 1, 3, -4, 2} {
		s.startTimer(&timers[i], d*time.Second)
	}
	s.startTimer(&timers[1], 3*time.Second) // set anew: the last of its equals
	s.stopTimer(&timers[7])
	s.stopTimer(&timers[7])
	again := timer{kind: timerSession}
	again.fire = func() { fired = append(fired, 100); s.startTimer(&again, 0) }
	s.startTimer(&again, 5*time.Second)
	s.end()
	s.Tick(now)
	require.Equal(t, []int{6}, fired)
	s.Tick(now.Add(3 * time.Second))
	require.Equal(t, []int{6, 4, 2, 5, 1}, fired)
	s.Tick(now.Add(5 * time.Second))
	require.Equal(t, []int{6, 4, 2, 5, 1, 0, 100}, fired, "what is set to now waits for the next Tick")
	s.Tick(now.Add(5 * time.Second))
	require.Equal(t, []int{6, 4, 2, 5, 1, 0, 100, 100}, fired)
	at, ok := s.Deadline()
	require.True(t, ok)
	require.Equal(t, now.Add(5*time.Second), at)
}
