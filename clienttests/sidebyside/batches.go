package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"

	"github.com/fakekafka/fakekafka/partitionlog"
)

// Offsets of fields in a batch of format 2.
const (
	atLength     = 8
	atEpoch      = 12
	atMagic      = 16
	atCRC        = 17
	atAttributes = 21
	atLastDelta  = 23
	atBaseTime   = 27
	atMaxTime    = 35
	atProducerID = 43
	atPEpoch     = 51
	atSequence   = 53
	atCount      = 57
	batchHeader  = 61
)

// batchesNode takes apart what a Fetch sent. A producer's id is one that the broker chose, and a marker's time is its clock's, so the
// checksum, which covers both, isn't shown for such batches.
func batchesNode(b []byte, path string) *node {
	n := &node{path: path, isList: true}
	be := binary.BigEndian
	for len(b) >= batchHeader {
		size := int(int32(be.Uint32(b[atLength:]))) + atEpoch
		if size < batchHeader || size > len(b) || b[atMagic] != 2 {
			break
		}
		attributes := be.Uint16(b[atAttributes:])
		appendTime := attributes&0x08 != 0
		producer := int64(be.Uint64(b[atProducerID:]))
		kid := &node{path: path}
		show := func(name string, value any) {
			kid.fields = append(kid.fields, field{name, &node{path: join(path, name), text: fmt.Sprint(value)}})
		}
		show("Offset", int64(be.Uint64(b)))
		show("Size", size)
		show("Epoch", int32(be.Uint32(b[atEpoch:])))
		show("Attributes", attributes)
		show("LastDelta", int32(be.Uint32(b[atLastDelta:])))
		show("BaseTime", millis(b[atBaseTime:]))
		show("MaxTime", millis(b[atMaxTime:]))
		show("Producer", producer)
		if producer >= 0 {
			kid.fields[len(kid.fields)-1].value.id = "producer"
		}
		show("ProducerEpoch", int16(be.Uint16(b[atPEpoch:])))
		show("Sequence", int32(be.Uint32(b[atSequence:])))
		show("Count", int32(be.Uint32(b[atCount:])))
		if producer < 0 && !appendTime {
			show("CRC", fmt.Sprintf("%08x", be.Uint32(b[atCRC:])))
		}
		if attributes&7 == 0 || !appendTime { // what the broker compressed itself has bytes of its library's
			show("Records", hex.EncodeToString(b[batchHeader:size]))
		}
		n.list = append(n.list, kid)
		b = b[size:]
	}
	if len(b) > 0 { // the cut batch at the end: what of it is the same on both sides
		n.list = append(n.list, &node{path: path, text: fmt.Sprintf("%d bytes of a batch", len(b))})
	}
	return n
}

// millis is a time as a tree shows it.
func millis(b []byte) string {
	if t := int64(binary.BigEndian.Uint64(b)); !isNow(t) {
		return fmt.Sprint(t)
	}
	return "<now>"
}

// batchOf makes a batch of one to three small records.
func batchOf(r *rand.Rand, o partitionlog.BatchOptions) []byte {
	records := make([]partitionlog.Record, 1+r.IntN(3))
	for i := range records {
		records[i] = partitionlog.Record{Timestamp: oldTime + r.Int64N(1000), Key: []byte("k"), Value: make([]byte, r.IntN(30))}
	}
	b, err := partitionlog.BuildBatch(records, o)
	if err != nil {
		panic(err) // a batch of a few records can be built
	}
	return b
}

// oldTime is when records say they were made, long before a test, so that no clock matters.
const oldTime = 1700000000000

// damage changes a batch behind its checksum's back: the checksum is right again afterwards.
func damage(r *rand.Rand, b []byte) []byte {
	be := binary.BigEndian
	for range pick(r, 1, 1, 2, 3) {
		inside := atAttributes + r.IntN(len(b)-atAttributes)
		if inside >= atProducerID && inside < atPEpoch { // a bit of another producer's id could be a real one's on one side
			inside = atAttributes + 1
		}
		switch r.IntN(7) {
		case 0:
			b[inside] ^= byte(1 << r.IntN(8))
		case 1:
			b[inside] = pick[byte](r, 0, 1, 0xff, 0x7f, 0x80, byte(r.IntN(256)))
		case 2:
			be.PutUint32(b[pick(r, atLastDelta, atSequence, atCount):], uint32(pick[int32](r, -1, 0, 1, 2, 3, math.MaxInt32, math.MinInt32)))
		case 3:
			be.PutUint64(b[pick(r, atBaseTime, atMaxTime):], uint64(pick[int64](r, -1, 0, 1, oldTime, math.MaxInt64, math.MinInt64)))
		case 4:
			b[atAttributes+1] ^= byte(1 << r.IntN(7))
		case 5:
			b = append(b, pick[byte](r, 0, 1, 2))
			be.PutUint32(b[atLength:], uint32(len(b)-atEpoch))
		case 6:
			be.PutUint64(b[atProducerID:], uint64(pick[int64](r, -1, -2, 1<<40, math.MaxInt64, math.MinInt64)))
		}
	}
	be.PutUint32(b[atCRC:], crc32.Checksum(b[atAttributes:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

var noProducer = partitionlog.BatchOptions{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}
