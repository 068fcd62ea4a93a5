package broker

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// fail adds a rule that fails what is partNames.
func (w *partWorld) fail(key wire.Key, n partNames, code wire.Code) *Rule {
	rule := &Rule{Key: key, Topic: n.Topic, Partition: n.Partition, Group: n.Group, Name: "the rule", Action: Action{Fail: &code}}
	w.c.AddRule(rule)
	return rule
}

// An error that Kafka has only for the request as a whole fails the whole, and so does a rule that leaves nothing.
func TestFailOfTheWhole(t *testing.T) {
	t.Parallel()
	for _, e := range []struct {
		key      wire.Key
		from, to int16
		rule     partNames
		code     wire.Code
	}{
		{wire.ListPartitionReassignments, 0, 20, oneOfFour, wire.NotController},
		{wire.DescribeLogDirs, 3, 20, oneOfFour, wire.ClusterAuthorizationFailed},
		{wire.DescribeLogDirs, 0, 20, oneTopic, wire.KafkaStorageError},
		{wire.DescribeQuorum, 0, 20, oneOfFour, wire.NotLeaderOrFollower},
		{wire.ElectLeaders, 0, 20, oneOfFour, wire.NotController},
		{wire.AlterPartitionReassignments, 0, 20, oneOfFour, wire.ClusterAuthorizationFailed},
		{wire.OffsetDelete, 0, 20, oneOfFour, wire.NotCoordinator},
		{wire.OffsetFetch, 0, 7, oneOfFour, wire.NotCoordinator},
		{wire.AddPartitionsToTxn, 4, 20, oneOfFour, wire.ClusterAuthorizationFailed},
		{wire.FindCoordinator, 0, 3, oneGroup, wire.CoordinatorNotAvailable},
		// Nothing is left.
		{wire.ListOffsets, 0, 20, partNames{Partition: -1}, wire.NotLeaderOrFollower},
		{wire.OffsetCommit, 0, 20, oneGroup, wire.NotCoordinator},
		{wire.TxnOffsetCommit, 0, 20, oneGroup, wire.IllegalGeneration},
	} {
		w := newPartWorld(t, &partTest{})
		for version := e.from; version <= e.to; version++ {
			if !wire.Accepted(e.key, version) {
				continue
			}
			rule := w.fail(e.key, e.rule, e.code)
			req := w.request(&partTest{key: e.key, fill: func(_ *partWorld, req kmsg.Request) {
				if r, ok := req.(*kmsg.FindCoordinatorRequest); ok {
					r.CoordinatorKey = partGroups[0]
				}
			}}, version)
			r := &request{cluster: w.c, node: w.c.nodeByID(1), key: e.key, version: version, body: req}
			require.Equal(t, onWire(t, req, errorForm(r, e.code)), w.raw.ask(req), "%s v%d", e.key, version)
			require.Equal(t, 1, rule.Acted(), "%s v%d", e.key, version)
			w.c.RemoveRule(rule)
		}
	}
}

// Of several rules that name the same, the first one counts; a later one fails what they leave.
func TestFailuresOfSeveralRules(t *testing.T) {
	t.Parallel()
	w := newPartWorld(t, &partTest{})
	first := w.fail(wire.DeleteRecords, oneOfFour, wire.PolicyViolation)
	second := w.fail(wire.DeleteRecords, oneTopic, wire.OffsetOutOfRange)
	third := w.fail(wire.DeleteRecords, partNames{Partition: -1}, wire.RequestTimedOut)
	req := w.request(&partTest{key: wire.DeleteRecords}, 2)
	codes := func() []wire.Code { return codesIn(w.raw.ask(req)) }
	require.Equal(t, []wire.Code{wire.OffsetOutOfRange, wire.PolicyViolation, wire.RequestTimedOut, wire.RequestTimedOut}, codes())
	w.c.RemoveRule(third)
	require.Equal(t, []wire.Code{wire.OffsetOutOfRange, wire.PolicyViolation}, codes())
	w.c.RemoveRule(first)
	require.Equal(t, []wire.Code{wire.OffsetOutOfRange, wire.OffsetOutOfRange}, codes())
	require.Equal(t, []int{2, 3, 1}, []int{first.Acted(), second.Acted(), third.Acted()})

	// Also where the handler puts the errors in.
	w.fail(wire.Metadata, oneTopic, wire.LeaderNotAvailable)
	w.fail(wire.Metadata, partNames{Partition: -1}, wire.UnknownTopicOrPartition)
	require.Equal(t, []wire.Code{wire.LeaderNotAvailable, wire.UnknownTopicOrPartition}, codesIn(w.raw.ask(w.request(&partTest{key: wire.Metadata}, 12))))
}

// An incremental Fetch whose named partitions fail, each with another code, and that then fails as a whole, does that: what its session has beside
// them is not named, so something may be left.
func TestFetchFailsAsAWholeBehindParts(t *testing.T) {
	t.Parallel()
	w := newPartWorld(t, &partTest{})
	open := fetchRequest("orders", 0, 0, 1)
	open.SessionEpoch = 0
	id := w.raw.ask(open).(*kmsg.FetchResponse).SessionID
	require.Positive(t, id)
	w.fail(wire.Fetch, partNames{Topic: "orders", Partition: 0}, wire.NotLeaderOrFollower)
	w.fail(wire.Fetch, partNames{Topic: "orders", Partition: 1}, wire.UnknownTopicOrPartition)
	w.fail(wire.Fetch, partNames{Partition: -1}, wire.FetchSessionIDNotFound)
	next := fetchRequest("orders", 0, 0, 1)
	next.SessionID, next.SessionEpoch = id, 1
	require.Equal(t, int16(wire.FetchSessionIDNotFound), w.raw.ask(next).(*kmsg.FetchResponse).ErrorCode)
}

// A rule that finds nothing left to fail doesn't act, so that rules with Times make a sequence.
func TestFailuresInSequence(t *testing.T) {
	t.Parallel()
	w := newPartWorld(t, &partTest{})
	add := func(n partNames, a Action) {
		w.c.AddRule(&Rule{Key: wire.ListOffsets, Topic: n.Topic, Partition: n.Partition, Times: 1, Name: "a rule", Action: a})
	}
	one, two := wire.LeaderNotAvailable, wire.NotLeaderOrFollower
	add(oneTopic, Action{Fail: &one})
	add(oneTopic, Action{Fail: &two})
	add(oneOfFour, Action{Fail: &one})
	add(partNames{Topic: "refunds", Partition: -1}, Action{Fail: &two})
	add(partNames{Partition: -1}, Action{Drop: true})
	req := w.request(&partTest{key: wire.ListOffsets, fill: func(_ *partWorld, req kmsg.Request) {
		r := req.(*kmsg.ListOffsetsRequest)
		r.ReplicaID, r.Topics[1].Partitions = -1, r.Topics[1].Partitions[:1]
		for i := range r.Topics {
			for j := range r.Topics[i].Partitions {
				r.Topics[i].Partitions[j].Timestamp, r.Topics[i].Partitions[j].CurrentLeaderEpoch = -1, -1
			}
		}
	}}, 7)
	require.Equal(t, []wire.Code{one, one, two}, codesIn(w.raw.ask(req)), "all of it has failed")
	all := *req.(*kmsg.ListOffsetsRequest)
	all.Topics = all.Topics[:1]
	require.Equal(t, []wire.Code{two, two}, codesIn(w.raw.ask(&all)))
	all.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: "orders", Partitions: all.Topics[0].Partitions[1:]}}
	require.Equal(t, []wire.Code{one}, codesIn(w.raw.ask(&all)))
	w.raw.send(&all)
	_, err := w.raw.nc.Read(make([]byte, 1))
	require.Error(t, err, "the last rule drops it")
}

// What else rules do on such a request is done as on any other.
func TestPartsThatFailAreObserved(t *testing.T) {
	t.Parallel()
	w := newPartWorld(t, &partTest{})
	var seen *Call
	w.c.AddRule(&Rule{Key: wire.DeleteRecords, Partition: -1, Name: "Observe", Action: Action{Observe: func(c *Call) { seen = c }}})
	gate := w.c.NewGate("held")
	held := &Rule{Key: wire.DeleteRecords, Topic: "refunds", Partition: -1, Name: "HoldReply", Action: Action{HoldReply: gate}}
	w.c.AddRule(held)
	code := wire.PolicyViolation
	rule := &Rule{Key: wire.DeleteRecords, Topic: "orders", Partition: 1, After: 1, Times: 1, Name: "Fail", Action: Action{Fail: &code}}
	w.c.AddRule(rule)
	req := w.request(&partTest{key: wire.DeleteRecords}, 2)
	gate.Open()
	require.Empty(t, codesIn(w.raw.ask(req)), "the first one passes")
	require.Equal(t, []wire.Code{code}, codesIn(w.raw.ask(req)))
	require.Equal(t, req, seen.Request)
	require.Equal(t, []wire.Code{code}, codesIn(seen.Response))
	require.Empty(t, codesIn(w.raw.ask(req)), "once was asked for")
	require.Equal(t, 3, gate.Ever())
	require.Equal(t, 1, rule.Acted())
}

// A Metadata of a topic that fails tells of the brokers all the same, and creates nothing.
func TestFailedTopicOfMetadata(t *testing.T) {
	t.Parallel()
	w := newPartWorld(t, &partTest{})
	w.fail(wire.Metadata, partNames{Topic: "new", Partition: -1}, wire.LeaderNotAvailable)
	for version := int16(0); version <= 13; version++ {
		req := w.request(&partTest{key: wire.Metadata, fill: func(_ *partWorld, req kmsg.Request) {
			r := req.(*kmsg.MetadataRequest)
			r.Topics = r.Topics[:1]
			r.Topics[0].Topic, r.AllowAutoTopicCreation = kmsg.StringPtr("new"), true
		}}, version)
		resp := w.raw.ask(req).(*kmsg.MetadataResponse)
		require.Len(t, resp.Brokers, 2, "v%d", version)
		require.Len(t, resp.Topics, 1, "v%d", version)
		require.Equal(t, []wire.Code{wire.LeaderNotAvailable}, codesIn(resp), "v%d", version)
	}
	w.c.Look(func() { require.False(t, w.c.topicExists("new")) })
}

// A topic that fails stands on its page, and a page may begin with it.
func TestFailedTopicOfPages(t *testing.T) {
	t.Parallel()
	w := newPartWorld(t, &partTest{})
	w.fail(wire.DescribeTopicPartitions, partNames{Topic: "refunds", Partition: -1}, wire.TopicAuthorizationFailed)
	req := w.request(&partTest{key: wire.DescribeTopicPartitions}, 0).(*kmsg.DescribeTopicPartitionsRequest)
	req.ResponsePartitionLimit = 2
	page := w.raw.ask(req).(*kmsg.DescribeTopicPartitionsResponse)
	require.Empty(t, codesIn(page))
	require.Equal(t, "refunds", page.NextCursor.Topic)
	req.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: page.NextCursor.Topic, Partition: page.NextCursor.Partition}
	page = w.raw.ask(req).(*kmsg.DescribeTopicPartitionsResponse)
	require.Len(t, page.Topics, 1)
	require.Equal(t, []wire.Code{wire.TopicAuthorizationFailed}, codesIn(page))
	require.Nil(t, page.NextCursor)
}

// What a request names twice fails twice, and a topic without partitions is none of a rule's business.
func TestFailOfOddRequests(t *testing.T) {
	t.Parallel()
	w := newPartWorld(t, &partTest{})
	rule := w.fail(wire.OffsetForLeaderEpoch, oneTopic, wire.UnknownLeaderEpoch)
	req := w.request(&partTest{key: wire.OffsetForLeaderEpoch}, 4).(*kmsg.OffsetForLeaderEpochRequest)
	req.ReplicaID = -1
	twice := req.Topics[0]
	twice.Partitions = append(twice.Partitions[:1:1], twice.Partitions[0])
	none := req.Topics[1]
	none.Partitions = nil
	req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{none, req.Topics[1], twice}
	resp := w.raw.ask(req).(*kmsg.OffsetForLeaderEpochResponse)
	require.Len(t, resp.Topics, 3)
	require.Empty(t, resp.Topics[0].Partitions)
	require.Equal(t, []wire.Code{wire.UnknownLeaderEpoch, wire.UnknownLeaderEpoch}, codesIn(resp))

	req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: "orders"}}
	require.Empty(t, codesIn(w.raw.ask(req)))
	require.Equal(t, 1, rule.Acted())
}

// A request that names a great many things is taken apart in time that grows with them, not with their square.
func TestFailOfALargeRequest(t *testing.T) {
	t.Parallel()
	w := newPartWorld(t, &partTest{})
	w.fail(wire.OffsetForLeaderEpoch, partNames{Partition: 1}, wire.UnknownLeaderEpoch)
	req := w.request(&partTest{key: wire.OffsetForLeaderEpoch}, 4).(*kmsg.OffsetForLeaderEpochRequest)
	req.ReplicaID = -1
	topic := req.Topics[0]
	req.Topics = nil
	const n = 10_000
	for range n {
		req.Topics = append(req.Topics, topic)
	}
	require.Len(t, codesIn(w.raw.ask(req)), n)
}
