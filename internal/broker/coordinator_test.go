package broker

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A group's partition is the absolute value of Java's hash of its id, not that with the sign bit masked off.
func TestGroupPartition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		group      string
		partitions int
		want       int32
	}{
		{"", 50, 0},
		{"a", 50, 97 % 50},
		{"ab", 50, (97*31 + 98) % 50},
		{"batches", 50, 331743896 % 50}, // its hash is negative
		{"batches", 7, 331743896 % 7},
		{"polygenelubricants", 50, 0},                 // the smallest number, which has no absolute value
		{"\U0001f389", 50, (0xd83c*31 + 0xdf89) % 50}, // by the two units of UTF-16
		{"batches", 1, 0},
	} {
		require.Equal(t, c.want, groupPartition(c.group, c.partitions), "%q of %d", c.group, c.partitions)
	}
}
