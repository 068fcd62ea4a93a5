package javatext

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The answers of an Apache Kafka 4.3.1 that echoes these as names.
func TestOf(t *testing.T) {
	const r = "\uFFFD"
	for in, want := range map[string]string{
		"":                         "",
		"a\x00é\u2003😀":            "a\x00é\u2003😀",
		"\xff\xfe":                 r + r,
		"\xc3":                     r,
		"\xc0\x80":                 r + r,
		"\xe0\x80\x80":             r + r + r,
		"\xed\xa0":                 r,
		"\xed\xa0\x80":             r,
		"\xed\xa0\x80\xed\xb0\x80": r + r,
		"x\xe2\x82":                "x" + r,
		"\xe2\x82x":                r + "x",
		"\xf0\x9f\x98":             r,
		"\xf0\x9f\x98x":            r + "x",
		"\xf0\x80\x80\x80z":        r + r + r + r + "z",
		"\xf4\x90\x80\x80":         r + r + r + r,
		"\xf5\x80\x80\x80":         r + r + r + r,
		"\xef\xbf\xbd":             r,
	} {
		assert.Equal(t, want, Of([]byte(in)), "%x", in)
	}
}
