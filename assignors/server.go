package assignors

import "slices"

// TopicID is a topic's 16-byte id, in the byte order of the wire.
type TopicID = [16]byte

// ServerAssignor decides who owns what in a group of the consumer protocol (KIP-848).
// The group coordinator calls it; a user may register one of their own by name.
type ServerAssignor interface {
	// Name is what clients name in ServerAssignor and operators in group.consumer.assignors.
	Name() string
	// Assign answers the target of every member of in.Members. It must not change its input;
	// a member whose target does not change may be answered with the very map it came with. The lists in the built-in assignors'
	// answers share memory with each other and with the input: copy one before you change it.
	Assign(in ServerInput) (map[string]Partitions, error)
}

// OrderedServerAssignor is how the group coordinator asks the built-in assignors: with members and lists in an order that matters, and without a
// map for every member in the answer, which would cost more than all the rest.
type OrderedServerAssignor interface {
	ServerAssignor
	// AssignOrdered is Assign where the members, and the lists of their previous targets, stand in the order to be walked. Kafka keeps both in hash
	// tables, whose order is not that of ids and numbers: it decides who has one more than others, and which partitions a member with too
	// many keeps. Each member's id stands there once.
	//
	// It answers the shares of each of in.Members, in their order: by topic id as Java orders them, no topic without partitions. Partitions
	// stand in the order in which Kafka fills its sets: what a member keeps, in the order it came, then what it gains. Nil, as opposed to
	// an empty list, says that the member's target does not change.
	AssignOrdered(in ServerInput) ([][]Share, error)
}

// Partitions are partition numbers, ascending, by topic id.
type Partitions map[TopicID][]int32

// Share is what a target has of one topic.
type Share struct {
	Topic      TopicID
	Partitions []int32
}

// Shares lists a target by topic id, without the topics of which it has no partition.
func (p Partitions) Shares() []Share {
	shares := make([]Share, 0, len(p))
	for id, ps := range p {
		if len(ps) > 0 {
			shares = append(shares, Share{id, ps})
		}
	}
	slices.SortFunc(shares, func(a, b Share) int { return compareTopicIDs(a.Topic, b.Topic) })
	return shares
}

// ServerInput is a group as the coordinator shows it to a ServerAssignor.
type ServerInput struct {
	Members []ServerMember
	// Homogeneous: every member subscribes to the same topics.
	Homogeneous bool
	// Topics describes every topic some member subscribes to; an id that is missing here is unknown.
	Topics map[TopicID]ServerTopic
}

// ServerMember is one member of a ServerInput.
type ServerMember struct {
	ID         string
	InstanceID *string // group.instance.id of a static member
	Rack       *string
	Topics     []TopicID  // subscribed topics that exist; members may share one slice
	Target     Partitions // the previous target, nil for a new member
}

// ServerTopic is what an assignor may know of a topic.
type ServerTopic struct {
	Name       string
	Partitions int32
	Racks      [][]string // racks of the replicas, by partition; nil when no broker has a rack
}
