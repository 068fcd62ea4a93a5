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

// classicState is State for a classic group.
func (s *Shard) classicState(g *group) State {
	c := g.classic
	state := State{
		Protocol: "classic", Type: c.protocolType, State: string(c.state), Epoch: c.generation,
		Assignor: text(c.protocol), Leader: c.leader,
	}
	for _, m := range c.order {
		state.Members = append(state.Members, c.memberState(m))
	}
	for id := range c.pending {
		state.PendingMembers = append(state.PendingMembers, id)
	}
	slices.Sort(state.PendingMembers)
	return state
}

func (c *classicGroup) memberState(m *classicMember) MemberState {
	ms := MemberState{
		ID: m.id, ClientID: m.clientID, DescribedClientID: m.clientID, InstanceID: text(m.instanceID), Host: m.clientHost,
		State: "Joined", Protocol: "classic", Epoch: c.generation,
		Assignment: m.assignment, LastHeartbeat: m.lastBeat,
	}
	if m.session.running {
		ms.SessionDeadline = m.session.at
	}
	switch {
	case m.join != nil:
		ms.ParkedIn, ms.State = "join", "Joining"
	case m.sync != nil:
		ms.ParkedIn, ms.State = "sync", "Syncing"
	case m.beat != nil:
		ms.ParkedIn = "heartbeat"
	}
	if m.uninformed && m.join == nil && c.state != classicPreparing {
		ms.State = "Syncing" // even where the leader's assignment is stored: the member has not asked for its own
	}
	if c.protocolType == consumerProtocolType {
		c.showPartitions(&ms, m)
	}
	return ms
}

// showPartitions reads what a consumer has written, and was written, about topics and partitions.
func (c *classicGroup) showPartitions(ms *MemberState, m *classicMember) {
	ms.Owned, _ = assignedPartitions(m.assignment)
	ms.Target = ms.Owned
	metadata := m.metadata(c.protocol)
	if c.protocol == nil && len(m.protocols) > 0 {
		metadata = m.protocols[0].metadata
	}
	if topics, err := subscribedTopics(metadata); err == nil {
		slices.Sort(topics)
		ms.Subscribed = topics
	}
	if !m.loses {
		return
	}
	for topic, partitions := range ownedPartitions(metadata) {
		for _, p := range partitions {
			if !slices.Contains(ms.Owned[topic], p) {
				if ms.Revoking == nil {
					ms.Revoking = make(map[string][]int32)
				}
				ms.Revoking[topic] = append(ms.Revoking[topic], p)
			}
		}
	}
}

// consumerState is the group as State shows it.
func (s *Shard) consumerState(group *group) State {
	g := group.consumer
	state := State{
		Protocol: "consumer", Type: "consumer", State: g.stateName(),
		Epoch: g.groupEpoch, AssignmentEpoch: g.assignmentEpoch,
	}
	if a := s.chosenAssignor(g); a != nil {
		state.Assignor = a.Name()
	}
	for _, id := range g.order {
		m := g.members[id]
		ms := MemberState{
			ID: id, ClientID: m.clientID, DescribedClientID: m.clientID, InstanceID: m.instance(), Host: m.clientHost,
			State: m.state.name(), Protocol: "consumer", Epoch: m.epoch,
			Subscribed: slices.Clone(m.names), SubscribedRegex: m.regex,
			Target: s.named(ownershipOf(g.target[id], 0)), Owned: s.named(m.assigned), Revoking: s.named(m.pending),
			LastHeartbeat: m.lastBeat,
		}
		if m.usesClassic() {
			ms.Protocol = "classic"
		}
		if m.sync.running {
			ms.State = "Syncing" // it has joined again and does not know yet what it owns
		}
		if m.session.running {
			ms.SessionDeadline = m.session.at
		}
		if m.held != nil {
			ms.ParkedIn = "heartbeat"
		}
		state.Members = append(state.Members, ms)
	}
	return state
}

// name is the state as MemberState has it.
func (m memberState) name() string {
	switch m {
	case memberStable:
		return "Stable"
	case memberUnrevoked:
		return "UnrevokedPartitions"
	case memberUnreleased:
		return "UnreleasedPartitions"
	}
	return "Unknown"
}
