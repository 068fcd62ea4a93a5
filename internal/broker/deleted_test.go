package broker

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// A request that found its partition before the topic was deleted sees no empty log.
func TestRequestsRaceADeletion(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}})
	client := dialRaw(t, c)
	require.Zero(t, client.produce("t", 0, oneBatch(t, 3, 10)))
	c.meta.Load().partition("t", 0).delete() // and its name is still known, as to the request

	list := kmsg.NewPtrListOffsetsRequest()
	list.Version = 7
	list.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: "t", Partitions: []kmsg.ListOffsetsRequestTopicPartition{{CurrentLeaderEpoch: -1, Timestamp: -1}}}}
	found := client.ask(list).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
	require.EqualValues(t, wire.UnknownTopicOrPartition, found.ErrorCode)
	require.EqualValues(t, -1, found.Offset)

	epoch := kmsg.NewPtrOffsetForLeaderEpochRequest()
	epoch.Version, epoch.ReplicaID = 4, -1
	epoch.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{{CurrentLeaderEpoch: -1}}}}
	end := client.ask(epoch).(*kmsg.OffsetForLeaderEpochResponse).Topics[0].Partitions[0]
	require.EqualValues(t, wire.UnknownTopicOrPartition, end.ErrorCode)
	require.EqualValues(t, -1, end.EndOffset)

	describe := kmsg.NewPtrDescribeProducersRequest()
	describe.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "t", Partitions: []int32{0}}}
	described := client.ask(describe).(*kmsg.DescribeProducersResponse).Topics[0].Partitions[0]
	require.EqualValues(t, wire.UnknownTopicOrPartition, described.ErrorCode)

	remove := kmsg.NewPtrDeleteRecordsRequest()
	remove.Version = 2
	remove.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "t", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: 1}}}}
	removed := client.ask(remove).(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
	require.EqualValues(t, wire.UnknownTopicOrPartition, removed.ErrorCode)
	require.EqualValues(t, -1, removed.LowWatermark)

	produce := produceRequest("t", 0, oneBatch(t, 1, 10))
	refused := client.ask(produce).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	require.EqualValues(t, wire.UnknownTopicOrPartition, refused.ErrorCode)
}

// So does a test's own call, which says why it did nothing.
func TestHandleCallsRaceADeletion(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1, Configs: map[string]string{"cleanup.policy": "compact"}}}})
	c.meta.Load().partition("t", 0).delete()

	require.EqualError(t, c.DeleteRecordsTo("t", 0, 1), `topic "t" was deleted meanwhile`)
	require.EqualError(t, c.CompactTopic("t"), `topic "t" was deleted meanwhile`)
}
