package broker

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// Who speaks for a member is known as long as the member is there, and for nobody else: a client may name any number of ids.
func TestOnlyMembersHaveAVoice(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{})
	voices := func() (n int) {
		c.Look(func() { n = len(c.groups.voices) })
		return n
	}
	raw := dialRaw(t, c)
	id := raw.firstJoin("billing")
	join := raw.ask(joinRequest("billing", id)).(*kmsg.JoinGroupResponse)
	require.Equal(t, wire.None, wire.Code(join.ErrorCode))
	require.Equal(t, 1, voices())

	for i := range 100 {
		beat := kmsg.NewPtrHeartbeatRequest()
		beat.Version, beat.Group, beat.MemberID, beat.Generation = 4, "billing", fmt.Sprint("stranger-", i), join.Generation
		require.Equal(t, wire.UnknownMemberID, wire.Code(raw.ask(beat).(*kmsg.HeartbeatResponse).ErrorCode))
	}
	require.Equal(t, 1, voices())

	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Version, leave.Group = 5, "billing"
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID = id
	leave.Members = append(leave.Members, m)
	require.Zero(t, raw.ask(leave).(*kmsg.LeaveGroupResponse).ErrorCode)
	require.Zero(t, voices())
}

// Groups that come and go leave nothing at the partitions that they had.
func TestGroupsOfOneUseAreForgotten(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}})
	p := c.meta.Load().partition("t", 0)
	most := 0
	for i := range 4 * manyFetchers {
		group := fmt.Sprint("g", i)
		member, err := c.AddScripts(group, []ScriptSpec{{Client: "c", Topics: []string{"t"}, Consumer: true, Rebalance: time.Minute}})
		require.NoError(t, err)
		require.NoError(t, c.Await(t.Context(), func() bool { return len(member[0].StateNow().Owned["t"]) == 1 }))
		code, err := member[0].Leave(t.Context().Done(), false)
		require.NoError(t, err)
		require.Equal(t, wire.None, code)
		p.mu.Lock()
		most = max(most, len(p.fetchers))
		p.mu.Unlock()
	}
	require.Positive(t, most)
	require.LessOrEqual(t, most, 2*manyFetchers)
}
