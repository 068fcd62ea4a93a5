package broker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
)

// What the coordinators write makes no room for itself at the expense of records, and they lose nothing: their topics are compacted, though
// their segments have long not had the 100 MiB for which the log cleaner waits.
func TestMemoryBoundCompactsTheCoordinators(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	c := startCluster(t, Options{MaxMemory: limit, Topics: []TopicSpec{{Name: "t", Partitions: 1}}, Config: map[string]string{"offsets.topic.num.partitions": "5"}})
	cl := dialRaw(t, c)
	cl.produce("t", 0, oneBatch(t, 1, limit/2))
	lives := cl.firstJoin("lives")
	require.Zero(t, cl.ask(joinRequest("lives", lives)).(*kmsg.JoinGroupResponse).ErrorCode)
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Version, sync.Group, sync.MemberID, sync.Generation = 3, "lives", lives, 1
	require.Zero(t, cl.ask(sync).(*kmsg.SyncGroupResponse).ErrorCode)
	commit := func(group string, offset int64) {
		metadata := strings.Repeat("m", 4000)
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Version, req.Group, req.Generation = 8, group, -1
		req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: offset, LeaderEpoch: -1, Metadata: &metadata}}}}
		require.Zero(t, cl.ask(req).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
	}
	for i := range int64(500) {
		commit("busy", i)
		group := fmt.Sprint("short-lived ", i)
		commit(group, i)
		drop := kmsg.NewPtrDeleteGroupsRequest()
		drop.Version, drop.Groups = 2, []string{group}
		require.Zero(t, cl.ask(drop).(*kmsg.DeleteGroupsResponse).Groups[0].ErrorCode)
		own, offsets := logSizes(c)
		require.Less(t, own+offsets, int64(limit))
		require.Greater(t, own, int64(limit/2))
	}

	for _, group := range []string{"lives", "busy", "short-lived 1"} {
		require.NoError(t, c.ReloadCoordinator(group))
	}
	require.Equal(t, []string{"busy", "lives"}, c.GroupIDs())
	require.Equal(t, int64(499), simpleOffset(cl, "busy"))
	state, _ := c.GroupState("lives")
	require.Len(t, state.Members, 1)
	require.Equal(t, lives, state.Members[0].ID)
}

// While a transaction is open nothing behind its first offset can be compacted. Once it has ended that is made up for soon, however much it became.
func TestMemoryBoundAfterALongTransaction(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	c := startCluster(t, Options{MaxMemory: limit, Topics: []TopicSpec{{Name: "t", Partitions: 1}}, Config: map[string]string{"offsets.topic.num.partitions": "1"}})
	cl := transactionalOn(t, c)
	cl.find(0, "g")
	require.Equal(t, wire.None, cl.commitOffset(5, cl.id, cl.epoch))
	metadata := strings.Repeat("m", 4000)
	commit := func(times int) {
		for i := range times {
			req := kmsg.NewPtrOffsetCommitRequest()
			req.Version, req.Group, req.Generation = 8, "busy", -1
			req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: int64(i), LeaderEpoch: -1, Metadata: &metadata}}}}
			require.Zero(t, cl.ask(req).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
		}
	}
	commit(600)
	_, offsets := logSizes(c)
	require.Greater(t, offsets, int64(2*limit))
	end := kmsg.NewPtrEndTxnRequest()
	end.Version, end.TransactionalID, end.ProducerID, end.ProducerEpoch, end.Commit = 4, cl.id, cl.pid, cl.epoch, true
	require.Zero(t, cl.ask(end).(*kmsg.EndTxnResponse).ErrorCode)
	commit(20)
	_, offsets = logSizes(c)
	require.Less(t, offsets, int64(limit/4))
	require.NoError(t, c.ReloadCoordinator("g"))
	require.Equal(t, int64(1), simpleOffset(cl.rawClient, "g"))
	require.Equal(t, int64(19), simpleOffset(cl.rawClient, "busy"))
}

// The fetch session of a client that is gone stays, as in Kafka, but the records of a deleted topic don't stay with it.
func TestDeletedTopicsRecordsGo(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}})
	p := c.meta.Load().topics["t"].partitions[0]
	cl := dialRaw(t, c)
	cl.produce("t", 0, oneBatch(t, 1, 100_000))
	fetch := fetchRequest("t", 0, 0)
	fetch.SessionEpoch = 0
	fetch.SessionID = cl.ask(fetch).(*kmsg.FetchResponse).SessionID
	require.NotZero(t, fetch.SessionID)

	drop := kmsg.NewPtrDeleteTopicsRequest()
	drop.Version, drop.TimeoutMillis, drop.TopicNames = 5, 5000, []string{"t"}
	require.Zero(t, dialRaw(t, c).ask(drop).(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode)
	_, err := p.append(c.clock.NowMillis(), oneBatch(t, 1, 10), partitionlog.AppendOptions{Origin: partitionlog.OriginClient})
	require.Equal(t, wire.UnknownTopicOrPartition, wire.Code(err.Code), "a produce request that found the topic before it went")
	p.mu.Lock()
	require.Zero(t, p.log.Size())
	p.mu.Unlock()

	fetch.SessionEpoch, fetch.Topics = 1, nil
	got := cl.ask(fetch).(*kmsg.FetchResponse)
	require.Zero(t, got.ErrorCode)
	require.Equal(t, wire.UnknownTopicOrPartition, wire.Code(got.Topics[0].Partitions[0].ErrorCode))
}

// logSizes are what clients' topics hold, and the coordinators'.
func logSizes(c *Cluster) (own, coordinators int64) {
	c.Look(func() {
		c.eachPartition(func(p *partition) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if isInternal(p.topic) {
				coordinators += p.log.Size()
			} else {
				own += p.log.Size()
			}
		})
	})
	return own, coordinators
}
