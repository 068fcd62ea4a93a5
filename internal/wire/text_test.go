package wire

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestStringsThatAreNotUTF8AreDecodedAsInJava(t *testing.T) {
	t.Parallel()
	odd, text := "a\xed\xa0\x80", "a\uFFFD"
	for _, version := range []int16{3, 5} {
		req := kmsg.NewPtrTxnOffsetCommitRequest()
		req.Version = version
		req.Group, req.TransactionalID, req.MemberID, req.InstanceID = odd, "fine", odd, &odd
		topic := kmsg.NewTxnOffsetCommitRequestTopic()
		topic.Topic = odd
		part := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		part.Metadata = &odd
		topic.Partitions = append(topic.Partitions, part)
		req.Topics = append(req.Topics, topic)

		got, err := checkAndDecode(TxnOffsetCommit, req.Version, req.AppendTo(nil))
		require.NoError(t, err)
		r := got.(*kmsg.TxnOffsetCommitRequest)
		assert.Equal(t, []string{text, "fine", text, text, text, text},
			[]string{r.Group, r.TransactionalID, r.MemberID, *r.InstanceID, r.Topics[0].Topic, *r.Topics[0].Partitions[0].Metadata})
	}

	header := kmsg.NewRequestFormatter(kmsg.FormatterClientID(odd)).AppendRequest(nil, kmsg.NewPtrHeartbeatRequest(), 1)
	var h Header
	_, err := h.Parse(header[4:])
	require.NoError(t, err)
	assert.Equal(t, text, h.ClientID)
}

func TestStringsThatBecomeTooLong(t *testing.T) {
	t.Parallel()
	fits, long := strings.Repeat("\xff", math.MaxInt16/3), strings.Repeat("\xff", math.MaxInt16/3+1)
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID = 4, &fits
	_, err := checkAndDecode(InitProducerID, 4, req.AppendTo(nil))
	require.NoError(t, err)
	req.TransactionalID = &long
	_, err = checkAndDecode(InitProducerID, 4, req.AppendTo(nil))
	require.ErrorContains(t, err, "takes 32769 bytes as text")

	var h Header
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID(long)).AppendRequest(nil, kmsg.NewPtrHeartbeatRequest(), 1)
	_, err = h.Parse(frame[4:])
	require.ErrorContains(t, err, "client id")
}
