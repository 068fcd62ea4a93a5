package broker

import (
	"math/rand/v2"
	"net"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// randomizer fills requests with values that are likely to mean something, and with some that can't.
type randomizer struct {
	*rand.Rand
	ids [][16]byte // of topics that exist
}

var (
	texts   = []string{"", "t", "t", "t", "u", "g", "g", "a b", "1", "2", "user", "client-id", "ip", "retention.ms", "cleanup.policy", "compact", "1000", "range", "consumer", offsetsTopic}
	numbers = []int64{-1 << 31, -2, -1, -1, 0, 0, 0, 0, 1, 1, 1, 2, 3, 4, 8, 9, 16, 32, 1000, 1<<31 - 1}
)

func (r *randomizer) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !v.Field(i).CanSet() || f.Name == "UnknownTags" || f.Name == "Version" {
				continue
			}
			r.fill(v.Field(i))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			b := make([]byte, r.IntN(40))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			v.SetBytes(b)
			return
		}
		if n := r.IntN(5); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n-1, n-1))
		}
		for i := range v.Len() {
			r.fill(v.Index(i))
		}
	case reflect.Pointer:
		if r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			r.fill(v.Elem())
		}
	case reflect.Array:
		if id := r.ids[r.IntN(len(r.ids))]; r.IntN(2) == 0 {
			reflect.Copy(v, reflect.ValueOf(id))
		}
	case reflect.String:
		v.SetString(texts[r.IntN(len(texts))])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := numbers[r.IntN(len(numbers))]
		if v.OverflowInt(n) {
			n = int64(r.IntN(10))
		}
		v.SetInt(n)
	case reflect.Float64:
		v.SetFloat(float64(numbers[r.IntN(len(numbers))]) / 2)
	}
}

// FuzzRequests sends well-formed requests of every API and version with values of little sense, drawn from the seed. Each is
// answered or its connection closed; no handler fails unexpectedly (startCluster fails the test then), errors are those that the API has, and the broker still
// serves afterwards.
func FuzzRequests(f *testing.F) {
	for seed := range uint64(3) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { randomRequests(t, seed, 6, nil) })
}

// FuzzFailedRequests does the same while rules fail parts of the requests.
func FuzzFailedRequests(f *testing.F) {
	for seed := range uint64(2) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		randomRequests(t, seed, 6, []*Rule{{Topic: "a b", Partition: -1, Group: "g"}, {Topic: "t", Partition: 1}, {Topic: "u", Partition: -1}, {Group: "g", Partition: -1}})
	})
}

// randomRequests sends requests, of which rules fail what they name.
func randomRequests(t *testing.T, seed uint64, each int, rules []*Rule) {
	t.Helper()
	c := startCluster(t, Options{Brokers: 2, Seed: seed + 1, Topics: []TopicSpec{{Name: "t", Partitions: 2}, {Name: "u", Partitions: 1, ReplicationFactor: 2}}})
	r := &randomizer{Rand: rand.New(rand.NewPCG(seed, 7))}
	c.AddRule(&Rule{Key: AnyKey, Partition: -1, Name: "the tables of errors", Action: Action{Observe: func(call *Call) {
		if call.Response == nil { // acks 0
			return
		}
		for _, code := range codesIn(call.Response) {
			if err := CheckFail(call.Key, code); err != nil {
				t.Errorf("%s v%d: the broker answers what Kafka doesn't, or its table has a hole: %v", call.Key, call.Version, err)
			}
		}
	}}})
	var failing atomic.Bool
	for _, rule := range rules {
		rule.Key, rule.Name, rule.When = AnyKey, "a failure", func(*Call) bool { return failing.Load() }
		code := wire.UnknownServerError
		rule.Action.Fail = &code
		c.AddRule(rule)
	}
	for _, key := range wire.Keys() {
		failing.Store(false)
		dialRaw(t, c).ask(createRequest(newTopic("t", 2, 1), newTopic("u", 1, 2))) // they may have been deleted
		m := c.meta.Load()
		r.ids = [][16]byte{m.topics["t"].id, m.topics["u"].id, {9}, {}}
		failing.Store(true)
		for version := int16(0); version <= 20; version++ {
			if c.handlers[key] == nil || !wire.Accepted(key, version) {
				continue
			}
			for range each {
				req := kmsg.RequestForKey(int16(key))
				r.fill(reflect.ValueOf(req).Elem())
				req.SetVersion(version)
				nc := dial(t, c)
				_, err := nc.Write(rawFormatter.AppendRequest(nil, req, 1))
				require.NoError(t, err)
				if !mayWait(key) {
					requireAnsweredOrClosed(t, nc, "%s v%d, seed %d: %+v", key, version, seed, req)
				}
				nc.Close()
			}
		}
	}
	failing.Store(false)
	dialRaw(t, c).ask(topicsRequest("t"))
	for i, rule := range rules {
		if i > 0 { // the first one hardly ever finds what it names
			require.Positive(t, rule.Acted(), "rule %d, seed %d", i, seed)
		}
	}
}

func requireAnsweredOrClosed(t *testing.T, nc net.Conn, format string, args ...any) {
	t.Helper()
	require.NoError(t, nc.SetReadDeadline(time.Now().Add(20*time.Second)))
	_, err := nc.Read(make([]byte, 1))
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		t.Fatalf("neither answered nor closed: "+format, args...)
	}
}
