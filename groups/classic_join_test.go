package groups

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A member's id is made of its client's or instance's, and has to fit into messages and records, too.
func TestMemberIDThatNoRecordCanHold(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	for _, version := range []int16{3, 9} {
		for extra, want := range map[int]int16{0: errNone, 1: errUnknownServerError} {
			for _, static := range []bool{false, true} {
				s := NewShard(DefaultConfig(), Deps{})
				s.Loaded(now)
				name := strings.Repeat("x", math.MaxInt16-37+extra)
				client := Client{ID: name}
				req := benchJoin("", nil)
				req.Version = version
				if static {
					req.InstanceID, client.ID = &name, "c"
				}
				fx := s.Handle(now, Command{Ticket: 1, Client: client, Request: req})
				if want == errNone {
					for _, r := range fx.Replies {
						require.Equal(t, errMemberIDRequired, r.Response.(*kmsg.JoinGroupResponse).ErrorCode)
					}
					continue
				}
				require.Len(t, fx.Replies, 1)
				require.Equal(t, want, fx.Replies[0].Response.(*kmsg.JoinGroupResponse).ErrorCode)
				require.Empty(t, fx.Replies[0].Response.(*kmsg.JoinGroupResponse).MemberID)
				require.Empty(t, s.groups["g"].classic.members)
			}
		}
	}
}

// What a client calls itself stands in causes at a length that a history can keep, and nobody is called nothing.
func TestMembersAsCausesNameThem(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		id, clientID string
		instanceID   *string
		want         string
	}{
		{"id", "client", kmsg.StringPtr("instance"), "instance"},
		{"id", "client", kmsg.StringPtr(""), "client"},
		{"id", "client", nil, "client"},
		{"id", "", nil, "id"},
		{"id", "", kmsg.StringPtr(""), "id"},
		{"id", strings.Repeat("x", 255), nil, strings.Repeat("x", 255)},
		{"id", strings.Repeat("x", 256), nil, strings.Repeat("x", 255) + "…"},
		{"id", strings.Repeat("é", 128), nil, strings.Repeat("é", 127) + "…"},
	} {
		m := classicMember{id: tc.id, clientID: tc.clientID, instanceID: tc.instanceID}
		require.Equal(t, tc.want, m.named())
	}
}
