package partitionlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// Where the fields of a batch of format 2 are; all are big endian.
const (
	posBaseOffset      = 0
	posLength          = 8 // bytes after this field
	posLeaderEpoch     = 12
	posMagic           = 16
	posCRC             = 17 // CRC-32C of everything from the attributes on
	posAttributes      = 21
	posLastOffsetDelta = 23
	posBaseTimestamp   = 27 // the delete horizon instead when attrDeleteHorizon is set
	posMaxTimestamp    = 35
	posProducerID      = 43
	posProducerEpoch   = 51
	posBaseSequence    = 53
	posRecordCount     = 57

	// headerSize is the bytes of a batch before its records.
	headerSize = 61
	// logOverhead is the base offset and the length: what the length field doesn't count.
	logOverhead = 12
	// minLegacyLength is the smallest length field Kafka takes for a batch of any format.
	minLegacyLength = 14
)

// The bits of a batch's attributes.
const (
	attrCodecMask     int16 = 0x07
	attrLogAppendTime int16 = 0x08
	attrTransactional int16 = 0x10
	attrControl       int16 = 0x20
	attrDeleteHorizon int16 = 0x40
)

const (
	noTimestamp     int64 = -1
	noProducerID    int64 = -1
	noProducerEpoch int16 = -1
	noSequence      int32 = -1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is the bytes of one whole record batch of format 2, at least its 61 bytes of header. Its methods read the header.
type Batch []byte

func (b Batch) int64At(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }
func (b Batch) int32At(at int) int32 { return int32(binary.BigEndian.Uint32(b[at:])) }
func (b Batch) int16At(at int) int16 { return int16(binary.BigEndian.Uint16(b[at:])) }

// BaseOffset is the offset of the first record the batch had when it was appended.
func (b Batch) BaseOffset() int64 { return b.int64At(posBaseOffset) }

// LastOffset is the offset of the last record the batch had when it was appended.
func (b Batch) LastOffset() int64 { return b.BaseOffset() + int64(b.lastOffsetDelta()) }

// LeaderEpoch is the epoch of the leader that appended the batch.
func (b Batch) LeaderEpoch() int32 { return b.int32At(posLeaderEpoch) }

// Codec is the compression: CodecNone, CodecGzip, ...; 5 to 7 mean nothing.
func (b Batch) Codec() int { return int(b.attributes() & attrCodecMask) }

// TimestampType says whose clock the batch's timestamps are from.
func (b Batch) TimestampType() TimestampType {
	if b.attributes()&attrLogAppendTime != 0 {
		return LogAppendTime
	}
	return CreateTime
}

// Transactional reports whether the batch belongs to a transaction.
func (b Batch) Transactional() bool { return b.attributes()&attrTransactional != 0 }

// Control reports whether the batch is a transaction's marker.
func (b Batch) Control() bool { return b.attributes()&attrControl != 0 }

// BaseTimestamp is what the records' timestamp deltas count from.
func (b Batch) BaseTimestamp() int64 { return b.int64At(posBaseTimestamp) }

// MaxTimestamp is the largest timestamp of the batch's records, or -1.
func (b Batch) MaxTimestamp() int64 { return b.int64At(posMaxTimestamp) }

// ProducerID is the producer's id, or -1.
func (b Batch) ProducerID() int64 { return b.int64At(posProducerID) }

// ProducerEpoch is the producer's epoch, or -1.
func (b Batch) ProducerEpoch() int16 { return b.int16At(posProducerEpoch) }

// BaseSequence is the sequence number of the first record, or -1.
func (b Batch) BaseSequence() int32 { return b.int32At(posBaseSequence) }

// RecordCount is the number of records in the batch; compaction may have left none.
func (b Batch) RecordCount() int { return int(b.int32At(posRecordCount)) }

func (b Batch) attributes() int16      { return b.int16At(posAttributes) }
func (b Batch) lastOffsetDelta() int32 { return b.int32At(posLastOffsetDelta) }
func (b Batch) size() int              { return logOverhead + int(b.int32At(posLength)) }
func (b Batch) crcField() uint32       { return binary.BigEndian.Uint32(b[posCRC:]) }
func (b Batch) crc() uint32            { return crc32.Checksum(b[posAttributes:], castagnoli) }
func (b Batch) hasProducerID() bool    { return b.ProducerID() > noProducerID }
func (b Batch) lastSequence() int32 {
	if b.BaseSequence() == noSequence {
		return noSequence
	}
	return incrementSequence(b.BaseSequence(), b.lastOffsetDelta())
}

// deleteHorizon is the time at which a compacted batch's tombstones (or its marker) may go.
func (b Batch) deleteHorizon() (ms int64, ok bool) {
	if b.attributes()&attrDeleteHorizon == 0 {
		return 0, false
	}
	return b.BaseTimestamp(), true
}

func (b Batch) putInt64(at int, v int64) { binary.BigEndian.PutUint64(b[at:], uint64(v)) }
func (b Batch) putInt32(at int, v int32) { binary.BigEndian.PutUint32(b[at:], uint32(v)) }
func (b Batch) putInt16(at int, v int16) { binary.BigEndian.PutUint16(b[at:], uint16(v)) }

func (b Batch) seal() { binary.BigEndian.PutUint32(b[posCRC:], b.crc()) }

// setMaxTimestamp stores the timestamp type and the largest timestamp. Only when one of them changes are the attributes rebuilt,
// which drops the bits that mean nothing, and the checksum computed anew.
func (b Batch) setMaxTimestamp(t TimestampType, ms int64) {
	if b.TimestampType() == t && b.MaxTimestamp() == ms {
		return
	}
	attributes := b.attributes() & (attrCodecMask | attrTransactional | attrControl | attrDeleteHorizon)
	if t == LogAppendTime {
		attributes |= attrLogAppendTime
	}
	b.putInt16(posAttributes, attributes)
	b.putInt64(posMaxTimestamp, ms)
	b.seal()
}

// frame is what the first bytes of record data say about the batch there.
type frame int

const (
	frameNone       frame = iota // no bytes, or not all bytes of a batch
	frameComplete                // a whole batch
	frameBroken                  // a size or a magic that cannot be
	frameOverflowed              // a size at which a broker's 32 bits overflow, and it fails
)

// nextBatch looks at the batch at the start of data as Kafka does when it walks record data: the size is judged before the
// magic, and both before the question whether the batch is complete.
func nextBatch(data []byte) (size int, kind frame, reason string) {
	if len(data) < logOverhead {
		return 0, frameNone, ""
	}
	length := Batch(data).int32At(posLength)
	if length < minLegacyLength {
		return 0, frameBroken, fmt.Sprintf("the batch says it has %d bytes after its length field; the smallest has %d", length, minLegacyLength)
	}
	if len(data) <= posMagic {
		return 0, frameNone, ""
	}
	if magic := int8(data[posMagic]); magic < 0 || magic > 2 {
		return 0, frameBroken, fmt.Sprintf("the batch has format %d; there are 0, 1 and 2", magic)
	}
	if length > math.MaxInt32-logOverhead {
		return 0, frameOverflowed, fmt.Sprintf("the batch says it has %d bytes after its length field; no more than %d can be counted", length, math.MaxInt32-logOverhead)
	}
	if int64(len(data)) < logOverhead+int64(length) {
		return 0, frameNone, ""
	}
	return logOverhead + int(length), frameComplete, ""
}

// BrokenFirstHeader tells whether the first batch header of a partition's record data makes Kafka refuse the whole request, and
// says what is wrong: CORRUPT_MESSAGE (2) for a size field below 14 or a magic outside 0 to 2; UNKNOWN_SERVER_ERROR (-1) for a size field so
// large that it overflows with the bytes before it. The code is 0 when the request may go on.
func BrokenFirstHeader(records []byte) (code int16, reason string) {
	switch _, kind, reason := nextBatch(records); kind {
	case frameBroken:
		return CodeCorruptMessage, reason
	case frameOverflowed:
		return CodeUnknownServerError, reason
	}
	return CodeNone, ""
}

// FirstBatchTransactional reports whether the first complete batch of record data is transactional: then the request needs a
// transactional id.
func FirstBatchTransactional(records []byte) bool {
	_, kind, _ := nextBatch(records)
	return kind == frameComplete && records[posMagic] == 2 && Batch(records).Transactional()
}

// EndsBeforeProducer tells whether a batch, as SplitProduce returns it, ends before what a broker must know of its producer to look
// for transactions: the id, and of a transactional batch the epoch and the sequence, too. Kafka reads on and fails
// the whole request with UNKNOWN_SERVER_ERROR (-1).
func EndsBeforeProducer(batch []byte) bool {
	if len(batch) < posProducerEpoch {
		return true
	}
	return Batch(batch).Transactional() && Batch(batch).hasProducerID() && len(batch) < posRecordCount
}

// OfTransaction tells whether a batch, as SplitProduce returns it, belongs to a producer's transaction. One that says so but has no producer is nobody's,
// and none of the coordinator's business; nor is one that ends before it says whose it is.
func OfTransaction(batch []byte) bool {
	return !EndsBeforeProducer(batch) && Batch(batch).Transactional() && Batch(batch).hasProducerID()
}

// SplitProduce takes the record data of one partition of a Produce request and returns its one batch: what Kafka looks at
// before it touches any log. A code other than 0 is the partition's answer (with base offset, append time and log start -1 and
// no message): 87 without a complete batch, with a first batch that is not format 2, or with a second complete batch; 76 for
// zstd below v7; -1, which fails the whole request, below v7 for a codec that doesn't exist and for a size that overflows; 2 for a broken header, at the start or behind the first batch. Stray bytes behind the batch are dropped.
//
// The batch may still be shorter than a header, so Batch methods must not be used on it before Append has accepted it, but for those about
// its producer once EndsBeforeProducer has said no.
func SplitProduce(records []byte, version int16) (batch []byte, code int16) {
	size, kind, _ := nextBatch(records)
	switch {
	case kind == frameBroken:
		return nil, CodeCorruptMessage
	case kind == frameOverflowed:
		return nil, CodeUnknownServerError
	case kind == frameNone, records[posMagic] != 2:
		return nil, CodeInvalidRecord
	case version < 7 && Batch(records).Codec() == CodecZstd:
		return nil, CodeUnsupportedCompression
	case version < 7 && Batch(records).Codec() > CodecZstd:
		return nil, CodeUnknownServerError
	}
	switch _, second, _ := nextBatch(records[size:]); second {
	case frameBroken:
		return nil, CodeCorruptMessage
	case frameOverflowed:
		return nil, CodeUnknownServerError
	case frameComplete:
		return nil, CodeInvalidRecord
	}
	return records[:size:size], CodeNone
}
