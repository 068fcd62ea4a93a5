package records

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Types of the records of offsets and of classic groups, the first field of every key. consumer.go has those of consumer groups.
const (
	TypeOffsetCommitLegacy int16 = 0
	TypeOffsetCommit       int16 = 1
	TypeGroupMetadata      int16 = 2
)

var errShort = errors.New("records: the input ends within a field")

// KeyType is the record type of a key.
func KeyType(key []byte) (int16, error) {
	r := reader{b: key}
	t := r.int16()
	return t, r.err
}

// reader reads fields one after the other. After the first error everything reads as zero, and no length is believed
// before the bytes are there.
type reader struct {
	b        []byte
	flexible bool // lengths are unsigned varints, one more than the value (KIP-482)
	err      error
}

// key starts reading a key and checks its type.
func key(b []byte, types ...int16) reader {
	r := reader{b: b}
	got := r.int16()
	for _, t := range types {
		if got == t || r.err != nil {
			return r
		}
	}
	r.err = fmt.Errorf("records: key of type %d where one of %v is wanted", got, types)
	return r
}

// value starts reading a value and checks its version. Versions from flexible on have the flexible encoding.
func value(b []byte, of string, highest, flexible int16) (r reader, version int16) {
	r = reader{b: b}
	version = r.int16()
	r.flexible = version >= flexible
	if r.err == nil && (version < 0 || version > highest) {
		r.err = fmt.Errorf("records: version %d of the value of %s is not known; versions up to %d are", version, of, highest)
	}
	return r, version
}

func (r *reader) short() {
	if r.err == nil {
		r.err = errShort
	}
	r.b = nil
}

func (r *reader) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.b) {
		r.short()
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) int8() int8 {
	if b := r.take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

func (r *reader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *reader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *reader) uuid() (id [16]byte) {
	copy(id[:], r.take(16))
	return id
}

// uvarint reads an unsigned varint of at most 32 bits.
func (r *reader) uvarint() int64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > math.MaxUint32 {
		r.short()
		return 0
	}
	r.b = r.b[n:]
	return int64(v)
}

// nullableString reads a string; nil is null.
func (r *reader) nullableString() *string {
	var n int
	if r.flexible {
		n = int(r.uvarint()) - 1
	} else {
		n = int(r.int16())
	}
	if n < 0 || r.err != nil {
		return nil
	}
	s := string(r.take(n))
	if r.err != nil {
		return nil
	}
	return &s
}

// string reads a string that is never null in Kafka; null reads as "".
func (r *reader) string() string {
	if s := r.nullableString(); s != nil {
		return *s
	}
	return ""
}

// bytes answers a copy; null reads as nil.
func (r *reader) bytes() []byte {
	var n int
	if r.flexible {
		n = int(r.uvarint()) - 1
	} else {
		n = int(r.int32())
	}
	if n < 0 || r.err != nil {
		return nil
	}
	return append([]byte{}, r.take(n)...)
}

// count reads the length of an array whose elements take at least size bytes each; null reads as 0.
func (r *reader) count(size int) int {
	var n int64
	if r.flexible {
		n = r.uvarint() - 1
	} else {
		n = int64(r.int32())
	}
	if n <= 0 || r.err != nil {
		return 0
	}
	if n > int64(len(r.b)/size) {
		r.short()
		return 0
	}
	return int(n)
}

func (r *reader) strings() []string {
	out := make([]string, 0, r.count(1))
	for range cap(out) {
		out = append(out, r.string())
	}
	return out
}

func (r *reader) int32s() []int32 {
	out := make([]int32, r.count(4))
	for i := range out {
		out[i] = r.int32()
	}
	return out
}

// tags reads the tagged fields at the end of a flexible structure. known is called with a reader of each one's bytes; nil passes over
// all of them.
func (r *reader) tags(known func(tag int64, field *reader)) {
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		tag := r.uvarint()
		field := reader{b: r.take(int(r.uvarint())), flexible: true}
		if r.err != nil || known == nil {
			continue
		}
		known(tag, &field)
		if field.err != nil {
			r.err = fmt.Errorf("records: tagged field %d: %w", tag, field.err)
		}
	}
}

// writer appends fields one after the other.
type writer struct {
	b        []byte
	flexible bool // as in reader
}

// flexibleValue starts a value of version 0 in the flexible encoding, with room for so many bytes.
func flexibleValue(size int) writer {
	w := writer{b: make([]byte, 0, size), flexible: true}
	w.int16(0)
	return w
}

func (w *writer) int8(v int8)      { w.b = append(w.b, byte(v)) }
func (w *writer) int16(v int16)    { w.b = binary.BigEndian.AppendUint16(w.b, uint16(v)) }
func (w *writer) int32(v int32)    { w.b = binary.BigEndian.AppendUint32(w.b, uint32(v)) }
func (w *writer) int64(v int64)    { w.b = binary.BigEndian.AppendUint64(w.b, uint64(v)) }
func (w *writer) uvarint(v int)    { w.b = binary.AppendUvarint(w.b, uint64(v)) }
func (w *writer) uuid(id [16]byte) { w.b = append(w.b, id[:]...) }

func (w *writer) string(s string) {
	if w.flexible {
		w.uvarint(len(s) + 1)
	} else {
		w.int16(int16(len(s)))
	}
	w.b = append(w.b, s...)
}

func (w *writer) nullableString(s *string) {
	switch {
	case s != nil:
		w.string(*s)
	case w.flexible:
		w.uvarint(0)
	default:
		w.int16(-1)
	}
}

// count writes the length of an array or of bytes.
func (w *writer) count(n int) {
	if w.flexible {
		w.uvarint(n + 1)
	} else {
		w.int32(int32(n))
	}
}

func (w *writer) bytes(b []byte) {
	w.count(len(b))
	w.b = append(w.b, b...)
}

func (w *writer) strings(list []string) {
	w.count(len(list))
	for _, s := range list {
		w.string(s)
	}
}

func (w *writer) int32s(list []int32) {
	w.count(len(list))
	for _, n := range list {
		w.int32(n)
	}
}

func (w *writer) noTags() { w.uvarint(0) }

// tag writes the one tagged field of a structure.
func (w *writer) tag(tag int, field func(*writer)) {
	f := writer{flexible: true}
	field(&f)
	w.uvarint(1)
	w.uvarint(tag)
	w.uvarint(len(f.b))
	w.b = append(w.b, f.b...)
}
