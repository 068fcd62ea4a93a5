package fakekafka

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fakekafka/fakekafka/internal/broker"
)

const eventSkipped = broker.EventSkipped

// fetching tells whether every partition that a member owns is being fetched by its client. On the loop.
func (g *Group) fetching() (bool, string) {
	s, ok := g.k.b.GroupState(g.id)
	if !ok {
		return false, g.nothing()
	}
	if s.State != "Stable" || len(s.Members) == 0 || slices.ContainsFunc(s.Members, unsettled) {
		return false, summary(s)
	}
	var idle []string
	for _, m := range s.Members {
		if !samePartitions(m.Owned, nil) && g.k.b.Silent(g.id, m.ID) { // a static member keeps its partitions when its process is gone
			idle = append(idle, memberLabel(m)+" is not heard: its client isn't connected, or is paused")
			continue
		}
		var missing []int32
		for topic, ps := range m.Owned {
			for _, p := range ps {
				if !g.k.b.Fetches(g.id, m.ID, topic, p) {
					missing = append(missing, p)
				}
			}
			if len(missing) > 0 {
				idle = append(idle, fmt.Sprintf("%s doesn't fetch %s %s", memberLabel(m), topic, ranges(missing)))
				missing = nil
			}
		}
	}
	slices.Sort(idle)
	return len(idle) == 0, strings.Join(idle, "; ")
}

// Fetching waits until the group is stable and every partition that a member owns is being fetched by it.
func (g *Group) Fetching(ctx context.Context) error {
	if err := g.nameless(); err != nil {
		return g.failed(fmt.Errorf("wanted a group that fetches: %w", err))
	}
	return g.unmet(g.k.await(ctx, "every owned partition to be fetched", g.fetching), 1)
}

// AwaitFetching waits until the group is stable and every member fetches every partition that it owns: its position is known then, and a record produced from now
// on reaches it, even with auto.offset.reset=latest. That a partition is assigned says neither. A client fetches a partition that it comes to late only when
// its fetch of the others is answered: without records that takes its fetch.max.wait.ms (kgo.FetchMaxWait, 5 s by default). A member whose client is gone, as a
// static one's that restarts, or is paused fetches nothing.
func (g *Group) AwaitFetching(tb testing.TB) {
	tb.Helper()
	g.k.within(tb, func(ctx context.Context) error { return g.Fetching(ctx) })
}
