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
	timerSecondRound                    // classic: sync answers wait for a rejoin (prompt heartbeats, rule 3)
	timerExpectMembers                  // the limit of ExpectMembers
	timerExpiration                     // clean-up of offsets and groups
	timerAssignment                     // a delayed run of the server-side assignor
	timerRegex                          // resolution of regular expressions
)

func (k timerKind) String() string {
	return [...]string{"session", "join", "initial-delay", "sync", "revocation", "hold", "second-round", "expect-members", "expiration", "assignment", "regex"}[k]
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

// Timers are the running timers in order of deadline.
func (s *Shard) Timers() []Timer {
	sorted := slices.Clone(s.timers)
	slices.SortFunc(sorted, func(a, b *timer) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.seq, b.seq))
	})
	out := make([]Timer, len(sorted))
	for i, t := range sorted {
		out[i] = Timer{
			Kind: t.kind.String(), Group: t.group, Member: t.member, Deadline: t.at,
			WaitsForClients: t.kind == timerJoin || t.kind == timerSync || t.kind == timerRevocation,
			IO:              t.kind == timerHold || t.kind == timerSecondRound,
		}
	}
	return out
}
