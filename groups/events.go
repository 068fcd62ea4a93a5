package groups

import (
	"fmt"
	"strings"
)

// Kinds of events, of both protocols.
const (
	EventJoined           EventKind = "joined"             // a new member is in the group
	EventRejoined         EventKind = "rejoined"           // a known member asked again
	EventMemberIDGiven    EventKind = "member id given"    // answered MEMBER_ID_REQUIRED: the id is pending
	EventLeft             EventKind = "left"               // by LeaveGroup or a leaving heartbeat
	EventExpired          EventKind = "expired"            // session, rebalance or sync timeout
	EventEvicted          EventKind = "evicted"            // by the test
	EventReplaced         EventKind = "replaced"           // a static member came back under a new member id
	EventFenced           EventKind = "fenced"             // answered FENCED_INSTANCE_ID or FENCED_MEMBER_EPOCH
	EventRefused          EventKind = "refused"            // answered with an error whose reason the client is not told
	EventRebalance        EventKind = "rebalance"          // a classic rebalance began
	EventGeneration       EventKind = "generation"         // a classic generation was made
	EventToldToRebalance  EventKind = "told to rebalance"  // answered REBALANCE_IN_PROGRESS
	EventSynced           EventKind = "synced"             // the member asked for its assignment
	EventAssigned         EventKind = "assigned"           // the member was told what it owns
	EventToldToRevoke     EventKind = "told to revoke"     // the member was told to give partitions up
	EventRevoked          EventKind = "revoked"            // it did
	EventStable           EventKind = "stable"             // every member has what it shall have
	EventEmpty            EventKind = "empty"              // the last member is gone
	EventEpoch            EventKind = "epoch"              // a consumer group's epoch was bumped
	EventTarget           EventKind = "target"             // the server-side assignor has run
	EventCommitted        EventKind = "committed"          // an offset was committed
	EventOffsetsPending   EventKind = "offsets pending"    // offsets wait for their transaction to end
	EventOffsetsAborted   EventKind = "offsets aborted"    // the transaction was aborted
	EventOffsetsDeleted   EventKind = "offsets deleted"    // by OffsetDelete, or with their topic
	EventOffsetsExpired   EventKind = "offsets expired"    // by retention
	EventGroupCreated     EventKind = "group created"      //
	EventGroupDeleted     EventKind = "group deleted"      // by DeleteGroups or the clean-up
	EventConverted        EventKind = "converted"          // from one protocol to the other
	EventLoaded           EventKind = "loaded"             // by a coordinator that took over
	EventUnloaded         EventKind = "unloaded"           // the coordinator moved away
	EventHeld             EventKind = "held"               // something stands at a held step
	EventReleased         EventKind = "released"           // a step was released
	EventExpectationMet   EventKind = "expectation met"    // all members that ExpectMembers waits for are there
	EventExpectationLimit EventKind = "expectation missed" // the limit of ExpectMembers passed before that
)

// cut is a name as a cause tells it, which is kept with the history: a client may make up one of 32 KiB. It ends with a whole character.
func cut(name string) string {
	const most = 255
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}

// because gives an event its cause.
func (e Event) because(format string, args ...any) Event {
	e.Cause = fmt.Sprintf(format, args...)
	return e
}
