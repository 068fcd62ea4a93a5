package partitionlog

// The special timestamps of ListOffsets.
const (
	TimestampLatest                int64 = -1
	TimestampEarliest              int64 = -2
	TimestampMax                   int64 = -3
	TimestampEarliestLocal         int64 = -4
	TimestampLatestTiered          int64 = -5
	TimestampEarliestPendingUpload int64 = -6
)

// ListOffsetsAllows reports whether a timestamp may be asked for in a version of ListOffsets; if not the answer is
// UNSUPPORTED_VERSION (35), before anything is looked up.
func ListOffsetsAllows(timestamp int64, version int16) bool { return true }

// ListOptions are the circumstances of a ListOffsets request.
type ListOptions struct {
	ReadCommitted      bool
	Follower           bool  // replica id other than -1: answers up to the log's end
	CurrentLeaderEpoch int32 // -1 when absent
	Codecs             *Codecs
}

// OffsetResult answers ListOffsets; timestamp, offset and epoch are -1 on errors and when nothing was found.
type OffsetResult struct {
	Code        int16
	Timestamp   int64
	Offset      int64
	LeaderEpoch int32
}

// ListOffsets finds an offset by timestamp or special timestamp.
func (l *Log) ListOffsets(timestamp int64, o ListOptions) OffsetResult {
	return OffsetResult{Timestamp: -1, Offset: -1, LeaderEpoch: -1}
}
