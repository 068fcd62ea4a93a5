package wire

import (
	"encoding/binary"
	"math/bits"
)

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
	head []byte   // everything but the records, one piece after the other
	cuts []int    // where a piece of head ends and records follow
	bufs [][]byte // what Encode returned
}

// Encode gives the frame of r as slices to be written in order (net.Buffers):
// its own bytes and r's records between them. They are valid until the next
// Encode, except the records, which are the logs'. Versions are 4 to 18.
func (e *FetchEncoder) Encode(correlationID int32, version int16, r *FetchResponse) [][]byte {
	e.head, e.cuts = e.head[:0], e.cuts[:0]
	records := e.encode(correlationID, version, r)
	binary.BigEndian.PutUint32(e.head, uint32(len(e.head)-4+records))

	// head is complete and won't move any more, so it can be cut.
	clear(e.bufs[:cap(e.bufs)]) // don't keep old records alive
	e.bufs = e.bufs[:0]
	start, cut := 0, 0
	for t := range r.Topics {
		for p := range r.Topics[t].Partitions {
			part := &r.Topics[t].Partitions[p]
			if len(part.Records) == 0 {
				continue
			}
			e.bufs = append(e.bufs, e.head[start:e.cuts[cut]])
			e.bufs = append(e.bufs, part.Records...)
			start = e.cuts[cut]
			cut++
		}
	}
	if start < len(e.head) {
		e.bufs = append(e.bufs, e.head[start:])
	}
	return e.bufs
}

// encode writes head and notes the cuts; it returns the size of all records.
func (e *FetchEncoder) encode(correlationID int32, version int16, r *FetchResponse) (records int) {
	flexible := Flexible(Fetch, version)
	dst := append(e.head, 0, 0, 0, 0)
	dst = appendResponseHeader(dst, correlationID, Fetch, version)
	dst = appendInt32(dst, r.ThrottleMillis)
	if version >= 7 {
		dst = appendInt16(dst, int16(r.ErrorCode))
		dst = appendInt32(dst, r.SessionID)
	}
	dst = appendLength(dst, len(r.Topics), flexible)
	for t := range r.Topics {
		topic := &r.Topics[t]
		if version >= 13 {
			dst = append(dst, topic.TopicID[:]...)
		} else {
			dst = appendString(dst, topic.Topic, flexible)
		}
		dst = appendLength(dst, len(topic.Partitions), flexible)
		for p := range topic.Partitions {
			part := &topic.Partitions[p]
			dst = appendPartition(dst, version, flexible, part)
			size := 0
			for _, batch := range part.Records {
				size += len(batch)
			}
			dst = appendLength(dst, size, flexible)
			records += size
			if len(part.Records) > 0 {
				e.cuts = append(e.cuts, len(dst))
			}
			if flexible {
				dst = appendPartitionTags(dst, part)
			}
		}
		if flexible {
			dst = append(dst, 0)
		}
	}
	if flexible {
		dst = appendNodeEndpoints(dst, version, r.NodeEndpoints)
	}
	e.head = dst
	return records
}

// QuotaSize is what Kafka counts of an answer against a client's quota: its body and 4 bytes, but not the brokers that hints name.
func (e *FetchEncoder) QuotaSize(version int16, r *FetchResponse) int {
	bare := *r
	bare.NodeEndpoints = nil
	e.head, e.cuts = e.head[:0], e.cuts[:0]
	records := e.encode(0, version, &bare)
	header := len(appendResponseHeader(e.head[len(e.head):], 0, Fetch, version))
	return len(e.head) - header + records // and the length in front is 4 bytes, too
}

// appendPartition appends a partition's fields up to the records.
func appendPartition(dst []byte, version int16, flexible bool, p *FetchPartition) []byte {
	dst = appendInt32(dst, p.Partition)
	dst = appendInt16(dst, int16(p.ErrorCode))
	dst = appendInt64(dst, p.HighWatermark)
	dst = appendInt64(dst, p.LastStableOffset)
	if version >= 5 {
		dst = appendInt64(dst, p.LogStartOffset)
	}
	if p.AbortedTransactions == nil {
		dst = appendLength(dst, -1, flexible)
	} else {
		dst = appendLength(dst, len(p.AbortedTransactions), flexible)
	}
	for _, t := range p.AbortedTransactions {
		dst = appendInt64(dst, t.ProducerID)
		dst = appendInt64(dst, t.FirstOffset)
		if flexible {
			dst = append(dst, 0)
		}
	}
	if version >= 11 {
		dst = appendInt32(dst, p.PreferredReadReplica)
	}
	return dst
}

// appendPartitionTags appends a partition's tag section: 0 DivergingEpoch, 1 CurrentLeader.
func appendPartitionTags(dst []byte, p *FetchPartition) []byte {
	diverging := p.DivergingEpoch != EpochEndOffset{-1, -1}
	leader := p.CurrentLeader != LeaderIDAndEpoch{-1, -1}
	count := byte(0)
	if diverging {
		count++
	}
	if leader {
		count++
	}
	dst = append(dst, count)
	if diverging {
		dst = append(dst, 0, 13) // tag, size: int32, int64, no tags
		dst = appendInt32(dst, p.DivergingEpoch.Epoch)
		dst = appendInt64(dst, p.DivergingEpoch.EndOffset)
		dst = append(dst, 0)
	}
	if leader {
		dst = append(dst, 1, 9) // tag, size: two int32, no tags
		dst = appendInt32(dst, p.CurrentLeader.LeaderID)
		dst = appendInt32(dst, p.CurrentLeader.LeaderEpoch)
		dst = append(dst, 0)
	}
	return dst
}

// appendNodeEndpoints appends the answer's tag section: 0 NodeEndpoints, from v16.
func appendNodeEndpoints(dst []byte, version int16, nodes []FetchNode) []byte {
	if version < 16 || len(nodes) == 0 {
		return append(dst, 0)
	}
	size := uvarintSize(len(nodes) + 1)
	for _, n := range nodes {
		size += 4 + uvarintSize(len(n.Host)+1) + len(n.Host) + 4 + 1 + 1
		if n.Rack != "" {
			size += uvarintSize(len(n.Rack)+1) - 1 + len(n.Rack)
		}
	}
	dst = append(dst, 1, 0)
	dst = binary.AppendUvarint(dst, uint64(size))
	dst = appendLength(dst, len(nodes), true)
	for _, n := range nodes {
		dst = appendInt32(dst, n.NodeID)
		dst = appendString(dst, n.Host, true)
		dst = appendInt32(dst, n.Port)
		if n.Rack == "" {
			dst = append(dst, 0)
		} else {
			dst = appendString(dst, n.Rack, true)
		}
		dst = append(dst, 0)
	}
	return dst
}

func appendInt16(dst []byte, v int16) []byte { return binary.BigEndian.AppendUint16(dst, uint16(v)) }
func appendInt32(dst []byte, v int32) []byte { return binary.BigEndian.AppendUint32(dst, uint32(v)) }
func appendInt64(dst []byte, v int64) []byte { return binary.BigEndian.AppendUint64(dst, uint64(v)) }

// appendLength appends the length of an array or bytes; -1 is null.
func appendLength(dst []byte, n int, compact bool) []byte {
	if compact {
		return binary.AppendUvarint(dst, uint64(n+1))
	}
	return appendInt32(dst, int32(n))
}

func appendString(dst []byte, s string, compact bool) []byte {
	if compact {
		dst = binary.AppendUvarint(dst, uint64(len(s)+1))
	} else {
		dst = appendInt16(dst, int16(len(s)))
	}
	return append(dst, s...)
}

// uvarintSize is how many bytes n takes as an unsigned varint.
func uvarintSize(n int) int { return (bits.Len64(uint64(n)|1) + 6) / 7 }
