package groups

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/records"
)

// A member of an old record has no rebalance timeout (-1): it has the session timeout for it.
func TestLoadedWithoutRebalanceTimeout(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	protocol, leader := "range", "a"
	value := records.GroupValue{ProtocolType: "consumer", Generation: 7, Protocol: &protocol, Leader: &leader, StateTime: -1}
	for _, id := range []string{"a", "b"} {
		value.Members = append(value.Members, records.GroupMember{ID: id, ClientID: id, ClientHost: "/", RebalanceTimeout: -1, SessionTimeout: 20_000})
	}
	s := NewShard(DefaultConfig(), Deps{})
	s.Replay(0, Record{Key: records.GroupKey{Group: "g"}.Append(nil), Value: value.Append(nil)}, -1)
	s.Loaded(start)

	join := kmsg.NewPtrJoinGroupRequest()
	join.Version, join.Group, join.MemberID, join.ProtocolType = 9, "g", "a", "consumer"
	join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = 6_000, 1_000 // the other member's is the longest
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
	require.Empty(t, s.Handle(start, Command{Ticket: 1, Request: join}).Replies)
	next, ok := s.NextTimer(func(timer Timer) bool { return timer.WaitsForClients })
	require.True(t, ok)
	require.Equal(t, start.Add(20*time.Second), next.Deadline)
}
