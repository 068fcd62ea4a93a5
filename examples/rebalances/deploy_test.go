package rebalances

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fakekafka/fakekafka/fakekafka"
	"github.com/fakekafka/fakekafka/groups"
)

// Five workers share twenty partitions and restart one after the other, as in a deploy. In a bubble the figures are the protocol's, without the machine's load: the
// pause of a partition can be held below a bound.
func TestDeploy(t *testing.T) {
	const aBeat = 120 * time.Millisecond // a heartbeat interval, after which the last member has heard of it, and two round trips
	for _, c := range []struct {
		strategy string
		static   bool
		opts     []kgo.Opt
		// What the five restarts cost: how often it rebalanced, how many times a partition had no owner, and the longest of them.
		rebalances, stopped int
		longest             time.Duration
	}{
		{"range", false, []kgo.Opt{kgo.Balancers(kgo.RangeBalancer())}, 10, 200, aBeat},
		{"cooperative-sticky", false, []kgo.Opt{kgo.Balancers(kgo.CooperativeStickyBalancer())}, 15, 40, aBeat},
		{"uniform (KIP-848)", false, []kgo.Opt{kgo.ServerSideBalancer()}, 10, 40, aBeat},
		{"range, static members", true, []kgo.Opt{kgo.Balancers(kgo.RangeBalancer())}, 0, 0, 0},
	} {
		t.Run(c.strategy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := fakekafka.Start(t, fakekafka.InMemoryNetwork(), fakekafka.Topic("orders", 20),
					fakekafka.Config("group.consumer.min.heartbeat.interval.ms", "100"), fakekafka.Config("group.consumer.heartbeat.interval.ms", "100"))
				require.NoError(t, k.Broker(1).Latency(5*time.Millisecond)) // else a step takes no time, and who stops for none isn't listed
				g := k.Group("billing")
				run := func(i int, version string) (stop func()) {
					opts := append([]kgo.Opt{kgo.SeedBrokers(k.Bootstrap()), kgo.Dialer(k.DialContext), kgo.ClientID(fmt.Sprintf("pod-%d-%s", i, version)),
						kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"), kgo.HeartbeatInterval(100 * time.Millisecond)}, c.opts...)
					if c.static {
						opts = append(opts, kgo.InstanceID(fmt.Sprintf("pod-%d", i)))
					}
					return poll(t, opts...)
				}
				require.NoError(t, g.ExpectMembers(5))
				var stops [5]func()
				for i := range stops {
					stops[i] = run(i, "v1")
				}
				g.AwaitStable(t, 5)
				g.AwaitFetching(t)
				before, old := len(g.Interruptions()), len(g.History())

				for i, stop := range stops {
					stop()
					if !c.static {
						g.AwaitStable(t, 4)
					}
					time.Sleep(5 * time.Second) // the new one starts
					t.Cleanup(run(i, "v2"))
					g.AwaitStable(t, 5)
					g.AwaitFetching(t) // it has taken over: nobody fetches for a static member whose process is gone
				}

				rebalances := 0
				for _, e := range g.History()[old:] {
					if e.Kind == groups.EventRebalance || e.Kind == groups.EventEpoch {
						rebalances++
					}
				}
				stopped, longest := g.Interruptions()[before:], time.Duration(0)
				for _, i := range stopped {
					longest = max(longest, i.Duration())
				}
				t.Logf("%s: %d rebalances, %d times a partition stopped, the longest for %s", c.strategy, rebalances, len(stopped), longest)
				require.Equal(t, c.rebalances, rebalances, g.Timeline())
				require.LessOrEqual(t, len(stopped), c.stopped)
				require.LessOrEqual(t, longest, c.longest)
				g.RequireNoDoubleOwner(t)
				g.RequireNothingSkipped(t)
			})
		})
	}
}

// poll runs a consumer until the returned function ends it; calling that again does nothing.
func poll(t *testing.T, opts ...kgo.Opt) (stop func()) {
	cl, err := kgo.NewClient(opts...)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			cl.PollFetches(ctx)
		}
	}()
	return func() {
		cancel()
		<-done
		cl.Close()
	}
}
