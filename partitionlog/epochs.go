package partitionlog

import "slices"

const undefinedEpoch int32 = -1

// epochEntry says where a leader epoch begins.
type epochEntry struct {
	epoch     int32
	start     int64
	unwritten bool // no record has it yet: only its leader knows of it
}

// EpochEnd is the end of a leader epoch: the epoch and the offset after its last record. Both are -1 when nothing is known.
type EpochEnd struct {
	Epoch     int32
	EndOffset int64
}

// NewLeaderEpoch records that a leader with this epoch takes over at the log's end, with or without records to come. An epoch
// that is not above the current one changes nothing.
func (l *Log) NewLeaderEpoch(epoch int32) {
	if epoch <= l.leaderEpoch {
		return
	}
	l.leaderEpoch = epoch
	l.assignEpoch(epoch, l.end, false)
}

// assignEpoch adds an entry unless the newest one says the same; entries that contradict it go. written says that a record has
// the epoch.
func (l *Log) assignEpoch(epoch int32, start int64, written bool) {
	for n := len(l.epochs); n > 0; n = len(l.epochs) {
		newest := &l.epochs[n-1]
		if newest.epoch == epoch && newest.start <= start {
			newest.unwritten = newest.unwritten && !written
			return
		}
		if newest.epoch < epoch && newest.start < start {
			break
		}
		l.epochs = l.epochs[:n-1]
	}
	l.epochs = append(l.epochs, epochEntry{epoch: epoch, start: start, unwritten: !written})
}

// truncateEpochsFromStart makes one entry of those that start at or before the new log start.
func (l *Log) truncateEpochsFromStart(start int64) {
	n := 0
	for n < len(l.epochs) && l.epochs[n].start <= start {
		n++
	}
	if n > 0 {
		l.epochs[n-1].start = start
		l.epochs = slices.Delete(l.epochs, 0, n-1)
	}
}

// truncateEpochsFromEnd removes the entries that start at or after the new log end.
func (l *Log) truncateEpochsFromEnd(end int64) {
	for n := len(l.epochs); n > 0 && l.epochs[n-1].start >= end; n = len(l.epochs) {
		l.epochs = l.epochs[:n-1]
	}
}

// latestEpoch is the newest epoch in the cache, or -1.
func (l *Log) latestEpoch() int32 {
	if n := len(l.epochs); n > 0 {
		return l.epochs[n-1].epoch
	}
	return undefinedEpoch
}

// CheckLeaderEpoch compares the current leader epoch of a request with the log's: 74 if it is smaller, 75 if it is larger, else
// 0. Negative means not to check.
func (l *Log) CheckLeaderEpoch(current int32) int16 {
	switch {
	case current < 0 || current == l.leaderEpoch:
		return CodeNone
	case current < l.leaderEpoch:
		return CodeFencedLeaderEpoch
	}
	return CodeUnknownLeaderEpoch
}

// OffsetForLeaderEpoch returns the end offset of an epoch: the log's end for the newest one; else the start of the next higher
// one, with the largest known epoch up to the one asked for, or that itself when none is known.
func (l *Log) OffsetForLeaderEpoch(epoch int32) EpochEnd { return l.epochEnd(l.epochs, epoch) }

// epochEndFor is OffsetForLeaderEpoch for a Fetch. A replica that follows has epochs from records alone: that of a leader which has
// written nothing is unknown to it.
func (l *Log) epochEndFor(o ReadOptions) EpochEnd {
	epochs := l.epochs
	if n := len(epochs); o.FromFollower && n > 0 && epochs[n-1].unwritten {
		epochs = epochs[:n-1]
	}
	return l.epochEnd(epochs, o.LastFetchedEpoch)
}

func (l *Log) epochEnd(epochs []epochEntry, epoch int32) EpochEnd {
	if epoch == undefinedEpoch {
		return EpochEnd{undefinedEpoch, -1}
	}
	if n := len(epochs); n > 0 && epoch == epochs[n-1].epoch {
		return EpochEnd{epoch, l.end}
	}
	known := epoch
	for _, e := range epochs {
		if e.epoch > epoch {
			return EpochEnd{known, e.start}
		}
		known = e.epoch
	}
	return EpochEnd{undefinedEpoch, -1}
}
