package partitionlog

import "sort"

// ReadOptions say what a Fetch wants of this partition.
type ReadOptions struct {
	Offset   int64
	MaxBytes int // limit: the partition's, or what is left of the request's if that is less
	// First is set while no partition of the request has returned bytes: then at least one whole batch is returned.
	First         bool
	ReadCommitted bool
	Follower      bool  // replica id >= 0: reads to the log's end whatever the isolation
	FromFollower  bool  // the broker that is asked is not the leader; it does not know of epochs without records
	Broker        int32 // the broker that is asked, when it is not the leader: it knows of such an epoch if it led it
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
	// Start is where reading began, for Available.
	Start Position
}

// Position is a place in the log: an offset and where it lies. A fetch that waits keeps the one its first read gave.
type Position struct {
	Offset  int64
	Segment int64 // base offset of the segment
	At      int   // bytes from the segment's start
}

// Read reads as a Fetch does, with Kafka's checks in their order: the leader epoch, whether the logs have diverged (KIP-595), the offset's range.
func (l *Log) Read(o ReadOptions) ReadResult {
	if code := l.CheckLeaderEpoch(o.CurrentLeaderEpoch); code != CodeNone {
		return failedRead(code, o)
	}
	out := ReadResult{HighWatermark: l.HighWatermark(), LastStable: l.LastStable(), LogStart: l.logStart, Records: o.Into, Start: Position{Offset: o.Offset, Segment: -1}}
	if o.LastFetchedEpoch >= 0 {
		e := l.epochEndFor(o)
		if e.EndOffset < 0 || e.Epoch == undefinedEpoch || o.Offset < l.logStart {
			return failedRead(CodeOffsetOutOfRange, o)
		}
		if diverges(e, o) {
			out.HasDiverging, out.Diverging = true, e
			return out
		}
	}
	if o.Offset < l.logStart || o.Offset > l.end {
		return failedRead(CodeOffsetOutOfRange, o)
	}
	if o.ReadCommitted && !o.Follower {
		out.Aborted = []AbortedTxn{}
	}
	end := l.readableEnd(o, out.LastStable)
	if o.Offset >= end.Offset {
		out.Start = end
		if o.Offset > end.Offset {
			out.Start = l.position(o.Offset)
		}
		return out
	}
	if o.MaxBytes < 0 {
		return failedRead(CodeUnknownServerError, o)
	}
	at, c, first, ok := l.findBatch(o.Offset)
	if !ok {
		out.Start = end
		return out
	}
	s := l.segments[at]
	out.Start = Position{Offset: first.BaseOffset(), Segment: s.base, At: c.at}
	readable := s.end
	if s.base == end.Segment {
		readable = end.At
	} else if s.base > end.Segment {
		return out // only deleted offsets lie before the readable end
	}
	size := max(min(o.MaxBytes, readable-c.at), 0)
	if size < len(first) {
		switch {
		case o.First:
			size = min(len(first), max(readable-c.at, 0))
		case o.MaxBytes > 0:
			// Not even one batch fits: nothing, and no aborted list either.
			out.Aborted = nil
			return out
		}
	}
	out.Records = s.slices(o.Into, c.at, c.at+size)
	out.Bytes = size
	if out.Aborted != nil && len(l.aborted) > 0 {
		out.Aborted = l.AbortedTransactions(o.Offset, l.abortedUpperBound(at, c.at+size))
	}
	return out
}

func failedRead(code int16, o ReadOptions) ReadResult {
	return ReadResult{Code: code, HighWatermark: -1, LastStable: -1, LogStart: -1, Records: o.Into, Start: Position{Offset: o.Offset, Segment: -1}}
}

func diverges(e EpochEnd, o ReadOptions) bool {
	return e.Epoch < o.LastFetchedEpoch || e.EndOffset < o.Offset
}

// readableEnd is where a fetch stops: a consumer at the high watermark or the last stable offset, a follower at the log's end.
func (l *Log) readableEnd(o ReadOptions, stable int64) Position {
	switch {
	case o.Follower:
		return l.position(l.end)
	case o.ReadCommitted:
		return l.position(stable)
	}
	return l.position(l.HighWatermark())
}

// position is where the first batch that holds an offset or lies behind it begins, or the log's end.
func (l *Log) position(offset int64) Position {
	if offset < l.end {
		if at, c, b, ok := l.findBatch(offset); ok {
			return Position{Offset: min(offset, b.BaseOffset()), Segment: l.segments[at].base, At: c.at}
		}
	}
	s := l.active()
	return Position{Offset: offset, Segment: s.base, At: s.end}
}

// abortedUpperBound is the offset up to which a fetch that ends at a position lists aborted transactions: not the end of what
// is returned, but the next entry of the segment's offset index, or the segment's end.
func (l *Log) abortedUpperBound(at, position int) int64 {
	s := l.segments[at]
	i := sort.Search(len(s.index), func(i int) bool { return int(s.index[i].at) >= position })
	if i == 0 && len(s.index) > 0 && int(s.index[0].at) == position {
		i = 1 // a broker's binary search never compares with the first entry
	}
	switch {
	case i < len(s.index):
		return s.base + int64(s.index[i].lastOffset)
	case at+1 < len(l.segments):
		return l.segments[at+1].base
	}
	return l.end
}

// Available is what a waiting Fetch needs to know of a partition.
type Available struct {
	// Ready: the fetch is to be answered now, whatever the bytes: its offset is beyond the readable end, it is on
	// an older segment than the readable end, or the epochs diverge.
	Ready bool
	// Bytes between the start position and the readable end; the caller caps them by the partition's limit.
	Bytes int
}

// Available tells whether a waiting Fetch may be completed. start is what its first read returned; of o only Offset,
// ReadCommitted, Follower, FromFollower, Broker and LastFetchedEpoch are used.
func (l *Log) Available(start Position, o ReadOptions) Available {
	if o.LastFetchedEpoch >= 0 {
		if e := l.epochEndFor(o); e.EndOffset < 0 || e.Epoch == undefinedEpoch || diverges(e, o) {
			return Available{Ready: true}
		}
	}
	end := l.readableEnd(o, l.LastStable())
	switch {
	case start.Segment < 0: // the first read got nowhere
		return Available{}
	case start.Offset > end.Offset:
		return Available{Ready: true}
	case start.Offset == end.Offset:
		return Available{}
	case start.Segment < end.Segment:
		return Available{Ready: true}
	case start.Segment == end.Segment:
		return Available{Bytes: max(end.At-start.At, 0)}
	}
	return Available{}
}
