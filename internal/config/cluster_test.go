package config

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/internal/wire"
)

func ptr(s string) *string { return &s }

func all(string) bool { return true }

func set(name, val string) []AlterSetting { return []AlterSetting{{name, Set, &val}} }

func TestMistypedTopicSettings(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"cleanup.polcy":    "did you mean cleanup.policy?",
		"log.retention.ms": "that is a broker's setting, for one topic it is retention.ms",
		"num.partitions":   "it is a broker's setting",
		"wholly.different": "config wholly.different: Apache Kafka has no topic setting of this name",
	} {
		require.ErrorContains(t, CheckTopicSettingName(name), want)
	}
	require.NoError(t, CheckTopicSettingName("retention.ms"))
}

func TestBadStartSettingsNameThemselves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, val, want string }{
		{"log.retention.mss", "1", "did you mean log.retention.ms?"},
		{"Log.Retention.Ms", "1", "did you mean log.retention.ms?"},
		{"retention.ms", "1", "for all topics it is log.retention.ms"},
		{"remote.storage.enable", "1", "it is a topic's setting"},
		{"completely.different", "1", "Apache Kafka has no broker setting of this name"},
		{"num.partitions", "many", "config num.partitions=many: Invalid value many for configuration num.partitions: Not a number of type INT"},
		{"num.partitions", "0", "Value must be at least 1"},
		{"log.cleanup.policy", "remove", "String must be one of: compact, delete"},
		{"group.consumer.migration.policy", "sideways", "DISABLED, DOWNGRADE, UPGRADE, BIDIRECTIONAL"},
		{"group.consumer.assignors", "", "Configuration 'group.consumer.assignors' must not be empty. Valid values include: any non-empty value"},
		{"group.coordinator.rebalance.protocols", "", "must not be empty. Valid values include: [consumer, classic, share, streams]"},
		{"group.coordinator.rebalance.protocols", "consumer", "Disabling the 'classic' protocol is not supported."},
		{"group.consumer.session.timeout.ms", "1000", "group.consumer.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms"},
		{"offsets.topic.compression.codec", "-100", "Unknown compression type id: -100"},
		{"share.coordinator.state.topic.compression.codec", "5", "Unknown compression type id: 5"},
		{"group.share.assignors", "simple,org.apache.kafka.coordinator.group.assignor.SimpleAssignor", "must contain exactly one assignor, but found 2"},
		{"group.streams.num.standby.replicas", "5", "must be less than or equal to group.streams.max.standby.replicas"},
		{"log.retention.ms", "0", "log.retention.ms must be unlimited (-1)"},
		{"authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer", "its effect isn't built yet"},
		{"replica.selector.class", "com.example.Mine", "choose from org.apache.kafka.common.replica.RackAwareReplicaSelector"},
		{"sasl.login.class", "com.example.Mine", "can't load the class com.example.Mine; leave it out"},
		{"group.consumer.assignors", "uniform,com.example.Mine", "can't load the class com.example.Mine"},
	} {
		_, err := New(Start{Static: map[string]string{c.name: c.val}, PerBroker: map[int32]map[string]string{1: {}}})
		require.ErrorContains(t, err, c.name)
		require.ErrorContains(t, err, c.want)
	}
	for name, val := range map[string]string{
		"replica.selector.class":                        "org.apache.kafka.common.replica.RackAwareReplicaSelector",
		"group.consumer.assignors":                      "range",
		"group.consumer.migration.policy":               "upgrade",
		"listener.name.internal.ssl.keystore.type":      "JKS",
		"listener.name.internal.plain.sasl.jaas.config": "x",
		"group.consumer.regex.refresh.interval.ms":      "10000",
		"authorizer.class.name":                         "",
		"principal.builder.class":                       "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
		"sasl.oauthbearer.jwt.validator.class":          "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
		"ssl.client.auth":                               "required",
		"transaction.partition.verification.enable":     "False",
		"group.share.record.lock.duration.ms":           "1000",
		"group.streams.initial.rebalance.delay.ms":      "0",
		"log.cleaner.min.cleanable.ratio":               "0.25",
		"max.connections.per.ip.overrides":              "127.0.0.1:5,[::1]:6",
		"offsets.topic.num.partitions":                  "1",
		"remote.log.metadata.manager.listener.name":     "INTERNAL",
		"controller.quorum.voters":                      "",
		"sasl.kerberos.principal.to.local.rules":        "DEFAULT",
		"compression.gzip.level":                        "-1",
		"max.incremental.fetch.session.cache.slots":     "0",
		"producer.id.expiration.check.interval.ms":      "1",
		"connections.max.idle.ms":                       "1000",
		"broker.rack":                                   "a",
		"metric.reporters":                              "com.example.Reporter",
		"unstable.api.versions.enable":                  "true",
	} {
		_, err := Check(name, val)
		require.NoError(t, err)
	}
	_, err := New(Start{})
	require.Error(t, err)
}

func TestSettingsWithoutEffect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, val string
		noEffect  bool
	}{
		{"num.io.threads", "1", true},
		{"num.network.threads", "3", true},
		{"log.preallocate", "true", true},
		{"num.partitions", "1", false},
		{"log.retention.hours", "1", false},
		{"group.consumer.max.session.timeout.ms", "50000", false},
	} {
		noEffect, err := Check(c.name, c.val)
		require.NoError(t, err)
		require.Equal(t, c.noEffect, noEffect, c.name)
	}
	for _, name := range effective {
		require.NotNil(t, brokerDefs().byName[name], "%s stands in the list of settings with an effect", name)
	}
	require.True(t, HasEffect("num.partitions"))
	require.False(t, HasEffect("num.io.threads"))
}

func TestValues(t *testing.T) {
	t.Parallel()
	defaults, err := NewDefaults(map[string]string{"group.initial.rebalance.delay.ms": "20"})
	require.NoError(t, err)
	c, err := New(Start{
		Static: map[string]string{"num.partitions": " 3 ", "log.retention.minutes": "10", "auto.create.topics.enable": "FALSE"},
		PerBroker: map[int32]map[string]string{
			1: {"broker.rack": "a"},
			2: {"broker.rack": "b", "num.partitions": "5"},
		},
		Defaults: defaults,
	})
	require.NoError(t, err)
	one, two := c.Broker(1), c.Broker(2)
	require.Equal(t, 3, one.Int("num.partitions"))
	require.Equal(t, 5, two.Int("num.partitions"))
	require.Equal(t, "b", two.String("broker.rack"))
	require.Equal(t, int32(2), two.Int32("node.id"))
	require.False(t, one.Bool("auto.create.topics.enable"))
	require.True(t, one.Bool("delete.topic.enable"))
	require.Equal(t, 20*time.Millisecond, one.Duration("group.initial.rebalance.delay.ms"))
	require.Equal(t, 10*time.Minute, one.Duration("log.retention.minutes"))
	require.Equal(t, 7*24*time.Hour, one.Duration("offsets.retention.minutes"))
	require.Equal(t, time.Duration(math.MaxInt64), one.Duration("log.cleaner.max.compaction.lag.ms"))
	require.Negative(t, c.Broker(1).with(map[string]string{"log.retention.ms": "-1"}).Duration("log.retention.ms"))
	require.Equal(t, []string{"uniform", "range"}, one.List("group.consumer.assignors"))
	require.False(t, one.IsSet("log.retention.ms"))
	require.Equal(t, "", one.String("log.retention.ms"))
	require.Panics(t, func() { one.Int("no.such") })
	require.Panics(t, func() { one.Int("broker.rack") })
	require.Panics(t, func() { one.Bool("num.partitions") })

	require.Equal(t, int64(600_000), c.Topic("t").RetentionMs)
	entries, refused := c.Describe(1, BrokerResource, "1", []string{"group.initial.rebalance.delay.ms"}, all)
	require.Nil(t, refused)
	require.Equal(t, `group.initial.rebalance.delay.ms="20" type 3 source 5 read-only [group.initial.rebalance.delay.ms="20" 5]`+"\n", showEntries(entries))

	// What was handed out doesn't change, what is asked for later does.
	res := c.IncrementalAlter(1, []Alteration{{BrokerResource, "1", set("log.retention.ms", "4000")}}, all, false)
	require.Nil(t, res[0].Err)
	require.False(t, one.IsSet("log.retention.ms"))
	require.Equal(t, int64(4000), c.Broker(1).Int64("log.retention.ms"))
	require.Equal(t, int64(4000), c.Topic("t").RetentionMs)
	require.False(t, c.Broker(2).IsSet("log.retention.ms"))
}

func TestTopicSettings(t *testing.T) {
	t.Parallel()
	c, err := New(Start{
		Static:    map[string]string{"log.retention.hours": "2", "log.roll.hours": "1", "log.segment.bytes": "2000000", "log.message.timestamp.type": "LogAppendTime"},
		PerBroker: map[int32]map[string]string{1: {}},
	})
	require.NoError(t, err)
	c.CreateTopic("t", []Setting{{"cleanup.policy", ptr(" compact , delete")}, {"retention.ms", ptr("-1")}})
	got := c.Topic("t")
	require.True(t, got.CleanupPolicyCompact)
	require.True(t, got.CleanupPolicyDelete)
	require.True(t, got.LogAppendTime)
	require.Equal(t, int64(-1), got.RetentionMs)
	require.Equal(t, int64(3_600_000), got.SegmentMs)
	require.Equal(t, int32(2_000_000), got.SegmentBytes)
	require.Equal(t, int32(1_048_588), got.MaxMessageBytes)
	require.Equal(t, int32(1), got.MinInsyncReplicas)
	require.Equal(t, int64(7_200_000), c.Topic("another").RetentionMs)

	// In CreateTopics' answer a setting in another unit has a source, in DescribeConfigs it has not.
	for _, e := range c.NewTopicEntries(1, nil) {
		if e.Name == "retention.ms" {
			require.Equal(t, "7200000", *e.Value)
			require.Equal(t, StaticBroker, e.Source)
		}
	}
	entries, refused := c.Describe(1, TopicResource, "another", []string{"retention.ms"}, all)
	require.Nil(t, refused)
	require.Equal(t, `retention.ms="7200000" type 5 source 5`+"\n", showEntries(entries))

	c.DeleteTopic("t")
	require.Equal(t, int64(7_200_000), c.Topic("t").RetentionMs)
}

func TestGroupSettings(t *testing.T) {
	t.Parallel()
	c, err := New(Start{
		Static:    map[string]string{"group.consumer.session.timeout.ms": "50000"},
		PerBroker: map[int32]map[string]string{1: {}},
	})
	require.NoError(t, err)
	require.Empty(t, c.GroupsWithConfigs())
	res := c.IncrementalAlter(1, []Alteration{{GroupResource, "g", set("consumer.session.timeout.ms", " 60000 ")}}, all, false)
	require.Nil(t, res[0].Err)
	require.Equal(t, []string{"g"}, c.GroupsWithConfigs())
	val, ok := c.GroupSetting("g", "consumer.session.timeout.ms")
	require.True(t, ok)
	require.Equal(t, "60000", val)
	_, ok = c.GroupSetting("g", "consumer.heartbeat.interval.ms")
	require.False(t, ok)
	res = c.IncrementalAlter(1, []Alteration{{GroupResource, "g", []AlterSetting{{"consumer.session.timeout.ms", Delete, nil}}}}, all, false)
	require.Nil(t, res[0].Err)
	require.Empty(t, c.GroupsWithConfigs(), "a group without settings of its own is not listed")
}

func TestAResourceTwiceInARequest(t *testing.T) {
	t.Parallel()
	c := oneBroker(t, nil)
	res := c.IncrementalAlter(1, []Alteration{
		{TopicResource, "a", set("retention.ms", "1")},
		{TopicResource, "b", set("retention.ms", "1")},
		{TopicResource, "a", set("segment.ms", "1")},
		{GroupResource, "a", set("consumer.session.timeout.ms", "46000")},
	}, all, false)
	require.Equal(t, wire.InvalidRequest, res[0].Err.Code)
	require.Nil(t, res[1].Err)
	require.Equal(t, wire.InvalidRequest, res[2].Err.Code)
	require.Nil(t, res[3].Err, "the same name of another type is another resource")
	require.Equal(t, int64(604_800_000), c.Topic("a").RetentionMs)
}

func TestAValueGrownTooLong(t *testing.T) {
	t.Parallel()
	c := oneBroker(t, nil)
	long := "0:1"
	for len(long) < 20_000 {
		long += ",0:1"
	}
	const name = "leader.replication.throttled.replicas"
	res := c.IncrementalAlter(1, []Alteration{{TopicResource, "t", set(name, long)}}, all, false)
	require.Nil(t, res[0].Err)
	more := "1:0"
	for i := 0; len(more) < 20_000; i++ {
		more += ",1:" + string(rune('1'+i%9)) + string(rune('0'+i/9%10)) + string(rune('0'+i/90%10)) + string(rune('0'+i/900))
	}
	res = c.IncrementalAlter(1, []Alteration{{TopicResource, "t", []AlterSetting{{name, Append, &more}}}}, all, false)
	require.Equal(t, wire.InvalidConfig, res[0].Err.Code)
	require.Contains(t, res[0].Err.Message, "32767")
}

func BenchmarkValues(b *testing.B) {
	c, err := New(Start{PerBroker: map[int32]map[string]string{1: {}}})
	if err != nil {
		b.Fatal(err)
	}
	v := c.Broker(1)
	b.ReportAllocs()
	for b.Loop() {
		v.Int("fetch.max.bytes")
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(Start{PerBroker: map[int32]map[string]string{1: {}}}); err != nil {
			b.Fatal(err)
		}
	}
}

// checkBroker asks its rules only where a setting was given that one of them looks at: the rules must hold for Kafka's defaults, and no other
// setting may break them.
func TestTiedSettings(t *testing.T) {
	require.NoError(t, checkTied(&Values{}))
	for _, d := range brokerDefs().sorted {
		for _, raw := range []string{"-1", "0", "1", "2147483647", "x:y"} {
			v := &Values{}
			v.putOne(d.name, raw)
			if checkTied(v) != nil {
				require.Truef(t, tied()[d.name], "%s=%s", d.name, raw)
				require.Error(t, checkBroker(v))
			}
		}
	}
}

// Clusters that set nothing share their values; what one of them changes is its own.
func TestDefaultsAreShared(t *testing.T) {
	t.Parallel()
	defaults, err := NewDefaults(map[string]string{"num.partitions": "3"})
	require.NoError(t, err)
	start := func(static map[string]string, two map[string]string) *Cluster {
		c, err := New(Start{Static: static, PerBroker: map[int32]map[string]string{1: nil, 2: two}, Defaults: defaults})
		require.NoError(t, err)
		return c
	}
	a, b := start(nil, nil), start(nil, nil)
	require.Same(t, a.Broker(1), b.Broker(1))
	require.NotSame(t, a.Broker(1), a.Broker(2))
	require.Equal(t, 2, b.Broker(2).Int("node.id"))
	require.Same(t, a.Topic("x"), b.Topic("y"))

	res := a.IncrementalAlter(1, []Alteration{{BrokerResource, "", set("log.retention.ms", "5")}}, all, false)
	require.Nil(t, res[0].Err)
	res = b.IncrementalAlter(1, []Alteration{{BrokerResource, "1", set("log.retention.ms", "6")}}, all, false)
	require.Nil(t, res[0].Err)
	require.Equal(t, int64(5), a.Topic("x").RetentionMs)
	require.Equal(t, int64(5), a.Broker(2).Int64("log.retention.ms"))
	require.Equal(t, int64(6), b.Topic("x").RetentionMs)
	require.False(t, b.Broker(2).IsSet("log.retention.ms"))

	require.Equal(t, 7, start(map[string]string{"num.partitions": "7"}, nil).Broker(1).Int("num.partitions"))
	require.Equal(t, "r", start(nil, map[string]string{"broker.rack": "r"}).Broker(2).String("broker.rack"))
	require.Equal(t, "", start(nil, nil).Broker(2).String("broker.rack"))

	_, err = NewDefaults(map[string]string{"num.partitions": "none"})
	require.ErrorContains(t, err, "num.partitions")
}

func TestSettingsTiedAtRunTime(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, value string
		op          Op
		code        wire.Code
	}{
		{"log.local.retention.ms", "-1", Set, invalidRequest},
		{"log.local.retention.ms", "-2", Set, 0},
		{"log.local.retention.ms", "604800000", Set, 0},
		{"log.local.retention.ms", "604800001", Set, invalidRequest},
		{"log.local.retention.bytes", "-1", Set, 0}, // log.retention.bytes has no limit
		{"cordoned.log.dirs", "/elsewhere", Set, invalidRequest},
		{"cordoned.log.dirs", "*", Set, 0},
		{"metric.reporters", "x", Append, invalidRequest},
		{"metric.reporters", "org.apache.kafka.common.metrics.JmxReporter", Set, 0},
		{"listener.security.protocol.map", "PLAINTEXT:NOPE", Set, invalidRequest},
		{"listener.security.protocol.map", "A:SSL", Set, invalidRequest},
		{"listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT", Set, 0},
		{"remote.log.reader.threads", "4", Set, invalidRequest},
		{"remote.log.reader.threads", "20", Set, 0},
		{"ssl.protocol", "x", Set, 0},
		{"ssl.keystore.location", "x", Set, invalidRequest},
		{"process.roles", "a", Append, wire.UnknownServerError},
		{"process.roles", "a", Set, invalidRequest},
	} {
		c, err := New(Start{PerBroker: map[int32]map[string]string{1: {}}})
		require.NoError(t, err)
		res := c.IncrementalAlter(1, []Alteration{{BrokerResource, "1", []AlterSetting{{tc.name, tc.op, &tc.value}}}}, all, true)
		got := wire.None
		if res[0].Err != nil {
			got = wire.Code(res[0].Err.Code)
		}
		require.Equal(t, tc.code, got, "%+v", tc)
	}
}

func TestAnUnknownOperationFailsItsNeighbours(t *testing.T) {
	t.Parallel()
	c, err := New(Start{PerBroker: map[int32]map[string]string{1: {}}})
	require.NoError(t, err)
	value := "1000"
	good := Alteration{TopicResource, "t", set("retention.ms", value)}
	bad := Alteration{TopicResource, "u", []AlterSetting{{"retention.ms", Op(7), &value}}}
	broker := Alteration{BrokerResource, "1", set("log.cleaner.backoff.ms", "20000")}
	res := c.IncrementalAlter(1, []Alteration{good, bad, broker}, all, false)
	for _, r := range res {
		require.NotNil(t, r.Err)
		require.Equal(t, Error{wire.UnknownServerError, ""}, *r.Err)
	}
	require.NotEqual(t, int64(1000), c.Topic("t").RetentionMs)

	bad.Settings = append([]AlterSetting{{"retention.ms", Append, &value}}, AlterSetting{"segment.ms", Op(7), &value})
	res = c.IncrementalAlter(1, []Alteration{good, bad}, all, false)
	require.Nil(t, res[0].Err, "the other one was refused before its unknown operation was reached")
	require.Equal(t, invalidConfig, wire.Code(res[1].Err.Code))

	bad.Settings = []AlterSetting{{"retention.ms", Op(7), &value}}
	res = c.IncrementalAlter(1, []Alteration{bad, good, bad}, all, false)
	require.Equal(t, invalidRequest, wire.Code(res[0].Err.Code))
	require.Nil(t, res[1].Err, "a resource that is named twice isn't looked at, so its operation fails nobody")
}

func TestListenersStayAsTheyAre(t *testing.T) {
	t.Parallel()
	c := oneBroker(t, nil)
	value := "PLAINTEXT://:1"
	res := c.IncrementalAlter(1, []Alteration{{Type: BrokerResource, Name: "1", Settings: []AlterSetting{{Name: "listeners", Value: &value}}}},
		func(string) bool { return false }, false)
	require.NotNil(t, res[0].Err, "recorded from Kafka: a broker with its controller in it refuses any")
	require.Equal(t, invalidRequest, res[0].Err.Code)
}

func TestInternalSegmentBytes(t *testing.T) {
	t.Parallel()
	c := oneBroker(t, nil)
	small := "300"
	c.CreateTopic("t", []Setting{{"internal.segment.bytes", &small}})
	c.CreateTopic("plain", nil)
	require.EqualValues(t, 300, c.Topic("t").SegmentBytes)
	require.EqualValues(t, 1<<30, c.Topic("plain").SegmentBytes)
	for topic, want := range map[string]string{"t": "internal.segment.bytes=\"300\" type 3 source 1 [internal.segment.bytes=\"300\" 1]\n", "plain": ""} {
		entries, err := c.Describe(1, TopicResource, topic, []string{"internal.segment.bytes"}, func(string) bool { return true })
		require.Nil(t, err)
		require.Equal(t, want, showEntries(entries), "shown only where it is set")
	}
	require.Len(t, c.NewTopicEntries(1, nil), 33)
}
