package wire

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// checkBody is CheckBody for a test that only asks whether a body passes.
func checkBody(k Key, version int16, body []byte) error {
	_, _, err := CheckBody(k, version, body)
	return err
}

// checkAndDecode is what a connection does with a body.
func checkAndDecode(k Key, version int16, body []byte) (kmsg.Request, error) {
	_, text, err := CheckBody(k, version, body)
	if err != nil {
		return nil, err
	}
	return Decode(k, version, body, text)
}

// fill sets every field under v to something random; where a null is possible on
// the wire, it is null now and then. Lists are short, so that a request stays small.
func fill(rng *rand.Rand, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		if rng.IntN(4) == 0 {
			v.SetZero()
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(rng, v.Elem(), depth)
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if v.Type().Field(i).IsExported() && name != "Version" && name != "UnknownTags" {
				fill(rng, v.Field(i), depth+1)
			}
		}
		if tags := v.FieldByName("UnknownTags"); tags.IsValid() && rng.IntN(4) == 0 {
			tags.Addr().Interface().(*kmsg.Tags).Set(uint32(1000+rng.IntN(9)), []byte("later"))
		}
	case reflect.Slice:
		n := rng.IntN(4)
		if n == 0 && rng.IntN(2) == 0 {
			v.SetZero()
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(rng, v.Index(i), depth)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(rng, v.Index(i), depth)
		}
	case reflect.String:
		v.SetString(strings.Repeat("x", rng.IntN(4)*rng.IntN(60)))
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	case reflect.Float64:
		v.SetFloat(rng.Float64())
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(int64(rng.IntN(100)))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		v.SetUint(uint64(rng.IntN(100)))
	default:
		panic("fill: " + v.Type().String())
	}
}

// randomRequest gives a request with random content.
func randomRequest(rng *rand.Rand, k Key, version int16) kmsg.Request {
	req := kmsg.RequestForKey(int16(k))
	fill(rng, reflect.ValueOf(req).Elem(), 0)
	req.SetVersion(version)
	if fetch, ok := req.(*kmsg.FetchRequest); ok {
		clearLaterTags(fetch)
	}
	return req
}

// clearLaterTags takes out what kmsg would send at any version and Kafka takes
// from a certain one only.
func clearLaterTags(fetch *kmsg.FetchRequest) {
	if fetch.Version < 15 {
		fetch.ReplicaState.Default()
		fetch.ReplicaState.UnknownTags = kmsg.Tags{}
	}
	for t := range fetch.Topics {
		for p := range fetch.Topics[t].Partitions {
			partition := &fetch.Topics[t].Partitions[p]
			if fetch.Version < 17 {
				partition.ReplicaDirectoryID = [16]byte{}
			}
			if fetch.Version < 18 {
				partition.HighWatermark = math.MaxInt64
			}
		}
	}
}

// forEachRequest calls f for every version of every served request.
func forEachRequest(f func(k Key, version int16)) {
	for _, k := range Keys() {
		for version := range int16(20) {
			if Accepted(k, version) {
				f(k, version)
			}
		}
	}
}

// The schemas and kmsg were written apart: what kmsg encodes must be walked to
// its very end, whatever is in it, and nothing shorter may pass.
func TestBodiesOfKmsgAreAccepted(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	forEachRequest(func(k Key, version int16) {
		require.Equal(t, kmsg.RequestForKey(int16(k)) != nil, true, k)
		for range 20 {
			body := randomRequest(rng, k, version).AppendTo(nil)
			p := programFor(k, version)
			w := walker{rest: body, compact: p.compact}
			require.NoError(t, w.run(p.ops), "%v v%d", k, version)
			require.Empty(t, w.rest, "%v v%d: the walk ends before the body", k, version)
			require.NoError(t, checkBody(k, version, append(body, 1, 2, 3)), "bytes after the end are fine")
			if len(body) > 200 {
				continue
			}
			for n := range body {
				require.Error(t, checkBody(k, version, body[:n]), "%v v%d cut to %d of %d bytes", k, version, n, len(body))
			}
		}
	})
}

func TestKmsgAgreesAboutFlexibleVersions(t *testing.T) {
	t.Parallel()
	forEachRequest(func(k Key, version int16) {
		req := kmsg.RequestForKey(int16(k))
		req.SetVersion(version)
		require.Equal(t, req.IsFlexible(), Flexible(k, version), "%v v%d", k, version)
	})
}

func TestBadBodies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		explanation string
		key         Key
		version     int16
		body        string
		want        string
	}{
		{"null topics are 'all' only from v1", Metadata, 0, "\xff\xff\xff\xff", "Topics: null"},
		{"null topics are 'all'", Metadata, 1, "\xff\xff\xff\xff", ""},
		{"a topic name below v10 may not be null", Metadata, 1, "\x00\x00\x00\x01\xff\xff", "Topics: Topic: null"},
		{"compact null name from v10", Metadata, 12, "\x02" + strings.Repeat("\x01", 16) + "\x00\x00\x01\x01\x00", ""},
		{"compact null topics are refused where arrays may not be null", CreateTopics, 7, "\x00\x00\x00\x00\x00\x00\x00", "Topics: null"},
		{"an array longer than the rest", Metadata, 1, "\x7f\xff\xff\xff\x00\x01a", "Topics: an array of 2147483647 elements"},
		{"a compact array longer than the rest", Metadata, 9, "\xff\xff\xff\xff\x07\x01", "Topics: an array of"},
		{"the length is as large as Java's get", Metadata, 9, "\x80\x80\x80\x80\x08\x01\x00\x00\x00\x00", "Topics: an array of 2147483647"},
		{"more tags than there are bytes", ListTransactions, 0, "\x01\x01\xff\xff\xff\xff\x07", "tags: 2147483647 announced"},
		{"an unknown tag of a negative size", ListTransactions, 0, "\x01\x01\x01\x09\xff\xff\xff\xff\x0f", "tag 9: 4294967295 bytes announced"},
		{"a length that is negative in Java, of what may not be null", FindCoordinator, 3, "\xff\xff\xff\xff\x0f\x00\x00", "null"},
		{"a tag longer than the rest", ListTransactions, 0, "\x01\x01\x01\x00\x7f", "tag 0: 127 bytes announced"},
		{"a varint without an end", ListTransactions, 0, "\xff\xff\xff\xff\xff\xff", "varint"},
		{"the nullable structure is null", DescribeTopicPartitions, 0, "\x01\x00\x00\x00\x01\xff\x00", ""},
		{"the nullable structure is there", DescribeTopicPartitions, 0, "\x01\x00\x00\x00\x01\x01\x02a\x00\x00\x00\x00\x00\x00", ""},
		{"the nullable structure is cut", DescribeTopicPartitions, 0, "\x01\x00\x00\x00\x01\x01\x02a", "Partition: "},
		{"every negative mark says that the nullable structure is null", DescribeTopicPartitions, 0, "\x01\x00\x00\x00\x01\xfe\x00", ""},
		{"so does the least one", DescribeTopicPartitions, 0, "\x01\x00\x00\x00\x01\x80\x00", ""},
		{"a known tag with the wrong content", Fetch, 18, strings.Repeat("\x00", 21) + "\x01\x01\x01\x01\x01\x03\x00\x00\x00", "ID: the request ends"},
		{"a known tag that this version has not", Fetch, 14, strings.Repeat("\x00", 25) + "\x01\x01\x01\x01\x01\x0d" + strings.Repeat("\x00", 13), "tag 1 is not valid in this version"},
		{"a string is at most 32767 bytes", FindCoordinator, 3, "\x81\x80\x02" + strings.Repeat("x", 32768) + "\x00\x00", "32768 bytes"},
	} {
		err := checkBody(c.key, c.version, []byte(c.body))
		if c.want == "" {
			require.NoError(t, err, c.explanation)
			continue
		}
		require.ErrorContains(t, err, c.want, c.explanation)
		_, err = checkAndDecode(c.key, c.version, []byte(c.body))
		require.Error(t, err, c.explanation)
	}
	require.Error(t, checkBody(52, 0, nil), "a key that is not served")
}

func TestEveryNegativeMarkDecodesAsNull(t *testing.T) {
	t.Parallel()
	for _, mark := range []string{"\xff", "\xfe", "\x80"} {
		req, err := checkAndDecode(DescribeTopicPartitions, 0, []byte("\x01\x00\x00\x00\x01"+mark+"\x02a\x00\x00\x00\x07\x00\x00"))
		require.NoError(t, err)
		require.Nil(t, req.(*kmsg.DescribeTopicPartitionsRequest).Cursor)
	}
}

// What Java reads as a negative number is a null, or no tags; the size of a known tag is not looked at.
func TestNumbersThatAreNegativeInJava(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"\xff\xff\xff\xff\x0f", "\x81\x80\x80\x80\x08"} {
		req, err := checkAndDecode(Metadata, 9, []byte(n+"\x01\x00\x00\x00"))
		require.NoError(t, err)
		require.Nil(t, req.(*kmsg.MetadataRequest).Topics)
		require.True(t, req.(*kmsg.MetadataRequest).AllowAutoTopicCreation)
		req, err = checkAndDecode(InitProducerID, 2, []byte(n+"\x00\x00\x00\x3c\x00"))
		require.NoError(t, err)
		require.Nil(t, req.(*kmsg.InitProducerIDRequest).TransactionalID)
		require.EqualValues(t, 60, req.(*kmsg.InitProducerIDRequest).TransactionTimeoutMillis)
		req, err = checkAndDecode(ListTransactions, 0, []byte("\x01\x01"+n))
		require.NoError(t, err)
		require.Zero(t, req.(*kmsg.ListTransactionsRequest).UnknownTags.Len())
	}
	for _, size := range []string{"\x00", "\x05", "\x0d", "\x7f", "\xff\xff\xff\xff\x0f"} {
		req, err := checkAndDecode(Fetch, 18, []byte(strings.Repeat("\x00", 21)+"\x01\x01\x01\x01\x01"+size+"\x00\x00\x00\x07"+strings.Repeat("\x00", 9)))
		require.NoError(t, err)
		require.EqualValues(t, 7, req.(*kmsg.FetchRequest).ReplicaState.ID)
	}
}

// The log keeps what a producer sent as it lies in the frame; kmsg must not copy it.
func TestProducedRecordsPointIntoTheFrame(t *testing.T) {
	t.Parallel()
	for version := int16(3); version <= 13; version++ {
		in := kmsg.NewPtrProduceRequest()
		in.Version = version
		partition := kmsg.NewProduceRequestTopicPartition()
		partition.Records = []byte("not really a batch, but who looks")
		topic := kmsg.NewProduceRequestTopic()
		topic.Topic = "orders"
		topic.Partitions = append(topic.Partitions, partition, partition)
		in.Topics = append(in.Topics, topic)
		body := in.AppendTo(nil)

		req, err := checkAndDecode(Produce, version, body)
		require.NoError(t, err)
		for _, p := range req.(*kmsg.ProduceRequest).Topics[0].Partitions {
			require.Equal(t, partition.Records, p.Records)
			at := uintptr(unsafe.Pointer(&p.Records[0])) - uintptr(unsafe.Pointer(&body[0]))
			require.Less(t, at, uintptr(len(body)), "v%d: records were copied out of the frame", version)
		}
	}
}

func TestACLRequestsWithCodeZero(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ, pattern, operation, permission int8
		ok                                  bool
		explanation                         string
	}{
		{2, 3, 1, 1, true, "a filter for topics"},
		{99, 99, 99, 99, true, "codes Kafka doesn't know match nothing"},
		{0, 3, 1, 1, false, "unknown resource type"},
		{2, 0, 1, 1, false, "unknown pattern"},
		{2, 3, 0, 1, false, "unknown operation"},
		{2, 3, 1, 0, false, "unknown permission"},
	} {
		in := kmsg.NewPtrDescribeACLsRequest()
		in.Version = 2
		in.ResourceType, in.ResourcePatternType = kmsg.ACLResourceType(c.typ), kmsg.ACLResourcePatternType(c.pattern)
		in.Operation, in.PermissionType = kmsg.ACLOperation(c.operation), kmsg.ACLPermissionType(c.permission)
		_, err := checkAndDecode(DescribeACLs, 2, in.AppendTo(nil))
		require.Equal(t, c.ok, err == nil, c.explanation)
	}
}

// What kmsg allocates must stay within what CheckBody says, or the broker's budget is worthless.
func TestTheCostCoversDecoding(t *testing.T) {
	topics := 2000
	in := kmsg.NewPtrMetadataRequest()
	in.Version = 12
	in.Topics = make([]kmsg.MetadataRequestTopic, topics)
	for i := range in.Topics {
		in.Topics[i].Topic = kmsg.StringPtr("t")
	}
	body := in.AppendTo(nil)
	cost, _, err := CheckBody(Metadata, 12, body)
	require.NoError(t, err)
	const rounds = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		if _, err := checkAndDecode(Metadata, 12, body); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	got := int64(after.TotalAlloc-before.TotalAlloc) / rounds
	require.LessOrEqual(t, got, 2*int64(cost), "%d bytes of body", len(body))
}

func FuzzRequest(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 4))
	forEachRequest(func(k Key, version int16) {
		f.Add(append(requestHeader(k, version, 7, "fuzz"), randomRequest(rng, k, version).AppendTo(nil)...))
	})
	f.Fuzz(func(t *testing.T, frame []byte) {
		var h Header
		body, err := h.Parse(bytes.Clone(frame)) // whose marks of null may change
		if err != nil || !Accepted(h.Key, h.Version) {
			return
		}
		cost, text, err := CheckBody(h.Key, h.Version, body)
		if err != nil {
			return
		}
		if limit := 200*len(body) + 1000; cost > limit {
			t.Fatalf("%v v%d: %d bytes cost %d", h.Key, h.Version, len(body), cost)
		}
		req, err := Decode(h.Key, h.Version, body, text)
		if errors.Is(err, errACLCode) {
			return
		}
		if err != nil {
			t.Fatalf("%v v%d: CheckBody let it pass, kmsg says %v", h.Key, h.Version, err)
		}
		req.AppendTo(nil)
	})
}

func BenchmarkCheckBody(b *testing.B) {
	produce := kmsg.NewPtrProduceRequest()
	produce.Version = 13
	topic := kmsg.NewProduceRequestTopic()
	for i := range int32(10) {
		topic.Partitions = append(topic.Partitions, kmsg.ProduceRequestTopicPartition{Partition: i, Records: make([]byte, 1000)})
	}
	produce.Topics = append(produce.Topics, topic)
	body := produce.AppendTo(nil)
	b.ReportAllocs()
	for b.Loop() {
		if err := checkBody(Produce, 13, body); err != nil {
			b.Fatal(err)
		}
	}
}
