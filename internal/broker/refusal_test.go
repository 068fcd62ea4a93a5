package broker

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// The history keeps little of a refused request, however large that was.
func TestRefusalsAreSmall(t *testing.T) {
	t.Parallel()
	join := kmsg.NewPtrJoinGroupRequest()
	join.ProtocolType = strings.Repeat("t", 30_000)
	for range 1000 {
		join.Protocols = append(join.Protocols, kmsg.JoinGroupRequestProtocol{Name: strings.Repeat("\x00", 30_000)})
	}
	refused := join.ResponseKind().(*kmsg.JoinGroupResponse)
	refused.ErrorCode = int16(wire.InconsistentGroupProtocol)
	ev, ok := refusal(join, refused)
	require.True(t, ok)
	require.Less(t, len(ev.Cause), 6000)

	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Group = "g"
	answer := commit.ResponseKind().(*kmsg.OffsetCommitResponse)
	answer.Topics = []kmsg.OffsetCommitResponseTopic{{Topic: "t"}}
	for p := range int32(5000) {
		answer.Topics[0].Partitions = append(answer.Topics[0].Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: p, ErrorCode: int16(wire.IllegalGeneration)})
	}
	ev, ok = refusal(commit, answer)
	require.True(t, ok)
	require.Len(t, ev.Partitions["t"], mostRefused)
	require.Contains(t, ev.Cause, "ILLEGAL_GENERATION for 5000 partitions")
}

// The answer to a KIP-848 heartbeat says in words what is wrong, as that a client leaves without its instance id (franz-go 1.22.3): the code alone is no help.
func TestRefusalSaysWhatTheAnswerSays(t *testing.T) {
	t.Parallel()
	beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	beat.Group = "g"
	answer := beat.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
	answer.ErrorCode, answer.ErrorMessage = int16(wire.InvalidRequest), kmsg.StringPtr("InstanceId can't be null.")
	ev, ok := refusal(beat, answer)
	require.True(t, ok)
	require.Equal(t, "ConsumerGroupHeartbeat was answered INVALID_REQUEST: InstanceId can't be null.", ev.Cause)

	answer.ErrorMessage = kmsg.StringPtr(strings.Repeat("é", 30_000))
	ev, _ = refusal(beat, answer)
	require.Less(t, len(ev.Cause), 500)
}
