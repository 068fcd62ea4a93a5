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

// What a log reserves for small batches is a share of what it holds, and not of all that it ever held.
func TestALogThatShrinksReservesLess(t *testing.T) {
	t.Parallel()
	for name, shrink := range map[string]func(l *Log){
		"retention": func(l *Log) { l.ApplyRetention(t0) },
		"dropping":  func(l *Log) { l.DropOldest(t0, l.Size()-20<<10) },
		"compaction": func(l *Log) {
			l.Roll(t0)
			_, err := l.Compact(t0, nil)
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTestLog(func(c *Config) {
				c.SegmentBytes, c.RetentionBytes = 1<<20, 100<<10
				c.CleanupDelete, c.CleanupCompact = name != "compaction", name == "compaction"
			})
			for range 20_000 { // of about 100 bytes
				produce(t, l, t0, at(t0, "the same key", "a value of thirty bytes or so"))
			}
			shrink(l)
			produce(t, l, t0, at(t0, "the same key", "a value of thirty bytes or so"))
			require.Less(t, l.Size(), int64(1200<<10))
			require.LessOrEqual(t, cap(l.arena.free), max(int(l.Size())/arenaShare, arenaMin))
		})
	}
}
