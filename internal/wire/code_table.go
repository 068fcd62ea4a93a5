package wire

// Kafka's error codes, as Apache Kafka 4.3.1 numbers them. The names are Kafka's
// in Go spelling: NOT_LEADER_OR_FOLLOWER is NotLeaderOrFollower.
const (
	UnknownServerError                 Code = -1
	None                               Code = 0
	OffsetOutOfRange                   Code = 1
	CorruptMessage                     Code = 2
	UnknownTopicOrPartition            Code = 3
	InvalidFetchSize                   Code = 4
	LeaderNotAvailable                 Code = 5
	NotLeaderOrFollower                Code = 6
	RequestTimedOut                    Code = 7
	BrokerNotAvailable                 Code = 8
	ReplicaNotAvailable                Code = 9
	MessageTooLarge                    Code = 10
	StaleControllerEpoch               Code = 11
	OffsetMetadataTooLarge             Code = 12
	NetworkException                   Code = 13
	CoordinatorLoadInProgress          Code = 14
	CoordinatorNotAvailable            Code = 15
	NotCoordinator                     Code = 16
	InvalidTopicException              Code = 17
	RecordListTooLarge                 Code = 18
	NotEnoughReplicas                  Code = 19
	NotEnoughReplicasAfterAppend       Code = 20
	InvalidRequiredAcks                Code = 21
	IllegalGeneration                  Code = 22
	InconsistentGroupProtocol          Code = 23
	InvalidGroupID                     Code = 24
	UnknownMemberID                    Code = 25
	InvalidSessionTimeout              Code = 26
	RebalanceInProgress                Code = 27
	InvalidCommitOffsetSize            Code = 28
	TopicAuthorizationFailed           Code = 29
	GroupAuthorizationFailed           Code = 30
	ClusterAuthorizationFailed         Code = 31
	InvalidTimestamp                   Code = 32
	UnsupportedSASLMechanism           Code = 33
	IllegalSASLState                   Code = 34
	UnsupportedVersion                 Code = 35
	TopicAlreadyExists                 Code = 36
	InvalidPartitions                  Code = 37
	InvalidReplicationFactor           Code = 38
	InvalidReplicaAssignment           Code = 39
	InvalidConfig                      Code = 40
	NotController                      Code = 41
	InvalidRequest                     Code = 42
	UnsupportedForMessageFormat        Code = 43
	PolicyViolation                    Code = 44
	OutOfOrderSequenceNumber           Code = 45
	DuplicateSequenceNumber            Code = 46
	InvalidProducerEpoch               Code = 47
	InvalidTxnState                    Code = 48
	InvalidProducerIDMapping           Code = 49
	InvalidTransactionTimeout          Code = 50
	ConcurrentTransactions             Code = 51
	TransactionCoordinatorFenced       Code = 52
	TransactionalIDAuthorizationFailed Code = 53
	SecurityDisabled                   Code = 54
	OperationNotAttempted              Code = 55
	KafkaStorageError                  Code = 56
	LogDirNotFound                     Code = 57
	SASLAuthenticationFailed           Code = 58
	UnknownProducerID                  Code = 59
	ReassignmentInProgress             Code = 60
	DelegationTokenAuthDisabled        Code = 61
	DelegationTokenNotFound            Code = 62
	DelegationTokenOwnerMismatch       Code = 63
	DelegationTokenRequestNotAllowed   Code = 64
	DelegationTokenAuthorizationFailed Code = 65
	DelegationTokenExpired             Code = 66
	InvalidPrincipalType               Code = 67
	NonEmptyGroup                      Code = 68
	GroupIDNotFound                    Code = 69
	FetchSessionIDNotFound             Code = 70
	InvalidFetchSessionEpoch           Code = 71
	ListenerNotFound                   Code = 72
	TopicDeletionDisabled              Code = 73
	FencedLeaderEpoch                  Code = 74
	UnknownLeaderEpoch                 Code = 75
	UnsupportedCompressionType         Code = 76
	StaleBrokerEpoch                   Code = 77
	OffsetNotAvailable                 Code = 78
	MemberIDRequired                   Code = 79
	PreferredLeaderNotAvailable        Code = 80
	GroupMaxSizeReached                Code = 81
	FencedInstanceID                   Code = 82
	EligibleLeadersNotAvailable        Code = 83
	ElectionNotNeeded                  Code = 84
	NoReassignmentInProgress           Code = 85
	GroupSubscribedToTopic             Code = 86
	InvalidRecord                      Code = 87
	UnstableOffsetCommit               Code = 88
	ThrottlingQuotaExceeded            Code = 89
	ProducerFenced                     Code = 90
	ResourceNotFound                   Code = 91
	DuplicateResource                  Code = 92
	UnacceptableCredential             Code = 93
	InconsistentVoterSet               Code = 94
	InvalidUpdateVersion               Code = 95
	FeatureUpdateFailed                Code = 96
	PrincipalDeserializationFailure    Code = 97
	SnapshotNotFound                   Code = 98
	PositionOutOfRange                 Code = 99
	UnknownTopicID                     Code = 100
	DuplicateBrokerRegistration        Code = 101
	BrokerIDNotRegistered              Code = 102
	InconsistentTopicID                Code = 103
	InconsistentClusterID              Code = 104
	TransactionalIDNotFound            Code = 105
	FetchSessionTopicIDError           Code = 106
	IneligibleReplica                  Code = 107
	NewLeaderElected                   Code = 108
	OffsetMovedToTieredStorage         Code = 109
	FencedMemberEpoch                  Code = 110
	UnreleasedInstanceID               Code = 111
	UnsupportedAssignor                Code = 112
	StaleMemberEpoch                   Code = 113
	MismatchedEndpointType             Code = 114
	UnsupportedEndpointType            Code = 115
	UnknownControllerID                Code = 116
	UnknownSubscriptionID              Code = 117
	TelemetryTooLarge                  Code = 118
	InvalidRegistration                Code = 119
	TransactionAbortable               Code = 120
	InvalidRecordState                 Code = 121
	ShareSessionNotFound               Code = 122
	InvalidShareSessionEpoch           Code = 123
	FencedStateEpoch                   Code = 124
	InvalidVoterKey                    Code = 125
	DuplicateVoter                     Code = 126
	VoterNotFound                      Code = 127
	InvalidRegularExpression           Code = 128
	RebootstrapRequired                Code = 129
	StreamsInvalidTopology             Code = 130
	StreamsInvalidTopologyEpoch        Code = 131
	StreamsTopologyFenced              Code = 132
	ShareSessionLimitReached           Code = 133
)

// codes is the table behind String and Retriable, by code + 1 (the first is -1).
var codes = [...]struct {
	name      string
	retriable bool
}{
	UnknownServerError + 1:                 {"UNKNOWN_SERVER_ERROR", false},
	None + 1:                               {"NONE", false},
	OffsetOutOfRange + 1:                   {"OFFSET_OUT_OF_RANGE", false},
	CorruptMessage + 1:                     {"CORRUPT_MESSAGE", true},
	UnknownTopicOrPartition + 1:            {"UNKNOWN_TOPIC_OR_PARTITION", true},
	InvalidFetchSize + 1:                   {"INVALID_FETCH_SIZE", false},
	LeaderNotAvailable + 1:                 {"LEADER_NOT_AVAILABLE", true},
	NotLeaderOrFollower + 1:                {"NOT_LEADER_OR_FOLLOWER", true},
	RequestTimedOut + 1:                    {"REQUEST_TIMED_OUT", true},
	BrokerNotAvailable + 1:                 {"BROKER_NOT_AVAILABLE", false},
	ReplicaNotAvailable + 1:                {"REPLICA_NOT_AVAILABLE", true},
	MessageTooLarge + 1:                    {"MESSAGE_TOO_LARGE", false},
	StaleControllerEpoch + 1:               {"STALE_CONTROLLER_EPOCH", false},
	OffsetMetadataTooLarge + 1:             {"OFFSET_METADATA_TOO_LARGE", false},
	NetworkException + 1:                   {"NETWORK_EXCEPTION", true},
	CoordinatorLoadInProgress + 1:          {"COORDINATOR_LOAD_IN_PROGRESS", true},
	CoordinatorNotAvailable + 1:            {"COORDINATOR_NOT_AVAILABLE", true},
	NotCoordinator + 1:                     {"NOT_COORDINATOR", true},
	InvalidTopicException + 1:              {"INVALID_TOPIC_EXCEPTION", false},
	RecordListTooLarge + 1:                 {"RECORD_LIST_TOO_LARGE", false},
	NotEnoughReplicas + 1:                  {"NOT_ENOUGH_REPLICAS", true},
	NotEnoughReplicasAfterAppend + 1:       {"NOT_ENOUGH_REPLICAS_AFTER_APPEND", true},
	InvalidRequiredAcks + 1:                {"INVALID_REQUIRED_ACKS", false},
	IllegalGeneration + 1:                  {"ILLEGAL_GENERATION", false},
	InconsistentGroupProtocol + 1:          {"INCONSISTENT_GROUP_PROTOCOL", false},
	InvalidGroupID + 1:                     {"INVALID_GROUP_ID", false},
	UnknownMemberID + 1:                    {"UNKNOWN_MEMBER_ID", false},
	InvalidSessionTimeout + 1:              {"INVALID_SESSION_TIMEOUT", false},
	RebalanceInProgress + 1:                {"REBALANCE_IN_PROGRESS", false},
	InvalidCommitOffsetSize + 1:            {"INVALID_COMMIT_OFFSET_SIZE", false},
	TopicAuthorizationFailed + 1:           {"TOPIC_AUTHORIZATION_FAILED", false},
	GroupAuthorizationFailed + 1:           {"GROUP_AUTHORIZATION_FAILED", false},
	ClusterAuthorizationFailed + 1:         {"CLUSTER_AUTHORIZATION_FAILED", false},
	InvalidTimestamp + 1:                   {"INVALID_TIMESTAMP", false},
	UnsupportedSASLMechanism + 1:           {"UNSUPPORTED_SASL_MECHANISM", false},
	IllegalSASLState + 1:                   {"ILLEGAL_SASL_STATE", false},
	UnsupportedVersion + 1:                 {"UNSUPPORTED_VERSION", false},
	TopicAlreadyExists + 1:                 {"TOPIC_ALREADY_EXISTS", false},
	InvalidPartitions + 1:                  {"INVALID_PARTITIONS", false},
	InvalidReplicationFactor + 1:           {"INVALID_REPLICATION_FACTOR", false},
	InvalidReplicaAssignment + 1:           {"INVALID_REPLICA_ASSIGNMENT", false},
	InvalidConfig + 1:                      {"INVALID_CONFIG", false},
	NotController + 1:                      {"NOT_CONTROLLER", true},
	InvalidRequest + 1:                     {"INVALID_REQUEST", false},
	UnsupportedForMessageFormat + 1:        {"UNSUPPORTED_FOR_MESSAGE_FORMAT", false},
	PolicyViolation + 1:                    {"POLICY_VIOLATION", false},
	OutOfOrderSequenceNumber + 1:           {"OUT_OF_ORDER_SEQUENCE_NUMBER", false},
	DuplicateSequenceNumber + 1:            {"DUPLICATE_SEQUENCE_NUMBER", false},
	InvalidProducerEpoch + 1:               {"INVALID_PRODUCER_EPOCH", false},
	InvalidTxnState + 1:                    {"INVALID_TXN_STATE", false},
	InvalidProducerIDMapping + 1:           {"INVALID_PRODUCER_ID_MAPPING", false},
	InvalidTransactionTimeout + 1:          {"INVALID_TRANSACTION_TIMEOUT", false},
	ConcurrentTransactions + 1:             {"CONCURRENT_TRANSACTIONS", true},
	TransactionCoordinatorFenced + 1:       {"TRANSACTION_COORDINATOR_FENCED", false},
	TransactionalIDAuthorizationFailed + 1: {"TRANSACTIONAL_ID_AUTHORIZATION_FAILED", false},
	SecurityDisabled + 1:                   {"SECURITY_DISABLED", false},
	OperationNotAttempted + 1:              {"OPERATION_NOT_ATTEMPTED", false},
	KafkaStorageError + 1:                  {"KAFKA_STORAGE_ERROR", true},
	LogDirNotFound + 1:                     {"LOG_DIR_NOT_FOUND", false},
	SASLAuthenticationFailed + 1:           {"SASL_AUTHENTICATION_FAILED", false},
	UnknownProducerID + 1:                  {"UNKNOWN_PRODUCER_ID", false},
	ReassignmentInProgress + 1:             {"REASSIGNMENT_IN_PROGRESS", false},
	DelegationTokenAuthDisabled + 1:        {"DELEGATION_TOKEN_AUTH_DISABLED", false},
	DelegationTokenNotFound + 1:            {"DELEGATION_TOKEN_NOT_FOUND", false},
	DelegationTokenOwnerMismatch + 1:       {"DELEGATION_TOKEN_OWNER_MISMATCH", false},
	DelegationTokenRequestNotAllowed + 1:   {"DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", false},
	DelegationTokenAuthorizationFailed + 1: {"DELEGATION_TOKEN_AUTHORIZATION_FAILED", false},
	DelegationTokenExpired + 1:             {"DELEGATION_TOKEN_EXPIRED", false},
	InvalidPrincipalType + 1:               {"INVALID_PRINCIPAL_TYPE", false},
	NonEmptyGroup + 1:                      {"NON_EMPTY_GROUP", false},
	GroupIDNotFound + 1:                    {"GROUP_ID_NOT_FOUND", false},
	FetchSessionIDNotFound + 1:             {"FETCH_SESSION_ID_NOT_FOUND", true},
	InvalidFetchSessionEpoch + 1:           {"INVALID_FETCH_SESSION_EPOCH", true},
	ListenerNotFound + 1:                   {"LISTENER_NOT_FOUND", true},
	TopicDeletionDisabled + 1:              {"TOPIC_DELETION_DISABLED", false},
	FencedLeaderEpoch + 1:                  {"FENCED_LEADER_EPOCH", true},
	UnknownLeaderEpoch + 1:                 {"UNKNOWN_LEADER_EPOCH", true},
	UnsupportedCompressionType + 1:         {"UNSUPPORTED_COMPRESSION_TYPE", false},
	StaleBrokerEpoch + 1:                   {"STALE_BROKER_EPOCH", false},
	OffsetNotAvailable + 1:                 {"OFFSET_NOT_AVAILABLE", true},
	MemberIDRequired + 1:                   {"MEMBER_ID_REQUIRED", false},
	PreferredLeaderNotAvailable + 1:        {"PREFERRED_LEADER_NOT_AVAILABLE", true},
	GroupMaxSizeReached + 1:                {"GROUP_MAX_SIZE_REACHED", false},
	FencedInstanceID + 1:                   {"FENCED_INSTANCE_ID", false},
	EligibleLeadersNotAvailable + 1:        {"ELIGIBLE_LEADERS_NOT_AVAILABLE", true},
	ElectionNotNeeded + 1:                  {"ELECTION_NOT_NEEDED", true},
	NoReassignmentInProgress + 1:           {"NO_REASSIGNMENT_IN_PROGRESS", false},
	GroupSubscribedToTopic + 1:             {"GROUP_SUBSCRIBED_TO_TOPIC", false},
	InvalidRecord + 1:                      {"INVALID_RECORD", false},
	UnstableOffsetCommit + 1:               {"UNSTABLE_OFFSET_COMMIT", true},
	ThrottlingQuotaExceeded + 1:            {"THROTTLING_QUOTA_EXCEEDED", true},
	ProducerFenced + 1:                     {"PRODUCER_FENCED", false},
	ResourceNotFound + 1:                   {"RESOURCE_NOT_FOUND", false},
	DuplicateResource + 1:                  {"DUPLICATE_RESOURCE", false},
	UnacceptableCredential + 1:             {"UNACCEPTABLE_CREDENTIAL", false},
	InconsistentVoterSet + 1:               {"INCONSISTENT_VOTER_SET", false},
	InvalidUpdateVersion + 1:               {"INVALID_UPDATE_VERSION", false},
	FeatureUpdateFailed + 1:                {"FEATURE_UPDATE_FAILED", false},
	PrincipalDeserializationFailure + 1:    {"PRINCIPAL_DESERIALIZATION_FAILURE", false},
	SnapshotNotFound + 1:                   {"SNAPSHOT_NOT_FOUND", false},
	PositionOutOfRange + 1:                 {"POSITION_OUT_OF_RANGE", false},
	UnknownTopicID + 1:                     {"UNKNOWN_TOPIC_ID", true},
	DuplicateBrokerRegistration + 1:        {"DUPLICATE_BROKER_REGISTRATION", false},
	BrokerIDNotRegistered + 1:              {"BROKER_ID_NOT_REGISTERED", false},
	InconsistentTopicID + 1:                {"INCONSISTENT_TOPIC_ID", true},
	InconsistentClusterID + 1:              {"INCONSISTENT_CLUSTER_ID", false},
	TransactionalIDNotFound + 1:            {"TRANSACTIONAL_ID_NOT_FOUND", false},
	FetchSessionTopicIDError + 1:           {"FETCH_SESSION_TOPIC_ID_ERROR", true},
	IneligibleReplica + 1:                  {"INELIGIBLE_REPLICA", false},
	NewLeaderElected + 1:                   {"NEW_LEADER_ELECTED", false},
	OffsetMovedToTieredStorage + 1:         {"OFFSET_MOVED_TO_TIERED_STORAGE", false},
	FencedMemberEpoch + 1:                  {"FENCED_MEMBER_EPOCH", false},
	UnreleasedInstanceID + 1:               {"UNRELEASED_INSTANCE_ID", false},
	UnsupportedAssignor + 1:                {"UNSUPPORTED_ASSIGNOR", false},
	StaleMemberEpoch + 1:                   {"STALE_MEMBER_EPOCH", false},
	MismatchedEndpointType + 1:             {"MISMATCHED_ENDPOINT_TYPE", false},
	UnsupportedEndpointType + 1:            {"UNSUPPORTED_ENDPOINT_TYPE", false},
	UnknownControllerID + 1:                {"UNKNOWN_CONTROLLER_ID", false},
	UnknownSubscriptionID + 1:              {"UNKNOWN_SUBSCRIPTION_ID", false},
	TelemetryTooLarge + 1:                  {"TELEMETRY_TOO_LARGE", false},
	InvalidRegistration + 1:                {"INVALID_REGISTRATION", false},
	TransactionAbortable + 1:               {"TRANSACTION_ABORTABLE", false},
	InvalidRecordState + 1:                 {"INVALID_RECORD_STATE", false},
	ShareSessionNotFound + 1:               {"SHARE_SESSION_NOT_FOUND", true},
	InvalidShareSessionEpoch + 1:           {"INVALID_SHARE_SESSION_EPOCH", true},
	FencedStateEpoch + 1:                   {"FENCED_STATE_EPOCH", false},
	InvalidVoterKey + 1:                    {"INVALID_VOTER_KEY", false},
	DuplicateVoter + 1:                     {"DUPLICATE_VOTER", false},
	VoterNotFound + 1:                      {"VOTER_NOT_FOUND", false},
	InvalidRegularExpression + 1:           {"INVALID_REGULAR_EXPRESSION", false},
	RebootstrapRequired + 1:                {"REBOOTSTRAP_REQUIRED", false},
	StreamsInvalidTopology + 1:             {"STREAMS_INVALID_TOPOLOGY", false},
	StreamsInvalidTopologyEpoch + 1:        {"STREAMS_INVALID_TOPOLOGY_EPOCH", false},
	StreamsTopologyFenced + 1:              {"STREAMS_TOPOLOGY_FENCED", false},
	ShareSessionLimitReached + 1:           {"SHARE_SESSION_LIMIT_REACHED", true},
}
