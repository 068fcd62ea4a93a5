package groups

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// timerKind says what a timer waits for.
type timerKind uint8

const (
	timerSession       timerKind = iota // a member or pending id falls silent
	timerJoin                           // the classic join phase ends
	timerInitialDelay                   // the first rebalance of an Empty classic group begins
	timerSync                           // classic members that have not synced are removed
	timerRevocation                     // a consumer member has not given up what it must (rebalance timeout)
	timerHold                           // a held heartbeat is answered
	timerSecondRound                    // classic: sync answers wait for a rejoin (prompt.go)
	timerExpectMembers                  // the limit of ExpectMembers
	timerExpiration                     // clean-up of offsets and groups
	timerAssignment                     // a delayed run of the server-side assignor
)

func (k timerKind) String() string {
	return [...]string{"session", "join", "initial-delay", "sync", "revocation", "hold", "second-round", "expect-members", "expiration", "assignment"}[k]
}

// timer is one entry of the shard's heap while it runs.
type timer struct {
	kind   timerKind
	group  string
	member string
	fire   func() // runs inside a step, with s.now set; the timer is stopped before

	at      time.Time
	seq     uint64 // breaks ties: what was set first fires first
	index   int
	running bool
}

// timerHeap orders timers by deadline.
type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	if h[i].at.Equal(h[j].at) {
		return h[i].seq < h[j].seq
	}
	return h[i].at.Before(h[j].at)
}
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}

// startTimer starts or restarts t so that it fires d from now.
func (s *Shard) startTimer(t *timer, d time.Duration) {
	s.timerSeq++
	t.at, t.seq = s.now.Add(max(d, 0)), s.timerSeq
	if t.running {
		heap.Fix(&s.timers, t.index)
		return
	}
	t.running = true
	heap.Push(&s.timers, t)
}

// stopTimer stops t, if it is there and runs.
func (s *Shard) stopTimer(t *timer) {
	if t != nil && t.running {
		heap.Remove(&s.timers, t.index)
		t.running = false
	}
}

// Deadline is when Tick is next wanted; ok is false when nothing is.
func (s *Shard) Deadline() (at time.Time, ok bool) {
	if len(s.timers) == 0 {
		return time.Time{}, false
	}
	return s.timers[0].at, true
}

// Tick fires the timers that are due at now, one at a time in the order of their deadlines.
// A timer that is set to now while Tick runs waits for the next Tick.
func (s *Shard) Tick(now time.Time) Effects {
	s.begin(now)
	last := s.timerSeq
	// A timer set during this call stands at now or later and after its equals, so the first of them ends the loop.
	for len(s.timers) > 0 && !s.timers[0].at.After(now) && s.timers[0].seq <= last {
		t := heap.Pop(&s.timers).(*timer)
		t.running = false
		t.fire()
	}
	return s.end()
}

// Timer is a running timer, as FastForward wants to know it.
type Timer struct {
	Kind     string // "session", "join", "initial-delay", "sync", "revocation", "hold", ...
	Group    string
	Member   string // "" where the timer is the group's
	Deadline time.Time
	// WaitsForClients: the timer limits how long living clients may take (join, sync, revocation): time should not
	// be advanced past it before they answered.
	WaitsForClients bool
	// IO: the timer only delays an answer (a held heartbeat).
	IO bool
}

// NextTimer is the running timer with the earliest deadline among those that want says yes to.
func (s *Shard) NextTimer(want func(Timer) bool) (next Timer, ok bool) {
	var best *timer
	var look func(i int)
	look = func(i int) {
		if i >= len(s.timers) || best != nil && !s.timers.Less(i, best.index) {
			return // what lies below is later still
		}
		if t := s.timers[i]; want(t.shown()) {
			best = t
			return
		}
		look(2*i + 1)
		look(2*i + 2)
	}
	look(0)
	if best == nil {
		return Timer{}, false
	}
	return best.shown(), true
}

// isWait says that the timer only delays an answer to a client, which bears that for a time of its own.
func (k timerKind) isWait() bool {
	return k == timerHold || k == timerSecondRound || k == timerExpectMembers
}

func (t *timer) shown() Timer {
	return Timer{
		Kind: t.kind.String(), Group: t.group, Member: t.member, Deadline: t.at,
		WaitsForClients: t.kind == timerJoin || t.kind == timerSync || t.kind == timerRevocation,
		IO:              t.kind.isWait(),
	}
}

// Idle says that a timer finds nothing to do, if nothing else happens before it fires: the clean-up of a shard without groups.
func (s *Shard) Idle(t Timer) bool { return t.Kind == timerExpiration.String() && len(s.groups) == 0 }

// AwaitedBy are the members whose doing ends a timer that WaitsForClients.
func (s *Shard) AwaitedBy(t Timer) []string {
	if t.Member != "" {
		return []string{t.Member}
	}
	g := s.groups[t.Group]
	if g == nil || g.classic == nil {
		return nil
	}
	var ids []string
	for _, m := range g.classic.order {
		_, unsynced := g.classic.unsynced[m.id]
		if t.Kind == timerJoin.String() && m.join == nil || t.Kind == timerSync.String() && unsynced {
			ids = append(ids, m.id)
		}
	}
	return ids
}

// TouchAll counts as a heartbeat of every member with a session timer to which want says yes.
func (s *Shard) TouchAll(now time.Time, want func(group, member string) bool) {
	var living []*timer
	for _, t := range s.timers {
		if t.kind == timerSession && want(t.group, t.member) {
			living = append(living, t)
		}
	}
	// Restarted in the order in which they ran, so that ties later are broken as before.
	slices.SortFunc(living, func(a, b *timer) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.seq, b.seq)) })
	for _, t := range living {
		s.Touch(now, t.group, t.member)
	}
}

// ShiftWaits moves the timers that only delay an answer by d: time has leapt, but not for the clients that wait.
func (s *Shard) ShiftWaits(d time.Duration) {
	moved := false
	for _, t := range s.timers {
		if t.kind.isWait() {
			t.at = t.at.Add(d)
			moved = true
		}
	}
	if moved {
		heap.Init(&s.timers)
	}
}

// WaitLeft is how much longer the request of a ticket, of a member of the group, may wait for its answer by the timers that delay
// answers; ok is false where none of them concerns it.
func (s *Shard) WaitLeft(now time.Time, group string, ticket Ticket) (left time.Duration, ok bool) {
	if t := s.waitTimer(group, ticket); t != nil {
		return t.at.Sub(now), true
	}
	return 0, false
}

// EndWait fires the timer of WaitLeft.
func (s *Shard) EndWait(now time.Time, group string, ticket Ticket) Effects {
	s.begin(now)
	if t := s.waitTimer(group, ticket); t != nil {
		s.stopTimer(t)
		t.fire()
	}
	return s.end()
}

func (s *Shard) waitTimer(group string, ticket Ticket) *timer {
	if h := s.held[ticket]; h != nil {
		return &h.timer
	}
	if g := s.groups[group]; g != nil && g.classic != nil && g.classic.secondRound.running {
		for _, m := range g.classic.order {
			if m.sync != nil && m.sync.ticket == ticket || m.join != nil && m.join.ticket == ticket {
				return &g.classic.secondRound
			}
		}
	}
	return nil
}
