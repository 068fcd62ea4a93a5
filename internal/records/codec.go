package records

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Types of records, the first field of every key.
const (
	TypeOffsetCommitLegacy int16 = 0
	TypeOffsetCommit       int16 = 1
	TypeGroupMetadata      int16 = 2
)

// ErrShort says that a key or value ends before its fields do.
var ErrShort = errors.New("records: input ends within a field")

// KeyType is the record type of a key.
func KeyType(key []byte) (int16, error) {
	r := reader{b: key}
	t := r.int16()
	return t, r.err
}

// reader reads fields one after the other; after the first error it answers zero values and keeps the error.
type reader struct {
	b   []byte
	err error
}

func (r *reader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > len(r.b) {
		r.err, r.b = ErrShort, nil
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
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

func (r *reader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.err, r.b = ErrShort, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// length reads the length of a string or byte array; -1 is null.
func (r *reader) length(flexible bool, wide bool) int {
	switch {
	case flexible:
		n := r.uvarint()
		if n > uint64(len(r.b))+1 {
			r.take(-1)
			return 0
		}
		return int(n) - 1
	case wide:
		return int(r.int32())
	}
	return int(r.int16())
}

// string reads a string that must not be null; null reads as "".
func (r *reader) string(flexible bool) string {
	if s := r.nullableString(flexible); s != nil {
		return *s
	}
	return ""
}

func (r *reader) nullableString(flexible bool) *string {
	n := r.length(flexible, false)
	if n < 0 || r.err != nil {
		return nil
	}
	s := string(r.take(n))
	if r.err != nil {
		return nil
	}
	return &s
}

// bytes answers a copy; null reads as nil.
func (r *reader) bytes(flexible bool) []byte {
	n := r.length(flexible, true)
	if n < 0 || r.err != nil {
		return nil
	}
	return append([]byte{}, r.take(n)...)
}

// count reads the length of an array whose elements take at least minSize bytes each; null reads as 0.
func (r *reader) count(flexible bool, minSize int) int {
	var n int64
	if flexible {
		n = int64(r.uvarint()) - 1
	} else {
		n = int64(r.int32())
	}
	if n <= 0 || r.err != nil {
		return 0
	}
	if n > int64(len(r.b)/max(minSize, 1)) {
		r.take(-1)
		return 0
	}
	return int(n)
}

// tags reads the tagged fields at the end of a flexible structure; known is called with a reader of each one's bytes.
func (r *reader) tags(known func(tag uint64, field *reader)) {
	for range r.count64() {
		tag, size := r.uvarint(), r.uvarint()
		if size > uint64(len(r.b)) {
			r.take(-1)
		}
		field := reader{b: r.take(int(size))}
		if r.err != nil {
			return
		}
		if known != nil {
			known(tag, &field)
			if field.err != nil {
				r.err = field.err
				return
			}
		}
	}
}

// count64 is the number of tagged fields; each takes at least two bytes.
func (r *reader) count64() int {
	n := r.uvarint()
	if n > uint64(len(r.b)/2) {
		r.take(-1)
		return 0
	}
	return int(n)
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

// value starts reading a value and checks its version.
func value(b []byte, highest int16) (r reader, version int16) {
	r = reader{b: b}
	version = r.int16()
	if r.err == nil && (version < 0 || version > highest) {
		r.err = fmt.Errorf("records: value of version %d; 0 to %d are known", version, highest)
	}
	return r, version
}

// The writers append one field each.

func appendInt16(b []byte, v int16) []byte { return binary.BigEndian.AppendUint16(b, uint16(v)) }
func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func appendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

func appendString(b []byte, s string) []byte {
	return append(appendInt16(b, int16(len(s))), s...)
}

func appendNullableString(b []byte, s *string) []byte {
	if s == nil {
		return appendInt16(b, -1)
	}
	return appendString(b, *s)
}

func appendBytes(b, v []byte) []byte {
	return append(appendInt32(b, int32(len(v))), v...)
}

func appendCompactString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))+1), s...)
}
