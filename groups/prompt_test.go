package groups

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/records"
)

// kafka-go names itself to nobody: its subscriptions say to be of version 1, and end where those of version 0 do.
func TestLooksLikeKafkaGo(t *testing.T) {
	t.Parallel()
	like := "\x00\x01" + "\x00\x00\x00\x01" + "\x00\x01a" + "\xff\xff\xff\xff"
	for name, tc := range map[string]struct {
		metadata []string
		want     bool
	}{
		"one protocol":         {[]string{like}, true},
		"several":              {[]string{like, like}, true},
		"none":                 {nil, false},
		"of version 0":         {[]string{"\x00\x00" + like[2:]}, false},
		"of version 3":         {[]string{"\x00\x03" + like[2:]}, false},
		"with a list of owned": {[]string{like + "\x00\x00\x00\x00"}, false},
		"with one byte more":   {[]string{like + "\x00"}, false},
		"nonsense":             {[]string{"\x00\x01"}, false},
		"empty":                {[]string{""}, false},
		"another among them":   {[]string{like, "\x00\x00" + like[2:]}, false},
		"another first":        {[]string{"\x00\x00" + like[2:], like}, false},
	} {
		m := &classicMember{}
		for _, metadata := range tc.metadata {
			m.protocols = append(m.protocols, protocol{"range", []byte(metadata)})
		}
		require.Equal(t, tc.want, looksLikeKafkaGo(m), name)
	}
}

// The Java consumer closes without a word where it stays a member: as a static one, and in Kafka Streams. kafka-go does, until its heartbeat is answered.
func TestWhoClosesUnheard(t *testing.T) {
	t.Parallel()
	s := NewShard(DefaultConfig(), Deps{})
	classic := func(group, protocol string) {
		value := records.GroupValue{ProtocolType: "consumer", Generation: 1, Protocol: &protocol, StateTime: -1}
		for id, instance := range map[string]*string{"static": kmsg.StringPtr("one"), "dynamic": nil} {
			value.Members = append(value.Members, records.GroupMember{ID: id, InstanceID: instance, ClientID: id, SessionTimeout: 10_000})
		}
		s.Replay(0, Record{Key: records.GroupKey{Group: group}.Encode(), Value: value.Encode()}, -1)
	}
	classic("range", "range")
	classic("streams", "stream")
	for id, instance := range map[string]*string{"static": kmsg.StringPtr("one"), "dynamic": nil} {
		s.Replay(1, Record{Key: records.ConsumerKey(records.TypeConsumerMember, "consumer", id), Value: records.ConsumerMember{InstanceID: instance, Names: []string{"foo"}}.Encode()}, -1)
	}
	ranged := "range"
	kafkaGo := records.GroupValue{ProtocolType: "consumer", Generation: 1, Protocol: &ranged, StateTime: -1}
	for id, assignment := range map[string][]byte{"owner": []byte("\x00\x01\x00\x00\x00\x01\x00\x03foo\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"), "standby": []byte("\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00")} {
		kafkaGo.Members = append(kafkaGo.Members, records.GroupMember{ID: id, ClientID: id, SessionTimeout: 10_000, Subscription: []byte("\x00\x01\x00\x00\x00\x01\x00\x03foo\x00\x00\x00\x00"), Assignment: assignment})
	}
	s.Replay(0, Record{Key: records.GroupKey{Group: "kafka-go"}.Encode(), Value: kafkaGo.Encode()}, -1)
	s.Replay(2, offsetRecord("simple", "foo", 0, 1, [16]byte{}), -1)
	s.Loaded(time.Unix(1_700_000_000, 0))
	for _, tc := range []struct {
		group, member, software string
		want                    bool
	}{
		{"range", "static", "apache-kafka-java", true},
		{"range", "static", "Apache-Kafka-Java", true},
		{"range", "dynamic", "apache-kafka-java", false},
		{"range", "nobody", "apache-kafka-java", false},
		{"range", "static", "librdkafka", false},
		{"range", "static", "", false},
		{"streams", "static", "apache-kafka-java", true},
		{"streams", "dynamic", "apache-kafka-java", true},
		{"streams", "dynamic", "kgo", false},
		{"kafka-go", "owner", "", true},
		{"kafka-go", "standby", "", false},
		{"kafka-go", "nobody", "", false},
		{"kafka-go", "owner", "sarama", false},
		{"kafka-go", "owner", "apache-kafka-java", false},
		{"consumer", "static", "apache-kafka-java", true},
		{"consumer", "dynamic", "apache-kafka-java", false},
		{"consumer", "nobody", "apache-kafka-java", false},
		{"simple", "dynamic", "apache-kafka-java", false},
		{"none", "static", "apache-kafka-java", false},
	} {
		require.Equal(t, tc.want, s.ClosesUnheard(tc.group, tc.member, Client{Software: tc.software}), "%+v", tc)
	}
}
