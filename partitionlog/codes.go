package partitionlog

// Kafka's error codes that a log answers.
const (
	CodeUnknownServerError     int16 = -1
	CodeNone                   int16 = 0
	CodeOffsetOutOfRange       int16 = 1
	CodeCorruptMessage         int16 = 2
	CodeMessageTooLarge        int16 = 10
	CodeRecordListTooLarge     int16 = 18
	CodeInvalidTimestamp       int16 = 32
	CodeUnsupportedVersion     int16 = 35
	CodePolicyViolation        int16 = 44
	CodeOutOfOrderSequence     int16 = 45
	CodeInvalidProducerEpoch   int16 = 47
	CodeInvalidTxnState        int16 = 48
	CodeTxnCoordinatorFenced   int16 = 52
	CodeFencedLeaderEpoch      int16 = 74
	CodeUnknownLeaderEpoch     int16 = 75
	CodeUnsupportedCompression int16 = 76
	CodeOffsetNotAvailable     int16 = 78
	CodeInvalidRecord          int16 = 87
)
