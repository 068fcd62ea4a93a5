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
	s.Replay(0, Record{Key: records.GroupKey{Group: "g"}.Encode(), Value: value.Encode()}, -1)
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

// Of an Empty group whose record doesn't say since when it is Empty, offsets age from their commits.
func TestLoadedWithoutStateTime(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cfg := DefaultConfig()
	cfg.OffsetsRetention, cfg.OffsetsRetentionCheck = time.Hour, time.Minute
	s := NewShard(cfg, Deps{})
	group := records.GroupValue{ProtocolType: "consumer", Generation: 7, StateTime: -1}
	s.Replay(0, Record{Key: records.GroupKey{Group: "g"}.Encode(), Value: group.Encode()}, -1)
	offset := records.OffsetValue{Offset: 5, LeaderEpoch: -1, Commit: start.Add(-30 * time.Minute).UnixMilli(), Expire: -1}
	s.Replay(1, Record{Key: records.OffsetKey{Group: "g", Topic: "t"}.Encode(), Value: offset.Encode()}, -1)
	s.Loaded(start)
	for minute := 1; minute <= 30; minute++ {
		require.Len(t, s.GroupIDs(), 1, "minute %d", minute)
		s.Tick(start.Add(time.Duration(minute) * time.Minute))
	}
	require.Empty(t, s.GroupIDs())
}

// A record may have members and no protocol: they are in the group, offer nothing, and can be talked to.
func TestLoadedWithoutProtocol(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	value := records.GroupValue{ProtocolType: "consumer", Generation: 7, StateTime: -1, Members: []records.GroupMember{
		{ID: "a", InstanceID: kmsg.StringPtr("one"), ClientID: "a", ClientHost: "/", RebalanceTimeout: 20_000, SessionTimeout: 20_000},
	}}
	s := NewShard(DefaultConfig(), Deps{})
	s.Replay(0, Record{Key: records.GroupKey{Group: "g"}.Encode(), Value: value.Encode()}, -1)
	s.Loaded(start)
	state, ok := s.State("g")
	require.True(t, ok)
	require.Equal(t, "Stable", state.State)
	require.Empty(t, state.Assignor)

	beat := kmsg.NewPtrHeartbeatRequest()
	beat.Version, beat.Group, beat.MemberID, beat.Generation = 4, "g", "a", 7
	require.Equal(t, errNone, s.Handle(start, Command{Ticket: 1, Request: beat}).Replies[0].Response.(*kmsg.HeartbeatResponse).ErrorCode)
	for _, id := range []string{"a", ""} {
		join := kmsg.NewPtrJoinGroupRequest()
		join.Version, join.Group, join.MemberID, join.InstanceID, join.ProtocolType = 9, "g", id, kmsg.StringPtr("one"), "consumer"
		join.SessionTimeoutMillis = 6_000
		join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
		require.Equal(t, errInconsistentGroupProtocol, s.Handle(start, Command{Ticket: 2, Request: join}).Replies[0].Response.(*kmsg.JoinGroupResponse).ErrorCode)
	}
}

// A record that can't be read is passed over: what the group was before, it stays.
func TestUnreadableGroupRecords(t *testing.T) {
	t.Parallel()
	s := NewShard(DefaultConfig(), Deps{})
	key := records.GroupKey{Group: "g"}.Encode()
	value := records.GroupValue{ProtocolType: "consumer", Generation: 7, StateTime: -1}.Encode()
	s.Replay(0, Record{Key: key[:len(key)-1], Value: value}, -1)
	s.Replay(1, Record{Key: key, Value: value[:len(value)-1]}, -1)
	require.Empty(t, s.GroupIDs())
	s.Replay(2, Record{Key: key, Value: value}, -1)
	require.Equal(t, []string{"g"}, s.GroupIDs())
	s.Replay(3, Record{Key: key, Value: value[:3]}, -1)
	epoch, ok := s.Epoch("g")
	require.True(t, ok)
	require.Equal(t, int32(7), epoch)
	s.Replay(4, Record{Key: key}, -1)
	s.Replay(5, Record{Key: key}, -1)
	require.Empty(t, s.GroupIDs())
}
