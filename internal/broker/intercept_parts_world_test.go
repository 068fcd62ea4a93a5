package broker

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

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
