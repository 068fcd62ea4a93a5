package broker

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// The data plane's rows of clienttests/DIFFERENCES.md.

func TestDifferenceNullRecordsAreAnswered(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}}))
	resp := cl.ask(produceRequest("t", 0, nil)).(*kmsg.ProduceResponse)
	require.Equal(t, int16(wire.InvalidRecord), resp.Topics[0].Partitions[0].ErrorCode)
	require.EqualValues(t, 0, cl.produce("t", 0, oneBatch(t, 1, 1)), "nothing was stored")
}
