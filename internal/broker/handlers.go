package broker

import (
	"sync"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// handler answers a request by returning: a response, nil for no answer (acks 0), or an error that closes the connection.
type handler func(*request) (answer, error)

// maxKey is above every API key of Kafka 4.3.1.
const maxKey = 93

// Served tells whether requests of an API are handled here.
func Served(key wire.Key) bool {
	return key >= 0 && key < maxKey && handlers()[key] != nil
}

// handlers is the protocol's table of contents: what is not here is not served, nor advertised. All clusters share it.
var handlers = sync.OnceValue(func() *[maxKey]handler {
	return &[maxKey]handler{
		wire.Produce:                      (*request).produce,
		wire.Fetch:                        (*request).fetch,
		wire.ListOffsets:                  (*request).listOffsets,
		wire.Metadata:                     (*request).metadata,
		wire.OffsetCommit:                 (*request).offsetCommit,
		wire.OffsetFetch:                  (*request).offsetFetch,
		wire.FindCoordinator:              (*request).findCoordinator,
		wire.JoinGroup:                    (*request).joinGroup,
		wire.Heartbeat:                    (*request).heartbeat,
		wire.LeaveGroup:                   (*request).leaveGroup,
		wire.SyncGroup:                    (*request).syncGroup,
		wire.DescribeGroups:               (*request).describeGroups,
		wire.ListGroups:                   (*request).listGroups,
		wire.SASLHandshake:                (*request).saslHandshake,
		wire.ApiVersions:                  (*request).apiVersions,
		wire.CreateTopics:                 (*request).createTopics,
		wire.DeleteTopics:                 (*request).deleteTopics,
		wire.DeleteRecords:                (*request).deleteRecords,
		wire.InitProducerID:               (*request).initProducerID,
		wire.AddPartitionsToTxn:           (*request).addPartitionsToTxn,
		wire.AddOffsetsToTxn:              (*request).addOffsetsToTxn,
		wire.EndTxn:                       (*request).endTxn,
		wire.WriteTxnMarkers:              (*request).writeTxnMarkers,
		wire.TxnOffsetCommit:              (*request).txnOffsetCommit,
		wire.DescribeTransactions:         (*request).describeTransactions,
		wire.ListTransactions:             (*request).listTransactions,
		wire.OffsetForLeaderEpoch:         (*request).offsetForLeaderEpoch,
		wire.DescribeACLs:                 (*request).withoutAuthorizer,
		wire.CreateACLs:                   (*request).withoutAuthorizer,
		wire.DeleteACLs:                   (*request).withoutAuthorizer,
		wire.DescribeConfigs:              (*request).describeConfigs,
		wire.AlterConfigs:                 (*request).alterConfigs,
		wire.AlterReplicaLogDirs:          (*request).alterReplicaLogDirs,
		wire.DescribeLogDirs:              (*request).describeLogDirs,
		wire.SASLAuthenticate:             (*request).saslAuthenticate,
		wire.CreatePartitions:             (*request).createPartitions,
		wire.CreateDelegationToken:        (*request).tokenWithoutAuthentication,
		wire.RenewDelegationToken:         (*request).tokenWithoutAuthentication,
		wire.ExpireDelegationToken:        (*request).tokenWithoutAuthentication,
		wire.DescribeDelegationToken:      (*request).tokenWithoutAuthentication,
		wire.DeleteGroups:                 (*request).deleteGroups,
		wire.ElectLeaders:                 (*request).electLeaders,
		wire.IncrementalAlterConfigs:      (*request).incrementalAlterConfigs,
		wire.AlterPartitionReassignments:  (*request).alterPartitionReassignments,
		wire.ListPartitionReassignments:   (*request).listPartitionReassignments,
		wire.OffsetDelete:                 (*request).offsetDelete,
		wire.DescribeClientQuotas:         (*request).describeClientQuotas,
		wire.AlterClientQuotas:            (*request).alterClientQuotas,
		wire.DescribeUserSCRAMCredentials: (*request).describeUserScramCredentials,
		wire.AlterUserSCRAMCredentials:    (*request).alterUserScramCredentials,
		wire.DescribeQuorum:               (*request).describeQuorum,
		wire.UpdateFeatures:               (*request).updateFeatures,
		wire.DescribeCluster:              (*request).describeCluster,
		wire.DescribeProducers:            (*request).describeProducers,
		wire.UnregisterBroker:             (*request).unregisterBroker,
		wire.ConsumerGroupHeartbeat:       withConsumerProtocol((*request).consumerGroupHeartbeat),
		wire.ConsumerGroupDescribe:        withConsumerProtocol((*request).consumerGroupDescribe),
		wire.GetTelemetrySubscriptions:    (*request).getTelemetrySubscriptions,
		wire.PushTelemetry:                (*request).pushTelemetry,
		wire.ListConfigResources:          (*request).listConfigResources,
		wire.DescribeTopicPartitions:      (*request).describeTopicPartitions,
		wire.AddRaftVoter:                 (*request).addRaftVoter,
		wire.RemoveRaftVoter:              (*request).removeRaftVoter,
	}
})
