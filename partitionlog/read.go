package partitionlog

// ReadOptions say what a Fetch wants of this partition.
type ReadOptions struct {
	Offset   int64
	MaxBytes int // limit: the partition's, or what is left of the request's if that is less
	// First is set while no partition of the request has returned bytes: then at least one whole batch is returned.
	First         bool
	ReadCommitted bool
	Follower      bool // replica id >= 0: reads to the log's end whatever the isolation
	// CurrentLeaderEpoch and LastFetchedEpoch are the request's; -1 when absent.
	CurrentLeaderEpoch int32
	LastFetchedEpoch   int32
	// Into is appended to and returned as Records, so that the caller can reuse its memory.
	Into [][]byte
}

// ReadResult is the answer for one partition. On an error HighWatermark, LastStable and LogStart are -1.
type ReadResult struct {
	Code          int16
	HighWatermark int64
	LastStable    int64
	LogStart      int64
	// Records are slices of the kept bytes, in order; the last batch may be cut. Neither the log nor the caller changes them.
	Records [][]byte
	Bytes   int // sum of the lengths of Records
	// Aborted is nil where the answer's list is null, and else a list that may be empty.
	Aborted []AbortedTxn
	// Diverging is set when the log does not agree with LastFetchedEpoch.
	HasDiverging bool
	Diverging    EpochEnd
}

// Read reads as a Fetch does: steps 3 to 8 of Kafka's order.
func (l *Log) Read(o ReadOptions) ReadResult { return ReadResult{} }

// Available is what a waiting Fetch needs to know of a partition.
type Available struct {
	// Ready: the fetch is to be answered now, whatever the bytes: its offset is beyond the readable end (truncation), it is on
	// an older segment than the readable end, or the epochs diverge.
	Ready bool
	// Bytes between the start position and the readable end; the caller caps them by the partition's limit.
	Bytes int
}

// Available tells whether a waiting Fetch at these options may be completed. Only Offset, ReadCommitted, Follower and
// LastFetchedEpoch are used.
func (l *Log) Available(o ReadOptions) Available { return Available{} }
