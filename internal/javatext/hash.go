package javatext

import (
	"unicode/utf16"
	"unicode/utf8"
)

// HashCode is that of a string in Java: over its UTF-16 units.
func HashCode(s string) int32 {
	var h int32
	for i := 0; ; i++ {
		if i == len(s) {
			return h
		}
		if s[i] >= utf8.RuneSelf {
			break
		}
		h = 31*h + int32(s[i])
	}
	h = 0
	for _, unit := range utf16.Encode([]rune(s)) {
		h = 31*h + int32(unit)
	}
	return h
}

// Bucket is where a hash table of so many buckets, a power of two, keeps a hash code. Java's maps and sets are walked bucket by bucket,
// and where a broker walks one its answers show that order.
func Bucket(hash int32, buckets int) int {
	return int((hash ^ int32(uint32(hash)>>16)) & int32(buckets-1))
}
