package groups

import (
	"slices"
	"time"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/records"
)

// consumerGroup is a group of the consumer protocol (KIP-848). What stands above "indexes" is durable: it changes only
// in consumer_log.go, by records. The indexes follow from it and are kept beside, so that no request walks the group.
type consumerGroup struct {
	id              string
	groupEpoch      int32
	epochRead       bool // groupEpoch is a record's, not that of a group without one
	metadataHash    int64
	members         map[string]*consumerMember
	target          map[string]partitionSet // by member id
	targetOrder     map[string]partitionSet // the same in the order of Kafka's sets (hashset.go), where that isn't ascending
	assignmentEpoch int32
	assignedAt      int64 // when the target was computed, in Unix milliseconds; 0: never, or by a conversion
	regexes         map[string]*resolvedRegex

	// Indexes.
	order  []string                             // member ids, ascending
	stored storedTable[string, *consumerMember] // members in the order of Kafka's table
	// static: instance id -> member id. As in Kafka, an id that a member had before it came back with another one stays its own, and stays
	// here when the member goes: nobody can use it then, until a member of that id is back.
	static map[string]string
	// owners is the partition epochs: the epoch of the member that has a partition assigned or pending revocation.
	owners           map[assignors.TopicID]map[int32]int32
	nameUsers        map[string]int // topic name -> members that name it
	regexTopics      map[string]int // topic name -> resolved expressions that match it
	regexUsers       map[string]int // expression -> members
	votes            map[string]int // preferred assignor -> members
	classicMembers   int
	classicProtocols map[string]int // protocol -> classic members that offer it
	stableAt         map[int32]int  // member epoch -> members in STABLE at it
	// counted is what wasHomogeneous says; nil: no expression was resolved or forgotten since a member's record, it is what homogeneous says.
	counted *bool
	former  int // see consumerTx.countFormer; 0 between steps
	// subscriptions counts the changes to the set of subscribed topics.
	subscriptions uint64

	consumerSoft
}

// consumerSoft is what of a group is not in the log.
type consumerSoft struct {
	// metadataStale asks the next heartbeat to compare the stored hash with the topics there are: a subscribed one changed, or the group is
	// new or was loaded. A hash that differs for another reason (an expression went without a bump) is not noticed.
	metadataStale bool
	hash          hashCache
	// unreleased says which held heartbeat waits for a partition to become free.
	unreleased map[assignors.TopicID]map[int32]string
	// freed are the members for whom a partition became free.
	freed map[string]struct{}
	// assign fires when a target that is due later (assignment interval) may be computed.
	assign    *timer
	principal string // of the request that asked for the resolution
	// heldAt is the assignment epoch at which heartbeats were last let go.
	heldAt int32
	// doomed: the group had no members when a classic one joined with a member id. Kafka forgets the group then, but writes nothing,
	// so that it is still shown, and there again after a restart; the next member finds none.
	doomed bool
	// toldStable keeps the event from coming twice.
	toldStable int32
	// left are the timers of classic members whose places others took, by their ids: who joins with such an id has them. Nil: there were none.
	left map[string]*memberTimers
}

// consumerMember is one member. Its attributes and its assignment are durable.
type consumerMember struct {
	id string
	memberAttributes
	memberAssignment
	memberSoft
}

// memberAttributes is what a member says about itself.
type memberAttributes struct {
	instanceID         *string
	rackID             *string
	clientID           string
	clientHost         string
	names              []string // subscribed topics, ascending
	regex              string   // "": none
	rebalanceTimeoutMs int32
	assignor           *string
	classic            *records.ClassicMember // of a member that speaks the classic protocol
}

// memberSoft is what of a member is not in the log.
type memberSoft struct {
	*memberTimers
	held   *heldReply
	gaveUp time.Duration // see group.gaveUp
	toldBy uint64        // the connection that the last answer with an assignment went to, until the member speaks by it again
	fenced bool          // by the test: the next request fails
}

// memberTimers are the timers of a member id. As in Kafka, they are not the member's: one that takes its own place has them, too.
type memberTimers struct {
	session  timer
	timeout  time.Duration // of the session
	revoke   timer         // the rebalance timeout, while it must revoke
	join     timer         // classic: it was told to rejoin; neither ends when the member goes on with the new protocol, as in Kafka
	sync     timer         // classic: it has joined and not synced
	lastBeat time.Time
}

func newConsumerGroup(id string) *consumerGroup {
	return &consumerGroup{
		id: id, groupEpoch: 1, assignmentEpoch: 1,
		members: make(map[string]*consumerMember),
		target:  make(map[string]partitionSet),

		targetOrder: make(map[string]partitionSet),
		regexes:     make(map[string]*resolvedRegex),

		static:           make(map[string]string),
		owners:           make(map[assignors.TopicID]map[int32]int32),
		nameUsers:        make(map[string]int),
		regexTopics:      make(map[string]int),
		regexUsers:       make(map[string]int),
		votes:            make(map[string]int),
		classicProtocols: make(map[string]int),
		stableAt:         make(map[int32]int),
		consumerSoft:     consumerSoft{metadataStale: true},
	}
}

func (g *consumerGroup) empty() bool { return len(g.members) == 0 }

// stateName is the group's state as Kafka says it; it is derived, never stored.
func (g *consumerGroup) stateName() string {
	switch {
	case len(g.members) == 0:
		return "Empty"
	case g.groupEpoch > g.assignmentEpoch:
		return "Assigning"
	case g.stableAt[g.assignmentEpoch] < len(g.members):
		return "Reconciling"
	}
	return "Stable"
}

// subscribedTo says whether a member subscribes to the topic, by name or by a resolved regex.
func (g *consumerGroup) subscribedTo(topic string) bool {
	return g.nameUsers[topic] > 0 || g.regexTopics[topic] > 0
}

// subscribedTopics are all of them, ascending, existing or not.
func (g *consumerGroup) subscribedTopics() []string {
	names := make([]string, 0, len(g.nameUsers)+len(g.regexTopics))
	for name := range g.nameUsers {
		names = append(names, name)
	}
	for name := range g.regexTopics {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// orderedTarget is a member's target in the order of Kafka's sets.
func (g *consumerGroup) orderedTarget(id string) partitionSet {
	if order, ok := g.targetOrder[id]; ok {
		return order
	}
	return g.target[id]
}

// setTarget takes over the lists of a target record; nil takes the target away.
func (g *consumerGroup) setTarget(id string, lists partitionSet) {
	delete(g.target, id)
	delete(g.targetOrder, id)
	if lists == nil {
		return
	}
	if order := iterationOrder(lists); order != nil {
		g.targetOrder[id] = order
	}
	g.target[id] = sortedSet(lists)
}

// memberSubscribes says whether the member subscribes to the topic, by name or by its resolved expression.
func (g *consumerGroup) memberSubscribes(m *consumerMember, topic string) bool {
	if _, ok := slices.BinarySearch(m.names, topic); ok {
		return true
	}
	if m.regex == "" || g.regexes[m.regex] == nil {
		return false
	}
	_, ok := slices.BinarySearch(g.regexes[m.regex].topics, topic)
	return ok
}

// ownerEpoch is the epoch of the member that has the partition assigned or pending revocation; -1: it is free.
// An absent static member owns at -2.
func (g *consumerGroup) ownerEpoch(topic assignors.TopicID, partition int32) int32 {
	if epoch, ok := g.owners[topic][partition]; ok {
		return epoch
	}
	return -1
}

func (g *consumerGroup) free(topic assignors.TopicID, partition int32) bool {
	return g.ownerEpoch(topic, partition) == -1
}

// settled says that there is nothing for the member to hear before the next target.
func (g *consumerGroup) settled(m *consumerMember) bool {
	return m.state == memberStable && m.epoch == g.assignmentEpoch
}

// holder is the member that an instance id belongs to; nil: nobody has it. It is refused if its member is gone and left it behind.
func (g *consumerGroup) holder(instanceID string) (*consumerMember, *refusal) {
	id, ok := g.static[instanceID]
	if !ok {
		return nil, nil
	}
	if m := g.members[id]; m != nil {
		return m, nil
	}
	return nil, unknownMember(id, g.id)
}

// instanceOf is the member with this id, if the instance id belongs to it.
func (g *consumerGroup) instanceOf(instanceID, member string) (*consumerMember, *refusal) {
	holder, r := g.holder(instanceID)
	switch {
	case r != nil:
		return nil, r
	case holder == nil:
		return nil, refuse(errUnknownMemberID, "Instance id %s is unknown.", instanceID)
	case holder.id != member:
		return nil, refuse(errFencedInstanceID, "Static member %s with instance id %s was fenced by member %s.", member, instanceID, holder.id)
	}
	return holder, nil
}

func (m *consumerMember) usesClassic() bool { return m.classic != nil }

func (m *consumerMember) instance() string { return text(m.instanceID) }

// named is how causes name the member.
func (m *consumerMember) named() string { return calledInCauses(m.id, m.instanceID, m.clientID) }

func (a memberAttributes) equal(b memberAttributes) bool {
	return equalStrings(a.instanceID, b.instanceID) && equalStrings(a.rackID, b.rackID) &&
		a.clientID == b.clientID && a.clientHost == b.clientHost && slices.Equal(a.names, b.names) &&
		a.regex == b.regex && a.rebalanceTimeoutMs == b.rebalanceTimeoutMs && equalStrings(a.assignor, b.assignor) &&
		equalClassic(a.classic, b.classic)
}

func equalStrings(a, b *string) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func equalClassic(a, b *records.ClassicMember) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.SessionTimeoutMs == b.SessionTimeoutMs &&
		slices.EqualFunc(a.Protocols, b.Protocols, func(x, y records.ClassicProtocol) bool {
			return x.Name == y.Name && string(x.Metadata) == string(y.Metadata)
		})
}
