package records

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// errShort says that a record ends before its last field.
var errShort = errors.New("the record ends too early")

// flexWriter appends fields in the encoding of flexible versions: lengths are unsigned varints, one more than the value.
type flexWriter struct{ b []byte }

func (w *flexWriter) int8(v int8)      { w.b = append(w.b, byte(v)) }
func (w *flexWriter) int16(v int16)    { w.b = binary.BigEndian.AppendUint16(w.b, uint16(v)) }
func (w *flexWriter) int32(v int32)    { w.b = binary.BigEndian.AppendUint32(w.b, uint32(v)) }
func (w *flexWriter) int64(v int64)    { w.b = binary.BigEndian.AppendUint64(w.b, uint64(v)) }
func (w *flexWriter) uvarint(v uint64) { w.b = binary.AppendUvarint(w.b, v) }
func (w *flexWriter) uuid(v [16]byte)  { w.b = append(w.b, v[:]...) }

func (w *flexWriter) string(v string) {
	w.uvarint(uint64(len(v)) + 1)
	w.b = append(w.b, v...)
}

func (w *flexWriter) nullableString(v *string) {
	if v == nil {
		w.uvarint(0)
		return
	}
	w.string(*v)
}

func (w *flexWriter) bytes(v []byte) {
	w.uvarint(uint64(len(v)) + 1)
	w.b = append(w.b, v...)
}

func (w *flexWriter) strings(v []string) {
	w.uvarint(uint64(len(v)) + 1)
	for _, s := range v {
		w.string(s)
	}
}

func (w *flexWriter) int32s(v []int32) {
	w.uvarint(uint64(len(v)) + 1)
	for _, n := range v {
		w.int32(n)
	}
}

func (w *flexWriter) noTags() { w.uvarint(0) }

// tag writes the one tagged field of a struct.
func (w *flexWriter) tag(number int, field func(*flexWriter)) {
	var f flexWriter
	field(&f)
	w.uvarint(1)
	w.uvarint(uint64(number))
	w.uvarint(uint64(len(f.b)))
	w.b = append(w.b, f.b...)
}

// flexReader reads what flexWriter writes. After the first error everything reads as zero; no length is believed
// before the bytes are there.
type flexReader struct {
	b   []byte
	err error
}

func (r *flexReader) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.b) {
		if r.err == nil {
			r.err = errShort
		}
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *flexReader) int8() int8 {
	if b := r.take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

func (r *flexReader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *flexReader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *flexReader) int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *flexReader) uuid() (v [16]byte) {
	copy(v[:], r.take(16))
	return v
}

func (r *flexReader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > math.MaxUint32 {
		r.err = errShort
		return 0
	}
	r.b = r.b[n:]
	return v
}

// length reads a length; null is true for the null value. Every element takes at least size bytes.
func (r *flexReader) length(size int) (n int, null bool) {
	v := r.uvarint()
	if r.err != nil || v == 0 {
		return 0, true
	}
	if v-1 > uint64(len(r.b)/size) {
		r.err = errShort
		return 0, true
	}
	return int(v - 1), false
}

func (r *flexReader) string() string {
	n, _ := r.length(1)
	return string(r.take(n))
}

func (r *flexReader) nullableString() *string {
	n, null := r.length(1)
	if null {
		return nil
	}
	s := string(r.take(n))
	return &s
}

func (r *flexReader) bytes() []byte {
	n, _ := r.length(1)
	return append([]byte(nil), r.take(n)...)
}

func (r *flexReader) strings() []string {
	n, _ := r.length(1)
	out := make([]string, 0, n)
	for range n {
		out = append(out, r.string())
	}
	return out
}

func (r *flexReader) int32s() []int32 {
	n, null := r.length(4)
	if null {
		return nil
	}
	out := make([]int32, n)
	for i := range out {
		out[i] = r.int32()
	}
	return out
}

// tags reads the tagged fields of a struct; unknown ones are passed over.
func (r *flexReader) tags(known func(number uint64, field *flexReader)) {
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		number := r.uvarint()
		size := r.uvarint()
		body := r.take(int(size))
		if r.err != nil || known == nil {
			continue
		}
		f := flexReader{b: body}
		known(number, &f)
		if f.err != nil {
			r.err = fmt.Errorf("tagged field %d: %w", number, f.err)
		}
	}
}

// version reads the leading version of a value.
func (r *flexReader) version(of string) {
	if v := r.int16(); r.err == nil && v != 0 {
		r.err = fmt.Errorf("version %d of %s is not known, only 0", v, of)
	}
}
