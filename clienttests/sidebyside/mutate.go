package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// mutation damages a frame. Two brokers get the same damage though the ids in their frames differ: at is where it begins, and n how many
// bytes it changes there; a negative n counts from the end of the frame.
type mutation struct {
	text  string
	at, n int
	apply func([]byte) []byte
}

// fits tells whether two frames have the same bytes where the mutation changes them, and around: half an id would be another one on each side.
func (m mutation) fits(a, b []byte) bool {
	from, to := m.at, m.at+m.n
	if m.n < 0 {
		from, to = len(a)+m.n, len(a)
	}
	if len(a) != len(b) || from < header || to > len(a) {
		return false
	}
	const around = 8 // in an id of 16 bytes or more, two of which are seldom alike in so many
	from, to = max(header, from-around), min(len(a), to+around)
	return bytes.Equal(a[from:to], b[from:to])
}

// header is the part of a frame that no mutation touches, so that it is known how to read the answer: size, key, version, correlation id.
const header = 12

// mutationsOf chooses one or two mutations of a frame of n bytes.
func mutationsOf(r *rand.Rand, n int) []mutation {
	list := make([]mutation, pick(r, 1, 1, 1, 2))
	for i := range list {
		list[i] = mutationOf(r, n)
	}
	return list
}

func mutationOf(r *rand.Rand, n int) mutation {
	at := header + r.IntN(max(1, n-header))
	if r.IntN(12) == 0 { // more often in the client id and at the beginning of the body
		at = header + r.IntN(max(1, min(n-header, 8)))
	}
	value := pick[byte](r, 0, 1, 2, 0xff, 0x7f, 0x80, byte(r.IntN(256)))
	switch r.IntN(8) {
	case 0:
		bit := byte(1 << r.IntN(8))
		return put(fmt.Sprintf("flip %02x at %d", bit, at), at, 1, func(b []byte) { b[0] ^= bit })
	case 1:
		return put(fmt.Sprintf("set %02x at %d", value, at), at, 1, func(b []byte) { b[0] = value })
	case 2:
		v := pick[int32](r, -1, 0, 1, math.MaxInt32, math.MinInt32, -2)
		return put(fmt.Sprintf("int32 %d at %d", v, at), at, 4, func(b []byte) { binary.BigEndian.PutUint32(b, uint32(v)) })
	case 3:
		v := pick[int16](r, -1, 0, 1, math.MaxInt16, math.MinInt16, -2)
		return put(fmt.Sprintf("int16 %d at %d", v, at), at, 2, func(b []byte) { binary.BigEndian.PutUint16(b, uint16(v)) })
	case 4:
		cut := 1 + r.IntN(8)
		return mutation{fmt.Sprintf("cut %d", cut), 0, -cut, func(f []byte) []byte { return f[:len(f)-cut] }}
	case 5:
		more := make([]byte, 1+r.IntN(6))
		for i := range more {
			more[i] = value
		}
		return mutation{fmt.Sprintf("append %x", more), 0, -1, func(f []byte) []byte { return append(f, more...) }}
	case 6:
		return mutation{fmt.Sprintf("insert %02x at %d", value, at), at, 1, func(f []byte) []byte {
			return append(f[:at:at], append([]byte{value}, f[at:]...)...)
		}}
	}
	// The last byte counts the tags of a flexible request.
	tags := pick(r, "", "\x00\x00", "\x00\x01\x09", "\x09\x00", "\x09\x01\x07\x09\x01\x07", "\x05\x00\x04\x00", "\x80\x80\x80\x80\x08\x00", "\xff\xff\xff\xff\x0f\x00", "\x01\x05\x00")
	return mutation{fmt.Sprintf("last %02x, append %x", value, tags), 0, -1, func(f []byte) []byte {
		f[len(f)-1] = value
		return append(f, tags...)
	}}
}

// put is a mutation of the n bytes at a place.
func put(text string, at, n int, change func([]byte)) mutation {
	return mutation{text, at, n, func(f []byte) []byte {
		change(f[at : at+n])
		return f
	}}
}

// mutated applies the mutations that fit and makes the frames' sizes right again. It returns those that it applied.
func mutated(a, b []byte, list []mutation) (_, _ []byte, applied []mutation) {
	for _, m := range list {
		if m.fits(a, b) {
			a, b = m.apply(a), m.apply(b)
			applied = append(applied, m)
		}
	}
	binary.BigEndian.PutUint32(a, uint32(len(a)-4))
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return a, b, applied
}

// readBack decodes a damaged frame as the broker does that gets it; nil if it can't be read. What stands behind the request is ignored.
func readBack(frame []byte, like kmsg.Request) (q kmsg.Request) {
	defer func() { // kmsg trusts lengths in places
		if recover() != nil {
			q = nil
		}
	}()
	b := frame[header:]
	if n := int(int16(binary.BigEndian.Uint16(b))); n >= 0 {
		b = b[n:]
	}
	b = b[2:]
	if like.IsFlexible() {
		if b[0] != 0 { // tags in the header
			return nil
		}
		b = b[1:]
	}
	q = kmsg.RequestForKey(like.Key())
	q.SetVersion(like.GetVersion())
	if q.ReadFrom(b) != nil || len(q.AppendTo(nil)) > len(b) { // the second: kmsg took a length for another
		return nil
	}
	return q
}
