package wire

// FetchResponse is the answer to a Fetch, versions 4-18. Its records are slices
// of the logs' own memory; they are written without being copied.
type FetchResponse struct {
	ThrottleMillis int32
	ErrorCode      Code  // v7+
	SessionID      int32 // v7+
	Topics         []FetchTopic
	NodeEndpoints  []FetchNode // v16+; leaders named in CurrentLeader
}

// FetchTopic is one run of partitions of the same topic.
type FetchTopic struct {
	Topic      string   // v4-12
	TopicID    [16]byte // v13+
	Partitions []FetchPartition
}

// FetchPartition is the answer for one partition. Start from [NewFetchPartition]:
// the zero value names broker 0 as preferred replica.
type FetchPartition struct {
	Partition            int32
	ErrorCode            Code
	HighWatermark        int64
	LastStableOffset     int64
	LogStartOffset       int64                // v5+
	AbortedTransactions  []AbortedTransaction // nil is null, empty is an empty list
	PreferredReadReplica int32                // v11+; -1: none
	Records              [][]byte             // one after the other; empty is an empty byte string, never null
	DivergingEpoch       EpochEndOffset       // v12+; {-1, -1}: none
	CurrentLeader        LeaderIDAndEpoch     // v12+ on the wire, Kafka fills it from v16; {-1, -1}: none
}

// NewFetchPartition gives an entry with an error (or None), offsets -1 and no
// records, leader, diverging epoch or preferred replica.
func NewFetchPartition(partition int32, code Code) FetchPartition {
	return FetchPartition{
		Partition:            partition,
		ErrorCode:            code,
		HighWatermark:        -1,
		LastStableOffset:     -1,
		LogStartOffset:       -1,
		PreferredReadReplica: -1,
		DivergingEpoch:       EpochEndOffset{-1, -1},
		CurrentLeader:        LeaderIDAndEpoch{-1, -1},
	}
}

// AbortedTransaction is where an aborted transaction of a producer begins.
type AbortedTransaction struct{ ProducerID, FirstOffset int64 }

// EpochEndOffset is the largest epoch not above the asked one, and where it ends.
type EpochEndOffset struct {
	Epoch     int32
	EndOffset int64
}

// LeaderIDAndEpoch names a partition's leader.
type LeaderIDAndEpoch struct{ LeaderID, LeaderEpoch int32 }

// FetchNode is how a broker can be reached.
type FetchNode struct {
	NodeID int32
	Host   string
	Port   int32
	Rack   string // "" is null
}

// FetchEncoder encodes Fetch answers. One per connection: it reuses its memory.
// The zero value is ready.
type FetchEncoder struct {
	head []byte
	cuts []int
	bufs [][]byte
}

// Encode gives the frame of r as slices to be written in order (net.Buffers):
// its own bytes and r's records between them. They are valid until the next Encode.
func (e *FetchEncoder) Encode(correlationID int32, version int16, r *FetchResponse) [][]byte {
	panic("TODO")
}
