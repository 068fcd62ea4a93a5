package fakekafka

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fakekafka/fakekafka/internal/broker"
)

// Idle waits until nothing happens any more; the context bounds the wait.
func (k *Cluster) Idle(ctx context.Context) error {
	err := k.await(ctx, "nothing in flight, stable groups and a lag of 0", func() (bool, string) {
		going := k.b.Busy()
		for _, id := range k.b.GroupIDs() {
			s, ok := k.b.GroupState(id)
			if !ok {
				continue
			}
			if len(s.PendingMembers) > 0 {
				going = append(going, fmt.Sprintf("group %s waits for %s: a member id was given, and nobody has joined with it yet", broker.Shown(id), pendingText(s.PendingMembers)))
			}
			if len(s.Members) == 0 {
				continue // nobody is there to do anything
			}
			g := k.Group(id)
			if settled, saw := g.stable(len(s.Members)); !settled {
				going = append(going, "group "+broker.Shown(id)+" is not stable: "+saw)
			} else if lag, saw, _ := g.lag(); lag > 0 {
				going = append(going, "group "+broker.Shown(id)+" has "+saw)
			}
		}
		return len(going) == 0, strings.Join(going, "; ")
	})
	if err != nil {
		return fmt.Errorf("fakekafka: %w%s", err, lines(k.inTheWay()))
	}
	return nil
}

// pendingText names members that have no more than an id yet; of many the first ones.
func pendingText(ids []string) string {
	const uuid = len("-00000000-0000-0000-0000-000000000000")
	var names []string
	for _, id := range ids[:min(len(ids), mostTold)] {
		client := id[:max(0, len(id)-uuid)]
		names = append(names, fmt.Sprintf("%s (%s)", broker.Shown(client), broker.ShortID(id, client)))
	}
	if more := len(ids) - mostTold; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// AwaitIdle waits for a quiet point: no request is in flight but those that wait for something to happen (a fetch at the end of the log, a held heartbeat), every
// group that has members is stable, and has committed all there is, and nobody who was given a member id is still to join with it. What a client does between two other
// requests can't be seen here, but a record that it is still working on isn't committed. After it, RequireNoMore makes "nothing came" a fact. A client that was only just
// started has asked for nothing yet: wait for its group or for a record first.
func (k *Cluster) AwaitIdle(tb testing.TB) {
	tb.Helper()
	k.within(tb, func(ctx context.Context) error { return k.Idle(ctx) })
}
