package groups

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
)

// oneGroup drives group g of a shard, and counts the records that it writes.
type oneGroup struct {
	t       *testing.T
	shard   *Shard
	now     time.Time
	written map[string]int // by type and member
}

func newOneGroup(t *testing.T, cfg Config, deps Deps) *oneGroup {
	cfg.Prompt, cfg.ConsumerAssignment = false, 0
	deps.Rand = rand.New(rand.NewPCG(1, 2))
	g := &oneGroup{t: t, shard: NewShard(cfg, deps), now: time.Unix(1_700_000_000, 0)}
	g.took(g.shard.Loaded(g.now))
	return g
}

func (g *oneGroup) took(fx Effects) kmsg.Response {
	g.written = map[string]int{}
	for _, b := range fx.Batches {
		for _, r := range b.Records {
			g.written[fmt.Sprintf("%d %s", r.Key[1], r.Key[len(r.Key)-2:])]++
		}
	}
	for _, r := range fx.Replies {
		return r.Response
	}
	return nil
}

// ask sends a request of a principal; what the end of its turn does is done before the next one.
func (g *oneGroup) ask(principal string, req kmsg.Request) kmsg.Response {
	resp := g.took(g.shard.Handle(g.now, Command{Ticket: 1, Client: Client{Principal: principal}, Request: req}))
	written := g.written
	g.took(g.shard.Flush(g.now))
	for what, n := range g.written {
		written[what] += n
	}
	g.written = written
	return resp
}

func (g *oneGroup) beat(principal, member string, epoch int32, names []string, regex string) *kmsg.ConsumerGroupHeartbeatResponse {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.MemberEpoch, req.SubscribedTopicNames = 1, "g", member, epoch, names
	req.SubscribedTopicRegex, req.RebalanceTimeoutMillis = &regex, 30_000
	req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	resp := g.ask(principal, req).(*kmsg.ConsumerGroupHeartbeatResponse)
	require.Zero(g.t, resp.ErrorCode)
	return resp
}

// What a principal may not describe is not matched by the expressions that its request has resolved, whoever brought them, and a group in
// which somebody has it is not described to it.
func TestTopicsThatMayNotBeDescribed(t *testing.T) {
	t.Parallel()
	meta := (&fakeMetadata{byName: map[string]Topic{}}).with("open", 1).with("secret", 1)
	cfg := DefaultConfig()
	cfg.Assignors = []assignors.ServerAssignor{assignors.NewUniform()}
	g := newOneGroup(t, cfg, Deps{Metadata: meta, MayDescribe: func(principal, topic string) bool {
		return principal == "User:root" || topic != "secret"
	}})
	describe := func(principal string) kmsg.ConsumerGroupDescribeResponseGroup {
		req := kmsg.NewPtrConsumerGroupDescribeRequest()
		req.Version, req.Groups, req.IncludeAuthorizedOperations = 1, []string{"g"}, true
		return g.ask(principal, req).(*kmsg.ConsumerGroupDescribeResponse).Groups[0]
	}

	g.beat("User:joe", "m1", 0, []string{"secret2"}, ".*")
	require.Equal(t, []string{"open"}, g.shard.groups["g"].consumer.regexes[".*"].topics)
	require.Zero(t, describe("User:joe").ErrorCode)

	g.now = g.now.Add(time.Hour / 2) // after which the expressions are looked at again
	g.beat("User:root", "m2", 0, []string{"open"}, "")
	require.Equal(t, []string{"open", "secret"}, g.shard.groups["g"].consumer.regexes[".*"].topics)
	require.Zero(t, describe("User:joe").ErrorCode, "nobody has it yet")
	g.beat("User:root", "m1", 0, nil, ".*")
	require.Zero(t, describe("User:root").ErrorCode)
	refused := describe("User:joe")
	require.Equal(t, errTopicAuthorizationFailed, refused.ErrorCode)
	require.Equal(t, "The group has described topic(s) that the client is not authorized to describe.", *refused.ErrorMessage)
	require.Empty(t, refused.Members)
	require.Equal(t, kmsg.NewConsumerGroupDescribeResponseGroup().AuthorizedOperations, refused.AuthorizedOperations)

	g.beat("User:joe", "m2", 0, []string{"open", "secret"}, "")
	g.now = g.now.Add(time.Hour / 2)
	g.beat("User:joe", "m1", 0, nil, ".*")
	require.Equal(t, []string{"open"}, g.shard.groups["g"].consumer.regexes[".*"].topics)
}

func TestHomogeneous(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		same    bool
		members [][2]string // a name, an expression
	}{
		{true, nil},
		{true, [][2]string{{"foo", ""}, {"foo", ""}}},
		{true, [][2]string{{"", ""}, {"", ""}}},
		{false, [][2]string{{"foo", ""}, {"bar", ""}}},
		{false, [][2]string{{"foo", ""}, {"", ""}}},
		{true, [][2]string{{"", "f.*"}, {"", "f.*"}}},
		{false, [][2]string{{"", "f.*"}, {"", "fo."}}}, // though both match the same
		{false, [][2]string{{"", "f.*"}, {"", ""}}},
		{false, [][2]string{{"foo", "f.*"}, {"foo", "f.*"}}},
	} {
		g := newConsumerGroup("g")
		for i, m := range c.members {
			g.setAttributes(fmt.Sprint("m", i), memberAttributes{names: uniqueSorted(without(m[0])), regex: m[1]})
		}
		require.Equal(t, c.same, g.homogeneous(), "%q", c.members)
	}
}

func without(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// everything gives every partition to every second member, in maps of its own each time.
type everything struct{}

func (everything) Name() string { return "everything" }

func (everything) Assign(in assignors.ServerInput) (map[string]assignors.Partitions, error) {
	out := make(map[string]assignors.Partitions)
	for i, m := range in.Members {
		out[m.ID] = assignors.Partitions{}
		if i == 0 {
			for id, topic := range in.Topics {
				for p := range topic.Partitions {
					out[m.ID][id] = append(out[m.ID][id], topic.Partitions-1-p)
				}
			}
		}
	}
	return out, nil
}

// Only the members whose target changed get a record, also where the assignor is the user's.
func TestTargetsOfOthersAreNotWritten(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	cfg.Assignors = []assignors.ServerAssignor{everything{}}
	meta := (&fakeMetadata{byName: map[string]Topic{}}).with("foo", 3)
	g := newOneGroup(t, cfg, Deps{Metadata: meta})
	const target = "7 "
	g.beat("", "m1", 0, []string{"foo"}, "")
	require.Equal(t, 1, g.written[target+"m1"])
	g.beat("", "m2", 0, []string{"foo"}, "")
	require.Zero(t, g.written[target+"m1"])
	require.Equal(t, 1, g.written[target+"m2"], "a new member gets one, though it has nothing")
	g.beat("", "m0", 0, []string{"foo"}, "")
	require.Equal(t, map[string]int{target + "m0": 1, target + "m1": 1}, map[string]int{target + "m0": g.written[target+"m0"], target + "m1": g.written[target+"m1"]})
	require.Zero(t, g.written[target+"m2"])
}
