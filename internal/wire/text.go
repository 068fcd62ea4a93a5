package wire

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Text gives a string's bytes as Kafka reads them: whatever is not UTF-8 becomes
// U+FFFD. As in Java, one replaces the longest start of a character that goes
// wrong, and a whole surrogate, so that they are not as many as in Go.
func Text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	for len(b) > 0 {
		c, n := utf8.DecodeRune(b)
		if c == utf8.RuneError && n == 1 {
			n = malformed(b)
		}
		s.WriteRune(c)
		b = b[n:]
	}
	return s.String()
}

// malformed gives how many bytes at the start of b one U+FFFD replaces.
func malformed(b []byte) int {
	size, low, high := 1, byte(0x80), byte(0xbf) // low to high: what may come second
	switch c := b[0]; {
	case c == 0xe0:
		size, low = 3, 0xa0
	case c >= 0xe1 && c <= 0xef: // with 0xed and the surrogates
		size = 3
	case c == 0xf0:
		size, low = 4, 0x90
	case c >= 0xf1 && c <= 0xf3:
		size = 4
	case c == 0xf4:
		size, high = 4, 0x8f
	}
	n := 1
	for n < min(size, len(b)) && low <= b[n] && b[n] <= high {
		n, low, high = n+1, 0x80, 0xbf
	}
	return n
}

// writable is [Text] of a string that may be answered or kept. Replacing makes a
// string up to three times as long; one that outgrows what a message or a record
// can hold is an error: a broker fails when it writes that, and leaves the client
// without an answer, or with one that has nothing to do with what it asked.
func writable(b []byte) (string, error) {
	s := Text(b)
	if len(s) > math.MaxInt16 {
		return "", fmt.Errorf("a string of %d bytes that is not UTF-8 takes %d bytes as text; Kafka writes none longer than %d", len(b), len(s), math.MaxInt16)
	}
	return s, nil
}

// retext passes every string of a decoded request through [writable].
func retext(v reflect.Value) (err error) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return retext(v.Elem())
		}
	case reflect.String:
		var s string
		if s, err = writable([]byte(v.String())); err == nil {
			v.SetString(s)
		}
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Struct, reflect.String, reflect.Pointer:
			for i := 0; i < v.Len() && err == nil; i++ {
				err = retext(v.Index(i))
			}
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && err == nil; i++ {
			if f := v.Field(i); f.CanSet() {
				err = retext(f)
			}
		}
	}
	return err
}
