package records

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func ptr[T any](v T) *T { return &v }

func TestOffsetKeyAndValue(t *testing.T) {
	t.Parallel()
	k := OffsetKey{Group: "g", Topic: "foo", Partition: 3}
	got, err := DecodeOffsetKey(k.Encode())
	require.NoError(t, err)
	require.Equal(t, k, got)
	for _, v := range []OffsetValue{
		{Offset: 42, LeaderEpoch: 5, Metadata: "héllo", Commit: 1_700_000_000_000, Expire: -1, TopicID: [16]byte{1, 15: 2}},
		{Offset: -5, LeaderEpoch: -1, Commit: 1, Expire: -1},
		{Offset: 7, LeaderEpoch: -1, Metadata: "m", Commit: 1, Expire: 60_001},
	} {
		b := v.Encode()
		got, err := DecodeOffsetValue(b)
		require.NoError(t, err)
		require.Equal(t, v, got)
		var other kmsg.OffsetCommitValue // another reader of the same format
		require.NoError(t, other.ReadFrom(b))
		require.Equal(t, v.Offset, other.Offset)
		require.Equal(t, v.TopicID, other.TopicID)
		require.Equal(t, b, other.AppendTo(nil))
	}
}

// Older versions are only read: a log may come from an older broker.
func TestOlderVersionsAreRead(t *testing.T) {
	t.Parallel()
	for version := int16(0); version <= 4; version++ {
		v := kmsg.OffsetCommitValue{Version: version, Offset: 9, LeaderEpoch: 2, Metadata: "m", CommitTimestamp: 11, ExpireTimestamp: 12}
		got, err := DecodeOffsetValue(v.AppendTo(nil))
		require.NoError(t, err)
		want := OffsetValue{Offset: 9, LeaderEpoch: -1, Metadata: "m", Commit: 11, Expire: -1}
		if version == 1 {
			want.Expire = 12
		}
		if version >= 3 {
			want.LeaderEpoch = 2
		}
		require.Equal(t, want, got, "version %d", version)

		g := kmsg.GroupMetadataValue{
			Version: version, ProtocolType: "consumer", Generation: 3, Protocol: ptr("range"), Leader: ptr("m1"), CurrentStateTimestamp: 5,
			Members: []kmsg.GroupMetadataValueMember{{MemberID: "m1", InstanceID: ptr("i"), ClientID: "c", ClientHost: "/h", RebalanceTimeoutMillis: 7, SessionTimeoutMillis: 8, Subscription: []byte("s"), Assignment: []byte("a")}},
		}
		gotGroup, err := DecodeGroupValue(g.AppendTo(nil))
		require.NoError(t, err)
		wantGroup := GroupValue{
			ProtocolType: "consumer", Generation: 3, Protocol: ptr("range"), Leader: ptr("m1"), StateTime: -1,
			Members: []GroupMember{{ID: "m1", ClientID: "c", ClientHost: "/h", RebalanceTimeout: -1, SessionTimeout: 8, Subscription: []byte("s"), Assignment: []byte("a")}},
		}
		if version >= 1 {
			wantGroup.Members[0].RebalanceTimeout = 7
		}
		if version >= 2 {
			wantGroup.StateTime = 5
		}
		if version >= 3 {
			wantGroup.Members[0].InstanceID = ptr("i")
			if version == 3 {
				require.Equal(t, g.AppendTo(nil), wantGroup.Encode(), "version 3 is the one that is written")
			}
		}
		require.Equal(t, wantGroup, gotGroup, "version %d", version)
	}
}

func TestBadInputIsAnError(t *testing.T) {
	t.Parallel()
	full := GroupValue{ProtocolType: "consumer", Members: []GroupMember{{ID: "m", Subscription: []byte("s")}}}.Encode()
	for i := range full {
		_, err := DecodeGroupValue(full[:i])
		require.Error(t, err, "cut after %d bytes", i)
	}
	for name, in := range map[string]string{
		"a version from the future":        "0009",
		"an array longer than the input":   "0003" + "0000" + "00000001" + "ffff" + "ffff" + "0000000000000000" + "7fffffff",
		"a compact array longer than that": "0004" + "01" + "00000001" + "00" + "00" + "0000000000000000" + "ffffffff0f",
		"a varint that does not end":       "0004" + "ffffffffffffffffffff",
	} {
		b, err := hex.DecodeString(in)
		require.NoError(t, err)
		_, err = DecodeGroupValue(b)
		require.Error(t, err, name)
	}
	_, err := DecodeOffsetKey(GroupKey{Group: "g"}.Encode())
	require.Error(t, err)
	_, err = KeyType([]byte{1})
	require.ErrorIs(t, err, errShort)
}
