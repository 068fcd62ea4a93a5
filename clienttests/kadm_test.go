package clienttests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What an operator does with kadm, step by step.
func TestFranzAdmin(t *testing.T) {
	t.Parallel()
	b := broker(t)
	topic, group := b.topic(t, "audit"), b.group(t, "auditors")
	ctx, adm := b.ctx, b.adm

	// The cluster.
	meta, err := adm.BrokerMetadata(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, meta.Brokers)
	require.NotEmpty(t, meta.Cluster)
	require.Contains(t, meta.Brokers.NodeIDs(), meta.Controller)

	// A topic.
	compact, lz4 := "compact", "lz4"
	configs := map[string]*string{"cleanup.policy": &compact, "compression.type": &lz4}
	_, err = adm.ValidateCreateTopics(ctx, 3, 1, configs, topic)
	require.NoError(t, err)
	created, err := adm.CreateTopic(ctx, 3, 1, configs, topic)
	require.NoError(t, err)
	require.NotZero(t, created.ID)
	b.awaitTopic(t, topic, 3)
	_, err = adm.CreateTopic(ctx, 3, 1, nil, topic)
	require.ErrorIs(t, err, kerr.TopicAlreadyExists)
	_, err = adm.CreateTopic(ctx, 3, 1, nil, "no/slash/in/a/name")
	require.ErrorIs(t, err, kerr.InvalidTopicException)
	_, err = adm.CreateTopic(ctx, 3, 30_000, nil, unique(t, "too-many-replicas"))
	require.ErrorIs(t, err, kerr.InvalidReplicationFactor)

	topics, err := adm.ListTopics(ctx, topic)
	require.NoError(t, err)
	require.Equal(t, created.ID, topics[topic].ID)
	require.Len(t, topics[topic].Partitions, 3)
	for p, d := range topics[topic].Partitions {
		require.NoError(t, d.Err)
		require.Contains(t, meta.Brokers.NodeIDs(), d.Leader, "leader of partition %d", p)
		require.Equal(t, []int32{d.Leader}, d.Replicas)
		require.Equal(t, []int32{d.Leader}, d.ISR)
	}

	described, err := adm.DescribeTopicConfigs(ctx, topic)
	require.NoError(t, err)
	config, err := described.On(topic, nil)
	require.NoError(t, err)
	values := map[string]string{}
	sources := map[string]kmsg.ConfigSource{}
	for _, c := range config.Configs {
		values[c.Key], sources[c.Key] = c.MaybeValue(), c.Source
	}
	require.Equal(t, "compact", values["cleanup.policy"])
	require.Equal(t, kmsg.ConfigSourceDynamicTopicConfig, sources["cleanup.policy"])
	require.Equal(t, "604800000", values["retention.ms"])
	require.Equal(t, kmsg.ConfigSourceDefaultConfig, sources["retention.ms"])

	// Its offsets.
	base := time.Now().Add(-time.Minute).UnixMilli()
	producer, err := kgo.NewClient(kgo.SeedBrokers(b.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(t, err)
	defer producer.Close()
	for i := range int64(5) {
		r := &kgo.Record{Topic: topic, Partition: 1, Key: []byte{byte(i)}, Timestamp: time.UnixMilli(base + 100*i)}
		require.NoError(t, producer.ProduceSync(ctx, r).FirstErr())
		require.Equal(t, i, r.Offset)
	}
	at := func(list kadm.ListedOffsets, err error) []int64 {
		t.Helper()
		require.NoError(t, err)
		require.NoError(t, list.Error())
		var offsets []int64
		for p := range int32(3) {
			o, ok := list.Lookup(topic, p)
			require.True(t, ok, "partition %d", p)
			offsets = append(offsets, o.Offset)
		}
		return offsets
	}
	require.Equal(t, []int64{0, 0, 0}, at(adm.ListStartOffsets(ctx, topic)))
	require.Equal(t, []int64{0, 5, 0}, at(adm.ListEndOffsets(ctx, topic)))
	require.Equal(t, []int64{0, 3, 0}, at(adm.ListOffsetsAfterMilli(ctx, base+201, topic)), "kadm answers the end where no record is so late")

	// A group that has offsets and no members.
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: topic, Partition: 1, At: 4, LeaderEpoch: 0, Metadata: "by hand"})
	require.NoError(t, adm.CommitAllOffsets(ctx, group, offsets))
	fetched, err := adm.FetchOffsets(ctx, group)
	require.NoError(t, err)
	require.NoError(t, fetched.Error())
	o, ok := fetched.Lookup(topic, 1)
	require.True(t, ok)
	require.Equal(t, kadm.Offset{Topic: topic, TopicID: created.ID, Partition: 1, At: 4, LeaderEpoch: 0, Metadata: "by hand"}, o.Offset)

	groups, err := adm.ListGroups(ctx)
	require.NoError(t, err)
	require.Equal(t, "Empty", groups[group].State)
	details, err := adm.DescribeGroups(ctx, group)
	require.NoError(t, err)
	require.Equal(t, "Empty", details[group].State)
	require.Empty(t, details[group].Members)

	// The end of the topic.
	deleted, err := adm.DeleteTopic(ctx, topic)
	require.NoError(t, err)
	require.NoError(t, deleted.Err)
	require.NoError(t, b.until(ctx, func() error {
		gone, err := adm.DeleteTopic(ctx, topic)
		if gone.Err == kerr.UnknownTopicOrPartition {
			return nil
		}
		if err == nil {
			err = gone.Err
		}
		return err
	}), "a topic that is gone cannot be deleted")
}
