package groups

import (
	"slices"
	"time"
)

// State is a group at one moment, of either protocol. It is a value: nothing in it changes later.
type State struct {
	ID       string
	Protocol string // "classic" or "consumer"
	// Type is the classic protocol type ("consumer", "connect", ...; "" of a simple group), "consumer" for a consumer group.
	Type  string
	State string // as Kafka names it: Empty, PreparingRebalance, CompletingRebalance, Stable, Assigning, Reconciling
	// Epoch is the generation of a classic group, the group epoch of a consumer group.
	Epoch           int32
	AssignmentEpoch int32  // of a consumer group
	Assignor        string // classic: the chosen protocol ("range", ...); consumer: the server-side assignor
	Leader          string // member id; classic only
	Members         []MemberState
	// PendingMembers are the member ids that were given out by MEMBER_ID_REQUIRED and have not joined yet; classic only.
	PendingMembers []string
	// Offsets are the committed ones, by topic and partition; those of open transactions are not among them.
	Offsets []CommittedOffset
	// PendingOffsets are those of open transactions.
	PendingOffsets []CommittedOffset
	// HeldAt are the held steps at which the group stands.
	HeldAt []Step
}

// MemberState is one member of a State.
type MemberState struct {
	ID string
	// ClientID is the client id of who speaks for the member. A Shard doesn't know who does: from it this is DescribedClientID, and the broker, which knows,
	// puts the right one here.
	ClientID string
	// DescribedClientID is the client id that Kafka keeps, and shows in DescribeGroups. It is another one than ClientID where a process has taken a static
	// classic member's place: Kafka keeps that of the member's first.
	DescribedClientID string
	InstanceID        string // "" for a dynamic member
	Host              string // as Kafka shows it, "/127.0.0.1"
	// State is a consumer group's member's reconciliation state (Stable, UnrevokedPartitions, UnreleasedPartitions), or "Joined" or "Joining" in a classic
	// group. In both a member of the classic protocol is "Syncing" from the answer of its JoinGroup until it has been told its assignment.
	State string
	// Protocol is the protocol the member speaks: "classic" or "consumer".
	Protocol string
	// Epoch is the generation in the classic protocol. In the consumer protocol it is the member's own epoch, which stays behind the group's until the
	// member has given up what it must.
	Epoch int32
	// Subscribed are the topics it asks for, by name; nil where they cannot be read.
	Subscribed      []string
	SubscribedRegex string
	// Target is what it shall own, Owned what it was told it owns, Revoking what it was told to give up and has not confirmed yet: by topic
	// name. A classic member's Target is its Owned. Nil where the assignment is not of the consumer protocol.
	Target, Owned, Revoking map[string][]int32
	// Assignment is a classic member's assignment as its leader wrote it.
	Assignment      []byte
	LastHeartbeat   time.Time // the last request that renewed the session, or when the coordinator took the member over
	SessionDeadline time.Time // zero while no session timer runs
	// ParkedIn says which request waits for its answer: "join", "sync", "heartbeat" or "".
	ParkedIn string
}

// CommittedOffset is one committed offset.
type CommittedOffset struct {
	Topic       string
	Partition   int32
	Offset      int64
	LeaderEpoch int32 // -1: none
	Metadata    string
	CommittedAt time.Time
	ProducerID  int64 // of the open transaction, for pending offsets; else -1
}

// HasMember tells whether a group has a member of this id now.
func (s *Shard) HasMember(id, member string) bool {
	switch g := s.groups[id]; {
	case g == nil:
		return false
	case g.consumer != nil:
		return g.consumer.members[member] != nil
	default:
		return g.classic != nil && g.classic.members[member] != nil
	}
}

// Epoch is a classic group's generation or a consumer group's epoch; ok is false when there is no such group.
func (s *Shard) Epoch(id string) (epoch int32, ok bool) {
	if g := s.groups[id]; g != nil {
		return g.epoch(), true
	}
	return 0, false
}

// Committed is a group's committed offset of a partition, without the whole State.
func (s *Shard) Committed(id, topic string, partition int32) (offset int64, ok bool) {
	if g := s.groups[id]; g != nil {
		var v storedOffset
		v, ok = g.offsets.committed.get(topicPartition{topic, partition})
		return v.Offset, ok
	}
	return 0, false
}

// State answers how a group stands now; ok is false when there is no such group.
func (s *Shard) State(id string) (state State, ok bool) {
	g := s.groups[id]
	if g == nil {
		return State{}, false
	}
	switch {
	case g.consumer != nil:
		state = s.consumerState(g)
	case g.classic != nil:
		state = s.classicState(g)
	}
	state.ID = id
	state.Offsets, state.PendingOffsets = g.offsets.list()
	for step, h := range s.steps[id] {
		if h.resume != nil {
			state.HeldAt = append(state.HeldAt, step)
		}
	}
	slices.Sort(state.HeldAt)
	return state, true
}
