package broker

import "github.com/fakekafka/fakekafka/internal/wire"

// topicAnswers: topics and where their partitions are.
func topicAnswers(key wire.Key) []wire.Code {
	// A quota for changes of topics (KIP-599) is the only one that refuses instead of slowing down.
	counted := with(changeErrors(), wire.ThrottlingQuotaExceeded)
	switch key {
	case wire.Metadata:
		return []wire.Code{wire.UnknownTopicOrPartition, wire.LeaderNotAvailable, wire.ReplicaNotAvailable, wire.ListenerNotFound, wire.InvalidTopicException,
			wire.TopicAuthorizationFailed, wire.UnknownTopicID, wire.InvalidRequest}
	case wire.DescribeTopicPartitions:
		return []wire.Code{wire.UnknownTopicOrPartition, wire.LeaderNotAvailable, wire.InvalidTopicException, wire.TopicAuthorizationFailed, wire.InvalidRequest}
	case wire.CreateTopics:
		return with(counted, wire.TopicAlreadyExists, wire.InvalidTopicException, wire.InvalidPartitions, wire.InvalidReplicationFactor, wire.InvalidReplicaAssignment,
			wire.InvalidConfig, wire.TopicAuthorizationFailed, wire.BrokerIDNotRegistered)
	case wire.DeleteTopics:
		return with(counted, wire.UnknownTopicOrPartition, wire.UnknownTopicID, wire.InvalidTopicException, wire.TopicDeletionDisabled, wire.TopicAuthorizationFailed)
	case wire.CreatePartitions:
		return with(counted, wire.UnknownTopicOrPartition, wire.InvalidTopicException, wire.InvalidPartitions, wire.InvalidReplicationFactor, wire.InvalidReplicaAssignment,
			wire.TopicAuthorizationFailed)
	case wire.ElectLeaders:
		return with(changeErrors(), wire.UnknownTopicOrPartition, wire.ElectionNotNeeded, wire.PreferredLeaderNotAvailable, wire.EligibleLeadersNotAvailable)
	case wire.AlterPartitionReassignments:
		return with(changeErrors(), wire.UnknownTopicOrPartition, wire.NoReassignmentInProgress, wire.InvalidReplicaAssignment, wire.InvalidReplicationFactor)
	case wire.ListPartitionReassignments:
		return forwardedErrors()
	}
	return nil
}

// clusterAnswers: brokers, the quorum, features and telemetry.
func clusterAnswers(key wire.Key) []wire.Code {
	// The quorum answers for itself: it may have another leader by then, or be shutting down.
	quorum := with(forwardedErrors(), wire.NotLeaderOrFollower, wire.BrokerNotAvailable)
	switch key {
	case wire.ApiVersions:
		return []wire.Code{wire.UnsupportedVersion, wire.InvalidRequest}
	case wire.DescribeCluster: // UNSUPPORTED_VERSION: a controller that isn't to be asked
		return []wire.Code{wire.InvalidRequest, wire.MismatchedEndpointType, wire.UnsupportedEndpointType, wire.UnsupportedVersion}
	case wire.DescribeQuorum:
		return with(quorum, wire.UnknownTopicOrPartition)
	case wire.AddRaftVoter:
		return with(quorum, wire.InconsistentClusterID, wire.DuplicateVoter)
	case wire.RemoveRaftVoter:
		return with(quorum, wire.InconsistentClusterID, wire.VoterNotFound)
	case wire.UpdateFeatures:
		return with(changeErrors(), wire.InvalidUpdateVersion)
	case wire.UnregisterBroker:
		return with(changeErrors(), wire.BrokerIDNotRegistered)
	case wire.GetTelemetrySubscriptions: // whatever goes wrong unexpectedly is an invalid request
		return []wire.Code{wire.InvalidRequest, wire.ThrottlingQuotaExceeded}
	case wire.PushTelemetry:
		return []wire.Code{wire.InvalidRequest, wire.ThrottlingQuotaExceeded, wire.UnknownSubscriptionID, wire.UnsupportedCompressionType, wire.TelemetryTooLarge, wire.InvalidRecord}
	}
	return nil
}

// configAnswers: configurations and quotas.
func configAnswers(key wire.Key) []wire.Code {
	// By type of the resource: topics, groups, and the cluster for brokers, their loggers and client metrics.
	resource := []wire.Code{wire.InvalidRequest, wire.UnknownTopicOrPartition, wire.InvalidTopicException, wire.TopicAuthorizationFailed, wire.GroupAuthorizationFailed,
		wire.ClusterAuthorizationFailed}
	switch key {
	case wire.DescribeConfigs:
		return resource
	case wire.AlterConfigs, wire.IncrementalAlterConfigs:
		return with(with(resource, changeErrors()...), wire.InvalidConfig, wire.BrokerIDNotRegistered)
	case wire.ListConfigResources:
		return []wire.Code{wire.ClusterAuthorizationFailed, wire.UnsupportedVersion}
	case wire.DescribeClientQuotas:
		return []wire.Code{wire.ClusterAuthorizationFailed, wire.InvalidRequest, wire.UnsupportedVersion}
	case wire.AlterClientQuotas:
		return changeErrors()
	}
	return nil
}

// securityAnswers: who one is and what one may do.
func securityAnswers(key wire.Key) []wire.Code {
	// Only who has authenticated with something else than a token may ask for tokens, where the broker has a secret key for them.
	token := []wire.Code{wire.DelegationTokenRequestNotAllowed, wire.DelegationTokenAuthDisabled}
	newToken := with(with(changeErrors(), token...), wire.DelegationTokenAuthorizationFailed, wire.InvalidPrincipalType)
	oldToken := with(with(changeErrors(), token...), wire.DelegationTokenNotFound, wire.DelegationTokenExpired, wire.DelegationTokenOwnerMismatch)
	switch key {
	case wire.SASLHandshake:
		return []wire.Code{wire.UnsupportedSASLMechanism, wire.IllegalSASLState}
	case wire.SASLAuthenticate:
		return []wire.Code{wire.SASLAuthenticationFailed, wire.IllegalSASLState}
	case wire.DescribeACLs:
		return []wire.Code{wire.SecurityDisabled, wire.ClusterAuthorizationFailed}
	case wire.CreateACLs, wire.DeleteACLs:
		return with(changeErrors(), wire.SecurityDisabled)
	case wire.CreateDelegationToken:
		return newToken
	case wire.RenewDelegationToken, wire.ExpireDelegationToken:
		return oldToken
	case wire.DescribeDelegationToken:
		return token
	case wire.DescribeUserSCRAMCredentials:
		return []wire.Code{wire.ClusterAuthorizationFailed, wire.ResourceNotFound, wire.DuplicateResource}
	case wire.AlterUserSCRAMCredentials:
		return with(changeErrors(), wire.UnsupportedSASLMechanism, wire.ResourceNotFound, wire.DuplicateResource, wire.UnacceptableCredential)
	}
	return nil
}
