package broker

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fakekafka/fakekafka/groups"
)

// Kinds of events that are not the coordinator's.
const (
	EventFault         groups.EventKind = "fault"   // a rule of the test acted on a request
	EventRefused       groups.EventKind = "refused" // a member's request was, by the coordinator
	EventPaused        groups.EventKind = "paused"
	EventResumed       groups.EventKind = "resumed"
	EventBrokerStopped groups.EventKind = "broker stopped"
	EventBrokerStarted groups.EventKind = "broker started"
	EventLeaderMoved   groups.EventKind = "leader moved"
	EventTimeMoved     groups.EventKind = "time moved"
	EventTestEnded     groups.EventKind = "the test's function ended"
	EventDeadline      groups.EventKind = "go test is about to end the test"
	EventSessionOpened groups.EventKind = "fetch session opened"
	EventSessionGone   groups.EventKind = "fetch session gone"
)

// maxHistory bounds what a long-lived broker remembers; a test stays far below it.
const maxHistory = 1 << 20

// historyFor is how many events a broker remembers whose memory is bounded: they take a tenth of it, at what an event of a group usually takes. 0: no bound.
func historyFor(memory int64) int {
	if memory == 0 {
		return maxHistory
	}
	return int(min(max(memory/10/usualEvent, 2*chunk), maxHistory))
}

// usualEvent is how many bytes an event of a group usually takes.
const usualEvent = 320

// longText is how many bytes of text an event keeps, 0 where that is not much. Names are made up by clients, who may be strangers to the group, and be of 32 KiB.
func longText(e *groups.Event) int {
	const notMuch = 1 << 10
	n := len(e.Group) + len(e.ClientID) + len(e.Member) + len(e.InstanceID) + len(e.Cause)
	if e.Kind == EventRefused {
		for topic := range e.Partitions {
			n += len(topic)
		}
	}
	if n <= notMuch {
		return 0
	}
	return n
}

// chunk is how many events are allocated at once, once there are many. What is remembered is never copied.
const chunk = 1 << 10

// history is everything that happened to groups and metadata, in the order of the control loop. Owned by the loop.
type history struct {
	chunks  [][]groups.Event
	n       int // events in them
	long    int // bytes of the long texts in them
	limit   int // how many at most
	started time.Time
}

func (h *history) add(e groups.Event) {
	last := len(h.chunks) - 1
	if last < 0 || len(h.chunks[last]) == cap(h.chunks[last]) {
		for h.n > h.limit-chunk || h.long > h.limit*usualEvent && len(h.chunks) > 0 {
			h.forgetOldest()
		}
		h.chunks = append(h.chunks, make([]groups.Event, 0, min(max(h.n, 16), chunk)))
		last = len(h.chunks) - 1
	}
	h.chunks[last] = append(h.chunks[last], e)
	h.n++
	h.long += longText(&e)
}

func (h *history) forgetOldest() {
	for i := range h.chunks[0] {
		h.long -= longText(&h.chunks[0][i])
	}
	h.n -= len(h.chunks[0])
	h.chunks = slices.Delete(h.chunks, 0, 1)
}

// repeats tells whether the same was added a moment ago: a client that goes on asking for what it doesn't get is told of once.
func (h *history) repeats(e groups.Event) bool {
	if len(h.chunks) == 0 {
		return false
	}
	last := h.chunks[len(h.chunks)-1]
	for i := len(last) - 1; i >= max(0, len(last)-16); i-- {
		if o := &last[i]; o.Kind == e.Kind && o.Group == e.Group && o.ClientID == e.ClientID && o.Cause == e.Cause && maps.EqualFunc(o.Partitions, e.Partitions, slices.Equal[[]int32]) {
			return true
		}
	}
	return false
}

// historyAdd adds an event that is not of one group's coordinator. On the loop.
func (c *Cluster) historyAdd(kind groups.EventKind, client, cause string) {
	c.history.add(groups.Event{At: c.clock.Now(), Kind: kind, ClientID: client, Cause: cause})
}

// note adds to the history from off the loop.
func (c *Cluster) note(e groups.Event) {
	c.loop.post(func() {
		e.At = c.clock.Now()
		c.history.add(e)
	})
}

// NoteEnd notes, for who reads a timeline, that the test ends: these holds are let go and all pauses lifted, so that what comes is not what the test saw. Where there are none it
// notes nothing. From off the loop.
func (c *Cluster) NoteEnd(how groups.EventKind, holds []string) {
	all := append(c.pauses.names(), holds...)
	if len(all) == 0 {
		return
	}
	all, more := firstNames(all)
	c.loop.do(func() { c.historyAdd(how, "", "let go are "+strings.Join(all, ", ")+more) })
}

// History is what happened to a group, and to the cluster at large, in order; "" for everything. From off the loop.
func (c *Cluster) History(group string) (events []groups.Event) {
	c.loop.look(func() { events = c.historyNow(group) })
	return events
}

// HistoryAround is a group's History, and between its events what the test did to the time, to brokers and to the group's clients: for a reader. From off the loop.
func (c *Cluster) HistoryAround(group string) (events []groups.Event) {
	c.loop.look(func() {
		clients := map[string]bool{"": true} // "": all are cut off
		for _, some := range c.history.chunks {
			for i := range some {
				e := &some[i]
				switch {
				case e.Group == group:
					clients[e.ClientID] = true
				case len(events) == 0 || e.Group != "":
					continue // not yet of interest, or another group's
				case e.Kind == EventTimeMoved || e.Kind == EventBrokerStopped || e.Kind == EventBrokerStarted || e.Kind == EventTestEnded || e.Kind == EventDeadline:
				case (e.Kind == EventPaused || e.Kind == EventResumed) && clients[e.ClientID]:
				default:
					continue
				}
				events = append(events, *e)
			}
		}
	})
	return events
}

// historyNow is History for callers on the loop.
func (c *Cluster) historyNow(group string) []groups.Event {
	var events []groups.Event
	for _, some := range c.history.chunks {
		for i := range some {
			if e := &some[i]; group == "" || e.Group == group {
				events = append(events, *e)
			}
		}
	}
	return events
}

// StartedAt is the broker's time when the cluster was started.
func (c *Cluster) StartedAt() time.Time { return c.history.started }

// Now is the broker's time.
func (c *Cluster) Now() time.Time { return c.clock.Now() }
