package broker

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// Rows of clienttests/DIFFERENCES.md; those about administration are in admin_test.go.

func TestDifferenceNullRecordsAreAnswered(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}}))
	resp := cl.ask(produceRequest("t", 0, nil)).(*kmsg.ProduceResponse)
	require.Equal(t, int16(wire.InvalidRecord), resp.Topics[0].Partitions[0].ErrorCode)
	require.EqualValues(t, 0, cl.produce("t", 0, oneBatch(t, 1, 1)), "nothing was stored")
}

func TestDifferenceWhatStandsTwiceIsAnswered(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}}))

	alter := kmsg.NewPtrAlterConfigsRequest()
	for range 2 {
		res := kmsg.NewAlterConfigsRequestResource()
		res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeTopic, "t"
		alter.Resources = append(alter.Resources, res)
	}
	for _, res := range cl.ask(alter).(*kmsg.AlterConfigsResponse).Resources {
		require.Equal(t, int16(wire.InvalidRequest), res.ErrorCode)
	}

	markers := kmsg.NewPtrWriteTxnMarkersRequest()
	markers.Version, markers.Markers = 1, append(markers.Markers, marker(7, 0, 0, 0))
	parts := cl.ask(markers).(*kmsg.WriteTxnMarkersResponse).Markers[0].Topics[0].Partitions
	require.Len(t, parts, 1)
	require.Zero(t, parts[0].ErrorCode)

	// The last marker has nothing that could be written: Kafka waits for it for ever.
	markers.Markers = []kmsg.WriteTxnMarkersRequestMarker{marker(7, 0, 0), marker(8, 0, 5), marker(9, 0)}
	answered := cl.ask(markers).(*kmsg.WriteTxnMarkersResponse).Markers
	require.Len(t, answered, 2)
	require.Zero(t, answered[0].Topics[0].Partitions[0].ErrorCode)
	require.Equal(t, int16(wire.UnknownTopicOrPartition), answered[1].Topics[0].Partitions[0].ErrorCode)

	add := kmsg.NewPtrAddPartitionsToTxnRequest()
	add.Version = 4
	require.Empty(t, cl.ask(add).(*kmsg.AddPartitionsToTxnResponse).Transactions)

	join := kmsg.NewPtrJoinGroupRequest()
	join.Version, join.Group, join.ProtocolType, join.SessionTimeoutMillis = 3, "g", "consumer", 10000
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "b"}, {Name: "b"}, {Name: "a"}, {Name: "a"}}
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "g"
	cl.ask(find)
	require.Equal(t, "b", *cl.ask(join).(*kmsg.JoinGroupResponse).Protocol)
}

func TestDifferenceSubscriptionThatAnnouncesTooMuchIsAnswered(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{}))
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "g"
	cl.ask(find)
	for i, metadata := range []string{
		"\x00\x01\x7f\xff\xff\xff", "\x00\x01\x00\x00\x00\x09\x00\x00", "\x00\x01\x00\x00\x00\x01\x7f\xffabc", "\x00\x01\x00\x00\x00\x00\x7f\xff\xff\xff",
		"\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", "\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff", // null
	} {
		join := kmsg.NewPtrJoinGroupRequest()
		join.Version, join.Group, join.ProtocolType, join.SessionTimeoutMillis = 3, strings.Repeat("g", i+1), "consumer", 10000
		join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte(metadata)}}
		require.Zero(t, cl.ask(join).(*kmsg.JoinGroupResponse).ErrorCode, "%x", metadata)
	}
}

func TestDifferenceAnErrorTooLongIsAnswered(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{}))
	for _, c := range []struct {
		bytes int
		want  wire.Code
	}{{32000, wire.UnsupportedVersion}, {32767, wire.UnknownServerError}} {
		req := kmsg.NewPtrDescribeClientQuotasRequest()
		req.Version = 1
		req.Components = []kmsg.DescribeClientQuotasRequestComponent{{EntityType: strings.Repeat("x", c.bytes)}}
		require.Equal(t, c.want, wire.Code(cl.ask(req).(*kmsg.DescribeClientQuotasResponse).ErrorCode), "%d bytes", c.bytes)
	}
}

func TestDifferenceNoShareAndStreamsGroups(t *testing.T) {
	t.Parallel()
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 4, "test", "1"
	listed := map[wire.Key]bool{}
	for _, k := range dialRaw(t, startCluster(t, Options{})).ask(req).(*kmsg.ApiVersionsResponse).ApiKeys {
		listed[wire.Key(k.ApiKey)] = true
	}
	var missing []wire.Key
	for _, key := range wire.Keys() {
		if _, _, kafkas := wire.Advertised(key); kafkas && !listed[key] {
			missing = append(missing, key)
		}
	}
	require.Equal(t, []wire.Key{
		wire.ShareGroupHeartbeat, wire.ShareGroupDescribe, wire.ShareFetch, wire.ShareAcknowledge,
		wire.InitializeShareGroupState, wire.ReadShareGroupState, wire.WriteShareGroupState, wire.DeleteShareGroupState, wire.ReadShareGroupStateSummary,
		wire.StreamsGroupHeartbeat, wire.StreamsGroupDescribe,
		wire.DescribeShareGroupOffsets, wire.AlterShareGroupOffsets, wire.DeleteShareGroupOffsets,
	}, missing)
}

func TestDifferenceRegexesOfManyRepetitions(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{}))
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "g"
	cl.ask(find)
	for _, expression := range []string{"(x{1000}){2}", "((x{10}){10}){11}", strings.Repeat("(", 1001) + "x" + strings.Repeat(")", 1001)} {
		beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		beat.Version, beat.Group, beat.MemberID, beat.RebalanceTimeoutMillis = 1, "g", "m", 1000
		beat.Topics, beat.SubscribedTopicRegex = []kmsg.ConsumerGroupHeartbeatRequestTopic{}, &expression
		require.Equal(t, int16(wire.InvalidRegularExpression), cl.ask(beat).(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
	}
}

func TestDifferenceALostAssignmentIsGivenAgain(t *testing.T) {
	t.Parallel()
	for _, timings := range []bool{false, true} {
		k := startCluster(t, Options{KafkaTimings: timings, Topics: []TopicSpec{{Name: "orders", Partitions: 2}}})
		first, second := dialRaw(t, k), dialRaw(t, k)
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.CoordinatorKey = "g"
		first.ask(find)
		join := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		join.Version, join.Group, join.MemberID, join.RebalanceTimeoutMillis = 1, "g", "m", 1000
		join.Topics, join.SubscribedTopicNames = []kmsg.ConsumerGroupHeartbeatRequestTopic{}, []string{"orders"}
		joined := first.ask(join).(*kmsg.ConsumerGroupHeartbeatResponse)
		require.NotNil(t, joined.Assignment)
		require.Len(t, joined.Assignment.Topics, 1)

		beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		beat.Version, beat.Group, beat.MemberID, beat.MemberEpoch, beat.RebalanceTimeoutMillis = 1, "g", "m", joined.MemberEpoch, -1
		again := second.ask(beat).(*kmsg.ConsumerGroupHeartbeatResponse)
		if timings {
			require.Nil(t, again.Assignment)
			continue
		}
		require.Equal(t, joined.Assignment, again.Assignment)
		require.Nil(t, second.ask(beat).(*kmsg.ConsumerGroupHeartbeatResponse).Assignment, "that one has arrived")
	}
}

func TestDifferenceWhatARefusedWriteLeavesIsListedOnce(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}}))
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "g"
	cl.ask(find)
	require.Equal(t, wire.None, simpleCommit(t, cl, "g", 5))

	alter := kmsg.NewPtrIncrementalAlterConfigsRequest()
	offsets := kmsg.NewIncrementalAlterConfigsRequestResource()
	offsets.ResourceType, offsets.ResourceName = kmsg.ConfigResourceTypeTopic, "__consumer_offsets"
	limit := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	limit.Name, limit.Value = "max.message.bytes", kmsg.StringPtr("70")
	offsets.Configs = append(offsets.Configs, limit)
	alter.Resources = append(alter.Resources, offsets)
	require.Zero(t, cl.ask(alter).(*kmsg.IncrementalAlterConfigsResponse).Resources[0].ErrorCode)

	require.Equal(t, wire.UnknownServerError, simpleCommit(t, cl, "g", 6))
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Version, fetch.Group = 5, "g"
	topics := cl.ask(fetch).(*kmsg.OffsetFetchResponse).Topics
	require.Len(t, topics, 1)
	require.Len(t, topics[0].Partitions, 1)
	require.EqualValues(t, 5, topics[0].Partitions[0].Offset)
}
