package groups

import (
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
)

// Ticket names a request that is being handled; its Reply carries it back. The driver makes them, unique
// within a shard's life. Zero is never a request's.
type Ticket uint64

// Client is who sent a command.
type Client struct {
	ID       string // client.id of the request header
	Host     string // "/127.0.0.1", as Kafka shows it
	Software string // ClientSoftwareName of ApiVersions, "" if it sent none
	// Principal is "User:ANONYMOUS" without authentication.
	Principal string
	// Connection tells the connections of clients apart; 0: not known.
	Connection uint64
}

// Command is one request. Request is one of kmsg's group requests, its Version set:
// JoinGroup, SyncGroup, Heartbeat, LeaveGroup, DescribeGroups, ListGroups, DeleteGroups, OffsetCommit, OffsetFetch,
// OffsetDelete, TxnOffsetCommit, ConsumerGroupHeartbeat, ConsumerGroupDescribe.
// Where a request names several groups (DescribeGroups, DeleteGroups, OffsetFetch v8+, ConsumerGroupDescribe)
// the driver splits it by shard. It joins the answers to OffsetFetch in the order asked, the others by partition of __consumer_offsets, in the
// order of Kafka's hash map of those.
type Command struct {
	Ticket  Ticket
	Client  Client
	Request kmsg.Request
	// Verify asks the transaction coordinator about a TxnOffsetCommit, once there is something to be written: its error is the answer for every
	// partition. Nil: it has agreed.
	Verify func() int16
}

// Reply answers the command of its ticket.
type Reply struct {
	Ticket   Ticket
	Response kmsg.Response
}

// Record is one record of __consumer_offsets in Kafka's own bytes; a nil Value is a tombstone.
type Record struct {
	Key, Value []byte
}

// Batch is what must stand in the log in one batch: all of it or nothing.
// A batch of pending offsets (TxnOffsetCommit) carries the producer.
type Batch struct {
	Records       []Record
	ProducerID    int64 // -1: not transactional
	ProducerEpoch int16
}

// Effects is what a step of the shard asks of its driver, in this order: write the batches, then send the
// replies, then publish the events. The shard's state is already that after the batches.
type Effects struct {
	Batches []Batch
	Replies []Reply
	Events  []Event
}

// Config is the broker's settings that the coordinator reads; DefaultConfig has Kafka's defaults. Kafka's documentation
// describes each under the name in the comment.
type Config struct {
	InitialRebalanceDelay   time.Duration // group.initial.rebalance.delay.ms
	MinSessionTimeout       time.Duration // group.min.session.timeout.ms
	MaxSessionTimeout       time.Duration // group.max.session.timeout.ms
	MaxSize                 int           // group.max.size
	OffsetMetadataMaxBytes  int           // offset.metadata.max.bytes
	OffsetsRetention        time.Duration // offsets.retention.minutes
	OffsetsRetentionCheck   time.Duration // offsets.retention.check.interval.ms
	ConsumerSessionTimeout  time.Duration // group.consumer.session.timeout.ms
	ConsumerMinSession      time.Duration // group.consumer.min.session.timeout.ms
	ConsumerMaxSession      time.Duration // group.consumer.max.session.timeout.ms
	ConsumerHeartbeat       time.Duration // group.consumer.heartbeat.interval.ms
	ConsumerMinHeartbeat    time.Duration // group.consumer.min.heartbeat.interval.ms
	ConsumerMaxHeartbeat    time.Duration // group.consumer.max.heartbeat.interval.ms
	ConsumerAssignment      time.Duration // group.consumer.assignment.interval.ms
	ConsumerMinAssignment   time.Duration // group.consumer.min.assignment.interval.ms
	ConsumerMaxAssignment   time.Duration // group.consumer.max.assignment.interval.ms
	ConsumerMaxSize         int           // group.consumer.max.size
	ConsumerRegexRefresh    time.Duration // group.consumer.regex.refresh.interval.ms
	ConsumerMigrationPolicy string        // group.consumer.migration.policy, lower case
	ConsumerProtocol        bool          // group.version >= 1 and "consumer" in group.coordinator.rebalance.protocols

	// Assignors are the server-side ones, the first being the default: group.consumer.assignors.
	Assignors []assignors.ServerAssignor

	// GroupConfig answers a group's own setting (IncrementalAlterConfigs on resource type GROUP), such as
	// "consumer.session.timeout.ms"; ok is false where the group has none. Nil: no group has any.
	GroupConfig func(group, name string) (value string, ok bool)

	// Prompt turns on prompt heartbeats and, of Kafka's own assignors, one run per Flush; off under KafkaTimings.
	Prompt bool
	// InitialRebalanceDelaySet says that the operator set group.initial.rebalance.delay.ms, so that it extends as Kafka's does with Prompt too.
	InitialRebalanceDelaySet bool
	// ConsumerHeartbeatSet says that the operator set group.consumer.heartbeat.interval.ms, so that Prompt leaves it alone.
	ConsumerHeartbeatSet bool
	// ConsumerAssignmentSet says the same of group.consumer.assignment.interval.ms: Prompt has no interval otherwise.
	ConsumerAssignmentSet bool
}

// Topic is what the coordinator may know of a topic.
type Topic struct {
	Name       string
	ID         assignors.TopicID
	Partitions int32
	Racks      [][]string // racks of the replicas, by partition; nil when no broker has a rack
}

// Metadata is an immutable picture of the cluster's topics.
type Metadata interface {
	Topic(name string) (Topic, bool)
	TopicByID(id assignors.TopicID) (Topic, bool)
	// TopicNames are all of them, ascending, internal ones included.
	TopicNames() []string
	// Version grows with every change of the topics.
	Version() int64
	// LastCreated is the version of the last change that created a topic.
	LastCreated() int64
}

// Deps is what a shard needs from outside.
type Deps struct {
	Partition int32      // of __consumer_offsets
	Rand      *rand.Rand // member ids; seeded by the driver
	Metadata  Metadata   // the first picture; later ones come by Shard.MetadataChanged
	// MaxBatchBytes is the size of the largest batch that the log takes now, its header included; nil: no batch is too large.
	MaxBatchBytes func() int
	// MayDescribe says whether a principal may DESCRIBE a topic; nil: everybody may.
	MayDescribe func(principal, topic string) bool
}

// Step names a place at which a group can be held: see Shard.Hold.
type Step string

const (
	// StepJoinBarrier is the end of a classic join phase: members wait for their JoinGroup answers.
	StepJoinBarrier Step = "JoinBarrier"
	// StepAssign is the run of the server-side assignor of a consumer group.
	StepAssign Step = "Assign"
)

// EventKind says what happened.
type EventKind string

// Event is one line of a group's history. Fields that don't apply are zero.
type Event struct {
	At         time.Time
	Group      string
	Kind       EventKind
	Member     string // member id
	ClientID   string // of who speaks for the member (see MemberState), or who asked
	InstanceID string
	// Replaces is the member id whose place was taken, of a static member that came back.
	Replaces string
	Epoch    int32 // generation of a classic group, group or member epoch of a consumer group
	// Cause says why, in words with numbers: "session timeout of 45s passed", "worker-2 joined".
	Cause string
	// Partitions by topic name, where the event is about partitions: assigned (all that the member owns now), told to revoke, revoked,
	// committed; of a classic member's rejoined what it says it still owns.
	Partitions map[string][]int32
	// Offset of a commit of the single partition in Partitions.
	Offset int64
}
