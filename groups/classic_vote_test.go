package groups

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/records"
)

// A name that a member lists twice is none that all support. Where nothing else is left, Kafka never answers; here the first is taken.
func TestProtocolNamedTwice(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	for _, tc := range []struct {
		names []string
		want  string
	}{
		{[]string{"a", "b", "a"}, "b"},
		{[]string{"a", "a", "b"}, "b"},
		{[]string{"b", "b", "a", "a", "c"}, "c"},
		{[]string{"a", "b"}, "a"},
		{[]string{"b", "b", "a", "a"}, "b"},
	} {
		cfg := DefaultConfig()
		cfg.InitialRebalanceDelay = 0
		s := NewShard(cfg, Deps{})
		s.Loaded(now)
		req := benchJoin("", nil)
		req.Version, req.Protocols = 3, nil
		for _, name := range tc.names {
			req.Protocols = append(req.Protocols, kmsg.JoinGroupRequestProtocol{Name: name})
		}
		s.Handle(now, Command{Ticket: 1, Client: Client{ID: "c"}, Request: req})
		fx := s.Tick(now)
		require.Len(t, fx.Replies, 1, "%v", tc.names)
		require.Equal(t, tc.want, *fx.Replies[0].Response.(*kmsg.JoinGroupResponse).Protocol, "%v", tc.names)
	}
}

// Each member votes for a protocol of its own, and all support all. The hash map of the votes grows with the thirteenth, which moves "p" (112) from its
// first bucket to behind the others (seen at Apache Kafka 4.3.1).
func TestVoteOfManyProtocols(t *testing.T) {
	t.Parallel()
	all := strings.Split("p a b c d e f g h i j k l", " ")
	for n, want := range map[int]string{12: "p", 13: "a"} {
		now := time.Unix(1_700_000_000, 0)
		cfg := DefaultConfig()
		s := NewShard(cfg, Deps{})
		s.Loaded(now)
		names := all[:n]
		for i := range names {
			req := benchJoin("", nil)
			req.Version, req.Protocols = 3, nil
			for _, name := range slices.Concat(names[i:], names[:i]) {
				req.Protocols = append(req.Protocols, kmsg.JoinGroupRequestProtocol{Name: name})
			}
			s.Handle(now, Command{Ticket: Ticket(i + 1), Client: Client{ID: "c"}, Request: req})
		}
		var replies []Reply
		for len(replies) == 0 {
			now = now.Add(cfg.InitialRebalanceDelay)
			replies = s.Tick(now).Replies
		}
		require.Len(t, replies, n)
		require.Equal(t, want, *replies[0].Response.(*kmsg.JoinGroupResponse).Protocol, "%d protocols", n)
	}
}

// A log may hold a member of the classic protocol that names no protocol. When it is the last one of its consumer group, the group becomes a
// classic one, in which nobody can vote: Kafka refuses to let it leave. Where nobody asked, as here for an eviction, there is a group all the same.
func TestVoteWithoutProtocols(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	cfg := DefaultConfig()
	cfg.ConsumerMigrationPolicy = "bidirectional"
	s := NewShard(cfg, Deps{Metadata: (&fakeMetadata{byName: map[string]Topic{}}).with("foo", 3)})
	for i, r := range []Record{
		{Key: records.ConsumerKey(records.TypeConsumerMember, "g", "classic"), Value: records.ConsumerMember{Names: []string{"foo"}, RebalanceTimeoutMs: 20_000,
			Classic: &records.ClassicMember{SessionTimeoutMs: 10_000}}.Encode()},
		{Key: records.ConsumerKey(records.TypeConsumerMember, "g", "last"), Value: records.ConsumerMember{Names: []string{"foo"}, RebalanceTimeoutMs: 20_000}.Encode()},
		{Key: records.ConsumerKey(records.TypeConsumerGroup, "g", ""), Value: records.ConsumerGroup{Epoch: 1}.Encode()},
	} {
		s.Replay(int64(i), r, -1)
	}
	s.Loaded(now)
	fx := s.Handle(now, Command{Ticket: 1, Client: Client{ID: "c"}, Request: &kmsg.ConsumerGroupHeartbeatRequest{Version: 1, Group: "g", MemberID: "last", MemberEpoch: -1}})
	s.Flush(now)
	require.Equal(t, errUnknownServerError, fx.Replies[0].Response.(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
	state, ok := s.State("g")
	require.True(t, ok)
	require.Equal(t, "consumer", state.Protocol)
	require.Len(t, state.Members, 2)

	_, err := s.Evict(now, "g", "last", "")
	require.NoError(t, err)
	state, ok = s.State("g")
	require.True(t, ok)
	require.Equal(t, "classic", state.Protocol)
	require.Len(t, state.Members, 1)
}

func TestBlankNames(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", " ", "\t\r\n", "\x01\x1f"} {
		require.True(t, blank(s), "%q", s)
	}
	for _, s := range []string{"a", " a ", "\u00a0", "\u2003", "\u0085"} {
		require.False(t, blank(s), "%q", s)
	}
}
