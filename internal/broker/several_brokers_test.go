package broker

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// TestTextsOfTools has texts that Apache Kafka's own command line tools print, as Apache Kafka 4.3.1 answers them.
func TestTextsOfTools(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{}))
	check := func(code wire.Code, text string, gotCode int16, gotText *string) {
		t.Helper()
		require.EqualValues(t, code, gotCode)
		require.NotNil(t, gotText)
		require.Equal(t, text, *gotText)
	}

	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version = 7
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "..", 1, 1
	create.Topics = append(create.Topics, topic)
	made := cl.ask(create).(*kmsg.CreateTopicsResponse).Topics[0]
	check(wire.InvalidTopicException, "Topic name is invalid: '..' is not allowed", made.ErrorCode, made.ErrorMessage)

	quota := kmsg.NewPtrAlterClientQuotasRequest()
	quota.Version = 1
	quota.Entries = []kmsg.AlterClientQuotasRequestEntry{{
		Entity: []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "client-id", Name: kmsg.StringPtr("a")}},
		Ops:    []kmsg.AlterClientQuotasRequestEntryOp{{Key: "producer_byte_rate", Value: 1.5}},
	}}
	altered := cl.ask(quota).(*kmsg.AlterClientQuotasResponse).Entries[0]
	check(wire.InvalidRequest, "producer_byte_rate cannot be a fractional value.", altered.ErrorCode, altered.ErrorMessage)

	feature := func(name string, level int16) *kmsg.UpdateFeaturesResponse {
		req := kmsg.NewPtrUpdateFeaturesRequest()
		req.Version = 2
		u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		u.Feature, u.MaxVersionLevel, u.UpgradeType = name, level, featureUpgrade
		req.FeatureUpdates = append(req.FeatureUpdates, u)
		return cl.ask(req).(*kmsg.UpdateFeaturesResponse)
	}
	const failed = "The update failed for all features since the following feature had an error: "
	updated := feature("transaction.version", 3)
	check(wire.InvalidUpdateVersion, failed+"Invalid update version 3 for feature transaction.version. Local controller 1 only supports versions 0-2", updated.ErrorCode, updated.ErrorMessage)
	updated = feature("none", 1)
	check(wire.InvalidUpdateVersion, failed+"Invalid update version 1 for feature none. Local controller 1 does not support this feature.", updated.ErrorCode, updated.ErrorMessage)

	describe := kmsg.NewPtrDescribeACLsRequest()
	describe.Version = 3
	describe.ResourceType, describe.ResourcePatternType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny
	describe.Operation, describe.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
	acls := cl.ask(describe).(*kmsg.DescribeACLsResponse)
	check(wire.SecurityDisabled, "No Authorizer is configured on the broker", acls.ErrorCode, acls.ErrorMessage)
}

// TestTextsOfSeveralBrokers has codes and texts of three brokers of Apache Kafka 4.3.1.
func TestTextsOfSeveralBrokers(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Brokers: 3, Topics: []TopicSpec{{Name: "t", Partitions: 2, ReplicationFactor: 2}}})
	cl := dialRaw(t, c)
	check := func(code wire.Code, text string, gotCode int16, gotText *string) {
		t.Helper()
		require.EqualValues(t, code, gotCode)
		require.NotNil(t, gotText)
		require.Equal(t, text, *gotText)
	}

	create := func(replication int16, assignments ...[]int32) *kmsg.CreateTopicsResponseTopic {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version = 7
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "new", 1, replication
		for i, replicas := range assignments {
			topic.NumPartitions = -1
			topic.ReplicaAssignment = append(topic.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(i), Replicas: replicas})
		}
		req.Topics = append(req.Topics, topic)
		return &cl.ask(req).(*kmsg.CreateTopicsResponse).Topics[0]
	}
	made := create(4)
	check(wire.InvalidReplicationFactor, "Unable to replicate the partition 4 time(s): The target replication factor of 4 cannot be reached because only 3 broker(s) are "+
		"registered or some brokers have all their log directories cordoned.", made.ErrorCode, made.ErrorMessage)
	made = create(-1, []int32{4, 5, 1, 1})
	check(wire.InvalidReplicaAssignment, "The manual partition assignment includes the broker 1 more than once.", made.ErrorCode, made.ErrorMessage)
	made = create(-1, []int32{4, 4})
	check(wire.InvalidReplicaAssignment, "The manual partition assignment includes broker 4, but no such broker is registered.", made.ErrorCode, made.ErrorMessage)

	move := func(topic string, partition int32) *kmsg.AlterPartitionAssignmentsResponseTopicPartition {
		return &cl.ask(reassign(topic, partition, 1)).(*kmsg.AlterPartitionAssignmentsResponse).Topics[0].Partitions[0]
	}
	moved := move("none", 0)
	check(wire.UnknownTopicOrPartition, "Unable to find a topic named none.", moved.ErrorCode, moved.ErrorMessage)
	moved = move("t", 77)
	check(wire.UnknownTopicOrPartition, "Unable to find partition t:77.", moved.ErrorCode, moved.ErrorMessage)

	elect := func(kind int8, topic string) *kmsg.ElectLeadersResponseTopicPartition {
		req := kmsg.NewPtrElectLeadersRequest()
		req.Version, req.ElectionType = 2, kind
		req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: topic, Partitions: []int32{7}}}
		return &cl.ask(req).(*kmsg.ElectLeadersResponse).Topics[0].Partitions[0]
	}
	elected := elect(preferredElection, "none")
	check(wire.UnknownTopicOrPartition, "No such topic as none", elected.ErrorCode, elected.ErrorMessage)
	elected = elect(preferredElection, "t")
	check(wire.UnknownTopicOrPartition, "No such partition as t-7", elected.ErrorCode, elected.ErrorMessage)
	elected = elect(3, "t")
	check(wire.InvalidRequest, "Unknown election type 3", elected.ErrorCode, elected.ErrorMessage)

	loggers := kmsg.NewPtrIncrementalAlterConfigsRequest()
	loggers.Version = 1
	res := kmsg.NewIncrementalAlterConfigsRequestResource()
	res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeBrokerLogger, "+2"
	res.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "root", Value: kmsg.StringPtr("WARN")}}
	loggers.Resources = append(loggers.Resources, res)
	altered := cl.ask(loggers).(*kmsg.IncrementalAlterConfigsResponse).Resources[0]
	check(wire.InvalidRequest, "Unexpected node id. Expected 1, but received 2", altered.ErrorCode, altered.ErrorMessage)

	// A stopped broker is registered still; Metadata v0 leaves it out of the replicas, which keep their order.
	require.NoError(t, c.StopBroker(3, true))
	list := kmsg.NewPtrListConfigResourcesRequest()
	list.Version, list.ResourceTypes = 1, []int8{int8(kmsg.ConfigResourceTypeBroker)}
	require.Len(t, cl.ask(list).(*kmsg.ListConfigResourcesResponse).ConfigResources, 3)
	require.NoError(t, c.StartBroker(3))
	require.Equal(t, wire.None, cl.reassign("t", 0, 3, 2, 1))
	require.NoError(t, c.StopBroker(3, true))
	meta := kmsg.NewPtrMetadataRequest()
	require.Equal(t, []int32{2, 1}, cl.ask(meta).(*kmsg.MetadataResponse).Topics[0].Partitions[0].Replicas)
}

// TestAReassignmentRequestIsJudgedByWhatWas: of a partition that a request names twice, both are compared with what was before the request.
func TestAReassignmentRequestIsJudgedByWhatWas(t *testing.T) {
	t.Parallel()
	c := startCluster(t, Options{Brokers: 2, Topics: []TopicSpec{{Name: "t", Partitions: 1, ReplicationFactor: 2}}})
	cl := dialRaw(t, c)
	twice := reassign("t", 0, 2, 1)
	again := twice.Topics[0].Partitions[0]
	again.Replicas = []int32{1, 2} // as it was: nothing to do
	twice.Topics[0].Partitions = append(twice.Topics[0].Partitions, again)
	for _, p := range cl.ask(twice).(*kmsg.AlterPartitionAssignmentsResponse).Topics[0].Partitions {
		require.Zero(t, p.ErrorCode)
	}
	require.Equal(t, []int32{2, 1}, c.meta.Load().partition("t", 0).state.Load().replicas)
}
