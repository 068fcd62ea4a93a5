package broker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// brokersIn is a picture of brokers 1, 2, ... in these racks; a rack with a "!" stands for a broker that doesn't run.
func brokersIn(racks ...string) *metadata {
	m := &metadata{}
	for i, r := range racks {
		down := strings.HasSuffix(r, "!")
		m.nodes = append(m.nodes, &nodeInfo{id: int32(i + 1), rack: strings.TrimSuffix(r, "!"), alive: !down})
	}
	return m
}

func TestPlacement(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what     string
		racks    []string
		replicas int16
		want     [][]int32
	}{
		{"round robin", []string{"", "", ""}, 2, [][]int32{{1, 2}, {2, 3}, {3, 1}, {1, 2}}},
		{"as many as brokers", []string{"", "", ""}, 3, [][]int32{{1, 2, 3}, {2, 3, 1}, {3, 1, 2}}},
		{"a rack each", []string{"a", "b", "c"}, 2, [][]int32{{1, 2}, {2, 3}, {3, 1}}},
		{"two racks: both have a copy", []string{"a", "b", "a", "b"}, 2, [][]int32{{1, 2}, {2, 1}, {3, 4}, {4, 3}}},
		{"a rack after the other", []string{"a", "a", "b", "b"}, 2, [][]int32{{1, 3}, {2, 4}, {3, 1}, {4, 2}, {1, 4}, {2, 3}, {3, 2}, {4, 1}}},
		{"uneven racks", []string{"a", "a", "b"}, 2, [][]int32{{1, 3}, {2, 3}, {3, 1}, {1, 3}, {2, 3}, {3, 2}}},
		{"all of uneven racks", []string{"a", "a", "b"}, 3, [][]int32{{1, 3, 2}, {2, 3, 1}, {3, 1, 2}}},
		{"one stopped: it never leads and comes last", []string{"", "!", ""}, 2, [][]int32{{1, 3}, {3, 1}, {1, 3}}},
		{"one stopped, all wanted", []string{"", "!", ""}, 3, [][]int32{{1, 3, 2}, {3, 1, 2}}},
	} {
		got, err := place(brokersIn(c.racks...), 0, int32(len(c.want)), c.replicas)
		require.Nil(t, err, c.what)
		require.Equal(t, c.want, got, c.what)
		rest, err := place(brokersIn(c.racks...), 1, int32(len(c.want))-1, c.replicas)
		require.Nil(t, err, c.what)
		require.Equal(t, c.want[1:], rest, "%s: a grown topic goes on where it was", c.what)
	}
	_, err := place(brokersIn("", ""), 0, 1, 3)
	require.Equal(t, wire.InvalidReplicationFactor, err.code)
	_, err = place(brokersIn("!", "!"), 0, 1, 1)
	require.Equal(t, wire.InvalidReplicationFactor, err.code)
}

func TestPlacementUsesEveryBrokerOnce(t *testing.T) {
	t.Parallel()
	for _, racks := range [][]string{{""}, {"", "", ""}, {"a", "b"}, {"a", "a", "b!"}, {"a", "b", "a!", "c", "a", "b!"}, {"a", "b", "", "a", "b", "", "a"}} {
		m := brokersIn(racks...)
		for replicas := 1; replicas <= len(racks); replicas++ {
			all, err := place(m, 0, 50, int16(replicas))
			require.Nil(t, err)
			for _, ids := range all {
				require.Len(t, ids, replicas)
				require.Len(t, slices.Compact(slices.Sorted(slices.Values(ids))), replicas, "%v twice in %v", ids, racks)
				require.True(t, m.isAlive(ids[0]), "%v: broker %d leads and doesn't run", racks, ids[0])
			}
		}
	}
}

func TestPlacementIsEvenOverRacksOfOneSize(t *testing.T) {
	t.Parallel()
	for _, racks := range [][]string{{"", "", ""}, {"a", "a", "b", "b"}, {"a", "b", "a", "b"}, {"a", "b", "b", "a"}, {"b", "a", "a", "b", "c", "c"}, {"a", "a", "a", "b", "b", "b"}} {
		for replicas := 1; replicas <= len(racks); replicas++ {
			const rounds = 3
			all, err := place(brokersIn(racks...), 0, int32(rounds*len(racks)), int16(replicas))
			require.Nil(t, err)
			copies := make([]int, len(racks))
			for _, ids := range all {
				for _, id := range ids {
					copies[id-1]++
				}
			}
			require.Equal(t, slices.Repeat([]int{rounds * replicas}, len(racks)), copies, "copies of each broker, racks %v, %d replicas", racks, replicas)
		}
	}
}

func TestTopicNames(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"a": true, "A-b_c.9": true, strings.Repeat("x", 249): true, "...": true,
		"": false, ".": false, "..": false, strings.Repeat("x", 250): false, "a b": false, "é": false, "a/b": false,
	} {
		require.Equal(t, ok, validateTopicName(name) == nil, "%q", name)
	}
}

func createRequest(topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.Topics = 7, topics
	return req
}

func newTopic(name string, partitions int32, replicas int16) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, replicas
	return t
}

// codes are the codes of a CreateTopics answer, by topic.
func createCodes(resp kmsg.Response) map[string]wire.Code {
	codes := map[string]wire.Code{}
	for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
		codes[t.Topic] = wire.Code(t.ErrorCode)
	}
	return codes
}

func TestCreateTopicsChecksInOrder(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "a.b", Partitions: 1}, {Name: "plain", Partitions: 1}}})
	cl := dialRaw(t, c)
	require.Equal(t, map[string]wire.Code{
		"a_b":      wire.InvalidTopicException, // collides
		"a.b":      wire.TopicAlreadyExists,    // wins over the collision with itself
		"new.one":  wire.None,
		"new_one":  wire.None, // two new ones that collide both succeed
		"plain":    wire.TopicAlreadyExists,
		"too many": wire.InvalidTopicException, // the name is looked at before the counts
		"copies":   wire.InvalidReplicationFactor,
		"none":     wire.InvalidReplicationFactor, // before the count
		"twice":    wire.InvalidRequest,
	}, createCodes(cl.ask(createRequest(newTopic("a_b", 1, 1), newTopic("a.b", 1, 1), newTopic("new.one", 1, 1), newTopic("new_one", 1, 1),
		newTopic("plain", 0, 0), newTopic("too many", 0, 9), newTopic("copies", 1, 2), newTopic("none", 0, 0),
		newTopic("twice", 1, 1), newTopic("twice", 1, 1)))))
	require.Equal(t, map[string]wire.Code{"one": wire.PolicyViolation, "other": wire.PolicyViolation},
		createCodes(cl.ask(createRequest(newTopic("one", 10000, 1), newTopic("other", 1, 1)))))
}

func TestHugeCountsAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}})
	cl := dialRaw(t, c)
	require.Equal(t, map[string]wire.Code{"huge": wire.PolicyViolation}, createCodes(cl.ask(createRequest(newTopic("huge", 1<<31-1, 1)))))
	grow := kmsg.NewPtrCreatePartitionsRequest()
	grow.Version = 3
	g := kmsg.NewCreatePartitionsRequestTopic()
	g.Topic, g.Count = "t", 1<<31-1
	grow.Topics = append(grow.Topics, g)
	require.EqualValues(t, wire.UnknownServerError, cl.ask(grow).(*kmsg.CreatePartitionsResponse).Topics[0].ErrorCode)
}

func TestDeleteTopicsResolvesEachEntry(t *testing.T) {
	t.Parallel()
	name := func(s string) *string { return &s }
	m := &metadata{topics: map[string]*topic{}, ids: map[[16]byte]*topic{}}
	m.put(&topic{name: "t", id: [16]byte{1}})
	m.put(&topic{name: "u", id: [16]byte{2}})
	type entry = kmsg.DeleteTopicsRequestTopic
	for _, c := range []struct {
		what   string
		wanted []entry
		codes  []wire.Code
	}{
		{"by name", []entry{{Topic: name("t")}}, []wire.Code{wire.None}},
		{"by id", []entry{{TopicID: [16]byte{1}}}, []wire.Code{wire.None}},
		{"name and id", []entry{{Topic: name("t"), TopicID: [16]byte{1}}}, []wire.Code{wire.InvalidRequest}},
		{"name and id, and the name", []entry{{Topic: name("x"), TopicID: [16]byte{1}}, {Topic: name("x")}, {Topic: name("t"), TopicID: [16]byte{1}}, {Topic: name("t")}}, []wire.Code{wire.InvalidRequest, wire.UnknownTopicOrPartition, wire.InvalidRequest, wire.None}},
		{"neither", []entry{{}}, []wire.Code{wire.InvalidRequest}},
		{"unknown", []entry{{Topic: name("x")}, {TopicID: [16]byte{9}}}, []wire.Code{wire.UnknownTopicOrPartition, wire.UnknownTopicID}},
		{"an unknown name twice", []entry{{Topic: name("x")}, {Topic: name("x")}}, []wire.Code{wire.InvalidRequest}},
		{"a name twice", []entry{{Topic: name("t")}, {Topic: name("u")}, {Topic: name("t")}}, []wire.Code{wire.InvalidRequest, wire.None}},
		{"an id twice", []entry{{TopicID: [16]byte{1}}, {TopicID: [16]byte{1}}}, []wire.Code{wire.InvalidRequest}},
		{"by id and by name", []entry{{TopicID: [16]byte{1}}, {Topic: name("t")}}, []wire.Code{wire.InvalidRequest}},
		{"by an id that is there twice and by name", []entry{{TopicID: [16]byte{1}}, {Topic: name("t")}, {TopicID: [16]byte{1}}}, []wire.Code{wire.InvalidRequest, wire.InvalidRequest}},
		{"by a name that is there twice and by id", []entry{{Topic: name("t")}, {Topic: name("t")}, {TopicID: [16]byte{1}}}, []wire.Code{wire.InvalidRequest, wire.None}},
		{"by name and id, each twice", []entry{{Topic: name("t")}, {Topic: name("t")}, {TopicID: [16]byte{1}}, {TopicID: [16]byte{1}}}, []wire.Code{wire.InvalidRequest, wire.InvalidRequest}},
	} {
		var codes []wire.Code
		for _, d := range resolveDeletions(m, c.wanted) {
			code := wire.None
			if d.err != nil {
				code = d.err.code
			}
			codes = append(codes, code)
		}
		require.Equal(t, c.codes, codes, c.what)
	}
}

func TestControllerDropsWhatHasNoTime(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}})
	cl := dialRaw(t, c)
	create := func(names ...string) (codes []wire.Code) {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version, req.TimeoutMillis = 7, 0
		for _, n := range names {
			rt := kmsg.NewCreateTopicsRequestTopic()
			rt.Topic, rt.NumPartitions, rt.ReplicationFactor = n, 1, 1
			req.Topics = append(req.Topics, rt)
		}
		for _, rt := range cl.ask(req).(*kmsg.CreateTopicsResponse).Topics {
			codes = append(codes, wire.Code(rt.ErrorCode))
		}
		return codes
	}
	remove := func(names ...string) (codes []wire.Code) {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version, req.TimeoutMillis, req.TopicNames = 5, -1, names
		for _, rt := range cl.ask(req).(*kmsg.DeleteTopicsResponse).Topics {
			codes = append(codes, wire.Code(rt.ErrorCode))
		}
		return codes
	}
	grow := func(names ...string) (codes []wire.Code) {
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.Version, req.TimeoutMillis = 3, -1
		for _, n := range names {
			rt := kmsg.NewCreatePartitionsRequestTopic()
			rt.Topic, rt.Count = n, 2
			req.Topics = append(req.Topics, rt)
		}
		for _, rt := range cl.ask(req).(*kmsg.CreatePartitionsResponse).Topics {
			codes = append(codes, wire.Code(rt.ErrorCode))
		}
		return codes
	}
	late, twice := wire.RequestTimedOut, wire.InvalidRequest
	for _, do := range []func(...string) []wire.Code{create, remove, grow} {
		require.Empty(t, do())
		require.Equal(t, []wire.Code{late, late, late}, do("t", "u", "u"), "every entry, as it stands")
		require.Equal(t, []wire.Code{twice}, do("t", "t"), "nothing is left to ask the controller")
	}
	require.Equal(t, []wire.Code{late}, create("new"))
	require.Equal(t, []wire.Code{late}, remove("t"))
	require.Equal(t, []wire.Code{late}, grow("t"))
	require.Len(t, c.meta.Load().topics, 1)
	require.Len(t, c.meta.Load().topics["t"].partitions, 1)

	elect := kmsg.NewPtrElectLeadersRequest()
	elect.Version, elect.TimeoutMillis, elect.ElectionType = 2, 0, 5
	require.EqualValues(t, late, cl.ask(elect).(*kmsg.ElectLeadersResponse).ErrorCode, "before the type is judged")
	elect.Topics = []kmsg.ElectLeadersRequestTopic{}
	require.Zero(t, cl.ask(elect).(*kmsg.ElectLeadersResponse).ErrorCode)

	move := reassign("t", 0, 1)
	move.TimeoutMillis = 0
	moved := cl.ask(move).(*kmsg.AlterPartitionAssignmentsResponse)
	require.EqualValues(t, late, moved.ErrorCode)
	require.EqualValues(t, late, moved.Topics[0].Partitions[0].ErrorCode)
	move.Topics = nil
	require.Zero(t, cl.ask(move).(*kmsg.AlterPartitionAssignmentsResponse).ErrorCode)
}

func reassign(topic string, partition int32, replicas ...int32) *kmsg.AlterPartitionAssignmentsRequest {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.Version = 1
	t := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	t.Topic = topic
	p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	p.Partition, p.Replicas = partition, replicas
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

func (c *rawClient) reassign(topic string, partition int32, replicas ...int32) wire.Code {
	c.tb.Helper()
	return wire.Code(c.ask(reassign(topic, partition, replicas...)).(*kmsg.AlterPartitionAssignmentsResponse).Topics[0].Partitions[0].ErrorCode)
}

func TestReassignments(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Brokers: 3, Topics: []TopicSpec{{Name: "t", Partitions: 1, ReplicationFactor: 2}}})
	cl := dialRaw(t, c)
	state := func() string {
		s := c.meta.Load().partition("t", 0).state.Load()
		return fmt.Sprintf("leader %d epoch %d replicas %v isr %v adding %v removing %v", s.leader, s.epoch, s.replicas, s.isr, s.adding, s.removing)
	}
	list := func() int {
		req := kmsg.NewPtrListPartitionReassignmentsRequest()
		return len(cl.ask(req).(*kmsg.ListPartitionReassignmentsResponse).Topics)
	}
	require.Equal(t, "leader 1 epoch 0 replicas [1 2] isr [1 2] adding [] removing []", state())
	require.Equal(t, wire.UnknownTopicOrPartition, cl.reassign("t", 5, 1))
	require.Equal(t, wire.InvalidReplicaAssignment, cl.reassign("t", 0, 1, 1))
	require.Equal(t, wire.InvalidReplicaAssignment, cl.reassign("t", 0, 9))
	require.Equal(t, wire.NoReassignmentInProgress, cl.reassign("t", 0))

	require.Equal(t, wire.None, cl.reassign("t", 0, 2, 1))
	require.Equal(t, "leader 1 epoch 0 replicas [2 1] isr [1 2] adding [] removing []", state(), "another order only")
	require.Equal(t, wire.None, cl.reassign("t", 0, 1, 2, 3))
	require.Equal(t, "leader 1 epoch 0 replicas [1 2 3] isr [1 2 3] adding [] removing []", state(), "adding keeps the epoch")
	require.Equal(t, wire.None, cl.reassign("t", 0, 2, 3))
	require.Equal(t, "leader 2 epoch 1 replicas [2 3] isr [2 3] adding [] removing []", state(), "the leader was removed")
	require.Zero(t, list())

	require.NoError(t, c.StopBroker(3, true))
	require.Equal(t, wire.None, cl.reassign("t", 0, 1, 3))
	require.Equal(t, "leader 1 epoch 2 replicas [1 3] isr [1] adding [] removing []", state(), "broker 3 doesn't run, but was one before")
	require.Equal(t, wire.None, cl.reassign("t", 0, 1, 2))
	require.Equal(t, wire.None, cl.reassign("t", 0, 2, 3))
	require.Equal(t, "leader 1 epoch 3 replicas [2 3 1] isr [1 2] adding [3] removing [1]", state(), "broker 3 doesn't run")
	require.Equal(t, 1, list())
	require.Equal(t, wire.None, cl.reassign("t", 0))
	require.Equal(t, "leader 1 epoch 4 replicas [2 1] isr [1 2] adding [] removing []", state(), "cancelled: broker 3 is no replica any more")
	require.Equal(t, wire.None, cl.reassign("t", 0, 1, 3))
	require.NoError(t, c.StartBroker(3))
	require.Equal(t, "leader 1 epoch 5 replicas [1 3] isr [1 3] adding [] removing []", state(), "complete once it runs")
	require.Zero(t, list())

	fixed := reassign("t", 0, 1)
	fixed.AllowReplicationFactorChange = false
	require.EqualValues(t, wire.InvalidReplicationFactor, cl.ask(fixed).(*kmsg.AlterPartitionAssignmentsResponse).Topics[0].Partitions[0].ErrorCode)
	fixed.Version, fixed.Topics = 1, nil
	require.True(t, cl.ask(fixed).(*kmsg.AlterPartitionAssignmentsResponse).AllowReplicationFactorChange, "nothing was asked, so nothing is repeated")
}

func TestElections(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Brokers: 2, Topics: []TopicSpec{{Name: "t", Partitions: 2, ReplicationFactor: 2}}})
	cl := dialRaw(t, c)
	elect := func(kind int8) map[int32]wire.Code {
		req := kmsg.NewPtrElectLeadersRequest()
		req.Version, req.ElectionType = 2, kind
		codes := map[int32]wire.Code{}
		for _, rt := range cl.ask(req).(*kmsg.ElectLeadersResponse).Topics {
			for _, p := range rt.Partitions {
				codes[p.Partition] = wire.Code(p.ErrorCode)
			}
		}
		return codes
	}
	require.NoError(t, c.StopBroker(2, true))
	require.Equal(t, map[int32]wire.Code{1: wire.PreferredLeaderNotAvailable}, elect(preferredElection))
	require.NoError(t, c.StartBroker(2))
	require.EqualValues(t, 1, c.meta.Load().partition("t", 1).state.Load().leader)
	require.Equal(t, map[int32]wire.Code{1: wire.None}, elect(preferredElection))
	s := c.meta.Load().partition("t", 1).state.Load()
	require.EqualValues(t, 2, s.leader)
	require.EqualValues(t, 2, s.epoch)
	require.Empty(t, elect(preferredElection), "all are led as preferred")
	require.Empty(t, elect(uncleanElection), "all are led")
}

// The name of the controller's log is free, and stays so, whichever way somebody wants a topic of it.
func TestNobodyMakesTheControllersTopic(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Config: map[string]string{"auto.create.topics.enable": "true"}})
	cl := dialRaw(t, c)
	ask := kmsg.NewPtrMetadataRequest()
	ask.Version = 1 // a version that always creates
	for _, name := range []string{controllerTopic, "beside"} {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = &name
		ask.Topics = append(ask.Topics, rt)
	}
	require.Len(t, cl.ask(ask).(*kmsg.MetadataResponse).Topics, 2)
	c.Look(func() {}) // behind the creation
	require.Equal(t, []string{"beside"}, c.meta.Load().names)
	var order []string
	for _, rt := range cl.ask(createRequest(newTopic(controllerTopic, 1, 1), newTopic("twice", 1, 1), newTopic("twice", 1, 1), newTopic("new", 1, 1))).(*kmsg.CreateTopicsResponse).Topics {
		order = append(order, rt.Topic)
	}
	require.Equal(t, []string{"new", "twice", controllerTopic}, order)
	_, err := New(Options{Topics: []TopicSpec{{Name: controllerTopic, Partitions: 1}}})
	require.ErrorContains(t, err, "prohibited")
}
