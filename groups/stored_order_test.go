package groups

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
)

// lister asks a shard for what it lists. Names are a prefix and a number, and its answers those numbers.
type lister struct {
	t *testing.T
	s *Shard
}

func newLister(t *testing.T) lister {
	cfg := DefaultConfig()
	cfg.Assignors = []assignors.ServerAssignor{assignors.NewUniform()}
	l := lister{t, NewShard(cfg, Deps{Rand: rand.New(rand.NewPCG(1, 1)), Metadata: &fakeMetadata{byName: map[string]Topic{}}})}
	l.s.Loaded(time.Unix(0, 0))
	return l
}

func (l lister) ask(req kmsg.Request) kmsg.Response {
	fx := l.s.Handle(time.Unix(0, 0), Command{Ticket: 1, Request: req})
	require.Len(l.t, fx.Replies, 1)
	resp := fx.Replies[0].Response
	l.s.Flush(time.Unix(0, 0))
	return resp
}

func (l lister) beat(group, member string, epoch int32) {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.MemberEpoch = 1, group, member, epoch
	if epoch == 0 {
		req.RebalanceTimeoutMillis, req.SubscribedTopicNames = 60000, []string{"nope"}
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	}
	require.Zero(l.t, l.ask(req).(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
}

func (l lister) members() string {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{"order"}
	var out []string
	for _, m := range l.ask(req).(*kmsg.ConsumerGroupDescribeResponse).Groups[0].Members {
		out = append(out, strings.TrimPrefix(m.MemberID, "member-"))
	}
	return strings.Join(out, " ")
}

func (l lister) groups() string {
	var out []string
	for _, g := range l.ask(kmsg.NewPtrListGroupsRequest()).(*kmsg.ListGroupsResponse).Groups {
		out = append(out, strings.TrimPrefix(g.Group, "grp-"))
	}
	return strings.Join(out, " ")
}

// The orders in which a broker described the members of a group that came one after the other.
func TestOrderOfDescribedMembers(t *testing.T) {
	t.Parallel()
	l := newLister(t)
	orders := map[int]string{
		2:  "0 1",
		3:  "0 2 1",
		4:  "3 0 2 1",
		6:  "3 0 5 2 4 1",
		7:  "3 0 5 2 4 6 1",
		10: "3 8 0 5 2 7 4 9 1 6",
		13: "3 10 8 0 5 12 2 7 4 11 9 1 6",
		14: "13 3 10 8 0 5 12 2 7 4 11 9 1 6",
		21: "13 3 18 10 8 0 15 20 5 12 2 17 7 14 4 19 11 9 1 16 6",
		30: "21 13 26 3 18 23 10 8 0 28 15 20 5 25 12 2 17 7 22 14 27 4 19 24 11 9 1 29 16 6",
	}
	for n := range 30 {
		l.beat("order", fmt.Sprintf("member-%d", n), 0)
		if want, ok := orders[n+1]; ok {
			require.Equal(t, want, l.members(), "%d members", n+1)
		}
	}
	for _, n := range []int{3, 7, 8, 20, 21, 22} {
		l.beat("order", fmt.Sprintf("member-%d", n), -1)
	}
	require.Equal(t, "13 26 18 23 10 0 28 15 5 25 12 2 17 14 27 4 19 24 11 9 1 29 16 6", l.members(), "some have left")
	for _, n := range []int{21, 3, 30, 8} {
		l.beat("order", fmt.Sprintf("member-%d", n), 0)
	}
	require.Equal(t, "21 13 26 3 18 8 23 10 0 28 15 5 25 12 2 30 17 14 27 4 19 24 11 9 1 29 16 6", l.members(), "others have come")
}

// The orders in which a broker listed the groups of a partition of __consumer_offsets.
func TestOrderOfListedGroups(t *testing.T) {
	t.Parallel()
	l := newLister(t)
	for n := range 40 {
		l.beat(fmt.Sprintf("grp-%d", n), "m", 0)
	}
	require.Equal(t, "33 20 12 2 38 25 30 17 7 22 35 27 14 4 32 19 9 11 37 24 1 16 29 6 21 34 26 13 3 39 31 18 8 36 23 10 0 15 28 5", l.groups())
	for _, n := range []int{3, 7, 8, 20, 21, 22} {
		l.beat(fmt.Sprintf("grp-%d", n), "m", -1)
	}
	del := kmsg.NewPtrDeleteGroupsRequest()
	del.Groups = []string{"grp-3", "grp-7", "grp-8", "grp-20", "grp-21"}
	l.ask(del)
	require.Equal(t, "33 12 2 38 25 30 17 22 35 27 14 4 32 19 9 11 37 24 1 16 29 6 34 26 13 39 31 18 36 23 10 0 15 28 5", l.groups(), "some are deleted")
	for _, n := range []int{21, 3, 40, 8} {
		l.beat(fmt.Sprintf("grp-%d", n), "m", 0)
	}
	require.Equal(t, "33 12 2 38 25 30 17 22 35 40 27 14 4 32 19 9 11 37 24 1 16 29 6 21 34 3 26 13 39 8 31 18 36 23 10 0 15 28 5", l.groups(), "others have come")
}
