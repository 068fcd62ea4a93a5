package partitionlog

import "slices"

const undefinedEpoch int32 = -1

// epochEntry says where a leader epoch begins.
type epochEntry struct {
	epoch int32
	start int64
}

// ledEpoch is a leader epoch that no record has. It began at the log's end, and only its leader knows of it: the others learn of
// epochs by their records. Who led it and follows another asks that one where it ended. A leader of a log with records answers with the
// epoch of the last one, which is an older epoch: the other's log diverges, and it forgets its own. Of a log without records the new leader
// knows no epoch but its own, which tells the other nothing, and so it remembers.
type ledEpoch struct {
	epoch  int32
	leader int32 // -1: not named
}

// EpochEnd is the end of a leader epoch: the epoch and the offset after its last record. Both are -1 when nothing is known.
type EpochEnd struct {
	Epoch     int32
	EndOffset int64
}

// NewLeaderEpoch records that a broker takes over with this epoch at the log's end, with or without records to come. An epoch
// that is not above the current one changes nothing.
func (l *Log) NewLeaderEpoch(epoch, leader int32) {
	n := len(l.led)
	switch {
	case epoch > l.leaderEpoch:
		l.leaderEpoch, l.leaderStart = epoch, l.end
		if len(l.epochs) > 0 && l.epochs[0].start < l.end { // see ledEpoch
			l.led = l.led[:0]
		}
		l.led = slices.DeleteFunc(l.led, func(e ledEpoch) bool { return e.leader == leader })
		l.led = append(l.led, ledEpoch{epoch, leader})
	case epoch == l.leaderEpoch && n > 0 && l.led[n-1] == ledEpoch{epoch, -1}: // a new log's
		l.led[n-1].leader = leader
	}
}

// knownEpochs is what the leader knows of epochs.
func (l *Log) knownEpochs() []epochEntry {
	if n := len(l.led); n > 0 {
		return l.withLed(l.led[n-1])
	}
	return l.epochs
}

// knownEpochsOf is what a broker that follows knows of epochs.
func (l *Log) knownEpochsOf(broker int32) []epochEntry {
	for _, e := range l.led {
		if e.leader == broker {
			return l.withLed(e)
		}
	}
	return l.epochs
}

// withLed adds an epoch that no record has to the others, of which it displaces what begins at the log's end: the log start may be there.
func (l *Log) withLed(e ledEpoch) []epochEntry {
	n := len(l.epochs)
	for n > 0 && l.epochs[n-1].start >= l.end {
		n--
	}
	return append(l.epochs[:n:n], epochEntry{e.epoch, l.end})
}

// assignEpoch adds the epoch of a batch unless the newest entry says the same; entries that contradict it go.
func (l *Log) assignEpoch(epoch int32, start int64) {
	l.led = l.led[:0]
	for n := len(l.epochs); n > 0; n = len(l.epochs) {
		newest := l.epochs[n-1]
		if newest.epoch == epoch && newest.start <= start {
			return
		}
		if newest.epoch < epoch && newest.start < start {
			break
		}
		l.epochs = l.epochs[:n-1]
	}
	l.epochs = append(l.epochs, epochEntry{epoch, start})
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

// latestEpoch is the newest epoch that the leader knows, or -1.
func (l *Log) latestEpoch() int32 {
	if n := len(l.led); n > 0 {
		return l.led[n-1].epoch
	}
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
func (l *Log) OffsetForLeaderEpoch(epoch int32) EpochEnd { return l.epochEnd(l.knownEpochs(), epoch) }

// epochEndFor is OffsetForLeaderEpoch for a Fetch, which a broker that follows may answer too.
func (l *Log) epochEndFor(o ReadOptions) EpochEnd {
	if o.FromFollower {
		return l.epochEnd(l.knownEpochsOf(o.Broker), o.LastFetchedEpoch)
	}
	return l.OffsetForLeaderEpoch(o.LastFetchedEpoch)
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
