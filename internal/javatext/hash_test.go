package javatext_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/internal/javatext"
)

// The hash codes are those that Java's own String gives.
func TestHashCode(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int32{"": 0, "a": 97, "range": 108280125, "polygenelubricants": -2147483648, "\U0001f600": 1772899} {
		require.Equal(t, want, javatext.HashCode(s), s)
	}
	require.Equal(t, 2, javatext.Bucket(javatext.HashCode("cleanup.policy"), 16))
	require.Equal(t, 13, javatext.Bucket(javatext.HashCode("unclean.leader.election.enable"), 16))
}

func TestBuckets(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][2]int{0: {16, 16}, 11: {16, 16}, 12: {16, 32}, 13: {32, 32}, 24: {32, 64}, 25: {64, 64}, 1000: {2048, 2048}} {
		require.Equal(t, want, [2]int{javatext.MapBuckets(n), javatext.SetBuckets(n)}, "%d keys: of a map, of a set", n)
	}
}

// The orders are those in which Java's own HashMap and HashSet give up what was put into them.
func TestMapAndSetOrder(t *testing.T) {
	t.Parallel()
	letters := strings.Split("a b c d e f g h i j k l", " ")
	require.Equal(t, strings.Split("p a b c d e f g", " "), javatext.MapOrder(strings.Split("g f e d c b a p", " "), javatext.HashCode))
	require.Equal(t, letters, javatext.MapOrder(letters, javatext.HashCode), "a map of 12 has 16 buckets")
	require.Equal(t, []string{"BB", "Aa"}, javatext.MapOrder([]string{"BB", "Aa"}, javatext.HashCode), "of one hash")
	twelve := strings.Split("p a b c d e f g h i j k", " ")
	require.Equal(t, twelve, javatext.MapOrder(twelve, javatext.HashCode))
	require.Equal(t, append(slices.Clone(letters[:11]), "p"), javatext.ConcurrentMapOrder(twelve, javatext.HashCode), "a concurrent one 32")
	require.Equal(t, append(strings.Split("a b c d e f g h i j k", " "), "p"), javatext.SetOrder(twelve, javatext.HashCode), "a set of 12 has 32")
}
