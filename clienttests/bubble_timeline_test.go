package clienttests

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// Ten minutes with a real client go the same way every time: FAKEKAFKA_SCENARIOS times, or a few. Ids are random, and the order of what happens at one
// instant is the scheduler's, so ids are left out and lines of one instant are sorted. By that order a member may be told of a rebalance in the answer of its
// SyncGroup or when it sends it; so it counts that it was told.
func TestBubbleSameTimeline(t *testing.T) {
	runs := 5
	if s := os.Getenv("FAKEKAFKA_SCENARIOS"); s != "" {
		var err error
		runs, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	for _, protocol := range []string{"classic", "consumer"} {
		t.Run(protocol, func(t *testing.T) {
			var first string
			began := time.Now()
			for i := range runs {
				synctest.Test(t, func(t *testing.T) {
					got := sortedInstants(tenMinutesOfFranz(t, protocol))
					if i == 0 {
						first = got
					}
					require.Equal(t, first, got, "run %d", i)
				})
			}
			t.Logf("%s for each ten minutes\n%s", time.Since(began)/time.Duration(runs), first)
		})
	}
}

func tenMinutesOfFranz(t *testing.T, protocol string) string {
	k := fakekafka.Start(t, fakekafka.Topic("orders", 4), fakekafka.InMemoryNetwork(), fakekafka.Seed(7))
	g := k.Group("billing")
	began := time.Now()
	at := func(d time.Duration) { time.Sleep(time.Until(began.Add(d))) }
	worker := func(id string) *kgo.Client {
		opts := []kgo.Opt{
			kgo.SeedBrokers(k.Bootstrap()), kgo.Dialer(k.DialContext), kgo.ClientID(id), kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"),
			kgo.DisableAutoCommit(),
		}
		if protocol == "consumer" {
			opts = append(opts, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
		}
		cl, err := kgo.NewClient(opts...)
		require.NoError(t, err)
		return cl
	}
	one := worker("worker-1")
	defer one.Close()
	g.AwaitStable(t, 1)
	at(61137 * time.Millisecond) // heartbeats are at other instants
	two := worker("worker-2")
	defer two.Close()
	g.AwaitStable(t, 2)
	at(4*time.Minute + 1273*time.Millisecond)
	require.NoError(t, g.Member("worker-2").Pause())
	require.NoError(t, k.FastForward(time.Minute))
	g.AwaitStable(t, 1)
	at(5*time.Minute + 1791*time.Millisecond)
	require.NoError(t, g.Member("worker-2").Resume())
	g.AwaitStable(t, 2)
	at(9 * time.Minute)
	return g.Timeline()
}

var (
	someID  = regexp.MustCompile(` \([^ )]*…\)| Member \S+`)
	byOrder = regexp.MustCompile(`(told to rebalance): .*`)
	instant = regexp.MustCompile(`^\+(\S+)s `)
)

// sortedInstants leaves ids out of a timeline and sorts the lines of each instant.
func sortedInstants(timeline string) string {
	var lines []string
	for _, line := range strings.Split(timeline, "\n") {
		line = byOrder.ReplaceAllString(someID.ReplaceAllString(line, ""), "$1")
		if line = strings.Join(strings.Fields(line), " "); !strings.HasSuffix(line, " synced") {
			lines = append(lines, line)
		}
	}
	// What a member hears in its next heartbeat, 10 ms later in a group that settles, is of the same instant.
	at := -1.0
	order := make([]string, len(lines))
	for i, line := range lines {
		if t := instant.FindStringSubmatch(line); t != nil {
			sec, err := strconv.ParseFloat(t[1], 64)
			if err == nil && (at < 0 || sec > at+0.05) {
				at = sec
			}
			line = line[len(t[0]):]
		}
		order[i] = fmt.Sprintf("%+12.3f %s", at, line)
	}
	slices.SortStableFunc(order, func(a, b string) int {
		if c := strings.Compare(a[:12], b[:12]); c != 0 {
			return 0
		}
		return strings.Compare(a, b)
	})
	return strings.Join(order, "\n")
}
