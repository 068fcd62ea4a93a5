package assignors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ConsumerProtocolVersion is the newest version of the two blobs of the classic "consumer" protocol (ConsumerProtocol*.json of
// Kafka 4.3.1). The Java client always writes it.
const ConsumerProtocolVersion = 3

// TopicPartition names one partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

func (tp TopicPartition) String() string { return fmt.Sprintf("%s-%d", tp.Topic, tp.Partition) }

// Subscription is what a member of a classic group tells the leader: the metadata in its JoinGroup request.
type Subscription struct {
	Topics []string
	// UserData belongs to the assignor; nil is none.
	UserData []byte
	// Owned is what a cooperative member holds now; an eager one has given up everything before it joins. Version 1 and later.
	Owned []TopicPartition
	// Generation is the last one the member took part in; -1 is none. Version 2 and later.
	Generation int32
	// Rack is client.rack; nil is none, and so an empty one is read. Version 3.
	Rack *string
}

// Assignment is what the leader tells a member: the assignment in its SyncGroup answer.
type Assignment struct {
	Partitions []TopicPartition
	// UserData belongs to the assignor; nil is none.
	UserData []byte
}

// ErrSchema is in the error of [DecodeSubscription] and [DecodeAssignment] where the version is negative, or the bytes end before or inside a number.
// It stands apart because Kafka's coordinator answers it otherwise than a length that is negative or more than what is left.
var ErrSchema = errors.New("not of the consumer protocol")

// DecodeSubscription reads a Subscription of any version. A version above 3 is read as 3, and what follows the known fields is
// ignored, as newer clients may send more. A negative version and missing bytes are errors.
func DecodeSubscription(b []byte) (Subscription, error) {
	r := reader{rest: b}
	s := Subscription{Generation: -1}
	version := r.version()
	n := r.count()
	if n > 0 {
		s.Topics = make([]string, 0, min(n, len(r.rest)/2))
	}
	for ; n > 0 && r.err == nil; n-- {
		s.Topics = append(s.Topics, r.str())
	}
	s.UserData = r.nullableBytes()
	if version >= 1 {
		s.Owned = r.partitions()
	}
	if version >= 2 {
		s.Generation = max(r.int32(), -1)
	}
	if version >= 3 {
		if rack := r.nullableStr(); rack != "" {
			s.Rack = &rack
		}
	}
	if r.err != nil {
		return Subscription{}, fmt.Errorf("assignors: subscription of %d bytes: %w", len(b), r.err)
	}
	return s, nil
}

// DecodeAssignment reads an Assignment; the rules are those of DecodeSubscription.
func DecodeAssignment(b []byte) (Assignment, error) {
	r := reader{rest: b}
	r.version()
	a := Assignment{Partitions: r.partitions()}
	a.UserData = r.nullableBytes()
	if r.err != nil {
		return Assignment{}, fmt.Errorf("assignors: assignment of %d bytes: %w", len(b), r.err)
	}
	return a, nil
}

// EncodeSubscription writes a Subscription as the Java client does: topics sorted, owned partitions sorted by topic and number,
// fields newer than the version left out. A version above 3 is written as 3. It fails on a negative version and on a name of
// more than 32,767 bytes.
func EncodeSubscription(s Subscription, version int16) ([]byte, error) {
	w := newWriter(version)
	topics := slices.Clone(s.Topics)
	slices.SortFunc(topics, compareJava)
	w.int32(int32(len(topics)))
	for _, t := range topics {
		w.str(t)
	}
	w.nullableBytes(s.UserData)
	if version >= 1 {
		owned := slices.Clone(s.Owned)
		slices.SortStableFunc(owned, compareTopicPartitions)
		w.partitions(owned)
	}
	if version >= 2 {
		w.int32(s.Generation)
	}
	if version >= 3 {
		if s.Rack == nil {
			w.int16(-1)
		} else {
			w.str(*s.Rack)
		}
	}
	if w.err != nil {
		return nil, fmt.Errorf("assignors: subscription version %d: %w", version, w.err)
	}
	return w.b, nil
}

// EncodeAssignment writes an Assignment as the Java client does: topics in the order in which they first appear, the partitions of
// each in the order given. A version above 3 is written as 3. It fails as EncodeSubscription does.
func EncodeAssignment(a Assignment, version int16) ([]byte, error) {
	w := newWriter(version)
	w.partitions(a.Partitions)
	w.nullableBytes(a.UserData)
	if w.err != nil {
		return nil, fmt.Errorf("assignors: assignment version %d: %w", version, w.err)
	}
	return w.b, nil
}

func compareTopicPartitions(a, b TopicPartition) int {
	if a.Topic != b.Topic {
		return compareJava(a.Topic, b.Topic)
	}
	return int(int64(a.Partition) - int64(b.Partition))
}

// reader takes a blob apart. After the first error everything it answers is empty.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.rest = nil
}

func (r *reader) take(n int) []byte {
	if n > len(r.rest) {
		r.fail("%d bytes wanted, %d left", n, len(r.rest))
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) int16() int16 {
	if len(r.rest) < 2 {
		r.fail("%w: a number of 2 bytes, %d left", ErrSchema, len(r.rest))
		return 0
	}
	return int16(binary.BigEndian.Uint16(r.take(2)))
}

func (r *reader) int32() int32 {
	if len(r.rest) < 4 {
		r.fail("%w: a number of 4 bytes, %d left", ErrSchema, len(r.rest))
		return 0
	}
	return int32(binary.BigEndian.Uint32(r.take(4)))
}

func (r *reader) version() int16 {
	v := r.int16()
	if v < 0 {
		r.fail("%w: version %d, 0 or more wanted", ErrSchema, v)
	}
	return v
}

// count reads the length of an array. Its items take a byte at least, so a length the bytes cannot fill is found before anything is allocated for it.
func (r *reader) count() int {
	n := int(r.int32())
	if n < 0 || n > len(r.rest) {
		r.fail("array of %d items, %d bytes left", n, len(r.rest))
		return 0
	}
	return n
}

func (r *reader) rawStr() []byte {
	n := int(r.int16())
	if n < 0 {
		r.fail("string of length %d", n)
		return nil
	}
	return r.take(n)
}

func (r *reader) str() string { return string(r.rawStr()) }

func (r *reader) nullableStr() string {
	n := int(r.int16())
	if n < 0 {
		return ""
	}
	return string(r.take(n))
}

func (r *reader) nullableBytes() []byte {
	n := int(r.int32())
	if n < 0 {
		return nil
	}
	return slices.Clone(r.take(n))
}

func (r *reader) partitions() []TopicPartition {
	var out []TopicPartition
	for topics := r.count(); topics > 0 && r.err == nil; topics-- {
		topic := r.str()
		n := r.count()
		out = slices.Grow(out, min(n, len(r.rest)/4))
		for ; n > 0 && r.err == nil; n-- {
			out = append(out, TopicPartition{topic, r.int32()})
		}
	}
	if r.err != nil {
		return nil
	}
	return out
}

type writer struct {
	b   []byte
	err error
}

func newWriter(version int16) *writer {
	w := &writer{}
	if version < 0 {
		w.err = fmt.Errorf("0 to %d wanted", ConsumerProtocolVersion)
	}
	w.int16(min(version, ConsumerProtocolVersion))
	return w
}

func (w *writer) int16(v int16) { w.b = binary.BigEndian.AppendUint16(w.b, uint16(v)) }
func (w *writer) int32(v int32) { w.b = binary.BigEndian.AppendUint32(w.b, uint32(v)) }

func (w *writer) str(s string) {
	if len(s) > math.MaxInt16 {
		w.err = fmt.Errorf("a name of %d bytes, at most %d fit", len(s), math.MaxInt16)
		return
	}
	w.int16(int16(len(s)))
	w.b = append(w.b, s...)
}

func (w *writer) nullableBytes(b []byte) {
	if b == nil {
		w.int32(-1)
		return
	}
	w.int32(int32(len(b)))
	w.b = append(w.b, b...)
}

// partitions groups by topic in the order of first appearance.
func (w *writer) partitions(tps []TopicPartition) {
	place := map[string]int{}
	var topics []string
	var numbers [][]int32
	at := 0
	for i, tp := range tps {
		if i == 0 || tps[i-1].Topic != tp.Topic {
			known := false
			if at, known = place[tp.Topic]; !known {
				at = len(topics)
				place[tp.Topic] = at
				topics, numbers = append(topics, tp.Topic), append(numbers, nil)
			}
		}
		numbers[at] = append(numbers[at], tp.Partition)
	}
	w.int32(int32(len(topics)))
	for at, topic := range topics {
		w.str(topic)
		w.int32(int32(len(numbers[at])))
		for _, p := range numbers[at] {
			w.int32(p)
		}
	}
}
