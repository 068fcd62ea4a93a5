package broker

import "github.com/fakekafka/fakekafka/internal/wire"

// answersOf are the errors that Apache Kafka 4.3.1 answers for an API, nil where any is accepted. Every API may answer
// UNKNOWN_SERVER_ERROR; of all APIs at once (AnyKey) nothing else can be said.
func answersOf(key wire.Key) []wire.Code {
	const (
		topicAuth = wire.TopicAuthorizationFailed
		groupAuth = wire.GroupAuthorizationFailed
	)
	coordinator := []wire.Code{wire.UnknownServerError, wire.CoordinatorLoadInProgress, wire.CoordinatorNotAvailable, wire.NotCoordinator, groupAuth, wire.InvalidGroupID}
	partition := []wire.Code{wire.UnknownServerError, wire.UnknownTopicOrPartition, wire.NotLeaderOrFollower, topicAuth, wire.KafkaStorageError, wire.UnknownTopicID, wire.FencedLeaderEpoch, wire.UnknownLeaderEpoch}
	controller := []wire.Code{wire.UnknownServerError, wire.NotController, wire.RequestTimedOut, wire.InvalidRequest, wire.ClusterAuthorizationFailed,
		wire.ThrottlingQuotaExceeded, wire.UnsupportedVersion}
	transactional := []wire.Code{wire.UnknownServerError, wire.CoordinatorLoadInProgress, wire.CoordinatorNotAvailable, wire.NotCoordinator,
		wire.TransactionalIDAuthorizationFailed, wire.InvalidProducerIDMapping, wire.ProducerFenced}
	with := func(base []wire.Code, more ...wire.Code) []wire.Code {
		return append(append([]wire.Code{}, base...), more...)
	}
	switch key {
	case wire.Produce:
		return []wire.Code{wire.UnknownServerError, wire.CorruptMessage, wire.UnknownTopicOrPartition, wire.LeaderNotAvailable, wire.NotLeaderOrFollower, wire.RequestTimedOut,
			wire.MessageTooLarge, wire.InvalidTopicException, wire.RecordListTooLarge, wire.NotEnoughReplicas, wire.NotEnoughReplicasAfterAppend,
			wire.InvalidRequiredAcks, topicAuth, wire.ClusterAuthorizationFailed, wire.InvalidTimestamp, wire.OutOfOrderSequenceNumber, wire.InvalidProducerEpoch, wire.InvalidTxnState,
			wire.InvalidProducerIDMapping, wire.ConcurrentTransactions, wire.TransactionalIDAuthorizationFailed, wire.KafkaStorageError, wire.UnknownProducerID,
			wire.DuplicateSequenceNumber, wire.UnsupportedCompressionType, wire.InvalidRecord, wire.UnknownTopicID, wire.TransactionAbortable, wire.ThrottlingQuotaExceeded}
	case wire.Fetch:
		return with(partition, wire.OffsetOutOfRange, wire.CorruptMessage, wire.ReplicaNotAvailable, wire.OffsetNotAvailable, wire.FetchSessionIDNotFound,
			wire.InvalidFetchSessionEpoch, wire.FetchSessionTopicIDError, wire.InconsistentTopicID, wire.UnsupportedCompressionType)
	case wire.ListOffsets:
		return with(partition, wire.LeaderNotAvailable, wire.OffsetNotAvailable, wire.UnsupportedForMessageFormat, wire.UnsupportedVersion, wire.InvalidRequest, wire.ReplicaNotAvailable)
	case wire.JoinGroup:
		return with(coordinator, wire.InconsistentGroupProtocol, wire.UnknownMemberID, wire.InvalidSessionTimeout, wire.RebalanceInProgress, wire.MemberIDRequired,
			wire.GroupMaxSizeReached, wire.FencedInstanceID, wire.IllegalGeneration)
	case wire.SyncGroup:
		return with(coordinator, wire.IllegalGeneration, wire.InconsistentGroupProtocol, wire.UnknownMemberID, wire.RebalanceInProgress, wire.FencedInstanceID)
	case wire.Heartbeat: // never COORDINATOR_LOAD_IN_PROGRESS: a loading coordinator answers it with no error
		return []wire.Code{wire.UnknownServerError, wire.CoordinatorNotAvailable, wire.NotCoordinator, groupAuth, wire.InvalidGroupID, wire.IllegalGeneration, wire.UnknownMemberID, wire.RebalanceInProgress, wire.FencedInstanceID}
	case wire.LeaveGroup:
		return with(coordinator, wire.UnknownMemberID, wire.FencedInstanceID)
	case wire.OffsetCommit:
		return with(coordinator, wire.UnknownTopicOrPartition, wire.OffsetMetadataTooLarge, wire.IllegalGeneration, wire.UnknownMemberID, wire.RebalanceInProgress, topicAuth,
			wire.FencedInstanceID, wire.GroupIDNotFound, wire.UnknownTopicID, wire.StaleMemberEpoch, wire.InvalidCommitOffsetSize)
	case wire.OffsetFetch:
		return with(coordinator, wire.UnknownTopicOrPartition, wire.IllegalGeneration, wire.UnknownMemberID, topicAuth, wire.GroupIDNotFound, wire.UnstableOffsetCommit,
			wire.UnknownTopicID, wire.StaleMemberEpoch)
	case wire.ConsumerGroupHeartbeat:
		return with(coordinator, wire.UnknownMemberID, wire.InvalidRequest, wire.UnsupportedVersion, topicAuth, wire.GroupIDNotFound, wire.GroupMaxSizeReached,
			wire.FencedInstanceID, wire.FencedMemberEpoch, wire.UnreleasedInstanceID, wire.UnsupportedAssignor, wire.InvalidRegularExpression)
	case wire.FindCoordinator:
		return []wire.Code{wire.UnknownServerError, wire.CoordinatorLoadInProgress, wire.CoordinatorNotAvailable, wire.InvalidGroupID, groupAuth, wire.InvalidRequest,
			wire.TransactionalIDAuthorizationFailed}
	case wire.Metadata:
		return []wire.Code{wire.UnknownServerError, wire.UnknownTopicOrPartition, wire.LeaderNotAvailable, wire.InvalidTopicException, topicAuth, wire.UnknownTopicID,
			wire.InvalidReplicationFactor, wire.ClusterAuthorizationFailed, wire.InvalidRequest, wire.InvalidPartitions}
	case wire.ApiVersions:
		return []wire.Code{wire.UnsupportedVersion, wire.InvalidRequest, wire.UnknownServerError}
	case wire.CreateTopics:
		return with(controller, wire.TopicAlreadyExists, wire.InvalidTopicException, wire.InvalidPartitions, wire.InvalidReplicationFactor,
			wire.InvalidReplicaAssignment, wire.InvalidConfig, wire.PolicyViolation, topicAuth, wire.BrokerIDNotRegistered)
	case wire.DeleteTopics:
		return with(controller, wire.UnknownTopicOrPartition, wire.UnknownTopicID, wire.InvalidTopicException, wire.TopicDeletionDisabled, topicAuth)
	case wire.CreatePartitions:
		return with(controller, wire.UnknownTopicOrPartition, wire.InvalidTopicException, wire.InvalidPartitions, wire.InvalidReplicaAssignment,
			wire.PolicyViolation, wire.ReassignmentInProgress, topicAuth)
	case wire.DeleteRecords:
		return with(partition, wire.OffsetOutOfRange, wire.PolicyViolation, wire.InvalidTopicException, wire.RequestTimedOut)
	case wire.OffsetForLeaderEpoch:
		return with(partition, wire.LeaderNotAvailable, wire.ClusterAuthorizationFailed)
	case wire.InitProducerID:
		return with(transactional, wire.InvalidProducerEpoch, wire.InvalidTransactionTimeout, wire.ConcurrentTransactions, wire.InvalidRequest, wire.ClusterAuthorizationFailed)
	case wire.AddPartitionsToTxn:
		return with(transactional, wire.InvalidProducerEpoch, wire.InvalidTxnState, wire.ConcurrentTransactions, wire.UnknownTopicOrPartition, topicAuth,
			wire.OperationNotAttempted, wire.ClusterAuthorizationFailed, wire.TransactionAbortable)
	case wire.AddOffsetsToTxn:
		return with(transactional, wire.InvalidProducerEpoch, wire.InvalidTxnState, wire.ConcurrentTransactions, groupAuth, wire.InvalidGroupID, wire.TransactionAbortable)
	case wire.EndTxn:
		return with(transactional, wire.InvalidProducerEpoch, wire.InvalidTxnState, wire.ConcurrentTransactions, wire.TransactionAbortable)
	case wire.TxnOffsetCommit:
		return with(coordinator, wire.UnknownTopicOrPartition, wire.OffsetMetadataTooLarge, wire.IllegalGeneration, wire.UnknownMemberID, topicAuth, wire.FencedInstanceID,
			wire.TransactionalIDAuthorizationFailed, wire.InvalidProducerIDMapping, wire.InvalidProducerEpoch, wire.InvalidTxnState, wire.ConcurrentTransactions,
			wire.InvalidCommitOffsetSize, wire.RebalanceInProgress, wire.TransactionAbortable, wire.StaleMemberEpoch)
	case wire.DescribeGroups, wire.ConsumerGroupDescribe:
		return with(coordinator, wire.GroupIDNotFound, wire.InvalidRequest, topicAuth, wire.UnsupportedVersion)
	case wire.ListGroups:
		return []wire.Code{wire.UnknownServerError, wire.CoordinatorLoadInProgress, wire.CoordinatorNotAvailable, wire.NotCoordinator, wire.ClusterAuthorizationFailed}
	case wire.DeleteGroups:
		return with(coordinator, wire.NonEmptyGroup, wire.GroupIDNotFound)
	case wire.OffsetDelete:
		return with(coordinator, wire.NonEmptyGroup, wire.GroupIDNotFound, wire.GroupSubscribedToTopic, wire.UnknownTopicOrPartition, topicAuth)
	case AnyKey:
		return []wire.Code{wire.UnknownServerError}
	}
	return nil
}
