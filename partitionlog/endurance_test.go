package partitionlog

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Positions in a segment have 32 bits and count what was dropped from its front. So that counts for segment.bytes, too: an active segment that is trimmed again and
// again would go on for ever, and behind 2 GiB nothing of it was found.
func TestATrimmedSegmentIsFull(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.SegmentBytes = 1 << 20 })
	for l.End() < 1000 {
		produce(t, l, t0, Record{Timestamp: t0, Value: make([]byte, 10<<10)})
		if l.Size() > 200<<10 {
			require.Positive(t, l.DropOldest(t0, 50<<10).Bytes)
		}
		require.LessOrEqual(t, l.active().end, 1<<20)
		require.Less(t, l.Size(), int64(250<<10))
		require.NotEmpty(t, fetch(l, l.End()-1).Records)
	}
}
