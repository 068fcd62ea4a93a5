package partitionlog

import (
	"math/rand/v2"
	"sort"
)

// Log is the log of one partition. Replicas share one log, so its high watermark is its end, unless it is held. It is not safe for
// concurrent use.
type Log struct {
	cfg Config
	rng *rand.Rand

	logStart int64
	end      int64
	held     int64      // the high watermark while it is held, else -1
	segments []*segment // at least one; the last is active
	size     int64
	arena    arena

	leaderEpoch int32
	leaderStart int64        // the log's end when the leader took over
	epochs      []epochEntry // of the records
	led         []ledEpoch   // those no record has, one a broker; the last is the current one

	producers     map[int64]*producer
	open          []OpenTransaction // by first offset
	aborted       []AbortedTxn      // by marker
	verifications map[int64]*verification
	lastToken     Verification

	// cleanedTo is where the part begins that no compaction has looked at.
	cleanedTo   int64
	uncleanable bool // compaction met records that it can't read
}

// New returns an empty log that starts at offset 0 under leader epoch 0. now is the time in milliseconds; rng draws the
// segments' jitter (segment.jitter.ms) and may be nil when that is 0.
func New(cfg Config, now int64, rng *rand.Rand) *Log {
	l := &Log{cfg: cfg, rng: rng, held: -1}
	l.led = []ledEpoch{{0, -1}}
	l.segments = []*segment{l.newSegment(0, now)}
	return l
}

// Config returns the settings in force.
func (l *Log) Config() Config { return l.cfg }

// SetConfig changes the settings; they apply from the next call on. Nothing that is in the log changes at once.
func (l *Log) SetConfig(cfg Config) { l.cfg = cfg }

// LogStart is the first offset a client may fetch.
func (l *Log) LogStart() int64 { return l.logStart }

// End is the log end offset: the next one to be assigned.
func (l *Log) End() int64 { return l.end }

// HighWatermark is where consumers stop. Replicas share one log, so it is the log's end, unless it is held.
func (l *Log) HighWatermark() int64 {
	if l.held >= 0 {
		return l.held
	}
	return l.end
}

// HoldHighWatermark makes the high watermark stay where it is while fewer replicas are in sync than min.insync.replicas asks for, and lets it go
// to the log's end when there are enough again (KIP-966).
func (l *Log) HoldHighWatermark(hold bool) {
	switch {
	case !hold:
		l.held = -1
	case l.held < 0:
		l.held = l.end
	}
}

// Size is the bytes of all batches in all segments, those below the log start included (DescribeLogDirs).
func (l *Log) Size() int64 { return l.size }

func (l *Log) active() *segment { return l.segments[len(l.segments)-1] }

func (l *Log) newSegment(base, now int64) *segment {
	var jitter int64
	if most := min(l.cfg.SegmentJitterMs, l.cfg.SegmentMs); most > 0 && l.rng != nil {
		jitter = l.rng.Int64N(most)
	}
	return newSegment(base, now, jitter)
}

// segmentAt is the index of the segment with the largest base offset up to offset, or 0.
func (l *Log) segmentAt(offset int64) int {
	i := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].base > offset }) - 1
	return max(i, 0)
}

// findBatch finds the first batch whose last offset is at least offset; ok is false at the end of the log.
func (l *Log) findBatch(offset int64) (at int, c cursor, b Batch, ok bool) {
	for at = l.segmentAt(offset); at < len(l.segments); at++ {
		if c, b, ok = l.segments[at].find(offset); ok {
			return at, c, b, true
		}
	}
	return len(l.segments) - 1, cursor{}, nil, false
}

// maybeRoll starts a new segment before a batch of this size and max timestamp if the active one must not take it.
func (l *Log) maybeRoll(now int64, size int, maxTimestamp, lastOffset int64) bool {
	s := l.active()
	switch {
	case s.end > l.cfg.SegmentBytes-size: // what was dropped at its front counts: positions have 32 bits
	case !s.empty() && s.waited(now, maxTimestamp) > l.cfg.segmentMs()-s.jitter:
	case lastOffset-s.base > maxSegmentSpan:
	default:
		return false
	}
	l.roll(now)
	return true
}

// segmentMs is segment.ms, or max.compaction.lag.ms where that is less: the active segment is never compacted.
func (c *Config) segmentMs() int64 {
	if c.CleanupCompact && c.MaxCompactionLagMs > 0 {
		return min(c.SegmentMs, c.MaxCompactionLagMs)
	}
	return c.SegmentMs
}

// waited is how long a segment has been filled by the time of its records, or since it was made if its first has none.
func (s *segment) waited(now, maxTimestamp int64) int64 {
	if s.firstMax >= 0 {
		return maxTimestamp - s.firstMax
	}
	return now - s.created
}

func (l *Log) roll(now int64) {
	if s := l.active(); s.empty() {
		l.segments = l.segments[:len(l.segments)-1]
	}
	l.segments = append(l.segments, l.newSegment(l.end, now))
}

// Roll starts a new segment unless the active one is empty.
func (l *Log) Roll(now int64) {
	if !l.active().empty() {
		l.roll(now)
	}
}

// store appends a batch whose header is final but for offset and leader epoch.
func (l *Log) store(now int64, b Batch, kept bool) Batch {
	b.putInt64(posBaseOffset, l.end)
	b.putInt32(posLeaderEpoch, l.leaderEpoch)
	b = l.active().append(&l.arena, b, kept, now, l.cfg.IndexIntervalBytes)
	l.end = b.LastOffset() + 1
	l.size += int64(len(b))
	l.assignEpoch(l.leaderEpoch, b.BaseOffset())
	return b
}
