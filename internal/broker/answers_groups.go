package broker

import "github.com/fakekafka/fakekafka/internal/wire"

// groupAnswers: the classic protocol, and what all groups share.
func groupAnswers(key wire.Key) []wire.Code {
	switch key {
	case wire.FindCoordinator: // by type of the key: group, transactional id, share partition
		return []wire.Code{wire.CoordinatorNotAvailable, wire.GroupAuthorizationFailed, wire.TransactionalIDAuthorizationFailed, wire.ClusterAuthorizationFailed, wire.InvalidRequest}
	case wire.JoinGroup:
		return with(groupErrors(), wire.InconsistentGroupProtocol, wire.UnknownMemberID, wire.InvalidSessionTimeout, wire.RebalanceInProgress, wire.MemberIDRequired,
			wire.GroupMaxSizeReached, wire.FencedInstanceID)
	case wire.SyncGroup:
		return with(groupErrors(), wire.IllegalGeneration, wire.InconsistentGroupProtocol, wire.UnknownMemberID, wire.RebalanceInProgress, wire.FencedInstanceID)
	case wire.Heartbeat: // never COORDINATOR_LOAD_IN_PROGRESS: a loading coordinator answers it with no error
		return []wire.Code{wire.CoordinatorNotAvailable, wire.NotCoordinator, wire.GroupAuthorizationFailed, wire.InvalidGroupID, wire.IllegalGeneration, wire.UnknownMemberID,
			wire.RebalanceInProgress, wire.FencedInstanceID}
	case wire.LeaveGroup:
		return with(groupErrors(), wire.UnknownMemberID, wire.FencedInstanceID)
	case wire.OffsetCommit: // UNSUPPORTED_VERSION: a member of the new protocol that commits with an old version
		return with(groupErrors(), wire.UnknownTopicOrPartition, wire.OffsetMetadataTooLarge, wire.IllegalGeneration, wire.UnknownMemberID, wire.RebalanceInProgress,
			wire.TopicAuthorizationFailed, wire.FencedInstanceID, wire.GroupIDNotFound, wire.UnknownTopicID, wire.StaleMemberEpoch, wire.UnsupportedVersion)
	case wire.OffsetFetch:
		return with(groupErrors(), wire.IllegalGeneration, wire.UnknownMemberID, wire.TopicAuthorizationFailed, wire.GroupIDNotFound, wire.UnstableOffsetCommit,
			wire.UnknownTopicID, wire.StaleMemberEpoch)
	case wire.DescribeGroups:
		return with(groupErrors(), wire.GroupIDNotFound)
	case wire.ListGroups: // what the broker doesn't coordinate, or may not show, is left out
		return []wire.Code{wire.CoordinatorLoadInProgress, wire.CoordinatorNotAvailable}
	case wire.DeleteGroups:
		return with(groupErrors(), wire.NonEmptyGroup, wire.GroupIDNotFound)
	case wire.OffsetDelete:
		return with(groupErrors(), wire.NonEmptyGroup, wire.GroupIDNotFound, wire.GroupSubscribedToTopic, wire.UnknownTopicOrPartition, wire.TopicAuthorizationFailed)
	}
	return nil
}

// newGroupAnswers: consumer groups (KIP-848), share groups (KIP-932) and the state that their coordinators keep, streams groups (KIP-1071).
func newGroupAnswers(key wire.Key) []wire.Code {
	shareState := with(coordinatorErrors(), wire.InvalidRequest, wire.UnknownTopicOrPartition, wire.ClusterAuthorizationFailed)
	// The partition's leader asks the coordinator of its state, and is no leader any more when that has heard of a newer one.
	sharePartition := []wire.Code{wire.GroupAuthorizationFailed, wire.TopicAuthorizationFailed, wire.UnsupportedVersion, wire.InvalidRequest, wire.ShareSessionNotFound,
		wire.InvalidShareSessionEpoch, wire.UnknownTopicOrPartition, wire.UnknownTopicID, wire.NotLeaderOrFollower, wire.KafkaStorageError, wire.InvalidRecordState,
		wire.CoordinatorNotAvailable, wire.GroupIDNotFound}
	// The group's coordinator asks the one of the share partitions, and passes on what that says.
	shareOffsets := with(newGroupErrors(), wire.InvalidGroupID, wire.GroupIDNotFound, wire.UnknownTopicOrPartition, wire.RequestTimedOut, wire.NetworkException)
	switch key {
	case wire.ConsumerGroupHeartbeat:
		return with(newGroupErrors(), wire.UnknownMemberID, wire.GroupIDNotFound, wire.GroupMaxSizeReached, wire.FencedInstanceID, wire.FencedMemberEpoch,
			wire.UnreleasedInstanceID, wire.UnsupportedAssignor, wire.InvalidRegularExpression)
	case wire.ShareGroupHeartbeat:
		return with(newGroupErrors(), wire.UnknownMemberID, wire.GroupIDNotFound, wire.GroupMaxSizeReached, wire.FencedMemberEpoch)
	case wire.StreamsGroupHeartbeat:
		return with(newGroupErrors(), wire.UnknownMemberID, wire.GroupIDNotFound, wire.GroupMaxSizeReached, wire.FencedMemberEpoch, wire.StreamsInvalidTopology)
	case wire.ConsumerGroupDescribe, wire.ShareGroupDescribe, wire.StreamsGroupDescribe:
		return with(newGroupErrors(), wire.InvalidGroupID, wire.GroupIDNotFound)
	case wire.ShareFetch:
		return with(sharePartition, wire.ShareSessionLimitReached, wire.CorruptMessage)
	case wire.ShareAcknowledge:
		return sharePartition
	case wire.DescribeShareGroupOffsets:
		return shareOffsets
	case wire.AlterShareGroupOffsets:
		return with(shareOffsets, wire.NonEmptyGroup, wire.FencedStateEpoch)
	case wire.DeleteShareGroupOffsets:
		return with(shareOffsets, wire.NonEmptyGroup)
	case wire.InitializeShareGroupState:
		return with(shareState, wire.FencedStateEpoch)
	case wire.ReadShareGroupState:
		return with(shareState, wire.FencedLeaderEpoch)
	case wire.WriteShareGroupState:
		return with(shareState, wire.FencedLeaderEpoch, wire.FencedStateEpoch)
	case wire.DeleteShareGroupState, wire.ReadShareGroupStateSummary:
		return shareState
	}
	return nil
}
