package partitionlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/fakekafka/fakekafka/internal/javatext"
)

// Header is a record header; a nil value is null.
type Header struct {
	Key   string
	Value []byte
}

// Record is one record. Nil keys and values are null. Offset, LeaderEpoch and the fields from ProducerID on are filled in by
// decoding and ignored by BuildBatch.
type Record struct {
	Offset    int64
	Timestamp int64 // milliseconds
	Key       []byte
	Value     []byte
	Headers   []Header

	LeaderEpoch   int32
	ProducerID    int64 // -1 none
	ProducerEpoch int16
	Sequence      int32 // -1 none
	Transactional bool
	Control       bool // a transaction's marker: see ParseMarker
}

// BatchOptions are the fields of a batch to build. The zero value makes an uncompressed batch of CreateTime without a producer.
type BatchOptions struct {
	Codec int // CodecNone, CodecGzip, ...
	Level int // compression level in Kafka's terms; 0 is Kafka's default
	// Idempotent batches carry the producer fields; Transactional implies it.
	Idempotent    bool
	Transactional bool
	ProducerID    int64
	ProducerEpoch int16
	BaseSequence  int32
	LogAppendTime bool    // set the timestamp type bit
	Codecs        *Codecs // scratch memory; may be nil
}

// BuildBatch encodes records as one batch of format 2 at base offset 0, ready to be produced. Records get the offset deltas
// 0, 1, 2, ... There must be at least one.
func BuildBatch(records []Record, o BatchOptions) ([]byte, error) {
	if len(records) == 0 {
		return nil, errors.New("partitionlog: a batch needs at least one record")
	}
	base := records[0].Timestamp
	size := headerSize
	for i := range records {
		size += sizeOfRecord(int64(i), base, &records[i])
	}
	if size > math.MaxInt32 {
		return nil, fmt.Errorf("partitionlog: the records need %d bytes; a batch has at most %d", size, math.MaxInt32)
	}
	b := make([]byte, headerSize, size)
	maxTimestamp := noTimestamp
	for i := range records {
		b = appendRecord(b, int64(i), base, &records[i])
		maxTimestamp = max(maxTimestamp, records[i].Timestamp)
	}
	attributes := int16(o.Codec)
	if o.LogAppendTime {
		attributes |= attrLogAppendTime
	}
	h := batchHeader{
		lastOffsetDelta: int32(len(records) - 1),
		baseTimestamp:   base, maxTimestamp: maxTimestamp,
		producerID: noProducerID, producerEpoch: noProducerEpoch, baseSequence: noSequence,
		count: int32(len(records)),
	}
	if o.Idempotent || o.Transactional {
		h.producerID, h.producerEpoch, h.baseSequence = o.ProducerID, o.ProducerEpoch, o.BaseSequence
	}
	if o.Transactional {
		attributes |= attrTransactional
	}
	h.attributes = attributes
	if o.Codec != CodecNone {
		c := o.Codecs
		if c == nil {
			c = new(Codecs)
		}
		packed, err := c.pack(make([]byte, headerSize, headerSize+(size-headerSize)/2), o.Codec, o.Level, b[headerSize:])
		if err != nil {
			return nil, fmt.Errorf("partitionlog: %w", err)
		}
		b = packed
	}
	h.put(b)
	return b, nil
}

// batchHeader are the fields of a batch to be written before its records.
type batchHeader struct {
	baseOffset    int64
	leaderEpoch   int32
	attributes    int16
	baseTimestamp int64
	maxTimestamp  int64
	producerID    int64
	producerEpoch int16
	baseSequence  int32

	lastOffsetDelta int32
	count           int32
}

// headerOf reads the fields back.
func headerOf(b Batch) batchHeader {
	return batchHeader{
		baseOffset: b.BaseOffset(), leaderEpoch: b.LeaderEpoch(), attributes: b.attributes(),
		baseTimestamp: b.BaseTimestamp(), maxTimestamp: b.MaxTimestamp(),
		producerID: b.ProducerID(), producerEpoch: b.ProducerEpoch(), baseSequence: b.BaseSequence(),
		lastOffsetDelta: b.lastOffsetDelta(), count: int32(b.RecordCount()),
	}
}

// put writes the header at the start of b, whose records are in place, and the checksum.
func (h batchHeader) put(b Batch) {
	b.putInt64(posBaseOffset, h.baseOffset)
	b.putInt32(posLength, int32(len(b)-logOverhead))
	b.putInt32(posLeaderEpoch, h.leaderEpoch)
	b[posMagic] = 2
	b.putInt16(posAttributes, h.attributes)
	b.putInt32(posLastOffsetDelta, h.lastOffsetDelta)
	b.putInt64(posBaseTimestamp, h.baseTimestamp)
	b.putInt64(posMaxTimestamp, h.maxTimestamp)
	b.putInt64(posProducerID, h.producerID)
	b.putInt16(posProducerEpoch, h.producerEpoch)
	b.putInt32(posBaseSequence, h.baseSequence)
	b.putInt32(posRecordCount, h.count)
	b.seal()
}

func sizeOfRecord(offsetDelta, baseTimestamp int64, r *Record) int {
	body := sizeOfBody(offsetDelta, baseTimestamp, r)
	return varintSize(int64(body)) + body
}

func sizeOfBody(offsetDelta, baseTimestamp int64, r *Record) int {
	n := 1 + varintSize(r.Timestamp-baseTimestamp) + varintSize(offsetDelta) + sizeOfBytes(r.Key) + sizeOfBytes(r.Value) + varintSize(int64(len(r.Headers)))
	for i := range r.Headers {
		n += varintSize(int64(len(r.Headers[i].Key))) + len(r.Headers[i].Key) + sizeOfBytes(r.Headers[i].Value)
	}
	return n
}

func sizeOfBytes(b []byte) int {
	if b == nil {
		return 1
	}
	return varintSize(int64(len(b))) + len(b)
}

func appendRecord(b []byte, offsetDelta, baseTimestamp int64, r *Record) []byte {
	b = appendVarint(b, int64(sizeOfBody(offsetDelta, baseTimestamp, r)))
	b = append(b, 0)
	b = appendVarint(b, r.Timestamp-baseTimestamp)
	b = appendVarint(b, offsetDelta)
	b = appendBytes(b, r.Key)
	b = appendBytes(b, r.Value)
	b = appendVarint(b, int64(len(r.Headers)))
	for i := range r.Headers {
		b = appendVarint(b, int64(len(r.Headers[i].Key)))
		b = append(b, r.Headers[i].Key...)
		b = appendBytes(b, r.Headers[i].Value)
	}
	return b
}

func appendBytes(b, v []byte) []byte {
	if v == nil {
		return appendVarint(b, -1)
	}
	return append(appendVarint(b, int64(len(v))), v...)
}

// appendRaw writes a record again with other deltas. Its attributes, which mean nothing, become 0 as in every record that a
// broker writes.
func appendRaw(b []byte, offsetDelta int32, timestampDelta int64, rec *rawRecord) []byte {
	headers := rec.plainHeaders()
	size := 1 + varintSize(timestampDelta) + varintSize(int64(offsetDelta)) + sizeOfBytes(rec.key) + sizeOfBytes(rec.value) +
		varintSize(int64(rec.headerCount)) + len(headers)
	b = appendVarint(b, int64(size))
	b = append(b, 0)
	b = appendVarint(b, timestampDelta)
	b = appendVarint(b, int64(offsetDelta))
	b = appendBytes(b, rec.key)
	b = appendBytes(b, rec.value)
	b = appendVarint(b, int64(rec.headerCount))
	return append(b, headers...)
}

// plainHeaders are a record's headers as a broker writes them anew: it has read the keys as text, so what isn't UTF-8 becomes U+FFFD, and
// gives each length the fewest bytes. Nearly always they are what they were.
func (rec *rawRecord) plainHeaders() []byte {
	b, at := rec.headers, 0
	plain := true
	for range rec.headerCount {
		size, n := readVarint(b[at:])
		key := b[at+n : at+n+int(size)]
		at += n + len(key)
		valueSize, m := readVarint(b[at:])
		plain = plain && n == varintSize(int64(size)) && utf8.Valid(key) && m == varintSize(int64(valueSize)) && valueSize >= -1
		at += m + int(max(valueSize, 0))
	}
	if plain {
		return b
	}
	out := make([]byte, 0, len(b)+16)
	at = 0
	for range rec.headerCount {
		var key, value []byte
		key, at, _ = readBytes(b, at)
		value, at, _ = readBytes(b, at)
		out = appendBytes(appendBytes(out, []byte(javatext.Of(key))), value)
	}
	return out
}

// buildMarker makes the control batch that ends a transaction: one record of 17 bytes, 78 in all.
func buildMarker(now int64, m Marker) Batch {
	var key, value [10]byte
	if m.Commit {
		key[3] = 1
	}
	binary.BigEndian.PutUint32(value[2:], uint32(m.CoordinatorEpoch))
	r := Record{Timestamp: now, Key: key[:4], Value: value[:6]}
	b := appendRecord(make([]byte, headerSize, headerSize+17), 0, now, &r)
	batchHeader{
		attributes: attrTransactional | attrControl, baseTimestamp: now, maxTimestamp: now,
		producerID: m.ProducerID, producerEpoch: m.ProducerEpoch, baseSequence: noSequence, count: 1,
	}.put(b)
	return b
}

// ParseMarker reads the record of a control batch. ok is false when it is no transaction marker.
func ParseMarker(r Record) (m Marker, ok bool) {
	if !r.Control || len(r.Key) < 4 || len(r.Value) < 6 {
		return Marker{}, false
	}
	kind := binary.BigEndian.Uint16(r.Key[2:])
	if kind > 1 {
		return Marker{}, false
	}
	return Marker{
		ProducerID: r.ProducerID, ProducerEpoch: r.ProducerEpoch, Commit: kind == 1,
		CoordinatorEpoch: int32(binary.BigEndian.Uint32(r.Value[2:])),
	}, true
}
