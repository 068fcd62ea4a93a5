package broker

import (
	"slices"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// What Apache Kafka 4.3.1 can answer: an error that isn't here is refused for a Fail, unless it is forced. The lists are what its handlers return or
// throw, at any level of the answer; where an error then stands is errorForm's business. An error that clients know from older brokers, and that
// no code of 4.3.1 makes any more, isn't in them.
//
// ILLEGAL_SASL_STATE is answered to any request before authentication is over, and ends the connection, so it counts for the SASL APIs only.

// answersOf are the errors of an API, ascending; nil for one that isn't served here. UNKNOWN_SERVER_ERROR is everywhere: that is
// what an unexpected failure of a handler becomes. Of all APIs at once (AnyKey) nothing else can be said.
func answersOf(key wire.Key) []wire.Code {
	everywhere := []wire.Code{wire.UnknownServerError}
	if key == AnyKey {
		return everywhere
	}
	for _, table := range []func(wire.Key) []wire.Code{dataAnswers, transactionAnswers, groupAnswers, topicAnswers, clusterAnswers, configAnswers, securityAnswers} {
		if own := table(key); own != nil {
			codes := with(everywhere, own...)
			slices.Sort(codes)
			return slices.Compact(codes)
		}
	}
	return nil
}

func with(base []wire.Code, more ...wire.Code) []wire.Code {
	return append(slices.Clone(base), more...)
}

// Each of these is what its kind of requests has in common.

// partitionErrors: the broker hasn't the partition, or isn't its leader.
func partitionErrors() []wire.Code {
	return []wire.Code{wire.UnknownTopicOrPartition, wire.NotLeaderOrFollower, wire.TopicAuthorizationFailed, wire.KafkaStorageError}
}

// epochErrors: the same, where the client tells which leader it means.
func epochErrors() []wire.Code {
	return with(partitionErrors(), wire.FencedLeaderEpoch, wire.UnknownLeaderEpoch)
}

// coordinatorErrors: the broker isn't the coordinator, or not yet.
func coordinatorErrors() []wire.Code {
	return []wire.Code{wire.CoordinatorLoadInProgress, wire.CoordinatorNotAvailable, wire.NotCoordinator}
}

// groupErrors: the same, of a group.
func groupErrors() []wire.Code {
	return with(coordinatorErrors(), wire.GroupAuthorizationFailed, wire.InvalidGroupID)
}

// consumerGroupErrors: the same, of KIP-848, which a setting switches off (UNSUPPORTED_VERSION).
func consumerGroupErrors() []wire.Code {
	return with(coordinatorErrors(), wire.GroupAuthorizationFailed, wire.TopicAuthorizationFailed, wire.InvalidRequest, wire.UnsupportedVersion)
}

// forwardedErrors: brokers hand the request on to the controller, which may be another one by then, or not answer in time. A broker asks again
// when it meets NOT_CONTROLLER; clients that talk to the controller itself (bootstrap.controllers) see it.
func forwardedErrors() []wire.Code {
	return []wire.Code{wire.NotController, wire.RequestTimedOut, wire.InvalidRequest, wire.ClusterAuthorizationFailed, wire.UnsupportedVersion}
}

// changeErrors: the same, for what writes to the metadata log, where one batch is limited: POLICY_VIOLATION beyond.
func changeErrors() []wire.Code {
	return with(forwardedErrors(), wire.PolicyViolation)
}
