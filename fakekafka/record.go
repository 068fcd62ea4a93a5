package fakekafka

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fakekafka/fakekafka/partitionlog"
)

// Header is a record header; a nil value is null.
type Header struct {
	Key   string
	Value []byte
}

// Record is one record: one to produce, one that is wanted, or one that was read. Nil keys and values are null.
type Record struct {
	Key, Value []byte
	Headers    []Header
	// Timestamp is now where it is zero when producing, and not compared where it is zero in a wanted record.
	Timestamp time.Time

	// Partition and Offset are filled in when a record is read. To produce to a chosen partition, or to want a record there, use On.
	Partition int32
	Offset    int64

	placed bool   // by On
	hidden string // why a read committed consumer doesn't see it
}

// KV is a record with this key and value.
func KV(key, value string) Record { return Record{Key: []byte(key), Value: []byte(value)} }

// V is a record with this value and no key.
func V(value string) Record { return Record{Value: []byte(value)} }

// Tombstone is a record with this key and a null value.
func Tombstone(key string) Record { return Record{Key: []byte(key)} }

// On is the same record on this partition. Without it a record goes to the partition that Kafka's default partitioner chooses by its key (those
// without a key go round all partitions), and is wanted on any.
func (r Record) On(partition int32) Record {
	r.Partition, r.placed = partition, true
	return r
}

// With is the same record with one more header.
func (r Record) With(key, value string) Record {
	r.Headers = append(r.Headers[:len(r.Headers):len(r.Headers)], Header{key, []byte(value)})
	return r
}

// At is the same record with this timestamp.
func (r Record) At(t time.Time) Record {
	r.Timestamp = t
	return r
}

// String shows a record for messages: key=value {headers}.
func (r Record) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s=%s", bytesText(r.Key), bytesText(r.Value))
	for _, h := range r.Headers {
		fmt.Fprintf(&b, " {%s: %s}", h.Key, bytesText(h.Value))
	}
	return b.String()
}

// wanted is String with what else the record is to have: the partition, and the time.
func (r Record) wanted() string {
	text := r.String()
	if r.placed {
		text += fmt.Sprintf(" on partition %d", r.Partition)
	}
	if !r.Timestamp.IsZero() {
		text += " at " + timeText(r.Timestamp)
	}
	return text
}

// beside is String of a record that was read, with its time where one of those that are wanted has one.
func (r Record) beside(wanted []Record) string {
	if slices.ContainsFunc(wanted, func(w Record) bool { return !w.Timestamp.IsZero() }) {
		return r.String() + " at " + timeText(r.Timestamp)
	}
	return r.String()
}

// timeText shows a time as exactly as Kafka keeps it.
func timeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// bytesText shows bytes as text where they are short and printable.
func bytesText(v []byte) string {
	if v == nil {
		return "null"
	}
	text := fmt.Sprintf("%q", v)
	if len(text) > 80 {
		return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:70], ""), len(v))
	}
	return text
}

// is tells whether a record that was read is the wanted one.
func (want Record) is(got Record) bool {
	if !sameBytes(want.Key, got.Key) || !sameBytes(want.Value, got.Value) || want.placed && want.Partition != got.Partition {
		return false
	}
	if !want.Timestamp.IsZero() && want.Timestamp.UnixMilli() != got.Timestamp.UnixMilli() {
		return false
	}
	if want.Headers == nil {
		return true
	}
	if len(want.Headers) != len(got.Headers) {
		return false
	}
	for i, h := range want.Headers {
		if h.Key != got.Headers[i].Key || !sameBytes(h.Value, got.Headers[i].Value) {
			return false
		}
	}
	return true
}

// sameBytes tells null from empty.
func sameBytes(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func recordOf(r partitionlog.Record, partition int32) Record {
	out := Record{Key: r.Key, Value: r.Value, Timestamp: time.UnixMilli(r.Timestamp), Partition: partition, Offset: r.Offset}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, Header(h))
	}
	return out
}

// partitionFor is Kafka's default partitioner for records with a key: murmur2 of the key, without the sign bit, modulo.
func partitionFor(key []byte, partitions int32) int32 {
	return int32((murmur2(key) & 0x7fffffff) % uint32(partitions))
}

// murmur2 is the hash by which Kafka's clients choose partitions.
func murmur2(data []byte) uint32 {
	const m, seed = 0x5bd1e995, 0x9747b28c
	h := uint32(seed) ^ uint32(len(data))
	for len(data) >= 4 {
		k := uint32(data[0]) | uint32(data[1])<<8 | uint32(data[2])<<16 | uint32(data[3])<<24
		k *= m
		k ^= k >> 24
		k *= m
		h = h*m ^ k
		data = data[4:]
	}
	switch len(data) {
	case 3:
		h ^= uint32(data[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(data[1]) << 8
		fallthrough
	case 1:
		h ^= uint32(data[0])
		h *= m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}
