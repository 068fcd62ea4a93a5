package broker

import "github.com/fakekafka/fakekafka/internal/wire"

// dataAnswers: records and where they are.
func dataAnswers(key wire.Key) []wire.Code {
	switch key {
	case wire.Produce: // what the transaction coordinator says of the partitions passes through, INVALID_REQUEST for an empty transactional id too
		return []wire.Code{wire.CorruptMessage, wire.UnknownTopicOrPartition, wire.NotLeaderOrFollower, wire.RequestTimedOut,
			wire.MessageTooLarge, wire.InvalidTopicException, wire.RecordListTooLarge, wire.NotEnoughReplicas, wire.NotEnoughReplicasAfterAppend,
			wire.InvalidRequiredAcks, wire.TopicAuthorizationFailed, wire.InvalidTimestamp, wire.OutOfOrderSequenceNumber, wire.InvalidProducerEpoch,
			wire.InvalidTxnState, wire.InvalidProducerIDMapping, wire.ConcurrentTransactions, wire.TransactionalIDAuthorizationFailed, wire.KafkaStorageError,
			wire.UnsupportedCompressionType, wire.InvalidRecord, wire.UnknownTopicID, wire.TransactionAbortable, wire.InvalidRequest}
	case wire.Fetch: // OFFSET_MOVED_TO_TIERED_STORAGE: followers only; UNSUPPORTED_VERSION: a session's epoch diverges, which the version can't say
		return with(epochErrors(), wire.OffsetOutOfRange, wire.CorruptMessage, wire.ReplicaNotAvailable, wire.UnknownTopicID, wire.InconsistentTopicID,
			wire.FetchSessionIDNotFound, wire.InvalidFetchSessionEpoch, wire.FetchSessionTopicIDError, wire.UnsupportedCompressionType, wire.OffsetMovedToTieredStorage,
			wire.UnsupportedVersion)
	case wire.ListOffsets: // INVALID_RECORD: a search by time met a record that can't be read
		return with(epochErrors(), wire.LeaderNotAvailable, wire.OffsetNotAvailable, wire.UnsupportedVersion, wire.InvalidRequest, wire.ReplicaNotAvailable,
			wire.InvalidRecord)
	case wire.OffsetForLeaderEpoch:
		return epochErrors()
	case wire.DeleteRecords:
		return with(partitionErrors(), wire.OffsetOutOfRange, wire.PolicyViolation, wire.InvalidTopicException, wire.RequestTimedOut)
	case wire.DescribeProducers:
		return with(partitionErrors(), wire.InvalidTopicException)
	case wire.DescribeLogDirs: // a directory that is offline, or all
		return []wire.Code{wire.KafkaStorageError, wire.ClusterAuthorizationFailed}
	case wire.AlterReplicaLogDirs:
		return []wire.Code{wire.LogDirNotFound, wire.ReplicaNotAvailable, wire.InvalidReplicaAssignment, wire.InvalidTopicException, wire.UnknownTopicOrPartition,
			wire.KafkaStorageError, wire.ClusterAuthorizationFailed}
	}
	return nil
}

// transactionAnswers: producers' ids and transactions.
func transactionAnswers(key wire.Key) []wire.Code {
	producer := with(coordinatorErrors(), wire.TransactionalIDAuthorizationFailed, wire.InvalidProducerIDMapping, wire.ProducerFenced, wire.InvalidProducerEpoch,
		wire.InvalidRequest, wire.ConcurrentTransactions)
	switch key {
	case wire.InitProducerID:
		return with(producer, wire.InvalidTransactionTimeout, wire.ClusterAuthorizationFailed, wire.UnsupportedVersion)
	case wire.AddPartitionsToTxn:
		return with(producer, wire.InvalidTxnState, wire.UnknownTopicOrPartition, wire.TopicAuthorizationFailed, wire.OperationNotAttempted,
			wire.ClusterAuthorizationFailed, wire.TransactionAbortable)
	case wire.AddOffsetsToTxn:
		return with(producer, wire.InvalidTxnState, wire.GroupAuthorizationFailed, wire.InvalidGroupID, wire.TransactionAbortable)
	case wire.EndTxn:
		return with(producer, wire.InvalidTxnState, wire.TransactionAbortable)
	case wire.TxnOffsetCommit: // by the group's coordinator, which asks the transaction's
		return with(groupErrors(), wire.UnknownTopicOrPartition, wire.OffsetMetadataTooLarge, wire.IllegalGeneration, wire.UnknownMemberID, wire.TopicAuthorizationFailed,
			wire.FencedInstanceID, wire.TransactionalIDAuthorizationFailed, wire.InvalidProducerIDMapping, wire.InvalidProducerEpoch, wire.InvalidTxnState,
			wire.ConcurrentTransactions, wire.RebalanceInProgress, wire.TransactionAbortable, wire.InvalidRequest)
	case wire.WriteTxnMarkers: // from coordinators; for the offsets topic the group coordinator's errors become NOT_LEADER_OR_FOLLOWER
		return []wire.Code{wire.UnknownTopicOrPartition, wire.NotLeaderOrFollower, wire.RequestTimedOut, wire.MessageTooLarge, wire.RecordListTooLarge, wire.NotEnoughReplicas,
			wire.NotEnoughReplicasAfterAppend, wire.InvalidProducerEpoch, wire.TransactionCoordinatorFenced, wire.KafkaStorageError, wire.ClusterAuthorizationFailed}
	case wire.DescribeTransactions:
		return with(coordinatorErrors(), wire.InvalidRequest, wire.TransactionalIDAuthorizationFailed, wire.TransactionalIDNotFound)
	case wire.ListTransactions:
		return []wire.Code{wire.CoordinatorLoadInProgress, wire.CoordinatorNotAvailable, wire.InvalidRegularExpression}
	}
	return nil
}
