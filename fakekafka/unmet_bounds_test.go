package fakekafka_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// A failure that tells of many stays a text that somebody reads, and is there at once.

func has(k *fakekafka.Cluster, topic string, e fakekafka.Expectation) func(context.Context) error {
	return func(ctx context.Context) error { return k.Topic(topic).Has(ctx, e) }
}

// TestManyStrangers: clients that make up names of 32 KB for themselves and their groups neither fill the memory nor the failures.
func TestManyStrangers(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 2))
	r := dialRaw(t, k, "")
	long := strings.Repeat("x", 32_000)
	for i := range 200 {
		name := fmt.Sprint(i, long)
		r.format = kmsg.NewRequestFormatter(kmsg.FormatterClientID(name))
		r.ask(metadataOf(fmt.Sprint("oders-", i)))
		r.ask(findGroup(name))
		require.Equal(t, 1, k.Requests(fakekafka.FindCoordinator).From(name).Count())
		require.Equal(t, 1, k.Requests(fakekafka.FindCoordinator).Group(name).Count())
	}
	require.Zero(t, k.Requests(fakekafka.FindCoordinator).From(long).Count())
	said := unmet(t, stableWith(k.Group("billing"), 1))
	require.Less(t, len(said), 20_000)
	require.Contains(t, said, "… and 190 more clients")
	r.format = kmsg.NewRequestFormatter(kmsg.FormatterClientID("0" + long))
	r.ask(metadataOf("oders-last"))
	require.Contains(t, unmet(t, stableWith(k.Group("billing"), 1)), `it asked for topic "oders-last": there is no topic`, "the last ones are told")
	said = unmet(t, stableWith(k.Group(fmt.Sprint(7, long)), 1))
	require.Contains(t, said, "has asked for its coordinator and not to join")
	said = unmet(t, has(k, "orders", fakekafka.InOrder(fakekafka.KV("a", "b"))))
	require.Less(t, len(said), 20_000)
}

// TestManyGroups: a client of thousands of groups, such as a tool that looks at all of them.
func TestManyGroups(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t)
	r := dialRaw(t, k, "tool")
	for i := range 1000 {
		r.ask(findGroup(fmt.Sprint("group-", i)))
	}
	said := unmet(t, stableWith(k.Group("billing"), 1))
	require.Contains(t, said, `client "tool" has asked for another group: ["group-0" "group-1"`)
	require.Contains(t, said, `"group-9"] and 990 more`)
}

// TestManyStrayedMembers: to say what could be meant by a name takes a look at all topics, which isn't taken for every topic of every member.
func TestManyStrayedMembers(t *testing.T) {
	t.Parallel()
	many := func(n int, name string) (topics []string) {
		for i := range n {
			topics = append(topics, fmt.Sprintf("%s%d", strings.Repeat(name, 200/len(name)), i))
		}
		return topics
	}
	var opts []fakekafka.Option
	for _, name := range many(1000, "y") {
		opts = append(opts, fakekafka.Topic(name, 1))
	}
	k := fakekafka.Start(t, opts...)
	g := k.Group("billing")
	var members []fakekafka.Member
	for i := range 300 {
		members = append(members, fakekafka.Member{ClientID: fmt.Sprint("m", i), Topics: many(100, "z"), Protocol: fakekafka.Consumer})
	}
	k.JoinAll("billing", members...)
	g.AwaitStable(t, 300)
	within(t, "what a failure says", func() {
		said := unmet(t, stableWith(g, 400))
		require.Contains(t, said, "; and to 97 topics more\n")
		require.Contains(t, said, "… and 290 more members")
		for what, wait := range map[string]func(context.Context) error{
			"members":  stableWith(g, 400),
			"an owner": func(ctx context.Context) error { return g.Owned(ctx, "orders", 0, "nobody") },
			"an assignment": func(ctx context.Context) error {
				want := fakekafka.Assignment{}
				for i := range 300 {
					want[fmt.Sprint("n", i)] = map[string][]int32{"orders": {0}}
				}
				return g.Assigned(ctx, want)
			},
		} {
			n := len(unmet(t, wait))
			require.Less(t, n, 250_000, what)
		}
		_, err := g.Member("nobody").State()
		require.ErrorContains(t, err, ") and 280 more")
	})
}

// TestManyRecordsPassedOver: records that an earlier call has matched are told of as fast where there are tens of thousands.
func TestManyRecordsPassedOver(t *testing.T) {
	t.Parallel()
	k := fakekafka.Start(t, fakekafka.Topic("orders", 1))
	var want []fakekafka.Record
	for i := range 30_000 {
		want = append(want, fakekafka.KV(fmt.Sprint("k", i), "v"))
	}
	require.NoError(t, k.Topic("orders").Produce(want...))
	k.Topic("orders").AwaitRecords(t, fakekafka.InOrder(want...))
	within(t, "what a failure says", func() {
		said := unmet(t, has(k, "orders", fakekafka.InOrder(want...)))
		require.Contains(t, said, "doesn't count: an earlier Await")
		require.Less(t, len(said), 20_000)
	})
}

// TestNamesThatAreNoText: names come from clients, and may be anything.
func TestNamesThatAreNoText(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"%s%d%v%!(EXTRA)", "\xff\xfe\x00", "a\nb", "\u202e", `"quoted"`, strings.Repeat("%", 300), "a\tb\x1b[2J\vc", strings.Repeat("long\n", 6000)} {
		k := fakekafka.Start(t, fakekafka.Topic("orders", 1), fakekafka.AutoCreateTopics(false))
		r := dialRaw(t, k, name)
		r.ask(metadataOf("%s-%d"))
		r.ask(findGroup("billing"))
		g := k.Group("billing")
		said := unmet(t, stableWith(g, 1))
		require.NotContains(t, said, "MISSING", name)
		k.JoinAll("billing", fakekafka.Member{ClientID: name, InstanceID: "%d" + strings.ToValidUTF8(name, "?"), Topics: []string{"%s-%d", "orders"}}, fakekafka.Member{ClientID: "other", Topics: []string{"orders"}})
		g.AwaitStable(t, 2)
		for what, wait := range map[string]func(context.Context) error{
			"members":       stableWith(g, 3),
			"an owner":      func(ctx context.Context) error { return g.Owned(ctx, "%v", 0, name) },
			"another owner": func(ctx context.Context) error { return g.Owned(ctx, "orders", 0, "%x"+name) },
			"an assignment": func(ctx context.Context) error {
				return g.Assigned(ctx, fakekafka.Assignment{name + "%y": {"%q": {0}}})
			},
			"records":  has(k, "orders", fakekafka.InOrder(fakekafka.KV("%d"+name, name))),
			"commits":  func(ctx context.Context) error { return g.CommittedAt(ctx, "orders", 0, 5) },
			"lag":      func(ctx context.Context) error { return g.LagAtMost(ctx, 0) },
			"requests": func(ctx context.Context) error { return k.Requests(fakekafka.Fetch).From("%d"+name).Counted(ctx, 3) },
		} {
			if what == "lag" {
				require.NoError(t, wait(t.Context()))
				continue
			}
			said := unmet(t, wait)
			require.NotContains(t, said, "MISSING", what)
			require.NotContains(t, strings.ReplaceAll(said, "%!(EXTRA)", ""), "(EXTRA", what)
			require.NotContains(t, said, "%!d(", what)
			require.NotContains(t, said, "\nlong", what)
			for i, r := range said {
				require.True(t, r == '\n' || strconv.IsPrint(r), "%s: %q", what, said[max(0, i-20):min(len(said), i+20)])
			}
			require.Less(t, len(said), 20_000+3*len(name), what) // what the test itself wanted stands there in full
		}
		require.NoError(t, g.Member(name).Pause())
		require.NoError(t, g.Member(name).Resume())
		k.Close()
	}
}

// TestNamesOfARawMember: so may those of protocols and topics be that the leader of a classic group chooses, and ids of groups.
func TestNamesOfARawMember(t *testing.T) {
	t.Parallel()
	for _, evil := range []string{"a\nb\x1b[2J\x00", strings.Repeat("long\n", 6000)} {
		k := fakekafka.Start(t, fakekafka.Topic("orders", 1), fakekafka.KafkaTimings(), fakekafka.Config("group.initial.rebalance.delay.ms", "0"))
		r := dialRaw(t, k, evil)
		r.ask(findGroup(evil))
		join := versioned(kmsg.NewPtrJoinGroupRequest(), 3)
		join.Group, join.ProtocolType, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = evil, "consumer", 30_000, 30_000
		subscription := kmsg.NewConsumerMemberMetadata()
		subscription.Topics = []string{"orders", evil}
		join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: evil, Metadata: subscription.AppendTo(nil)}}
		member := r.ask(join).(*kmsg.JoinGroupResponse).MemberID
		sync := versioned(kmsg.NewPtrSyncGroupRequest(), 2)
		sync.Group, sync.MemberID, sync.Generation = evil, member, 1
		g := k.Group(evil)
		nothing := unmet(t, stableWith(g, 2))
		assignment := kmsg.NewConsumerMemberAssignment()
		assignment.Topics = []kmsg.ConsumerMemberAssignmentTopic{{Topic: evil, Partitions: []int32{0}}}
		sync.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: member, MemberAssignment: assignment.AppendTo(nil)}}
		r.ask(sync)
		g.AwaitStable(t, 1)
		all := unmet(t, stableWith(g, 2))
		leave := versioned(kmsg.NewPtrLeaveGroupRequest(), 2)
		leave.Group, leave.MemberID = evil, member
		r.ask(leave)
		require.Len(t, g.Interruptions(), 1)
		for what, said := range map[string]string{
			"nothing is owned": nothing, "all is owned": all, "interruption": g.Interruptions()[0].String(), "timeline": g.Timeline(),
		} {
			for i, r := range said {
				require.True(t, r == '\n' || strconv.IsPrint(r), "%s: %q", what, said[max(0, i-20):min(len(said), i+20)])
			}
			require.NotContains(t, said, "\nb", what)
			require.NotContains(t, said, "\nlong", what)
			require.Less(t, len(said), 20_000, what)
		}
		k.Close()
	}
}
