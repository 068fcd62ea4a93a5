package javatext_test

import (
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
