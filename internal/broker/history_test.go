package broker

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/groups"
)

// A broker whose memory is bounded forgets the oldest events, and never more than a chunk of them too early.
func TestABoundedHistoryForgetsTheOldest(t *testing.T) {
	t.Parallel()
	require.Equal(t, maxHistory, historyFor(0))
	require.Equal(t, 2*chunk, historyFor(1<<20), "the least there is")
	require.Equal(t, maxHistory, historyFor(1<<40))

	h := history{limit: historyFor(1 << 20)}
	const all = 5*chunk + 7
	for i := range all {
		h.add(groups.Event{Cause: strconv.Itoa(i)})
		require.LessOrEqual(t, h.n, h.limit)
		require.GreaterOrEqual(t, h.n, min(i+1, h.limit-chunk))
	}
	next := all - h.n
	for _, some := range h.chunks {
		for i := range some {
			require.Equal(t, strconv.Itoa(next), some[i].Cause)
			next++
		}
	}
	require.Equal(t, all, next)
}

// Names that clients make up count by their length.
func TestALongNamesHistoryIsBounded(t *testing.T) {
	t.Parallel()
	h := history{limit: historyFor(1 << 20)}
	long := strings.Repeat("x", 32_000)
	for i := range 5 * chunk {
		h.add(groups.Event{Kind: EventRefused, Group: long, ClientID: strconv.Itoa(i), Partitions: map[string][]int32{long: {0}}})
		require.LessOrEqual(t, h.long, h.limit*usualEvent+chunk*65_000)
	}
	require.LessOrEqual(t, h.n, chunk)
	for range 3 * chunk {
		h.add(groups.Event{Group: "g"})
	}
	require.Zero(t, h.long)
}
