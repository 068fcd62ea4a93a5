package partitionlog

// EpochEnd is the end of a leader epoch: the epoch and the offset after its last record. Both are -1 when nothing is known.
type EpochEnd struct {
	Epoch     int32
	EndOffset int64
}

// NewLeaderEpoch records that a leader with this epoch takes over at the log's end.
func (l *Log) NewLeaderEpoch(epoch int32) { l.leaderEpoch = epoch }

// CheckLeaderEpoch compares the current leader epoch of a request with the log's: 74 if it is smaller, 75 if it is larger, else
// 0. Negative means not to check.
func (l *Log) CheckLeaderEpoch(current int32) int16 { return 0 }

// OffsetForLeaderEpoch returns the end offset of an epoch.
func (l *Log) OffsetForLeaderEpoch(epoch int32) EpochEnd { return EpochEnd{-1, -1} }
