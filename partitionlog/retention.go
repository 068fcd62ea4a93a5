package partitionlog

// DeleteRecords moves the log start up to offset (-1: the high watermark) and returns the low watermark. Errors, with low
// watermark -1: 44 on a topic that is compacted only, 1 for an offset below -1 or above the high watermark. Going backwards is
// no error.
func (l *Log) DeleteRecords(offset int64) (low int64, code int16) {
	if l.cfg.CleanupCompact && !l.cfg.CleanupDelete {
		return -1, CodePolicyViolation
	}
	if offset == -1 {
		offset = l.HighWatermark()
	}
	if offset < 0 || offset > l.HighWatermark() {
		return -1, CodeOffsetOutOfRange
	}
	l.advanceLogStart(offset)
	return l.logStart, CodeNone
}

// advanceLogStart moves the log start up, never down. Batches stay until retention removes their segment.
func (l *Log) advanceLogStart(offset int64) {
	if offset <= l.logStart {
		return
	}
	l.logStart = offset
	if l.held >= 0 {
		l.held = max(l.held, offset)
	}
	l.truncateEpochsFromStart(offset)
}

// Removed counts what went.
type Removed struct {
	Segments int
	Batches  int // only those that went without their segment
	Bytes    int64
}

// ApplyRetention removes old segments: those below the log start, and where the policy contains delete those beyond
// retention.bytes and retention.ms.
func (l *Log) ApplyRetention(now int64) Removed {
	total := l.removeWhile(now, l.belowLogStart)
	if l.cfg.CleanupDelete {
		total.add(l.removeWhile(now, l.beyondSize()))
		total.add(l.removeWhile(now, l.beyondTime(now)))
	}
	return total
}

func (r *Removed) add(more Removed) {
	r.Segments += more.Segments
	r.Batches += more.Batches
	r.Bytes += more.Bytes
}

func (l *Log) belowLogStart(at int) bool {
	return at+1 < len(l.segments) && l.segments[at+1].base <= l.logStart
}

// beyondSize takes segments as long as what stays is not below retention.bytes.
func (l *Log) beyondSize() func(at int) bool {
	excess := l.size - l.cfg.RetentionBytes
	return func(at int) bool {
		if l.cfg.RetentionBytes < 0 || excess < int64(l.segments[at].size()) {
			return false
		}
		excess -= int64(l.segments[at].size())
		return true
	}
}

// beyondTime goes by the records' time.
func (l *Log) beyondTime(now int64) func(at int) bool {
	return func(at int) bool {
		return l.cfg.RetentionMs >= 0 && now-l.segments[at].largestTimestamp() > l.cfg.RetentionMs
	}
}

// removeWhile removes segments from the oldest on while they are due. One above the high watermark stays, and so does an empty active
// one; if all others go and the active one too, an empty one follows.
func (l *Log) removeWhile(now int64, due func(at int) bool) Removed {
	n := 0
	for n < len(l.segments) && l.segmentEnd(n) <= l.HighWatermark() && due(n) && !(n == len(l.segments)-1 && l.segments[n].empty()) {
		n++
	}
	return l.removeSegments(now, n)
}

// segmentEnd is the offset behind a segment.
func (l *Log) segmentEnd(at int) int64 {
	if at+1 < len(l.segments) {
		return l.segments[at+1].base
	}
	return l.end
}

func (l *Log) removeSegments(now int64, n int) Removed {
	if n == 0 {
		return Removed{}
	}
	if n == len(l.segments) {
		l.roll(now)
	}
	removed := Removed{Segments: n}
	for _, s := range l.segments[:n] {
		removed.Bytes += int64(s.size())
	}
	clear(l.segments[:n])
	l.segments = l.segments[n:]
	l.size -= removed.Bytes
	l.arena.shrink(l.size)
	l.advanceLogStart(l.segments[0].base)
	l.forgetAborted(l.segments[0].base, l.end)
	return removed
}

// DropOldest frees at least n bytes if the log has them: whole segments from the oldest on, and then the oldest batches of the
// active segment but for the last one. The log start moves up. It is no rule of Kafka's but the memory bound of an in-memory
// broker; n should be a fair share of it, so that not every append is followed by a call.
func (l *Log) DropOldest(now int64, n int64) Removed {
	segments := 0
	for freed := int64(0); segments < len(l.segments)-1 && freed < n; segments++ {
		freed += int64(l.segments[segments].size())
	}
	removed := l.removeSegments(now, segments)
	if s := l.active(); removed.Bytes < n && len(l.segments) == 1 && !s.empty() {
		before, batches := s.size(), s.trim(int(min(n-removed.Bytes, int64(s.size()))))
		freed := int64(before - s.size())
		l.size -= freed
		l.arena.shrink(l.size)
		removed.add(Removed{Batches: batches, Bytes: freed})
		if c := s.start(); freed > 0 {
			first, _ := c.next()
			l.advanceLogStart(first.BaseOffset())
			l.forgetAborted(first.BaseOffset(), l.end)
		}
	}
	return removed
}
