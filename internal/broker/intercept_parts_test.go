package broker

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
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

// partWorld is a cluster in which a request is tried, with the rule or without.
type partWorld struct {
	t        *testing.T
	c        *Cluster
	raw      *rawClient
	producer *kmsg.InitProducerIDResponse
}

func newPartWorld(t *testing.T, p *partTest) *partWorld {
	c := startCluster(t, Options{Brokers: 2, Seed: 1, Topics: []TopicSpec{
		{Name: "orders", Partitions: 2, ReplicationFactor: 2}, {Name: "refunds", Partitions: 2, ReplicationFactor: 2},
	}})
	w := &partWorld{t: t, c: c, raw: dialRaw(t, c)}
	for _, name := range partTopics {
		for i := range int32(2) {
			w.ledBy(name, i, 1)
		}
	}
	if p.prepare != nil {
		p.prepare(w)
	}
	return w
}

func (w *partWorld) ledBy(topicName string, index, node int32) {
	if leader, err := w.c.Leader(topicName, index); err != nil || leader != node {
		require.NoError(w.t, w.c.MoveLeader(topicName, index, node))
	}
}

func (w *partWorld) id(topicName string) [16]byte {
	id, _, err := w.c.TopicID(topicName)
	require.NoError(w.t, err)
	return id
}

// request names everything that its lists can name, twice.
func (w *partWorld) request(p *partTest, version int16) kmsg.Request {
	req := kmsg.RequestForKey(int16(p.key))
	v := reflect.ValueOf(req).Elem()
	v.Addr().Interface().(interface{ Default() }).Default()
	req.SetVersion(version)
	setDefaults(req)
	w.nameAll(v)
	setFields(v, 0)
	if p.fill != nil {
		p.fill(w, req)
	}
	return req
}

// nameAll fills the lists in a request.
func (w *partWorld) nameAll(v reflect.Value) {
	for _, field := range requestLists {
		list := v.FieldByName(field)
		if !list.IsValid() {
			continue
		}
		list.Set(reflect.MakeSlice(list.Type(), 2, 2))
		for i := range 2 {
			switch o := list.Index(i); {
			case o.Kind() == reflect.Int32:
				o.SetInt(int64(i))
			case field == "TopicNames":
				o.SetString(partTopics[i])
			case o.Kind() == reflect.String:
				o.SetString(partGroups[i])
			default:
				o.Addr().Interface().(interface{ Default() }).Default()
				setFields(o, i)
				if id := o.FieldByName("TopicID"); id.IsValid() && o.FieldByName("Partitions").IsValid() {
					id.Set(reflect.ValueOf(w.id(partTopics[i])))
				}
				w.nameAll(o)
			}
		}
	}
}

// setFields names the i-th thing of a list.
func setFields(o reflect.Value, i int) {
	for name, text := range map[string]string{"Topic": partTopics[i], "ResourceName": partTopics[i], "Group": partGroups[i], "TransactionalID": partGroups[i]} {
		switch f := o.FieldByName(name); {
		case !f.IsValid():
		case f.Kind() == reflect.Pointer:
			f.Set(reflect.ValueOf(&text))
		default:
			f.SetString(text)
		}
	}
	for name, n := range map[string]int{"Partition": i, "ResourceType": 2} {
		if f := o.FieldByName(name); f.IsValid() {
			f.SetInt(int64(n))
		}
	}
}

// partAnswer is an answer without the places that fail; their codes, and all places in their order, stand beside it.
type partAnswer struct {
	rest   any
	failed map[string]wire.Code
	order  []string
}

func (w *partWorld) look(resp kmsg.Response, fails map[string]wire.Code) *partAnswer {
	raw, err := json.Marshal(resp)
	require.NoError(w.t, err)
	a := &partAnswer{failed: map[string]wire.Code{}}
	require.NoError(w.t, json.Unmarshal(raw, &a.rest))
	names := map[string]string{}
	for name, t := range w.c.meta.Load().topics {
		id, err := json.Marshal(t.id)
		require.NoError(w.t, err)
		names[string(id)] = name
	}
	var walk func(v any, at string) any
	walk = func(v any, at string) any {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range sortedKeys(v) {
				switch name {
				case "ClusterID", "Host", "Port", "TopicID": // others in each cluster
					delete(v, name)
				default:
					v[name] = walk(v[name], at)
				}
			}
		case []any:
			left := []any{}
			for _, o := range v {
				m, ok := o.(map[string]any)
				if !ok {
					return v
				}
				at := at
				id, err := json.Marshal(m["TopicID"])
				require.NoError(w.t, err)
				if m["Topic"] == nil || m["Topic"] == "" {
					m["Topic"] = names[string(id)]
				}
				for _, f := range []any{m["Topic"], m["Group"], m["Key"], m["TransactionalID"], m["ResourceName"], m["ProducerID"], m["Partition"]} {
					if f != nil && f != "" {
						at = strings.TrimPrefix(fmt.Sprint(at, "/", f), "/")
					}
				}
				a.order = append(a.order, at)
				if _, fails := fails[at]; fails {
					a.failed[at] = wire.Code(m["ErrorCode"].(float64))
					continue
				}
				left = append(left, walk(o, at))
			}
			return left
		}
		return v
	}
	walk(a.rest, "")
	return a
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

// eachOfFour has a value for each partition.
func eachOfFour(of func(w *partWorld, name string, p *partition) any) func(*partWorld) map[string]any {
	return func(w *partWorld) map[string]any {
		all := map[string]any{}
		for _, name := range partTopics {
			for _, p := range w.c.meta.Load().topics[name].partitions {
				all[fmt.Sprintf("%s/%d", name, p.index)] = of(w, name, p)
			}
		}
		return all
	}
}

var (
	starts  = eachOfFour(func(_ *partWorld, _ string, p *partition) any { return p.log.LogStart() })
	ends    = eachOfFour(func(_ *partWorld, _ string, p *partition) any { return p.log.End() })
	leaders = eachOfFour(func(_ *partWorld, _ string, p *partition) any { return p.state.Load().leader })
	first   = eachOfFour(func(_ *partWorld, _ string, p *partition) any { return p.state.Load().replicas })
)

// committed are the offsets of the first group.
var committed = eachOfFour(func(w *partWorld, name string, p *partition) any {
	s, _ := w.c.GroupState(partGroups[0])
	for _, o := range s.Offsets {
		if o.Topic == name && o.Partition == p.index {
			return o.Offset
		}
	}
	return nil
})

func topicsThere(names ...string) func(w *partWorld) map[string]any {
	return func(w *partWorld) map[string]any {
		there := map[string]any{}
		for _, name := range names {
			there[name] = w.c.topicExists(name)
		}
		return there
	}
}

func partitionCounts(w *partWorld) map[string]any {
	counts := map[string]any{}
	for _, name := range partTopics {
		n, err := w.c.Partitions(name)
		require.NoError(w.t, err)
		counts[name] = n
	}
	return counts
}

func retentions(w *partWorld) map[string]any {
	all := map[string]any{}
	for _, name := range partTopics {
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.SetVersion(4)
		o := kmsg.NewDescribeConfigsRequestResource()
		o.ResourceType, o.ResourceName, o.ConfigNames = kmsg.ConfigResourceTypeTopic, name, []string{"retention.ms"}
		req.Resources = append(req.Resources, o)
		all[name] = *w.raw.ask(req).(*kmsg.DescribeConfigsResponse).Resources[0].Configs[0].Value
	}
	return all
}

// coordinate makes the internal topics, with this broker as the coordinator of all.
func coordinate(w *partWorld) {
	for kind := range int8(2) {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.SetVersion(4)
		req.CoordinatorType, req.CoordinatorKeys = kind, partGroups
		w.raw.ask(req)
	}
	for _, name := range []string{offsetsTopic, transactionsTopic} {
		for _, id := range partGroups {
			w.ledBy(name, groupPartition(id, len(w.c.meta.Load().topics[name].partitions)), 1)
		}
	}
}

// commitAll gives each group an offset in each partition.
func commitAll(w *partWorld) {
	coordinate(w)
	for _, group := range partGroups {
		req := w.request(&partTest{key: wire.OffsetCommit, fill: commitOffsets}, 9).(*kmsg.OffsetCommitRequest)
		req.Group = group
		require.Empty(w.t, codesIn(w.raw.ask(req)))
	}
}

func commitOffsets(_ *partWorld, req kmsg.Request) {
	r := req.(*kmsg.OffsetCommitRequest)
	r.Generation = -1
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			r.Topics[i].Partitions[j].Offset = 5
		}
	}
}

func groupsThere(w *partWorld) map[string]any {
	there := map[string]any{}
	for _, id := range partGroups {
		_, there[id] = w.c.GroupState(id)
	}
	return there
}

// beginTransactions gives the first transactional id a producer.
func beginTransactions(w *partWorld) {
	coordinate(w)
	req := kmsg.NewPtrInitProducerIDRequest()
	req.SetVersion(4)
	req.TransactionalID, req.TransactionTimeoutMillis = &partGroups[0], 60_000
	w.producer = w.raw.ask(req).(*kmsg.InitProducerIDResponse)
	require.Zero(w.t, w.producer.ErrorCode)
}

func beginOffsets(w *partWorld) {
	beginTransactions(w)
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.SetVersion(3)
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = partGroups[0], w.producer.ProducerID, w.producer.ProducerEpoch, partGroups[0]
	require.Zero(w.t, w.raw.ask(req).(*kmsg.AddOffsetsToTxnResponse).ErrorCode)
}

func endTransaction(w *partWorld) {
	req := kmsg.NewPtrEndTxnRequest()
	req.SetVersion(3)
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = partGroups[0], w.producer.ProducerID, w.producer.ProducerEpoch, true
	w.raw.ask(req) // INVALID_TXN_STATE before it has begun
}

func addToTransactions(w *partWorld, req kmsg.Request) {
	r := req.(*kmsg.AddPartitionsToTxnRequest)
	r.ProducerID, r.ProducerEpoch = w.producer.ProducerID, w.producer.ProducerEpoch
	for i := range r.Transactions {
		r.Transactions[i].ProducerID, r.Transactions[i].ProducerEpoch = w.producer.ProducerID, w.producer.ProducerEpoch
	}
}

// inTransaction tells what is in the first transaction.
var inTransaction = eachOfFour(func(w *partWorld, name string, p *partition) any {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = partGroups[:1]
	for _, t := range w.raw.ask(req).(*kmsg.DescribeTransactionsResponse).TransactionStates[0].Topics {
		if t.Topic == name && slices.Contains(t.Partitions, p.index) {
			return true
		}
	}
	return false
})

// under puts what is the effect on a partition under the group or transaction that it is of.
func under(group string, of func(*partWorld) map[string]any) func(*partWorld) map[string]any {
	return func(w *partWorld) map[string]any {
		all := map[string]any{}
		for place, is := range of(w) {
			all[group+"/"+place] = is
		}
		return all
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
			r.Resources = append(r.Resources, kmsg.DescribeConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "1"})
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
				req, err := wire.DecodeChecked(p.key, version, sent.AppendTo(nil)) // what this version has of it
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
