package broker

import "github.com/fakekafka/fakekafka/groups"

// history is everything that happened to groups and metadata, in the order of the control loop. Owned by the loop.
type history struct {
	events []groups.Event
}

func (h *history) add(e groups.Event) { h.events = append(h.events, e) }

// EventFault is a rule of the test that acted on a request.
const EventFault groups.EventKind = "fault"
