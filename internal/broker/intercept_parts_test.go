package broker

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// partTest is a request for two topics of two partitions each, or for two groups, of which a rule fails a part. Places in the answer have names such as orders/1,
// and billing/orders/1 within a group.
type partTest struct {
	what     string // beside the API
	key      wire.Key
	from, to int16 // versions; to 0: all
	rule     partNames
	code     wire.Code
	fails    map[string]wire.Code // the places that have an error by the rule; nil: orders/1 has code
	prepare  func(*partWorld)
	fill     func(*partWorld, kmsg.Request)
	effect   func(*partWorld) map[string]any // what the request changes, by place
}

var (
	partTopics = []string{"orders", "refunds"}
	partGroups = []string{"billing", "shipping"}
	oneOfFour  = partNames{Topic: "orders", Partition: 1}
	oneTopic   = partNames{Topic: "orders", Partition: -1}
	oneGroup   = partNames{Group: "billing", Partition: -1}
)

// partNames is what a rule names.
type partNames struct {
	Topic     string
	Partition int32
	Group     string
}

func TestFailFailsOnlyWhatItNames(t *testing.T) {
	t.Parallel()
	tried := map[wire.Key]bool{wire.ListPartitionReassignments: true, wire.DescribeLogDirs: true, wire.DescribeQuorum: true} // see the next test
	for _, p := range partTests() {
		tried[p.key] = true
		t.Run(strings.ReplaceAll(strings.TrimSpace(p.key.String()+" "+p.what), " ", "_"), func(t *testing.T) {
			t.Parallel()
			if p.fails == nil {
				p.fails = map[string]wire.Code{"orders/1": p.code}
			}
			versions := 0
			for version := p.from; version <= 20 && (p.to == 0 || version <= p.to); version++ {
				if wire.Accepted(p.key, version) {
					versions++
					p.try(t, version)
				}
			}
			require.Positive(t, versions)
		})
	}
	for _, key := range wire.Keys() {
		if NamesTopics(key) || key == wire.DescribeGroups || key == wire.DeleteGroups || key == wire.ConsumerGroupDescribe || key == wire.FindCoordinator {
			require.True(t, tried[key], "%s names topics or groups", key)
		}
	}
}

// try compares a request under the rule with the same without, in another cluster.
func (p *partTest) try(t *testing.T, version int16) {
	without, with := newPartWorld(t, p), newPartWorld(t, p)
	effect := func(w *partWorld) map[string]any {
		if p.effect == nil {
			return nil
		}
		return p.effect(w)
	}
	rule := &Rule{Key: p.key, Topic: p.rule.Topic, Partition: p.rule.Partition, Group: p.rule.Group, Times: 1, Name: "the rule", Action: Action{Fail: &p.code}}
	with.c.AddRule(rule)
	before := effect(with)
	want := without.look(without.raw.ask(without.request(p, version)), p.fails)
	got := with.look(with.raw.ask(with.request(p, version)), p.fails)
	require.Equal(t, 1, rule.Acted(), "v%d", version)
	require.Equal(t, p.fails, got.failed, "v%d", version)
	require.Equal(t, want.order, got.order, "v%d", version)
	require.Equal(t, want.rest, got.rest, "v%d", version)
	for place, code := range want.failed {
		require.NotEqual(t, p.fails[place], code, "v%d: %s fails without the rule", version, place)
	}

	served, failed := effect(without), effect(with)
	require.Equal(t, sortedKeys(served), sortedKeys(failed), "v%d", version)
	for place, is := range failed {
		if _, fails := p.fails[place]; fails {
			require.Equal(t, before[place], is, "v%d: %s took effect", version, place)
			require.NotEqual(t, served[place], is, "v%d: %s has no effect without the rule", version, place)
		} else {
			require.Equal(t, served[place], is, "v%d: %s", version, place)
		}
	}
}

func partTests() []*partTest {
	records := func(w *partWorld, req kmsg.Request) {
		r := req.(*kmsg.ProduceRequest)
		r.Acks, r.TransactionID = -1, nil
		for i := range r.Topics {
			for j := range r.Topics[i].Partitions {
				r.Topics[i].Partitions[j].Records = oneBatch(w.t, 1, 10)
			}
		}
	}
	produceAll := func(w *partWorld) {
		require.Empty(w.t, codesIn(w.raw.ask(w.request(&partTest{key: wire.Produce, fill: records}, 9))))
	}
	byID := func(w *partWorld, req kmsg.Request) {
		switch r := req.(type) {
		case *kmsg.MetadataRequest:
			for i := range r.Topics {
				r.Topics[i].Topic, r.Topics[i].TopicID = nil, w.id(partTopics[i])
			}
		case *kmsg.DeleteTopicsRequest:
			for i := range r.Topics {
				r.Topics[i].Topic, r.Topics[i].TopicID = nil, w.id(partTopics[i])
			}
		}
	}
	topicFails := func(code wire.Code) map[string]wire.Code { return map[string]wire.Code{"orders": code} }
	return []*partTest{
		{key: wire.Produce, rule: oneOfFour, code: wire.NotLeaderOrFollower, fill: records, effect: ends},
		{key: wire.Fetch, rule: oneOfFour, code: wire.NotLeaderOrFollower, fill: func(_ *partWorld, req kmsg.Request) {
			r := req.(*kmsg.FetchRequest)
			r.ReplicaID, r.SessionEpoch, r.MaxBytes, r.ForgottenTopics = -1, -1, 1<<20, nil
		}},
		{key: wire.ListOffsets, rule: oneOfFour, code: wire.LeaderNotAvailable, fill: func(_ *partWorld, req kmsg.Request) {
			r := req.(*kmsg.ListOffsetsRequest)
			r.ReplicaID = -1
			for i := range r.Topics {
				for j := range r.Topics[i].Partitions {
					r.Topics[i].Partitions[j].Timestamp, r.Topics[i].Partitions[j].CurrentLeaderEpoch = -1, -1
				}
			}
		}},
		{key: wire.Metadata, rule: oneTopic, code: wire.LeaderNotAvailable, fails: topicFails(wire.LeaderNotAvailable)},
		{what: "by id", key: wire.Metadata, from: 12, rule: oneTopic, code: wire.UnknownTopicID, fails: topicFails(wire.UnknownTopicID), fill: byID},
		{key: wire.OffsetForLeaderEpoch, rule: oneOfFour, code: wire.FencedLeaderEpoch, fill: func(_ *partWorld, req kmsg.Request) {
			req.(*kmsg.OffsetForLeaderEpochRequest).ReplicaID = -1
		}},
		{key: wire.DeleteRecords, rule: oneOfFour, code: wire.PolicyViolation, prepare: produceAll, effect: starts, fill: func(_ *partWorld, req kmsg.Request) {
			r := req.(*kmsg.DeleteRecordsRequest)
			for i := range r.Topics {
				for j := range r.Topics[i].Partitions {
					r.Topics[i].Partitions[j].Offset = 1
				}
			}
		}},
		{key: wire.DescribeProducers, rule: oneOfFour, code: wire.NotLeaderOrFollower},
		{key: wire.DescribeTopicPartitions, rule: oneTopic, code: wire.TopicAuthorizationFailed, fails: topicFails(wire.TopicAuthorizationFailed), fill: func(_ *partWorld, req kmsg.Request) {
			req.(*kmsg.DescribeTopicPartitionsRequest).ResponsePartitionLimit = 100
		}},

		// Groups.
		{key: wire.OffsetCommit, rule: oneOfFour, code: wire.OffsetMetadataTooLarge, prepare: coordinate, fill: commitOffsets, effect: committed},
		{what: "of a group", key: wire.OffsetCommit, rule: partNames{Topic: "orders", Partition: 1, Group: "billing"}, code: wire.IllegalGeneration, prepare: coordinate, fill: commitOffsets, effect: committed},
		{key: wire.OffsetFetch, to: 7, rule: oneOfFour, code: wire.UnstableOffsetCommit, prepare: commitAll},
		{what: "in all groups", key: wire.OffsetFetch, from: 8, rule: oneOfFour, code: wire.UnstableOffsetCommit, prepare: commitAll,
			fails: map[string]wire.Code{"billing/orders/1": wire.UnstableOffsetCommit, "shipping/orders/1": wire.UnstableOffsetCommit}},
		{what: "in one group", key: wire.OffsetFetch, from: 8, rule: partNames{Topic: "orders", Partition: 1, Group: "shipping"}, code: wire.UnstableOffsetCommit, prepare: commitAll,
			fails: map[string]wire.Code{"shipping/orders/1": wire.UnstableOffsetCommit}},
		{what: "one group", key: wire.OffsetFetch, from: 8, rule: oneGroup, code: wire.NotCoordinator, prepare: commitAll, fails: map[string]wire.Code{"billing": wire.NotCoordinator}},
		{what: "the group that names a partition", key: wire.OffsetFetch, from: 8, rule: oneOfFour, code: wire.NotCoordinator, prepare: commitAll,
			fails: map[string]wire.Code{"shipping": wire.NotCoordinator}, fill: func(_ *partWorld, req kmsg.Request) {
				r := req.(*kmsg.OffsetFetchRequest)
				r.Groups[0].Topics = r.Groups[0].Topics[1:]
			}},
		{key: wire.OffsetDelete, rule: oneOfFour, code: wire.GroupSubscribedToTopic, prepare: commitAll, effect: committed},
		{key: wire.DescribeGroups, rule: oneGroup, code: wire.CoordinatorLoadInProgress, prepare: commitAll, fails: map[string]wire.Code{"billing": wire.CoordinatorLoadInProgress}},
		{key: wire.DeleteGroups, rule: oneGroup, code: wire.NonEmptyGroup, prepare: commitAll, fails: map[string]wire.Code{"billing": wire.NonEmptyGroup}, effect: groupsThere},
		{key: wire.ConsumerGroupDescribe, rule: oneGroup, code: wire.NotCoordinator, prepare: commitAll, fails: map[string]wire.Code{"billing": wire.NotCoordinator}},
		{key: wire.FindCoordinator, from: 4, rule: oneGroup, code: wire.CoordinatorNotAvailable, prepare: coordinate, fails: map[string]wire.Code{"billing": wire.CoordinatorNotAvailable}},

		// Topics.
		{key: wire.CreateTopics, rule: partNames{Topic: "new", Partition: -1}, code: wire.PolicyViolation, fails: map[string]wire.Code{"new": wire.PolicyViolation}, effect: topicsThere("new", "newer"),
			fill: func(_ *partWorld, req kmsg.Request) {
				r := req.(*kmsg.CreateTopicsRequest)
				for i, name := range []string{"new", "newer"} {
					r.Topics[i].Topic, r.Topics[i].NumPartitions, r.Topics[i].ReplicationFactor = name, 1, 1
				}
			}},
		{key: wire.DeleteTopics, rule: oneTopic, code: wire.TopicAuthorizationFailed, fails: topicFails(wire.TopicAuthorizationFailed), effect: topicsThere(partTopics...)},
		{what: "by id", key: wire.DeleteTopics, from: 6, rule: oneTopic, code: wire.TopicAuthorizationFailed, fails: topicFails(wire.TopicAuthorizationFailed), fill: byID, effect: topicsThere(partTopics...)},
		{key: wire.CreatePartitions, rule: oneTopic, code: wire.InvalidPartitions, fails: topicFails(wire.InvalidPartitions), effect: partitionCounts, fill: func(_ *partWorld, req kmsg.Request) {
			r := req.(*kmsg.CreatePartitionsRequest)
			for i := range r.Topics {
				r.Topics[i].Count = 3
			}
		}},
		{key: wire.ElectLeaders, rule: oneOfFour, code: wire.EligibleLeadersNotAvailable, effect: leaders, prepare: func(w *partWorld) {
			for _, name := range partTopics {
				for _, p := range w.c.meta.Load().topics[name].partitions {
					w.ledBy(name, p.index, p.state.Load().replicas[1])
				}
			}
		}},
		{key: wire.AlterPartitionReassignments, rule: oneOfFour, code: wire.InvalidReplicaAssignment, effect: first, fill: func(w *partWorld, req kmsg.Request) {
			r := req.(*kmsg.AlterPartitionAssignmentsRequest)
			for i := range r.Topics {
				for j := range r.Topics[i].Partitions {
					now := w.c.meta.Load().partition(partTopics[i], int32(j)).state.Load().replicas
					r.Topics[i].Partitions[j].Replicas = []int32{now[1], now[0]}
				}
			}
		}},
		{key: wire.AlterReplicaLogDirs, rule: oneOfFour, code: wire.KafkaStorageError, fill: func(w *partWorld, req kmsg.Request) {
			r := req.(*kmsg.AlterReplicaLogDirsRequest)
			r.Dirs = r.Dirs[:1]
			r.Dirs[0].Dir = w.c.logDir(1)
		}},
		{key: wire.DescribeConfigs, rule: oneTopic, code: wire.TopicAuthorizationFailed, fails: topicFails(wire.TopicAuthorizationFailed), fill: func(_ *partWorld, req kmsg.Request) {
			r := req.(*kmsg.DescribeConfigsRequest)
			r.Resources = append(r.Resources, kmsg.DescribeConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "1", ConfigNames: []string{"node.id", "num.partitions"}})
		}},
		{key: wire.AlterConfigs, rule: oneTopic, code: wire.PolicyViolation, fails: topicFails(wire.PolicyViolation), effect: retentions, fill: func(_ *partWorld, req kmsg.Request) {
			r := req.(*kmsg.AlterConfigsRequest)
			for i := range r.Resources {
				r.Resources[i].Configs = []kmsg.AlterConfigsRequestResourceConfig{{Name: "retention.ms", Value: kmsg.StringPtr("1000")}}
			}
		}},
		{key: wire.IncrementalAlterConfigs, rule: oneTopic, code: wire.PolicyViolation, fails: topicFails(wire.PolicyViolation), effect: retentions, fill: func(_ *partWorld, req kmsg.Request) {
			r := req.(*kmsg.IncrementalAlterConfigsRequest)
			for i := range r.Resources {
				r.Resources[i].Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "retention.ms", Value: kmsg.StringPtr("1000")}}
			}
		}},

		// Transactions. Their partitions are added all, or none.
		{key: wire.AddPartitionsToTxn, to: 3, rule: oneOfFour, code: wire.TopicAuthorizationFailed, prepare: beginTransactions, fill: addToTransactions, effect: inTransaction,
			fails: map[string]wire.Code{"orders/0": wire.OperationNotAttempted, "orders/1": wire.TopicAuthorizationFailed, "refunds/0": wire.OperationNotAttempted, "refunds/1": wire.OperationNotAttempted}},
		{what: "the transaction's error", key: wire.AddPartitionsToTxn, to: 3, rule: oneOfFour, code: wire.ConcurrentTransactions, prepare: beginTransactions, fill: addToTransactions, effect: inTransaction,
			fails: map[string]wire.Code{"orders/0": wire.ConcurrentTransactions, "orders/1": wire.ConcurrentTransactions, "refunds/0": wire.ConcurrentTransactions, "refunds/1": wire.ConcurrentTransactions}},
		{what: "in one of two transactions", key: wire.AddPartitionsToTxn, from: 4, rule: partNames{Topic: "refunds", Partition: 1}, code: wire.UnknownTopicOrPartition, prepare: beginTransactions,
			effect: under("billing", inTransaction),
			fails:  map[string]wire.Code{"billing/orders/0": wire.OperationNotAttempted, "billing/orders/1": wire.OperationNotAttempted, "billing/refunds/0": wire.OperationNotAttempted, "billing/refunds/1": wire.UnknownTopicOrPartition},
			fill: func(w *partWorld, req kmsg.Request) {
				addToTransactions(w, req)
				r := req.(*kmsg.AddPartitionsToTxnRequest)
				r.Transactions[1].Topics = r.Transactions[1].Topics[:1]
			}},
		{what: "the error of one of two transactions", key: wire.AddPartitionsToTxn, from: 4, rule: partNames{Topic: "refunds", Partition: 1}, code: wire.InvalidTxnState, prepare: beginTransactions,
			fails: map[string]wire.Code{"shipping/refunds/0": wire.InvalidTxnState, "shipping/refunds/1": wire.InvalidTxnState},
			fill: func(w *partWorld, req kmsg.Request) {
				addToTransactions(w, req)
				r := req.(*kmsg.AddPartitionsToTxnRequest)
				r.Transactions[0].Topics = r.Transactions[0].Topics[:1]
				r.Transactions[1].Topics = r.Transactions[1].Topics[1:]
			}},
		{what: "only asked about", key: wire.AddPartitionsToTxn, from: 4, rule: oneOfFour, code: wire.InvalidTxnState, prepare: beginTransactions,
			fails: map[string]wire.Code{"billing/orders/1": wire.InvalidTxnState, "shipping/orders/1": wire.InvalidTxnState},
			fill: func(w *partWorld, req kmsg.Request) {
				addToTransactions(w, req)
				r := req.(*kmsg.AddPartitionsToTxnRequest)
				r.Transactions[0].VerifyOnly, r.Transactions[1].VerifyOnly = true, true
			}},
		{key: wire.TxnOffsetCommit, rule: oneOfFour, code: wire.OffsetMetadataTooLarge, prepare: beginOffsets,
			effect: func(w *partWorld) map[string]any {
				endTransaction(w)
				now := committed(w)
				beginOffsets(w) // the epoch is another one now
				return now
			},
			fill: func(w *partWorld, req kmsg.Request) {
				r := req.(*kmsg.TxnOffsetCommitRequest)
				r.ProducerID, r.ProducerEpoch = w.producer.ProducerID, w.producer.ProducerEpoch
				r.Generation = -1
				for i := range r.Topics {
					for j := range r.Topics[i].Partitions {
						r.Topics[i].Partitions[j].Offset = 7
					}
				}
			}},
		{key: wire.WriteTxnMarkers, rule: oneOfFour, code: wire.NotLeaderOrFollower, fails: map[string]wire.Code{"70/orders/1": wire.NotLeaderOrFollower}, effect: under("70", ends),
			fill: func(_ *partWorld, req kmsg.Request) {
				r := req.(*kmsg.WriteTxnMarkersRequest)
				r.Markers = r.Markers[:1]
				r.Markers[0].ProducerID, r.Markers[0].ProducerEpoch, r.Markers[0].Committed = 70, 1, true
			}},
	}
}

// FuzzParts takes well-formed requests of little sense apart and puts the answers to both parts together: no entry is lost, and none is made up.
func FuzzParts(f *testing.F) {
	for seed := range uint64(3) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := &randomizer{Rand: rand.New(rand.NewPCG(seed, 7)), ids: [][16]byte{{1}, {2}, {}}}
		for _, p := range partTests() {
			for version := p.from; version <= 20 && (p.to == 0 || version <= p.to); version++ {
				if !wire.Accepted(p.key, version) || failsItself(p.key) || p.key == wire.OffsetFetch && !aboutOffset(p.code) {
					continue
				}
				sent := kmsg.RequestForKey(int16(p.key))
				r.fill(reflect.ValueOf(sent).Elem())
				sent.SetVersion(version)
				if o, ok := sent.(*kmsg.OffsetFetchRequest); ok {
					for i := range o.Groups { // one that is asked about twice is answered in one place
						o.Groups[i].Group = fmt.Sprint(i)
					}
				}
				if o, ok := sent.(*kmsg.WriteTxnMarkersRequest); ok {
					for i := range o.Markers { // an error of the whole is answered at the last marker of a producer, which may be in the other part
						o.Markers[i].ProducerID = int64(i)
					}
				}
				req, err := wire.Decode(p.key, version, sent.AppendTo(nil), true) // what this version has of it
				require.NoError(t, err)
				before := fmt.Sprintf("%+v", req)
				side := func(wanted bool) func(*entry) bool {
					return func(e *entry) bool {
						name := e.topic
						if e.id != [16]byte{} {
							name = string(e.id[:])
						}
						return (len(name)+len(e.group)+int(name0(name))+int(e.partition))%2 == 0 == wanted
					}
				}
				all, n := part(req, true, func(*entry) bool { return true })
				require.Equal(t, req, all, "%s v%d", p.key, version)
				ours, a := part(req, false, side(true))
				theirs, b := part(req, true, side(false))
				require.Equal(t, n, a+b, "%s v%d", p.key, version)
				if a == 0 || b == 0 {
					continue
				}
				form := func(req kmsg.Request) kmsg.Response { return errorResponse(req, p.code).(kmsg.Response) }
				resp := form(theirs)
				join(resp, form(ours), form(req))
				require.Equal(t, codesIn(form(req)), codesIn(resp), "%s v%d, seed %d: %+v", p.key, version, seed, req)
				require.Equal(t, before, fmt.Sprintf("%+v", req), "the request is left as it was")
			}
		}
	})
}

func name0(name string) byte {
	if name == "" {
		return 0
	}
	return name[0]
}

// BenchmarkRequestWithoutTheRulesTopic is what a rule for a topic costs the requests for others.
func BenchmarkRequestWithoutTheRulesTopic(b *testing.B) {
	c := startCluster(b, Options{})
	req := kmsg.NewPtrProduceRequest()
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: "orders", Partitions: make([]kmsg.ProduceRequestTopicPartition, 1)}}
	rule, call := &Rule{Key: wire.Produce, Topic: "refunds", Partition: -1}, &Call{Key: wire.Produce, Request: req}
	b.ReportAllocs()
	for b.Loop() {
		if c.names(req, call, rule) {
			b.Fatal("it names the topic")
		}
	}
}
