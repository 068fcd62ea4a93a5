package broker

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
)

// A broker that runs for days sees ever new clients, groups and topics. What they leave behind doesn't grow with their number, apart from the logs.
func TestWhoIsGoneLeavesNothing(t *testing.T) {
	t.Parallel()
	few, many := afterChurn(t, 650), afterChurn(t, 900) // by then what is bounded, such as the log of requests, is full
	for place, n := range many {
		most := few[place] + 100
		if place == "broker.history.chunks" {
			most = 2 * chunk // it is full, and forgets a chunk at a time
		}
		require.LessOrEqual(t, n, most, "%s grew from %d to %d entries with 250 more clients that came and went", place, few[place], n)
	}
}

// afterChurn counts what a closed cluster still refers to after n clients.
func afterChurn(t *testing.T, n int) map[string]int {
	t.Helper()
	c, err := New(Options{
		Bug: func(text string) { t.Error(text) }, MaxMemory: 1 << 20, // which bounds the history
		Config: map[string]string{"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "1"},
	})
	require.NoError(t, err)
	for i := range n {
		comeAndGo(t, c, fmt.Sprintf("churn-%d", i))
	}
	require.NoError(t, c.Close())
	seen := visitor{entries: map[string]int{}, visited: map[any]bool{}}
	seen.visit(reflect.ValueOf(c), "Cluster")
	return seen.entries
}

// comeAndGo is the life of a client of its own name, with a topic, a producer id, a fetch session, a classic group and a consumer group of its own.
func comeAndGo(t *testing.T, c *Cluster, name string) {
	t.Helper()
	raw := dialRaw(t, c)
	defer raw.nc.Close()
	named := kmsg.NewRequestFormatter(kmsg.FormatterClientID(name))
	ask := func(req kmsg.Request) kmsg.Response {
		raw.corr++
		_, err := raw.nc.Write(named.AppendRequest(nil, req, raw.corr))
		require.NoError(t, err)
		return raw.receive(req)
	}

	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, 1
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version, create.TimeoutMillis, create.Topics = 7, 5000, []kmsg.CreateTopicsRequestTopic{topic}
	require.Zero(t, ask(create).(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode)
	ids := kmsg.NewPtrInitProducerIDRequest()
	ids.Version = 4
	require.Zero(t, ask(ids).(*kmsg.InitProducerIDResponse).ErrorCode)
	require.Zero(t, ask(produceRequest(name, 0, oneBatch(t, 1, 10))).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
	damaged := oneBatch(t, 1, 10)
	damaged[len(damaged)-1]++
	require.Equal(t, wire.CorruptMessage, wire.Code(ask(produceRequest(name, 0, damaged)).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode))
	fetch := fetchRequest(name, 0, 0)
	fetch.SessionEpoch = 0
	opened := ask(fetch).(*kmsg.FetchResponse)
	require.NotZero(t, opened.SessionID)
	fetch.SessionID, fetch.SessionEpoch = opened.SessionID, -1
	require.Zero(t, ask(fetch).(*kmsg.FetchResponse).ErrorCode)

	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = name
	require.Zero(t, ask(find).(*kmsg.FindCoordinatorResponse).ErrorCode)
	id := ask(joinRequest(name, "")).(*kmsg.JoinGroupResponse).MemberID
	joined := ask(joinRequest(name, id)).(*kmsg.JoinGroupResponse)
	require.Zero(t, joined.ErrorCode)
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Version, sync.Group, sync.MemberID, sync.Generation = 3, name, id, joined.Generation
	require.Zero(t, ask(sync).(*kmsg.SyncGroupResponse).ErrorCode)
	beat := kmsg.NewPtrHeartbeatRequest()
	beat.Version, beat.Group, beat.MemberID, beat.Generation = 3, name, id, joined.Generation
	require.Zero(t, ask(beat).(*kmsg.HeartbeatResponse).ErrorCode)
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Version, leave.Group, leave.Members = 3, name, []kmsg.LeaveGroupRequestMember{{MemberID: id}}
	require.Zero(t, ask(leave).(*kmsg.LeaveGroupResponse).ErrorCode)

	consumers := name + "-consumers"
	consume := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	consume.Version, consume.Group, consume.MemberID, consume.RebalanceTimeoutMillis = 1, consumers, name, 5000
	consume.SubscribedTopicNames, consume.Topics = []string{name}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	require.Zero(t, ask(consume).(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
	consume.MemberEpoch, consume.SubscribedTopicNames, consume.Topics = -1, nil, nil
	require.Zero(t, ask(consume).(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)

	instance := "pod of " + name // whose place another process takes
	consume.InstanceID, consume.MemberID, consume.MemberEpoch = &instance, name+"-one", 0
	consume.SubscribedTopicNames, consume.Topics = []string{name}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	require.Zero(t, ask(consume).(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
	consume.MemberEpoch, consume.SubscribedTopicNames, consume.Topics = -2, nil, nil
	require.Zero(t, ask(consume).(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
	consume.MemberID, consume.MemberEpoch, consume.SubscribedTopicNames, consume.Topics = name+"-two", 0, []string{name}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	require.Zero(t, ask(consume).(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
	consume.MemberEpoch, consume.SubscribedTopicNames, consume.Topics = -1, nil, nil
	require.Zero(t, ask(consume).(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)

	missing := "no-" + name
	stray := kmsg.NewPtrMetadataRequest()
	stray.Version, stray.Topics = 9, []kmsg.MetadataRequestTopic{{Topic: &missing}}
	require.Equal(t, wire.UnknownTopicOrPartition, wire.Code(ask(stray).(*kmsg.MetadataResponse).Topics[0].ErrorCode))
	beat.Group = missing
	require.Equal(t, wire.UnknownMemberID, wire.Code(ask(beat).(*kmsg.HeartbeatResponse).ErrorCode))

	drop := kmsg.NewPtrDeleteGroupsRequest()
	drop.Version, drop.Groups = 2, []string{name, consumers}
	for _, g := range ask(drop).(*kmsg.DeleteGroupsResponse).Groups {
		require.Zero(t, g.ErrorCode, g.Group)
	}
	gone := kmsg.NewPtrDeleteTopicsRequest()
	gone.Version, gone.TimeoutMillis, gone.TopicNames = 5, 5000, []string{name}
	require.Zero(t, ask(gone).(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode)
}

// visitor counts the entries of all maps and slices that can be reached, by the field or type that has them.
type visitor struct {
	entries map[string]int
	visited map[any]bool
}

func (s *visitor) visit(v reflect.Value, place string) {
	type pointer struct {
		at  uintptr
		typ reflect.Type
	}
	if v.IsValid() && v.Type() == reflect.TypeFor[*partitionlog.Log]() {
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if v.IsNil() || v.Kind() == reflect.Slice && v.Len() == 0 {
			return
		}
		key := pointer{v.Pointer(), v.Type()}
		if s.visited[key] {
			return
		}
		s.visited[key] = true
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			s.visit(v.Elem(), place)
		}
	case reflect.Map:
		s.entries[place] += v.Len()
		for it := v.MapRange(); it.Next(); {
			s.visit(it.Key(), place)
			s.visit(it.Value(), place)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		if v.Kind() == reflect.Slice {
			s.entries[place] += v.Len()
		}
		for i := range v.Len() {
			s.visit(v.Index(i), place)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			s.visit(v.Field(i), v.Type().String()+"."+v.Type().Field(i).Name)
		}
	}
}
