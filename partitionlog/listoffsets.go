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
func ListOffsetsAllows(timestamp int64, version int16) bool {
	switch timestamp {
	case TimestampMax:
		return version >= 7
	case TimestampEarliestLocal:
		return version >= 8
	case TimestampLatestTiered:
		return version >= 9
	case TimestampEarliestPendingUpload:
		return version >= 11
	}
	return timestamp >= TimestampEarliest
}

// ListOptions are the circumstances of a ListOffsets request.
type ListOptions struct {
	ReadCommitted      bool
	Follower           bool    // replica id other than -1: answers up to the log's end
	CurrentLeaderEpoch int32   // -1 when absent
	Codecs             *Codecs // scratch memory for compressed batches; may be nil
}

// OffsetResult answers ListOffsets; timestamp, offset and epoch are -1 on errors and when nothing was found.
type OffsetResult struct {
	Code        int16
	Timestamp   int64
	Offset      int64
	LeaderEpoch int32
}

var nothingFound = OffsetResult{Timestamp: noTimestamp, Offset: -1, LeaderEpoch: undefinedEpoch}

// ListOffsets finds an offset by timestamp or special timestamp.
func (l *Log) ListOffsets(timestamp int64, o ListOptions) OffsetResult {
	if code := l.CheckLeaderEpoch(o.CurrentLeaderEpoch); code != CodeNone {
		return failedList(code)
	}
	fetchable := l.HighWatermark()
	switch {
	case o.Follower:
		fetchable = l.end
	case o.ReadCommitted:
		fetchable = l.LastStable()
	}
	// A new leader that can't let consumers read up to where it took over doesn't say that nothing is there.
	lagging := !o.Follower && l.leaderStart > l.HighWatermark()
	var found OffsetResult
	switch timestamp {
	case TimestampLatest:
		if lagging {
			return failedList(CodeOffsetNotAvailable)
		}
		return OffsetResult{Timestamp: noTimestamp, Offset: fetchable, LeaderEpoch: l.latestEpoch()}
	case TimestampEarliest, TimestampEarliestLocal:
		return l.earliest()
	case TimestampLatestTiered, TimestampEarliestPendingUpload: // without tiered storage nothing is there
		return nothingFound
	case TimestampMax:
		found = l.maxTimestamp(o.Codecs)
	default:
		if timestamp < 0 {
			return failedList(CodeUnsupportedVersion)
		}
		found = l.byTime(timestamp, o.Codecs)
	}
	if found.Code == CodeNone && (found.Offset < 0 || found.Offset >= fetchable) {
		if lagging {
			return failedList(CodeOffsetNotAvailable)
		}
		return nothingFound
	}
	return found
}

func failedList(code int16) OffsetResult {
	out := nothingFound
	out.Code = code
	return out
}

func (l *Log) earliest() OffsetResult {
	out := OffsetResult{Timestamp: noTimestamp, Offset: l.logStart, LeaderEpoch: undefinedEpoch}
	if known := l.knownEpochs(); len(known) > 0 && known[0].start <= l.logStart {
		out.LeaderEpoch = known[0].epoch
	}
	return out
}

// maxTimestamp finds the first record with the largest timestamp: in the first segment with the largest one, its first batch
// with that. The log start is not considered. If no record of that batch has it, nothing is found.
func (l *Log) maxTimestamp(c *Codecs) OffsetResult {
	best := l.segments[0]
	for _, s := range l.segments[1:] {
		if s.maxTimestamp > best.maxTimestamp {
			best = s
		}
	}
	cursor := best.findTimestamp(best.maxTimestamp)
	b, ok := cursor.next()
	if !ok {
		return nothingFound
	}
	want := b.MaxTimestamp()
	return l.searchBatch(b, c, func(_, timestamp int64) bool { return timestamp == want })
}

// byTime finds the first record, in offset order, with a timestamp of at least ms and not below the log start, in the first
// segment whose largest timestamp is that late. Later segments are not tried.
func (l *Log) byTime(ms int64, c *Codecs) OffsetResult {
	at := 0
	for at < len(l.segments) && l.segments[at].largestTimestamp() < ms {
		at++
	}
	if at == len(l.segments) {
		return nothingFound
	}
	cursor := l.segments[at].findTimestamp(ms)
	for b, ok := cursor.next(); ok; b, ok = cursor.next() {
		if b.MaxTimestamp() < ms || b.LastOffset() < l.logStart {
			continue
		}
		found := l.searchBatch(b, c, func(offset, timestamp int64) bool { return timestamp >= ms && offset >= l.logStart })
		if found.Offset >= 0 || found.Code != CodeNone {
			return found
		}
	}
	return nothingFound
}

// searchBatch finds the first record of a batch that fits.
func (l *Log) searchBatch(b Batch, c *Codecs, fits func(offset, timestamp int64) bool) OffsetResult {
	if c == nil {
		c = new(Codecs)
	}
	r, err := b.records(c)
	if err != nil {
		return nothingFound // cannot be: the batch was validated
	}
	defer c.release()
	var rec rawRecord
	for range b.RecordCount() {
		if r.next(&rec) != nil {
			return failedList(CodeInvalidRecord) // a compressed batch is kept although a record is not as long as it says
		}
		offset, timestamp := b.BaseOffset()+int64(rec.offsetDelta), rec.timestamp(b)
		if fits(offset, timestamp) {
			return OffsetResult{Timestamp: timestamp, Offset: offset, LeaderEpoch: b.LeaderEpoch()}
		}
	}
	return nothingFound
}
