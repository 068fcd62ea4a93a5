package partitionlog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Cleanable says how much a compaction would have to do.
type Cleanable struct {
	DirtyRatio float64 // dirty bytes to all cleanable bytes
	// Due: the ratio is above min.cleanable.dirty.ratio, or max.compaction.lag.ms has passed. The cleaner takes the log with the
	// highest ratio of those that are due.
	Due bool
}

// dirtySegments is the range of segments no pass has looked at and that may be cleaned now: up to the last stable offset, the
// active segment, and the first segment with a record younger than min.compaction.lag.ms.
func (l *Log) dirtySegments(now int64) (from, to int) {
	from = l.segmentAt(max(l.cleanedTo, l.logStart))
	stable := l.segmentAt(l.LastStable())
	for to = from; to < min(stable, len(l.segments)-1); to++ {
		if l.cfg.MinCompactionLagMs > 0 && l.segments[to].largestTimestamp() > now-l.cfg.MinCompactionLagMs {
			break
		}
	}
	return from, to
}

// Cleanable looks at a log whose policy contains compact; others are never due.
func (l *Log) Cleanable(now int64) Cleanable {
	if !l.cfg.CleanupCompact || l.uncleanable {
		return Cleanable{}
	}
	from, to := l.dirtySegments(now)
	var clean, dirty int64
	overdue := false
	for i, s := range l.segments[:to] {
		if i < from {
			clean += int64(s.size())
			continue
		}
		dirty += int64(s.size())
		overdue = overdue || s.firstMax > 0 && now-s.firstMax > l.cfg.MaxCompactionLagMs
	}
	if dirty == 0 {
		return Cleanable{}
	}
	ratio := float64(dirty) / float64(clean+dirty)
	return Cleanable{DirtyRatio: ratio, Due: overdue || ratio > l.cfg.MinCleanableDirtyRatio}
}

// CompactResult counts what a pass did.
type CompactResult struct {
	RecordsRemoved int
	BatchesRemoved int
	BytesBefore    int64 // of the segments that were cleaned
	BytesAfter     int64
}

// Compact runs one pass of the cleaner, due or not. The active segment is never touched: Roll first to include it. Offsets and
// the log start stay. It fails on a log whose policy does not contain compact, and on one with records that can't be read, or written again as
// they are: that log is not Cleanable any more.
func (l *Log) Compact(now int64, c *Codecs) (result CompactResult, err error) {
	if !l.cfg.CleanupCompact {
		return CompactResult{}, errors.New("partitionlog: cleanup.policy does not contain compact")
	}
	defer func() { l.uncleanable = err != nil }()
	if c == nil {
		c = new(Codecs)
	}
	from, to := l.dirtySegments(now)
	if to == 0 {
		return CompactResult{}, nil
	}
	p := &compaction{
		log: l, codecs: c, now: now, end: l.segments[to].base,
		txns: newCleanedTransactions(l.aborted, l.segments[0].base), lastData: l.lastRecords(),
	}
	if p.latest, err = l.latestOffsets(from, to, c); err != nil {
		return CompactResult{}, err
	}
	l.arena = arena{} // what stays begins a chunk, and chunks are of its size
	var cleaned []*segment
	for i := 0; i < to; {
		n := l.mergeable(i, to)
		s, err := p.cleanInto(l.segments[i:n])
		if err != nil {
			return CompactResult{}, err
		}
		cleaned = append(cleaned, s)
		i = n
	}
	for _, s := range l.segments[:to] {
		p.result.BytesBefore += int64(s.size())
	}
	for _, s := range cleaned {
		p.result.BytesAfter += int64(s.size())
	}
	l.segments = append(cleaned, l.segments[to:]...)
	l.size += p.result.BytesAfter - p.result.BytesBefore
	l.arena.shrink(l.size)
	l.cleanedTo = p.end
	for _, t := range l.aborted {
		if t.LastOffset >= p.end {
			p.keptAborted = append(p.keptAborted, t)
		}
	}
	l.aborted = p.keptAborted
	return p.result, nil
}

// mergeable returns the end of the group of segments that begins at from and becomes one segment: together not larger than
// segment.bytes now.
func (l *Log) mergeable(from, to int) int {
	size, n := l.segments[from].size(), from+1
	for n < to && size+l.segments[n].size() <= l.cfg.SegmentBytes && l.segments[n+1].base-1-l.segments[from].base <= maxSegmentSpan {
		size += l.segments[n].size()
		n++
	}
	return n
}

// latestOffsets maps each key of the dirty segments to the offset of its last record, aborted ones left out.
func (l *Log) latestOffsets(from, to int, c *Codecs) (map[string]int64, error) {
	latest := map[string]int64{}
	start := max(l.cleanedTo, l.logStart)
	txns := newCleanedTransactions(l.aborted, l.segments[from].base)
	var rec rawRecord
	for _, s := range l.segments[from:to] {
		k := s.start()
		for b, ok := k.next(); ok; b, ok = k.next() {
			if b.Control() {
				txns.onMarker(b)
				continue
			}
			if txns.onBatch(b) {
				continue
			}
			r, err := b.records(c)
			for i := 0; i < b.RecordCount() && err == nil; i++ {
				if err = r.next(&rec); err != nil {
					break
				}
				if offset := b.BaseOffset() + int64(rec.offsetDelta); rec.key != nil && offset >= start {
					latest[string(rec.key)] = offset
				}
			}
			c.release()
			if err != nil {
				return nil, fmt.Errorf("partitionlog: compacting the batch at offset %d: %w", b.BaseOffset(), err)
			}
		}
	}
	return latest, nil
}

// lastRecord is what must stay of an active producer: the batch with its last sequence, or, if it has no data, the marker with
// its epoch.
type lastRecord struct {
	offset int64 // -1 without data
	epoch  int16
}

func (l *Log) lastRecords() map[int64]lastRecord {
	out := make(map[int64]lastRecord, len(l.producers))
	for id, p := range l.producers {
		last := lastRecord{offset: -1, epoch: p.epoch}
		if p.count > 0 {
			last.offset = p.batches[p.count-1].lastOffset
		}
		out[id] = last
	}
	return out
}

// compaction is one pass.
type compaction struct {
	log         *Log
	codecs      *Codecs
	now         int64
	end         int64 // of the cleaned range
	latest      map[string]int64
	txns        cleanedTransactions
	lastData    map[int64]lastRecord
	keptAborted []AbortedTxn
	result      CompactResult
}

// cleanInto writes what stays of a group of segments into a new one.
func (p *compaction) cleanInto(group []*segment) (*segment, error) {
	last := group[len(group)-1]
	out := newSegment(group[0].base, group[0].created, group[0].jitter)
	for _, s := range group {
		k := s.start()
		for b, ok := k.next(); ok; b, ok = k.next() {
			clean, err := p.clean(b)
			if err != nil {
				return nil, fmt.Errorf("partitionlog: compacting the batch at offset %d: %w", b.BaseOffset(), err)
			}
			if clean == nil {
				p.result.BatchesRemoved++
				continue
			}
			// A batch that stays as it is keeps its memory if that is its own; what shared a chunk with others is copied, so that
			// the chunk can go.
			alone := k.at-s.chunks[k.chunk].at == len(b) && len(s.chunks[k.chunk].data) == len(b)
			kept := len(clean) > copyBelow && (alone || &clean[0] != &b[0])
			out.append(&p.log.arena, clean, kept, last.modified, p.log.cfg.IndexIntervalBytes)
		}
	}
	out.modified = last.modified
	return out, nil
}

// clean returns what stays of a batch: the batch itself, a rewritten one, an empty one, or nil.
func (p *compaction) clean(b Batch) (Batch, error) {
	var discardable bool // nothing in it counts any more
	if b.Control() {
		var aborted *AbortedTxn
		if discardable, aborted = p.txns.onMarker(b); aborted != nil {
			p.keptAborted = append(p.keptAborted, *aborted)
		}
	} else {
		discardable = p.txns.onBatch(b)
	}
	discard := discardable
	if horizon, ok := b.deleteHorizon(); b.Control() {
		discard = discardable && ok && horizon <= p.now
	}
	keepEmpty := p.isLastOfProducer(b) || b.LastOffset()+1 == p.end
	if discard && !keepEmpty {
		p.result.RecordsRemoved += b.RecordCount()
		return nil, nil
	}
	return p.filter(b, discard, discardable && b.Control(), keepEmpty)
}

func (p *compaction) isLastOfProducer(b Batch) bool {
	if !b.hasProducerID() {
		return false
	}
	last, ok := p.lastData[b.ProducerID()]
	if !ok {
		return false
	}
	if last.offset >= 0 {
		return last.offset == b.LastOffset()
	}
	return b.Control() && last.epoch == b.ProducerEpoch()
}

// filter keeps the records of a batch that stay. discard says that none does; emptyTxn that it is the marker of a transaction
// without data, which is to go after its delete horizon.
func (p *compaction) filter(b Batch, discard, emptyTxn, keepEmpty bool) (Batch, error) {
	horizon, hasHorizon := b.deleteHorizon()
	kept, tombstones := 0, false
	var rec rawRecord
	h := headerOf(b)
	h.maxTimestamp = noTimestamp
	// The first walk judges, so that a batch that stays whole isn't written again; the second writes.
	walk := func(each func(*rawRecord)) error {
		r, err := b.records(p.codecs)
		if err != nil {
			return err
		}
		defer p.codecs.release()
		for range b.RecordCount() {
			if err := r.next(&rec); err != nil {
				return err
			}
			if !discard && (b.Control() || p.retains(b, &rec)) {
				each(&rec)
			}
		}
		return nil
	}
	if err := walk(func(rec *rawRecord) {
		if kept == 0 {
			h.baseTimestamp = rec.timestamp(b)
		}
		kept++
		tombstones = tombstones || rec.value == nil
		h.maxTimestamp = max(h.maxTimestamp, rec.timestamp(b))
	}); err != nil {
		return nil, err
	}
	p.result.RecordsRemoved += b.RecordCount() - kept
	setHorizon := (tombstones || emptyTxn) && !hasHorizon
	switch {
	case kept == 0 && keepEmpty:
		return emptyBatch(b), nil
	case kept == 0:
		return nil, nil
	case kept == b.RecordCount() && !setHorizon:
		return b, nil
	}
	h.count = int32(kept)
	h.attributes &= attrCodecMask | attrLogAppendTime | attrTransactional | attrControl
	switch {
	case setHorizon:
		h.attributes |= attrDeleteHorizon
		h.baseTimestamp = p.now + p.log.cfg.DeleteRetentionMs
	case hasHorizon:
		h.attributes |= attrDeleteHorizon
		h.baseTimestamp = horizon
	}
	if b.TimestampType() == LogAppendTime {
		h.maxTimestamp = b.MaxTimestamp()
	}
	return p.rewrite(b, h, walk)
}

// rewrite makes a batch of the records that walk gives, under the header h. It fails where a broker can't write what it has kept as it came.
func (p *compaction) rewrite(b Batch, h batchHeader, walk func(each func(*rawRecord)) error) (Batch, error) {
	fails := unwritable(b)
	plain := make([]byte, headerSize, len(b)+headerSize)
	written, last := 0, int32(0)
	if err := walk(func(rec *rawRecord) {
		switch {
		case written > 0 && rec.offsetDelta <= last:
			fails = fmt.Sprintf("has a record with offset delta %d behind one with %d", rec.offsetDelta, last)
		case rec.timestamp(b) < noTimestamp:
			fails = fmt.Sprintf("has a record with timestamp %d", rec.timestamp(b))
		}
		written, last = written+1, rec.offsetDelta
		plain = appendRaw(plain, rec.offsetDelta, rec.timestamp(b)-h.baseTimestamp, rec)
	}); err != nil {
		return nil, err
	}
	if fails != "" {
		return nil, fmt.Errorf("%w and %s", errRewrite, fails)
	}
	out := plain
	if b.Codec() != CodecNone {
		var err error
		if out, err = p.codecs.pack(make([]byte, headerSize, len(b)), b.Codec(), 0, plain[headerSize:]); err != nil {
			return nil, err
		}
	}
	h.put(out)
	return slices.Clip(out), nil
}

var errRewrite = errors.New("the batch is to be written anew")

// retains reports whether a record is its key's last one, and no tombstone whose time is over. Records without a key go.
func (p *compaction) retains(b Batch, rec *rawRecord) bool {
	if rec.key == nil {
		return false
	}
	if latest, ok := p.latest[string(rec.key)]; ok && b.BaseOffset()+int64(rec.offsetDelta) < latest {
		return false
	}
	horizon, ok := b.deleteHorizon()
	return rec.value != nil || !ok || horizon > p.now
}

// emptyBatch is what stays of a batch that only keeps a producer's last sequence, or the end of the cleaned range: its header.
func emptyBatch(b Batch) Batch {
	h := headerOf(b)
	h.attributes &= attrLogAppendTime | attrTransactional | attrControl
	h.baseTimestamp = noTimestamp
	h.count = 0
	out := make(Batch, headerSize)
	h.put(out)
	return out
}

// cleanedTransactions follows the transactions through a pass, batch by batch.
type cleanedTransactions struct {
	aborted   []AbortedTxn // not yet reached, by first offset
	committed map[int64]bool
	aborting  map[int64]*abortingTxn
}

type abortingTxn struct {
	AbortedTxn
	seen bool // a batch of it was in the pass
}

// newCleanedTransactions is for a walk that begins at from: transactions that ended before must not be met.
func newCleanedTransactions(aborted []AbortedTxn, from int64) cleanedTransactions {
	var byStart []AbortedTxn
	for _, t := range aborted {
		if t.LastOffset >= from {
			byStart = append(byStart, t)
		}
	}
	slices.SortFunc(byStart, func(a, b AbortedTxn) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
	return cleanedTransactions{aborted: byStart, committed: map[int64]bool{}, aborting: map[int64]*abortingTxn{}}
}

func (t *cleanedTransactions) reach(offset int64) {
	for len(t.aborted) > 0 && t.aborted[0].FirstOffset <= offset {
		next := t.aborted[0]
		t.aborted = t.aborted[1:]
		if t.aborting[next.ProducerID] == nil {
			delete(t.committed, next.ProducerID)
			t.aborting[next.ProducerID] = &abortingTxn{AbortedTxn: next}
		}
	}
}

// onBatch reports whether a data batch belongs to an aborted transaction.
func (t *cleanedTransactions) onBatch(b Batch) (aborted bool) {
	if !b.Transactional() {
		return false
	}
	t.reach(b.BaseOffset())
	if a := t.aborting[b.ProducerID()]; a != nil {
		a.seen = true
		return true
	}
	t.committed[b.ProducerID()] = true
	return false
}

// onMarker reports whether nothing of the marker's transaction was in the pass any more; if something of an aborted one was, its
// index entry is returned, since it stays.
func (t *cleanedTransactions) onMarker(b Batch) (empty bool, kept *AbortedTxn) {
	t.reach(b.LastOffset())
	m, ok := markerOf(b)
	if !ok {
		return true, nil // its record went in an earlier pass
	}
	if m.Commit {
		empty = !t.committed[m.ProducerID]
		delete(t.committed, m.ProducerID)
		return empty, nil
	}
	a := t.aborting[m.ProducerID]
	delete(t.aborting, m.ProducerID)
	if a == nil || !a.seen {
		return true, nil
	}
	return false, &a.AbortedTxn
}
