package broker

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// filled is a request with one of everything that an error can stand at.
func filled(key wire.Key, version int16) kmsg.Request {
	req := kmsg.RequestForKey(int16(key))
	fillOne(reflect.ValueOf(req).Elem())
	req.SetVersion(version)
	setDefaults(req)
	return req
}

// fillOne gives lists one entry and texts a value. Numbers keep their defaults.
func fillOne(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if d, ok := v.Addr().Interface().(interface{ Default() }); ok {
			d.Default()
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() && v.Type().Field(i).Name != "UnknownTags" {
				fillOne(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fillOne(v.Index(0))
		}
	case reflect.String:
		v.SetString("orders")
	case reflect.Pointer:
		if v.Type().Elem().Kind() == reflect.String {
			v.Set(reflect.New(v.Type().Elem()))
			fillOne(v.Elem())
		}
	}
}

// codesIn are the error codes of an answer other than NONE, wherever they stand.
func codesIn(resp kmsg.Response) []wire.Code {
	var codes []wire.Code
	var walk func(reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				f := v.Type().Field(i)
				if f.Type.Kind() != reflect.Int16 || !strings.HasSuffix(f.Name, "ErrorCode") {
					walk(v.Field(i))
				} else if code := wire.Code(v.Field(i).Int()); code != wire.None {
					codes = append(codes, code)
				}
			}
		}
	}
	walk(reflect.ValueOf(resp))
	return codes
}

// onWire is an answer as a client reads it.
func onWire(t *testing.T, req kmsg.Request, ans answer) kmsg.Response {
	t.Helper()
	var body []byte
	if f, is := ans.(*wire.FetchResponse); is {
		var enc wire.FetchEncoder
		body = bytes.Join(enc.Encode(1, req.GetVersion(), f), nil)[8:]
	} else {
		body = wire.AppendResponse(nil, 1, ans.(kmsg.Response))[8:]
	}
	if req.IsFlexible() && req.Key() != int16(wire.ApiVersions) {
		body = body[1:] // tags of the header
	}
	resp := req.ResponseKind()
	require.NoError(t, resp.ReadFrom(body), "%T v%d", req, req.GetVersion())
	return resp
}

// Every error that a rule may Fail with, in every version of its API, stands somewhere in the answer, and the answer can be read.
func TestEveryErrorHasAPlaceInEveryVersion(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{})
	for _, key := range wire.Keys() {
		if !Served(key) {
			continue
		}
		versions := 0
		for version := int16(0); version <= 20; version++ {
			if !wire.Accepted(key, version) {
				continue
			}
			versions++
			for _, code := range answersOf(key) {
				r := &request{cluster: c, node: c.nodeByID(1), key: key, version: version, body: filled(key, version)}
				want := []wire.Code{code}
				switch {
				case key == wire.TxnOffsetCommit && version < 2 && code == wire.CoordinatorLoadInProgress:
					want = []wire.Code{wire.CoordinatorNotAvailable} // Kafka's own translation: these clients don't retry on the other
				case key == wire.DescribeLogDirs && version < 3 && code != wire.KafkaStorageError:
					want = nil // there is no place for it: Kafka lists no directories
				}
				got := codesIn(onWire(t, r.body, errorForm(r, code)))
				slices.Sort(got)
				require.Equal(t, want, slices.Compact(got), "%s v%d %s", key, version, code)
			}
		}
		require.Positive(t, versions, "%s has no version", key)
	}
}

// Where an API has errors of the whole and of its entries, each stands where Kafka has it.
func TestErrorsStandAtTheirLevel(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{})
	for _, e := range []struct {
		key  wire.Key
		code wire.Code
		top  bool
	}{
		{wire.ElectLeaders, wire.ElectionNotNeeded, false},
		{wire.ElectLeaders, wire.InvalidRequest, true}, // at the partitions too
		{wire.AlterPartitionReassignments, wire.NoReassignmentInProgress, false},
		{wire.AlterPartitionReassignments, wire.ClusterAuthorizationFailed, true},
		{wire.DescribeQuorum, wire.UnknownTopicOrPartition, false},
		{wire.DescribeQuorum, wire.NotLeaderOrFollower, true},
		{wire.DescribeLogDirs, wire.KafkaStorageError, false},
		{wire.DescribeLogDirs, wire.ClusterAuthorizationFailed, true},
		{wire.DescribeUserSCRAMCredentials, wire.ResourceNotFound, false},
		{wire.DescribeUserSCRAMCredentials, wire.ClusterAuthorizationFailed, true},
		{wire.OffsetDelete, wire.GroupSubscribedToTopic, false},
		{wire.OffsetDelete, wire.NotCoordinator, true},
		{wire.AddPartitionsToTxn, wire.InvalidTxnState, false},
		{wire.AddPartitionsToTxn, wire.ClusterAuthorizationFailed, true},
	} {
		_, version, _ := wire.Advertised(e.key)
		r := &request{cluster: c, node: c.nodeByID(1), key: e.key, version: version, body: filled(e.key, version)}
		resp := onWire(t, r.body, errorForm(r, e.code))
		top := wire.Code(reflect.ValueOf(resp).Elem().FieldByName("ErrorCode").Int())
		require.Equal(t, e.top, top == e.code, "%s %s: %s at the top", e.key, e.code, top)
	}
}

// A rule fails requests of every API that is served, with every error that it has.
func TestFailActsOnEveryServedAPI(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "orders", Partitions: 1}}})
	raw := dialRaw(t, c)
	for key, handle := range handlers() {
		if handle == nil {
			continue
		}
		key := wire.Key(key)
		version := int16(20)
		for !wire.Accepted(key, version) {
			version--
		}
		for _, code := range answersOf(key) {
			rule := &Rule{Key: key, Partition: -1, Times: 1, Name: "the rule", Action: Action{Fail: &code}}
			c.AddRule(rule)
			req := filled(key, version)
			if f, ok := req.(*kmsg.FetchRequest); ok { // fails the partitions that there are
				f.Topics[0].TopicID = c.meta.Load().topics["orders"].id
			}
			require.Contains(t, codesIn(raw.ask(req)), code, "%s v%d", key, version)
			require.Equal(t, 1, rule.Acted())
			c.RemoveRule(rule)
		}
	}
}
