package broker

import (
	"encoding/base64"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

func TestQuotaEntities(t *testing.T) {
	t.Parallel()
	name := func(s string) *string { return &s }
	user, client, ip := quotaPart{quotaUser, name("u")}, quotaPart{quotaClient, name("c")}, quotaPart{quotaIP, name("10.0.0.1")}
	for _, c := range []struct {
		what  string
		parts []quotaPart
		ops   []quotaOp
		ok    bool
	}{
		{"user and client", []quotaPart{user, client}, []quotaOp{{"producer_byte_rate", 1, false}}, true},
		{"the default user", []quotaPart{{quotaUser, nil}}, []quotaOp{{"controller_mutation_rate", 0.5, false}}, true},
		{"an address", []quotaPart{ip}, []quotaOp{{"connection_creation_rate", 3, false}}, true},
		{"removing what is not set", []quotaPart{user}, []quotaOp{{"producer_byte_rate", 0, true}}, true},
		{"nobody", nil, nil, false},
		{"an unknown type", []quotaPart{{"group", name("g")}}, nil, false},
		{"a type twice: the last counts", []quotaPart{{quotaUser, name("")}, user}, nil, true},
		{"removing what there is not", []quotaPart{user}, []quotaOp{{"nope", 0, true}}, true},
		{"an empty name", []quotaPart{{quotaUser, name("")}}, nil, false},
		{"an address with a user", []quotaPart{ip, user}, nil, false},
		{"no address", []quotaPart{{quotaIP, name("no such host!")}}, nil, false},
		{"an unknown key", []quotaPart{user}, []quotaOp{{"nope", 1, false}}, false},
		{"a key of addresses", []quotaPart{user}, []quotaOp{{"connection_creation_rate", 1, false}}, false},
		{"a key of users", []quotaPart{ip}, []quotaOp{{"producer_byte_rate", 1, false}}, false},
		{"zero", []quotaPart{user}, []quotaOp{{"producer_byte_rate", 0, false}}, false},
		{"not a number", []quotaPart{user}, []quotaOp{{"producer_byte_rate", math.NaN(), false}, {"request_percentage", math.NaN(), false}}, true},
		{"a fraction of bytes", []quotaPart{user}, []quotaOp{{"producer_byte_rate", 1.5, false}}, false},
		{"a key twice", []quotaPart{user}, []quotaOp{{"producer_byte_rate", 1, false}, {"producer_byte_rate", 2, false}}, false},
	} {
		e, err := newQuotaEntity(c.parts)
		if err == nil {
			err = e.check(c.ops)
		}
		require.Equal(t, c.ok, err == nil, "%s: %v", c.what, err)
		if !c.ok {
			require.Equal(t, wire.InvalidRequest, err.code, c.what)
		}
	}
}

func TestQuotaFilters(t *testing.T) {
	t.Parallel()
	name := func(s string) *string { return &s }
	var q quotas
	set := func(parts ...quotaPart) string {
		e, err := newQuotaEntity(parts)
		require.Nil(t, err)
		q.alter(e, []quotaOp{{"producer_byte_rate", 1, false}})
		return e.key()
	}
	u := set(quotaPart{quotaUser, name("u")})
	byDefault := set(quotaPart{quotaUser, nil})
	both := set(quotaPart{quotaUser, name("u")}, quotaPart{quotaClient, name("c")})
	find := func(strict bool, ms ...quotaMatch) []string {
		require.Nil(t, checkQuotaFilter(ms))
		keys := []string{}
		for _, e := range q.find(ms, strict) {
			keys = append(keys, e.key())
		}
		return keys
	}
	require.ElementsMatch(t, []string{u, byDefault, both}, find(false))
	require.Empty(t, find(true))
	require.ElementsMatch(t, []string{u, both}, find(false, quotaMatch{quotaUser, matchExact, name("u")}))
	require.ElementsMatch(t, []string{u}, find(true, quotaMatch{quotaUser, matchExact, name("u")}))
	require.ElementsMatch(t, []string{byDefault}, find(false, quotaMatch{quotaUser, matchNone, nil}))
	require.ElementsMatch(t, []string{u, byDefault, both}, find(false, quotaMatch{quotaUser, matchAny, nil}), "the default, too")
	require.ElementsMatch(t, []string{both}, find(false, quotaMatch{quotaUser, matchAny, nil}, quotaMatch{quotaClient, matchAny, nil}))
	for what, ms := range map[string][]quotaMatch{
		"no type":             {{"", matchAny, nil}},
		"a type twice":        {{quotaUser, matchAny, nil}, {quotaUser, matchAny, nil}},
		"exact without name":  {{quotaUser, matchExact, nil}},
		"any with a name":     {{quotaUser, matchAny, name("u")}},
		"another way":         {{quotaUser, 7, nil}},
		"an address and more": {{quotaUser, matchAny, nil}, {quotaIP, matchAny, nil}},
	} {
		require.Equal(t, wire.InvalidRequest, checkQuotaFilter(ms).code, what)
	}
	require.Equal(t, wire.UnsupportedVersion, checkQuotaFilter([]quotaMatch{{"group", matchAny, nil}}).code)
}

// The example of RFC 7677, section 3: user "user", password "pencil", SCRAM-SHA-256.
func TestScramKeys(t *testing.T) {
	t.Parallel()
	salted := []byte{
		0xc4, 0xa4, 0x95, 0x10, 0x32, 0x3a, 0xb4, 0xf9, 0x52, 0xca, 0xc1, 0xfa, 0x99, 0x44, 0x19, 0x39,
		0xe7, 0x8e, 0xa7, 0x4d, 0x6b, 0xe8, 0x1d, 0xdf, 0x70, 0x96, 0xe8, 0x75, 0x13, 0xdc, 0x61, 0x5d,
	}
	c := newScramCredential(1, 4096, []byte("salt"), salted)
	require.Equal(t, "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=", base64.StdEncoding.EncodeToString(c.storedKey))
	require.Equal(t, "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=", base64.StdEncoding.EncodeToString(c.serverKey))
}

func TestTelemetryRules(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	i := &telemetryInstance{subscription: subscription{id: 7, interval: 10 * time.Second}}
	push := func(after time.Duration, terminating bool, id int32, compression int8, size int) wire.Code {
		return i.push(start.Add(after), terminating, id, compression, size, 100)
	}
	require.Equal(t, wire.None, i.get(start))
	require.Equal(t, wire.ThrottlingQuotaExceeded, i.get(start.Add(time.Second)))
	require.Equal(t, wire.None, push(2*time.Second, false, 7, 0, 10))
	require.Equal(t, wire.ThrottlingQuotaExceeded, push(3*time.Second, false, 7, 0, 10))
	require.Equal(t, wire.UnsupportedCompressionType, push(12*time.Second, false, 7, 9, 10))
	require.Equal(t, wire.TelemetryTooLarge, push(22*time.Second, false, 7, 4, 101))
	require.Equal(t, wire.UnknownSubscriptionID, push(32*time.Second, false, 8, 0, 10))
	require.Equal(t, wire.None, i.get(start.Add(33*time.Second)), "it must ask again, so it may")
	require.Equal(t, wire.ThrottlingQuotaExceeded, push(34*time.Second, false, 7, 0, 10), "asking doesn't allow an early push")
	require.Equal(t, wire.None, push(34*time.Second, true, 7, 0, 10), "the last one is never too early")
	require.Equal(t, wire.InvalidRequest, push(60*time.Second, false, 7, 0, 10), "it said that it ends")
	require.Equal(t, wire.UnknownSubscriptionID, push(61*time.Second, true, 8, 0, 10), "the refused one said that it goes on")
	require.Equal(t, wire.InvalidRequest, push(62*time.Second, true, 8, 0, 10))
	require.Equal(t, wire.ThrottlingQuotaExceeded, i.get(start.Add(63*time.Second)), "the last push was refused for another reason")
}

func TestAlteredSubscriptionMakesTelemetryForgetItsClients(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{}))
	get := func() wire.Code {
		req := kmsg.NewPtrGetTelemetrySubscriptionsRequest()
		req.ClientInstanceID = [16]byte{5}
		return wire.Code(cl.ask(req).(*kmsg.GetTelemetrySubscriptionsResponse).ErrorCode)
	}
	require.Equal(t, wire.None, get())
	require.Equal(t, wire.ThrottlingQuotaExceeded, get())
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	res := kmsg.NewIncrementalAlterConfigsRequestResource()
	res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeClientMetrics, "nobody's"
	res.Configs = append(res.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: "match", Value: kmsg.StringPtr("client_id=nobody")})
	req.Resources = append(req.Resources, res)
	for _, want := range []wire.Code{wire.None, wire.ThrottlingQuotaExceeded} { // the second time it changes nothing
		require.Zero(t, cl.ask(req).(*kmsg.IncrementalAlterConfigsResponse).Resources[0].ErrorCode)
		require.Equal(t, want, get())
	}
}

func TestTelemetryEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{})
	first, other := dialRaw(t, c), dialRaw(t, c)
	get := func(cl *rawClient) wire.Code {
		req := kmsg.NewPtrGetTelemetrySubscriptionsRequest()
		req.ClientInstanceID = [16]byte{5}
		return wire.Code(cl.ask(req).(*kmsg.GetTelemetrySubscriptionsResponse).ErrorCode)
	}
	require.Equal(t, wire.None, get(first))
	require.Equal(t, wire.ThrottlingQuotaExceeded, get(other))
	require.NoError(t, first.nc.Close())
	require.Eventually(t, func() bool { return get(other) == wire.None }, 10*time.Second, time.Millisecond)
}

func TestWholeQuotas(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]bool{1000: true, 1000.0000001: true, 999.9999999: false, 0.5: false, 1e18: true, 1e19: false, math.Inf(1): false, 1 << 63: true} {
		require.Equal(t, want, whole(v), "%v", v)
	}
}

func TestAlterReplicaLogDirsOfLongNames(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{}))
	for length, want := range map[int]wire.Code{212: wire.LogDirNotFound, 213: wire.InvalidTopicException} {
		req := kmsg.NewPtrAlterReplicaLogDirsRequest()
		req.Version = 2
		dir := kmsg.NewAlterReplicaLogDirsRequestDir()
		dir.Dir = "/nowhere"
		dir.Topics = append(dir.Topics, kmsg.AlterReplicaLogDirsRequestDirTopic{Topic: strings.Repeat("n", length), Partitions: []int32{10}})
		req.Dirs = append(req.Dirs, dir)
		require.Equal(t, int16(want), cl.ask(req).(*kmsg.AlterReplicaLogDirsResponse).Topics[0].Partitions[0].ErrorCode)
	}
}

func TestTelemetryInstancesAreBounded(t *testing.T) {
	t.Parallel()
	var tel telemetry
	tel.instances = map[telemetryKey]*telemetryInstance{}
	for n := range 3 {
		tel.instances[telemetryKey{1, [16]byte{byte(n + 1)}}] = &telemetryInstance{lastGet: time.Unix(int64(100-n), 0)}
	}
	tel.forgetOldest()
	require.Len(t, tel.instances, 2)
	require.NotContains(t, tel.instances, telemetryKey{1, [16]byte{3}})
}

func TestFeatures(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{})
	cl := dialRaw(t, c)
	update := func(feature string, level int16, kind int8) wire.Code {
		req := kmsg.NewPtrUpdateFeaturesRequest()
		req.Version = 1
		u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		u.Feature, u.MaxVersionLevel, u.UpgradeType = feature, level, kind
		req.FeatureUpdates = append(req.FeatureUpdates, u)
		return wire.Code(cl.ask(req).(*kmsg.UpdateFeaturesResponse).ErrorCode)
	}
	heartbeat := func() wire.Code {
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Group = "g"
		return wire.Code(cl.ask(req).(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
	}
	require.NotEqual(t, wire.UnsupportedVersion, heartbeat())
	require.Equal(t, wire.InvalidUpdateVersion, update("nope", 1, featureUpgrade))
	require.Equal(t, wire.InvalidUpdateVersion, update("group.version", 9, featureUpgrade))
	require.Equal(t, wire.InvalidUpdateVersion, update("group.version", 0, featureUpgrade), "that is a downgrade")
	require.Equal(t, wire.InvalidUpdateVersion, update("group.version", 0, 7))
	require.Equal(t, wire.None, update("group.version", 1, featureUpgrade), "the level it has")
	require.Equal(t, wire.InvalidUpdateVersion, update("metadata.version", 29, featureUnsafeDowngrade))
	require.Equal(t, wire.None, update("kraft.version", 1, featureUpgrade))
	require.Equal(t, wire.InvalidUpdateVersion, update("kraft.version", 0, featureSafeDowngrade), "there is no way back")
	require.Equal(t, wire.None, update("group.version", 0, featureSafeDowngrade))
	require.Equal(t, wire.UnsupportedVersion, heartbeat(), "the feature is off")
	require.Equal(t, wire.None, update("group.version", 1, featureUpgrade))
	require.NotEqual(t, wire.UnsupportedVersion, heartbeat())
}

func TestUnregisterBroker(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Brokers: 2})
	cl := dialRaw(t, c)
	unregister := func(id int32) wire.Code {
		req := kmsg.NewPtrUnregisterBrokerRequest()
		req.BrokerID = id
		return wire.Code(cl.ask(req).(*kmsg.UnregisterBrokerResponse).ErrorCode)
	}
	known := func() (ids []int32) {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.Version, req.IncludeFencedBrokers = 2, true
		for _, b := range cl.ask(req).(*kmsg.DescribeClusterResponse).Brokers {
			ids = append(ids, b.NodeID)
		}
		return ids
	}
	require.Equal(t, wire.BrokerIDNotRegistered, unregister(9))
	require.NoError(t, c.StopBroker(2, true))
	require.Equal(t, []int32{1, 2}, known(), "a stopped broker is fenced")
	require.Equal(t, wire.None, unregister(2))
	require.Equal(t, []int32{1}, known())
	require.Equal(t, wire.BrokerIDNotRegistered, unregister(2))
	require.NoError(t, c.StartBroker(2))
	require.Equal(t, []int32{1, 2}, known())
}

func TestDifferenceABrokerThatRunsStaysRegistered(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Brokers: 2, Topics: []TopicSpec{{Name: "t", Partitions: 1, ReplicationFactor: 2}}})
	cl := dialRaw(t, c)
	req := kmsg.NewPtrUnregisterBrokerRequest()
	req.BrokerID = 2
	require.Zero(t, cl.ask(req).(*kmsg.UnregisterBrokerResponse).ErrorCode)
	describe := kmsg.NewPtrDescribeClusterRequest()
	describe.Version = 2
	require.Len(t, cl.ask(describe).(*kmsg.DescribeClusterResponse).Brokers, 2)
	require.Contains(t, describedPartition(t, c, 0), "I[1 2]")
}

func TestConfigChangesTakeEffectAtOnce(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}})
	cl := dialRaw(t, c)
	alter := func(kind kmsg.ConfigResourceType, name, key, value string) {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.Version = 1
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kind, name
		s := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		s.Name, s.Value = key, &value
		r.Configs = append(r.Configs, s)
		req.Resources = append(req.Resources, r)
		resp := cl.ask(req).(*kmsg.IncrementalAlterConfigsResponse)
		require.Zero(t, resp.Resources[0].ErrorCode, resp.Resources[0].ErrorMessage)
	}
	limit := func() int32 { return c.meta.Load().topics["t"].configs.MaxMessageBytes }
	require.EqualValues(t, 1048588, limit())
	alter(kmsg.ConfigResourceTypeBroker, "", "message.max.bytes", "5000")
	require.EqualValues(t, 5000, limit(), "the broker's setting is the topic's default")
	alter(kmsg.ConfigResourceTypeTopic, "t", "max.message.bytes", "7000")
	require.EqualValues(t, 7000, limit())
}

func TestScramChangesOfOneUser(t *testing.T) {
	t.Parallel()
	s := scramCredentials{}
	s.set("has", 1, scramCredential{})
	up := func(mechanism int8, iterations int32) kmsg.AlterUserSCRAMCredentialsRequestUpsertion {
		u := kmsg.NewAlterUserSCRAMCredentialsRequestUpsertion()
		u.Name, u.Mechanism, u.Iterations, u.SaltedPassword = "has", mechanism, iterations, []byte("x")
		return u
	}
	empty := func(mechanism int8) kmsg.AlterUserSCRAMCredentialsRequestUpsertion {
		u := up(mechanism, 4096)
		u.SaltedPassword = nil
		return u
	}
	del := func(mechanism int8) kmsg.AlterUserSCRAMCredentialsRequestDeletion {
		d := kmsg.NewAlterUserSCRAMCredentialsRequestDeletion()
		d.Name, d.Mechanism = "has", mechanism
		return d
	}
	type ups = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion
	type dels = []kmsg.AlterUserSCRAMCredentialsRequestDeletion
	for _, c := range []struct {
		what string
		ups  ups
		dels dels
		want wire.Code
	}{
		{"one change", ups{up(1, 4096)}, nil, wire.None},
		{"two good ones", ups{up(1, 4096), up(2, 4096)}, nil, wire.DuplicateResource},
		{"good, then bad", ups{up(1, 4096), up(1, 1)}, nil, wire.DuplicateResource},
		{"bad, then good", ups{up(1, 1), up(1, 4096)}, nil, wire.UnacceptableCredential},
		{"deleted and set", ups{up(1, 4096)}, dels{del(1)}, wire.DuplicateResource},
		{"not there to be deleted, and set", ups{up(1, 4096)}, dels{del(2)}, wire.ResourceNotFound},
		{"an empty password", ups{empty(1)}, nil, wire.UnknownServerError},
		{"an empty password twice", ups{empty(1), empty(1)}, nil, wire.DuplicateResource},
		{"an unknown mechanism, then a good one", nil, dels{del(9), del(1)}, wire.UnsupportedSASLMechanism},
	} {
		req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
		req.Upsertions, req.Deletions = c.ups, c.dels
		code := wire.None
		if err := s.check(req)["has"]; err != nil {
			code = err.code
		}
		require.Equal(t, c.want, code, c.what)
	}
}

// TestDeletingTheOffsetsTopic takes the groups with it; the next who asks for a coordinator finds an empty one.
func TestDeletingTheOffsetsTopic(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}})
	cl := dialRaw(t, c)
	find := func() {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKey = "g"
		require.Zero(t, cl.ask(req).(*kmsg.FindCoordinatorResponse).ErrorCode)
	}
	commit := func() wire.Code {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Version, req.Group, req.Generation = 2, "g", -1
		rt := kmsg.NewOffsetCommitRequestTopic()
		rt.Topic = "t"
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Offset = 7
		rt.Partitions = append(rt.Partitions, p)
		req.Topics = append(req.Topics, rt)
		return wire.Code(cl.ask(req).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
	}
	committed := func() int64 {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Version, req.Group = 5, "g"
		rt := kmsg.NewOffsetFetchRequestTopic()
		rt.Topic, rt.Partitions = "t", []int32{0}
		req.Topics = append(req.Topics, rt)
		return cl.ask(req).(*kmsg.OffsetFetchResponse).Topics[0].Partitions[0].Offset
	}
	find()
	require.Equal(t, wire.None, commit())
	require.EqualValues(t, 7, committed())
	del := kmsg.NewPtrDeleteTopicsRequest()
	del.Version, del.TopicNames = 4, []string{offsetsTopic}
	require.Zero(t, cl.ask(del).(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode)
	require.Equal(t, wire.NotCoordinator, commit())
	find()
	require.EqualValues(t, -1, committed(), "the offsets went with the topic")
	require.Equal(t, wire.None, commit())
	require.EqualValues(t, 7, committed())
}

// The differences from Apache Kafka in this file's requests that are kept on purpose: clienttests/DIFFERENCES.md.

// sarama's own tests of its admin client want a text. A logger's is the default of the field, whether it was asked for or not.
func TestDifferenceDocumentationOfSettings(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}}))
	describe := func(kind kmsg.ConfigResourceType, name string, documentation bool) []kmsg.DescribeConfigsResponseResourceConfig {
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.Version, req.IncludeDocumentation = 4, documentation
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kind, name
		req.Resources = append(req.Resources, r)
		configs := cl.ask(req).(*kmsg.DescribeConfigsResponse).Resources[0].Configs
		require.NotEmpty(t, configs)
		return configs
	}
	for kind, name := range map[kmsg.ConfigResourceType]string{
		kmsg.ConfigResourceTypeTopic: "t", kmsg.ConfigResourceTypeBroker: "1", kmsg.ConfigResourceTypeClientMetrics: "m", kmsg.ConfigResourceTypeGroupConfig: "g",
	} {
		for _, c := range describe(kind, name, true) {
			require.NotNil(t, c.Documentation, c.Name)
			require.NotEmpty(t, *c.Documentation, c.Name)
			if c.Name == "cleanup.policy" {
				require.Equal(t, `Type: list. Kafka's default: "delete". Valid: [compact, delete]. What it does stands in the documentation of Apache Kafka.`, *c.Documentation)
			}
		}
		for _, c := range describe(kind, name, false) {
			require.Nil(t, c.Documentation, c.Name)
		}
	}
	for _, asked := range []bool{true, false} {
		for _, c := range describe(kmsg.ConfigResourceTypeBrokerLogger, "1", asked) {
			require.Equal(t, "", *c.Documentation, c.Name)
		}
	}
}

// No Kafka broker starts without a file that says where it listens, and kafka-python's own tests look at it.
func TestListenersStandInTheStartUpFile(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"as it listens": {Brokers: 2},
		"advertised":    {Brokers: 2, Advertise: "localhost"},
		"as configured": {Brokers: 2, Config: map[string]string{"advertised.listeners": "PLAINTEXT://elsewhere:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, o)
			req := kmsg.NewPtrDescribeConfigsRequest()
			req.Version, req.IncludeSynonyms = 4, true
			r := kmsg.NewDescribeConfigsRequestResource()
			r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeBroker, "2", []string{"listeners", "advertised.listeners"}
			req.Resources = append(req.Resources, r)
			_, port, err := net.SplitHostPort(c.Addrs()[1])
			require.NoError(t, err)
			cl := dialNode(t, c, 2)
			configs := cl.ask(req).(*kmsg.DescribeConfigsResponse).Resources[0].Configs
			require.Len(t, configs, 2)
			want := map[string]string{"listeners": "PLAINTEXT://127.0.0.1:" + port}
			switch name {
			case "as it listens":
				want["advertised.listeners"] = want["listeners"]
			case "advertised":
				want["advertised.listeners"] = "PLAINTEXT://localhost:" + port
			case "as configured":
				want["advertised.listeners"] = "PLAINTEXT://elsewhere:1"
			}
			for _, got := range configs {
				require.Equal(t, want[got.Name], *got.Value, got.Name)
				require.Equal(t, kmsg.ConfigSourceStaticBrokerConfig, got.Source, got.Name)
				require.Equal(t, *got.Value, *got.ConfigSynonyms[0].Value, got.Name)
			}
		})
	}
}

func TestDifferenceOneLogger(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{}))
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = 4
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeBrokerLogger, "1"
	req.Resources = append(req.Resources, r)
	loggers := cl.ask(req).(*kmsg.DescribeConfigsResponse).Resources[0].Configs
	require.Len(t, loggers, 1)
	require.Equal(t, "root", loggers[0].Name)
}

func TestDifferenceOneLogDirectory(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}, Config: map[string]string{"log.dirs": "/first,/second"}}))
	describe := kmsg.NewPtrDescribeLogDirsRequest()
	describe.Version = 4
	dirs := cl.ask(describe).(*kmsg.DescribeLogDirsResponse).Dirs
	require.Len(t, dirs, 1)
	require.Equal(t, "/first", dirs[0].Dir)
	for name, want := range map[string]wire.Code{"/first": wire.None, "/second": wire.LogDirNotFound} {
		req := kmsg.NewPtrAlterReplicaLogDirsRequest()
		req.Version = 2
		dir := kmsg.NewAlterReplicaLogDirsRequestDir()
		dir.Dir = name
		dir.Topics = append(dir.Topics, kmsg.AlterReplicaLogDirsRequestDirTopic{Topic: "t", Partitions: []int32{0}})
		req.Dirs = append(req.Dirs, dir)
		require.EqualValues(t, want, cl.ask(req).(*kmsg.AlterReplicaLogDirsResponse).Topics[0].Partitions[0].ErrorCode, name)
	}
}

func TestDifferenceQuorumIsItsBroker(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Brokers: 2})
	cl := dialRaw(t, c)
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Version = 2
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic, topic.Partitions = "__cluster_metadata", []kmsg.DescribeQuorumRequestTopicPartition{kmsg.NewDescribeQuorumRequestTopicPartition()}
	req.Topics = append(req.Topics, topic)
	resp := cl.ask(req).(*kmsg.DescribeQuorumResponse)
	p := resp.Topics[0].Partitions[0]
	require.EqualValues(t, 1, p.LeaderID)
	require.Len(t, p.CurrentVoters, 1)
	require.Len(t, p.Observers, 1, "the other broker follows")
	_, port := c.nodes[0].addr()
	require.EqualValues(t, port, resp.Nodes[0].Listeners[0].Port, "the controller has no listener of its own")

	voter := kmsg.NewPtrAddRaftVoterRequest()
	l := kmsg.NewAddRaftVoterRequestListener()
	l.Name = controllerListener
	voter.Listeners = append(voter.Listeners, l)
	require.EqualValues(t, wire.UnsupportedVersion, cl.ask(voter).(*kmsg.AddRaftVoterResponse).ErrorCode)
}

func TestDifferenceRequestTimeIsNotThrottled(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{}))
	cl.setQuota(quotaClient, "raw", "request_percentage", 0.001)
	for range 20 {
		require.Zero(t, cl.ask(topicsRequest()).(*kmsg.MetadataResponse).ThrottleMillis)
	}
}

func TestDescribeTopicPartitionsBehindTheLast(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 2}}}))
	for from, want := range map[int32]*int32{5: nil, math.MaxInt32 - 1: nil, math.MaxInt32: new(int32(math.MinInt32))} {
		req := kmsg.NewPtrDescribeTopicPartitionsRequest()
		topic := kmsg.NewDescribeTopicPartitionsRequestTopic()
		topic.Topic = "t"
		req.Topics, req.ResponsePartitionLimit = append(req.Topics, topic), 1
		req.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: "t", Partition: from}
		resp := cl.ask(req).(*kmsg.DescribeTopicPartitionsResponse)
		require.Empty(t, resp.Topics[0].Partitions)
		if want == nil {
			require.Nil(t, resp.NextCursor)
		} else {
			require.Equal(t, *want, resp.NextCursor.Partition, "the sum of cursor and limit overflows")
		}
	}
}
