package main

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// step is one request of a sequence. Its seed is its own, so that it stays the same when steps before it are left out.
type step struct {
	seed   uint64
	sane   bool // without fields set to something else
	unhurt bool // without mutations
}

// kind makes requests of one API.
type kind struct {
	weight int
	key    int16
	fill   func(*gen, kmsg.Request)
}

// on is a kind whose fill knows the request's type.
func on[T any, P interface {
	*T
	kmsg.Request
}](weight int, fill func(*gen, P)) kind {
	return kind{weight, P(new(T)).Key(), func(g *gen, q kmsg.Request) { fill(g, q.(P)) }}
}

// area is a kind of sequence.
type area struct {
	name   string
	topics map[string]map[string]string // made before the first step: settings by name
	parts  int32                        // partitions of each
	setup  func(*gen) []kmsg.Request    // made after that; they must be answered without error
	kinds  []kind
	spoil  int // percent of requests with fields set to something else
	hurt   int // percent of frames that are damaged
	odd    int // percent of odd values where fill invents one
}

// versions are the first and last version that Kafka serves, by API.
type versions map[int16][2]int16

// request makes the step's request for one broker.
func (a *area) request(s step, w *world, served versions) (kmsg.Request, []mutation) {
	g := &gen{r: rand.New(rand.NewPCG(s.seed, 1)), w: w, odd: a.odd}
	k := a.kindOf(g.r)
	q := kmsg.RequestForKey(k.key)
	g.key = k.key
	span := served[k.key]
	version := span[0] + int16(g.r.IntN(int(span[1]-span[0])+1))
	if g.r.IntN(3) == 0 {
		version = span[1] // clients mostly speak the newest
	}
	q.SetVersion(min(version, q.MaxVersion()))
	if d, ok := q.(interface{ Default() }); ok {
		d.Default()
	}
	k.fill(g, q)
	if r := rand.New(rand.NewPCG(s.seed, 2)); r.IntN(100) < a.spoil && !s.sane {
		(&gen{r: r, w: w, odd: 50, key: k.key}).spoil(q)
	}
	tame(q)
	var hurt []mutation
	if r := rand.New(rand.NewPCG(s.seed, 3)); r.IntN(100) < a.hurt && !s.unhurt && !fragile[k.key] {
		hurt = mutationsOf(r, len(frameOf(q)))
	}
	return q, hurt
}

func (a *area) kindOf(r *rand.Rand) kind {
	total := 0
	for _, k := range a.kinds {
		total += k.weight
	}
	n := r.IntN(total)
	for _, k := range a.kinds {
		if n -= k.weight; n < 0 {
			return k
		}
	}
	panic("unreachable")
}

var formatter = kmsg.NewRequestFormatter(kmsg.FormatterClientID("side"))

func frameOf(q kmsg.Request) []byte { return formatter.AppendRequest(nil, q, 1) }

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// gen makes the parts of a request: the same choices for both brokers, with each one's own ids.
type gen struct {
	r   *rand.Rand
	w   *world
	odd int
	key int16 // the API
}

// percent is true n times of a hundred.
func (g *gen) percent(n int) bool { return g.r.IntN(100) < n }

func (g *gen) some(names ...string) string { return g.w.prefix + pick(g.r, names...) }

// topic is one of the sequence's topics, seldom one that isn't there.
func (g *gen) topic() string {
	if g.percent(4) {
		return g.w.prefix + "none"
	}
	return pick(g.r, g.w.topics...)
}

func (g *gen) id(topic string) [16]byte {
	if id, ok := g.w.ids[topic]; ok {
		return id
	}
	return [16]byte{15: 9}
}

func (g *gen) group() string { return g.some("g1", "g1", "g1", "g2") }

// someTransaction is a transactional id.
func (g *gen) transaction() string { return g.some("x1", "x1", "x1", "x2") }

func (g *gen) partition() int32 { return pick[int32](g.r, 0, 0, 0, 1, 1, 1, 2, -1) }

// member is one of the group's, or one that isn't known.
func (g *gen) member(group string) member {
	have := g.w.members[group]
	switch {
	case len(have) == 0 || g.percent(4):
		return member{id: pick(g.r, "", "unknown", "m1"), epoch: pick[int32](g.r, 0, 1, -1)}
	case g.percent(50):
		return *have[len(have)-1]
	}
	return *have[g.r.IntN(len(have))]
}

// around is the number or, now and then, one beside it.
func (g *gen) around(n int32) int32 {
	if g.percent(80) {
		return n
	}
	return pick(g.r, n-1, n+1, -1, 0, -2)
}

func (g *gen) instance() *string { return kmsg.StringPtr(pick(g.r, "i1", "i2")) }

// producer is the transactional id's, or one that no broker gave out.
func (g *gen) producer(name string) producer {
	p := g.w.producers[name]
	if p == nil || g.percent(3) {
		return producer{id: pick[int64](g.r, -1, 1<<40, 1<<40+1), epoch: pick[int16](g.r, 0, 1, -1)}
	}
	out := *p
	if g.percent(10) {
		out.epoch += pick[int16](g.r, -1, 1, 1, 2)
	}
	return out
}

// tame takes out what would do harm to the broker as a whole, or what Kafka never answers (DIFFERENCES.md): a wait for each would take the
// time of a hundred requests.
func tame(q kmsg.Request) {
	switch q := q.(type) {
	case *kmsg.UpdateFeaturesRequest:
		q.ValidateOnly = true
		if q.Version == 0 { // it has no such field
			q.FeatureUpdates = nil
		}
	case *kmsg.UnregisterBrokerRequest:
		if q.BrokerID == 1 {
			q.BrokerID = 7
		}
	case *kmsg.CreateTopicsRequest:
		for i := range q.Topics {
			if q.Topics[i].NumPartitions > 100 {
				q.Topics[i].NumPartitions = 0
			}
		}
	case *kmsg.CreatePartitionsRequest:
		for i := range q.Topics {
			if q.Topics[i].Count > 100 && q.Topics[i].Count < 20000 {
				q.Topics[i].Count = 1
			}
		}
	case *kmsg.IncrementalAlterConfigsRequest:
		for _, r := range q.Resources {
			q.ValidateOnly = q.ValidateOnly || r.ResourceType == kmsg.ConfigResourceTypeBroker
		}
	case *kmsg.AlterClientQuotasRequest:
		for _, e := range q.Entries {
			for _, of := range e.Entity { // a default would hold for every sequence
				q.ValidateOnly = q.ValidateOnly || of.Name == nil
			}
		}
	case *kmsg.AlterConfigsRequest:
		for _, r := range q.Resources {
			q.ValidateOnly = q.ValidateOnly || r.ResourceType == kmsg.ConfigResourceTypeBroker
		}
		q.Resources = once(q.Resources, func(r kmsg.AlterConfigsRequestResource) string {
			return fmt.Sprint(int8(r.ResourceType), []rune(r.ResourceName))
		})
	case *kmsg.WriteTxnMarkersRequest:
		q.Markers = q.Markers[:min(1, len(q.Markers))]
		for i := range q.Markers {
			q.Markers[i].Topics = once(q.Markers[i].Topics, func(t kmsg.WriteTxnMarkersRequestMarkerTopic) string { return fmt.Sprint([]rune(t.Topic)) })
			for k := range q.Markers[i].Topics {
				t := &q.Markers[i].Topics[k]
				t.Partitions = once(t.Partitions, func(p int32) string { return fmt.Sprint(p) })
			}
		}
	case *kmsg.AddPartitionsToTxnRequest:
		if q.Version >= 4 && len(q.Transactions) == 0 {
			q.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{{TransactionalID: "none"}}
		}
	case *kmsg.JoinGroupRequest:
		q.Protocols = once(q.Protocols, func(p kmsg.JoinGroupRequestProtocol) string { return fmt.Sprint([]rune(p.Name)) })
	case *kmsg.ProduceRequest:
		if q.Acks == 0 { // no answer is due
			q.Acks = 1
		}
		for i := range q.Topics {
			for k := range q.Topics[i].Partitions {
				if p := &q.Topics[i].Partitions[k]; p.Records == nil {
					p.Records = []byte{}
				}
			}
		}
	case *kmsg.DescribeTopicPartitionsRequest:
		if len(q.Topics) == 0 { // all: the pages would be full of other sequences' topics
			q.Topics = append(q.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: "none"})
		}
	case *kmsg.FetchRequest:
		q.MaxWaitMillis, q.ReplicaID = 0, min(q.ReplicaID, 0)
	}
}

// fragile are requests that a flipped bit could make one that the broker doesn't survive, or that change it for all.
var fragile = map[int16]bool{
	57: true, // UpdateFeatures
	64: true, // UnregisterBroker
	80: true, // AddRaftVoter
	81: true, // RemoveRaftVoter
}

// once leaves out what stands there a second time.
func once[T any](list []T, key func(T) string) []T {
	if list == nil {
		return nil
	}
	seen := map[string]bool{}
	out := list[:0:0]
	for _, e := range list {
		if k := key(e); !seen[k] {
			seen[k] = true
			out = append(out, e)
		}
	}
	return out
}

// spoil sets a field or two to something else.
func (g *gen) spoil(q kmsg.Request) {
	for range pick(g.r, 1, 1, 1, 2) {
		var leaves []leaf
		collect(reflect.ValueOf(q).Elem(), "", true, &leaves)
		if len(leaves) == 0 {
			return
		}
		l := leaves[g.r.IntN(len(leaves))]
		g.fill(l.value, l.name, 1)
	}
}

type leaf struct {
	name  string
	value reflect.Value
}

// collect lists every field that may be set to something else, in order.
func collect(v reflect.Value, name string, top bool, out *[]leaf) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() || top && f.Name == "Version" || steady[f.Name] {
				continue
			}
			if v.Field(i).Type() == reflect.TypeFor[kmsg.Tags]() {
				continue
			}
			collect(v.Field(i), f.Name, false, out)
		}
	case reflect.Slice:
		*out = append(*out, leaf{name, v})
		if v.Type().Elem().Kind() != reflect.Uint8 {
			for i := range v.Len() {
				collect(v.Index(i), name, false, out)
			}
		}
	default:
		*out = append(*out, leaf{name, v})
	}
}

// steady are the fields that keep what they have: a short timeout would let the clock decide.
var steady = map[string]bool{
	"RebalanceTimeoutMillis": true,
	"SessionTimeoutMillis":   true,
	"MaxWaitMillis":          true,
}
