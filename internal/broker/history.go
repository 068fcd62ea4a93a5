package broker

import (
	"slices"
	"time"

	"github.com/fakekafka/fakekafka/groups"
)

// Kinds of events that are not the coordinator's.
const (
	EventFault         groups.EventKind = "fault" // a rule of the test acted on a request
	EventPaused        groups.EventKind = "paused"
	EventResumed       groups.EventKind = "resumed"
	EventBrokerStopped groups.EventKind = "broker stopped"
	EventBrokerStarted groups.EventKind = "broker started"
	EventLeaderMoved   groups.EventKind = "leader moved"
	EventTopicCreated  groups.EventKind = "topic created"
	EventTopicDeleted  groups.EventKind = "topic deleted"
	EventTopicGrown    groups.EventKind = "topic grown"
	EventTimeMoved     groups.EventKind = "time moved"
	EventSessionOpened groups.EventKind = "fetch session opened"
	EventSessionGone   groups.EventKind = "fetch session gone"
)

// maxHistory bounds what a long-lived broker remembers; a test stays far below it.
const maxHistory = 1 << 20

// history is everything that happened to groups and metadata, in the order of the control loop. Owned by the loop.
type history struct {
	events  []groups.Event
	dropped int // forgotten ones, the oldest
	started time.Time
}

func (h *history) add(e groups.Event) {
	if len(h.events) >= maxHistory {
		n := maxHistory / 4
		h.events = slices.Delete(h.events, 0, n)
		h.dropped += n
	}
	h.events = append(h.events, e)
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

// History is what happened to a group, and to the cluster at large, in order; "" for everything. From off the loop.
func (c *Cluster) History(group string) (events []groups.Event) {
	c.loop.look(func() { events = c.HistoryNow(group) })
	return events
}

// HistoryNow is History for who is on the loop.
func (c *Cluster) HistoryNow(group string) []groups.Event {
	var events []groups.Event
	for _, e := range c.history.events {
		if group == "" || e.Group == group {
			events = append(events, e)
		}
	}
	return events
}

// StartedAt is the broker's time when the cluster was started.
func (c *Cluster) StartedAt() time.Time { return c.history.started }

// Now is the broker's time.
func (c *Cluster) Now() time.Time { return c.clock.Now() }
