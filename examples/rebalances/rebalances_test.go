// Package rebalances plays one story under three strategies, side by side: nine workers share ninety partitions, and a tenth comes. The test shows who stops
// working meanwhile, on which partitions, and for how long. docs/rebalances.md has the output and what to read from it.
package rebalances

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fakekafka/fakekafka/fakekafka"
	"github.com/fakekafka/fakekafka/groups"
)

const workers, partitions = 9, 90

func TestATenthWorkerJoins(t *testing.T) {
	for _, c := range []struct {
		strategy string
		opts     []kgo.Opt
		check    func(*testing.T, story)
	}{
		{"range", []kgo.Opt{kgo.Balancers(kgo.RangeBalancer())}, func(t *testing.T, s story) {
			require.Len(t, s.stopped, partitions, "everybody gives everything up")
			require.Equal(t, 1, s.rounds)
		}},
		{"cooperative-sticky", []kgo.Opt{kgo.Balancers(kgo.CooperativeStickyBalancer())}, func(t *testing.T, s story) {
			require.Len(t, s.stopped, 9, "only what moves stops")
			require.Equal(t, map[string]int{"worker-10": 9}, s.gained)
			require.Equal(t, 2, s.rounds, "one round to give up, one to give out")
		}},
		{"uniform (KIP-848)", []kgo.Opt{kgo.Balancers(kgo.StickyBalancer()), kgo.ServerSideBalancer()}, func(t *testing.T, s story) {
			require.Len(t, s.stopped, 9, "only what moves stops")
			require.Equal(t, map[string]int{"worker-10": 9}, s.gained)
			require.Len(t, s.lost, workers, "each worker gives one up, by itself")
		}},
	} {
		t.Run(c.strategy, func(t *testing.T) {
			t.Parallel()
			s := play(t, c.opts...)
			t.Logf("%s\n%s\n%s", c.strategy, s, s.timeline)
			c.check(t, s)
		})
	}
}

// story is what happened from when the tenth worker came.
type story struct {
	stopped      []fakekafka.Interruption
	lost, gained map[string]int // of those partitions, by worker
	rounds       int            // generations, or epochs, of the group
	took         time.Duration  // until the group had settled
	timeline     string
}

func (s story) String() string {
	var longest, total time.Duration
	for _, i := range s.stopped {
		longest = max(longest, i.Duration())
		total += i.Duration()
	}
	var from []string
	for _, w := range slices.Sorted(maps.Keys(s.lost)) {
		from = append(from, fmt.Sprintf("%s %d", w, s.lost[w]))
	}
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
	return fmt.Sprintf("%d of %d partitions stopped, the longest for %s, %s in all; settled after %s and %d rounds\nstopped: %s",
		len(s.stopped), partitions, ms(longest), ms(total), ms(s.took), s.rounds, strings.Join(from, ", "))
}

func play(t *testing.T, opts ...kgo.Opt) story {
	k := fakekafka.Start(t, fakekafka.Topic("orders", partitions))
	g := k.Group("billing")
	require.NoError(t, g.ExpectMembers(workers)) // one first generation, however they race
	for i := range workers {
		startWorker(t, k.Bootstrap(), fmt.Sprintf("worker-%d", i+1), opts...)
	}
	g.AwaitStable(t, workers)
	g.AwaitFetching(t)
	require.Empty(t, g.Interruptions(), "nobody has lost anything so far")
	before, history := g.State().Epoch, len(g.History())

	startWorker(t, k.Bootstrap(), "worker-10", opts...)
	g.AwaitStable(t, workers+1)
	g.RequireBalanced(t)
	g.RequireNoDoubleOwner(t)

	events := g.History()[history:]
	s := story{
		stopped: g.Interruptions(), lost: map[string]int{}, gained: map[string]int{},
		rounds: int(g.State().Epoch - before), timeline: g.Timeline(),
	}
	// It begins when the first of the others hears that there is a tenth.
	heard := slices.IndexFunc(events, func(e fakekafka.Event) bool {
		return e.Kind == groups.EventToldToRebalance || e.Kind == groups.EventToldToRevoke
	})
	s.took = events[len(events)-1].At.Sub(events[heard].At)
	for _, i := range s.stopped {
		s.lost[i.From]++
		if i.From != i.To {
			s.gained[i.To]++
		}
	}
	return s
}

// startWorker runs a worker until the end of the test.
func startWorker(t *testing.T, bootstrap, name string, opts ...kgo.Opt) {
	t.Cleanup(poll(t, append([]kgo.Opt{kgo.SeedBrokers(bootstrap), kgo.ClientID(name),
		kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"),
		// franz-go's first fetch may leave before it knows the position of all ten partitions, and the others wait until it is answered: 5 s by default.
		kgo.FetchMaxWait(250 * time.Millisecond)}, opts...)...))
}
