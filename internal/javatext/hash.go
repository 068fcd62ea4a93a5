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

// MapBuckets is how many buckets a hash map has that n keys were put into one after the other: it doubles with the key that is more than
// three quarters of them.
func MapBuckets(n int) int {
	buckets := 16
	for n*4 > buckets*3 {
		buckets *= 2
	}
	return buckets
}

// SetBuckets is how many buckets a hash set has that was made of n keys at once: the smallest power of two that is at least n/0.75 + 1.
func SetBuckets(n int) int {
	buckets := 16
	for buckets*3 <= n*4 {
		buckets *= 2
	}
	return buckets
}

// MapOrder lists keys, each of which stands there once, as a hash map is walked that they were put into one after the other.
func MapOrder[K any](keys []K, hash func(K) int32) []K {
	return inBuckets(keys, hash, MapBuckets(len(keys)))
}

// ConcurrentMapOrder is MapOrder of a concurrent hash map, which grows one key earlier.
func ConcurrentMapOrder[K any](keys []K, hash func(K) int32) []K {
	buckets := 16
	for len(keys)*4 >= buckets*3 {
		buckets *= 2
	}
	return inBuckets(keys, hash, buckets)
}

// SetOrder is MapOrder of a set that was made of all of them at once, which has room for a bit more from the beginning.
func SetOrder[K any](keys []K, hash func(K) int32) []K {
	return inBuckets(keys, hash, SetBuckets(len(keys)))
}

// inBuckets deals keys into their buckets, in time proportional to both: all members of a group are listed so for each of its targets.
func inBuckets[K any](keys []K, hash func(K) int32, buckets int) []K {
	bucket := make([]int32, len(keys))
	next := make([]int32, buckets+1) // where the next one of a bucket goes
	for i, key := range keys {
		bucket[i] = int32(Bucket(hash(key), buckets))
		next[bucket[i]+1]++
	}
	for b := range buckets {
		next[b+1] += next[b]
	}
	out := make([]K, len(keys))
	for i, key := range keys {
		at := &next[bucket[i]]
		out[*at] = key
		*at++
	}
	return out
}
