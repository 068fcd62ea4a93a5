// Package javatext reads bytes as text the way a broker does, which runs in Java: strings of requests, names in the subscriptions of members, and
// header keys of records that it writes anew. It also has the hash codes of strings, by which the maps of a broker are ordered.
package javatext

import (
	"strings"
	"unicode/utf8"
)

// Of gives a string's bytes as Kafka reads them: whatever is not UTF-8 becomes
// U+FFFD. As in Java, one replaces the longest start of a character that goes
// wrong, and a whole surrogate, so that they are not as many as in Go.
func Of(b []byte) string {
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
