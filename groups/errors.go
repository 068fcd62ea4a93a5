package groups

// Error codes of the wire that the coordinator answers, under Kafka's names.
const (
	errNone                      int16 = 0
	errUnknownServerError        int16 = -1
	errUnknownTopicOrPartition   int16 = 3
	errOffsetMetadataTooLarge    int16 = 12
	errCoordinatorLoadInProgress int16 = 14
	errCoordinatorNotAvailable   int16 = 15
	errNotCoordinator            int16 = 16
	errIllegalGeneration         int16 = 22
	errInconsistentGroupProtocol int16 = 23
	errInvalidGroupID            int16 = 24
	errUnknownMemberID           int16 = 25
	errInvalidSessionTimeout     int16 = 26
	errRebalanceInProgress       int16 = 27
	errTopicAuthorizationFailed  int16 = 29
	errUnsupportedVersion        int16 = 35
	errInvalidRequest            int16 = 42
	errNonEmptyGroup             int16 = 68
	errGroupIDNotFound           int16 = 69
	errMemberIDRequired          int16 = 79
	errGroupMaxSizeReached       int16 = 81
	errFencedInstanceID          int16 = 82
	errGroupSubscribedToTopic    int16 = 86
	errUnstableOffsetCommit      int16 = 88
	errUnknownTopicID            int16 = 100
	errFencedMemberEpoch         int16 = 110
	errUnreleasedInstanceID      int16 = 111
	errUnsupportedAssignor       int16 = 112
	errStaleMemberEpoch          int16 = 113
	errInvalidRegularExpression  int16 = 128
)
