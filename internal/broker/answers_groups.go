package broker

import "github.com/fakekafka/fakekafka/internal/wire"

// groupAnswers: both protocols of groups, and offsets.
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
	case wire.ConsumerGroupHeartbeat:
		return with(consumerGroupErrors(), wire.UnknownMemberID, wire.GroupIDNotFound, wire.GroupMaxSizeReached, wire.FencedInstanceID, wire.FencedMemberEpoch,
			wire.UnreleasedInstanceID, wire.UnsupportedAssignor, wire.InvalidRegularExpression)
	case wire.ConsumerGroupDescribe:
		return with(consumerGroupErrors(), wire.InvalidGroupID, wire.GroupIDNotFound)
	case wire.OffsetDelete:
		return with(groupErrors(), wire.NonEmptyGroup, wire.GroupIDNotFound, wire.GroupSubscribedToTopic, wire.UnknownTopicOrPartition, wire.TopicAuthorizationFailed)
	}
	return nil
}
