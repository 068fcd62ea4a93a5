package partitionlog

import (
	"math"
	"slices"
	"sort"
)

// A segment's batches lie in chunks: a large batch is a chunk of its own, the memory that came from the network; small ones
// share the chunks of an arena. A chunk's bytes never change and it only grows at its end, so slices of it may be handed out.
type chunk struct {
	at   int // position in the segment
	data []byte
}

const (
	// copyBelow is the size up to which a batch is copied into the arena whatever its frame: a chunk for each would cost more
	// than the copy, in memory and in the number of slices a fetch has to write.
	copyBelow = 16 << 10
	// keepFrom is the average size from which the batches of one frame are kept together.
	keepFrom = 4 << 10
	// arenaMin and arenaMax bound the arena's chunks; in between they are arenaShare of what was copied and is still there, so that a log of
	// one record is small and not much is reserved in any.
	arenaMin   = 512
	arenaMax   = 1 << 20
	arenaShare = 16
	// ownBlock is the size from which a copy gets memory of its own: the arena's chunks would be left with holes.
	ownBlock = 96 << 10
	// markStride is how many bytes of batches lie between two marks of a segment at most (but a batch is never split).
	markStride = 4 << 10
	// maxSegmentSpan is the highest offset in a segment, relative to its base.
	maxSegmentSpan = math.MaxInt32
)

// mark is one step of a segment's sparse index: the batch at position at, and what is known of all batches before it.
type mark struct {
	at        int32
	offset    int32 // the batch's base offset relative to the segment's
	maxBefore int64 // largest max timestamp of the batches before
}

// indexEntry is an entry of the offset index a broker with files has. It shows in the upper bound of a fetch's aborted list.
type indexEntry struct {
	at         int32
	lastOffset int32 // relative to the segment's base
}

// segment is a consecutive stretch of batches.
type segment struct {
	base       int64
	trimmed    int // bytes that were dropped at its front; positions count from before that
	end        int // position behind the last batch
	chunks     []chunk
	marks      []mark
	index      []indexEntry
	sinceIndex int // bytes since the last index entry

	created       int64 // ms
	modified      int64 // time of the last append
	jitter        int64 // how much earlier than segment.ms it may be followed
	firstMax      int64 // max timestamp of the first batch
	maxTimestamp  int64 // largest of all batches; -1 without any
	records       int
	lastOffsetRel int64 // last offset relative to base; -1 when empty
}

func newSegment(base, now, jitter int64) *segment {
	return &segment{base: base, created: now, modified: now, jitter: jitter, firstMax: noTimestamp, maxTimestamp: noTimestamp, lastOffsetRel: -1}
}

func (s *segment) size() int   { return s.end - s.trimmed }
func (s *segment) empty() bool { return s.end == s.trimmed }

// largestTimestamp is the largest of the records', or the time of the last change when none has one.
func (s *segment) largestTimestamp() int64 {
	if s.maxTimestamp >= 0 {
		return s.maxTimestamp
	}
	return s.modified
}

// arena is the memory small batches are copied to. It belongs to the log, so that many small segments share it.
type arena struct {
	free   []byte // empty, with the room that is left
	copied int    // bytes so far, without those that went
}

// chunk is the size of the next chunk.
func (a *arena) chunk() int { return min(max(a.copied/arenaShare, arenaMin), arenaMax) }

// shrink tells how many bytes the log holds after some went.
func (a *arena) shrink(held int64) {
	a.copied = int(min(int64(a.copied), held))
	if cap(a.free) > a.chunk() {
		a.free = nil
	}
}

// copy puts b into the arena.
func (a *arena) copy(b Batch) Batch {
	a.copied += len(b)
	if cap(a.free) < len(b) {
		size := a.chunk()
		if len(b) > size || len(b) > ownBlock {
			return append(make(Batch, 0, len(b)), b...)
		}
		a.free = slices.Grow([]byte(nil), size)
	}
	out := append(a.free, b...)
	a.free = out[len(out):]
	return Batch(out)
}

// keeps reports whether a batch's own memory is kept: it isn't small, and at most an eighth of it stays alive beside it.
func keeps(b Batch, frameSize int) bool {
	return len(b) > copyBelow && frameSize-len(b) <= len(b)/8
}

// append adds a batch whose header is final. kept says that the segment may hold on to its memory; otherwise it is copied.
func (s *segment) append(a *arena, b Batch, kept bool, now int64, indexInterval int) Batch {
	if !kept {
		b = a.copy(b)
	}
	if n := len(s.chunks); n > 0 && !kept && adjacent(s.chunks[n-1].data, b) {
		last := &s.chunks[n-1]
		last.data = last.data[:len(last.data)+len(b)]
	} else {
		s.chunks = append(s.chunks, chunk{at: s.end, data: b})
	}
	if s.sinceIndex > indexInterval {
		s.index = append(s.index, indexEntry{at: int32(s.end), lastOffset: int32(b.LastOffset() - s.base)})
		s.sinceIndex = 0
	}
	s.sinceIndex += len(b)
	s.note(b, now)
	return b
}

// adjacent reports whether b lies right behind chunk in the same memory.
func adjacent(chunk, b []byte) bool {
	return cap(chunk) >= len(chunk)+len(b) && &chunk[:len(chunk)+1][len(chunk)] == &b[0]
}

// note keeps marks and counts up to date with a batch that was put at the segment's end.
func (s *segment) note(b Batch, now int64) {
	offset, last := int32(b.BaseOffset()-s.base), b.LastOffset()-s.base
	if n := len(s.marks); n == 0 || s.end-int(s.marks[n-1].at) >= markStride {
		s.marks = append(s.marks, mark{at: int32(s.end), offset: offset, maxBefore: s.maxTimestamp})
	}
	if s.empty() {
		s.firstMax = b.MaxTimestamp()
	}
	s.maxTimestamp = max(s.maxTimestamp, b.MaxTimestamp())
	s.end += len(b)
	s.records += b.RecordCount()
	s.lastOffsetRel = last
	s.modified = now
}

// cursor walks the batches of a segment.
type cursor struct {
	s     *segment
	chunk int
	at    int // position in the segment
}

func (s *segment) start() cursor { return cursor{s: s, at: s.trimmed} }

// cursorAt stands before the batch at a position, which must be a batch's first byte.
func (s *segment) cursorAt(at int) cursor { return cursor{s: s, chunk: s.chunkAt(at), at: at} }

// chunkAt is the index of the chunk with the byte at a position.
func (s *segment) chunkAt(at int) int {
	return sort.Search(len(s.chunks), func(i int) bool { return s.chunks[i].at > at }) - 1
}

// next returns the batch at the cursor and moves on; ok is false at the segment's end.
func (c *cursor) next() (b Batch, ok bool) {
	for c.chunk >= 0 && c.chunk < len(c.s.chunks) {
		k := &c.s.chunks[c.chunk]
		if rest := k.data[c.at-k.at:]; len(rest) > 0 {
			size := Batch(rest).size()
			c.at += size
			return rest[:size:size], true
		}
		c.chunk++
	}
	return nil, false
}

// find returns a cursor at the first batch whose last offset is at least offset, and that batch.
func (s *segment) find(offset int64) (c cursor, b Batch, ok bool) {
	if offset-s.base > s.lastOffsetRel {
		return cursor{}, nil, false
	}
	i := sort.Search(len(s.marks), func(i int) bool { return s.base+int64(s.marks[i].offset) > offset }) - 1
	if i < 0 {
		c = s.start()
	} else {
		c = s.cursorAt(int(s.marks[i].at))
	}
	for {
		before := c
		b, ok := c.next()
		if !ok {
			return cursor{}, nil, false
		}
		if b.LastOffset() >= offset {
			return before, b, true
		}
	}
}

// findTimestamp returns a cursor at the first batch, in offset order, whose max timestamp is at least ms.
func (s *segment) findTimestamp(ms int64) cursor {
	i := sort.Search(len(s.marks), func(i int) bool { return s.marks[i].maxBefore >= ms }) - 1
	c := s.start()
	if i >= 0 {
		c = s.cursorAt(int(s.marks[i].at))
	}
	for {
		before := c
		b, ok := c.next()
		if !ok || b.MaxTimestamp() >= ms {
			return before
		}
	}
}

// slices appends the bytes [from, to) of the segment to out, as few slices as there are.
func (s *segment) slices(out [][]byte, from, to int) [][]byte {
	for i := s.chunkAt(from); i >= 0 && i < len(s.chunks) && from < to; i++ {
		k := &s.chunks[i]
		end := min(to, k.at+len(k.data))
		out = append(out, k.data[from-k.at:end-k.at:end-k.at])
		from = end
	}
	return out
}

// trim drops batches at the front until at least n bytes went, but leaves the last one. Positions stay what they were.
func (s *segment) trim(n int) (batches int) {
	c := s.start()
	largest := noTimestamp
	for at := c.at; ; at = c.at {
		b, ok := c.next()
		if !ok || c.at == s.end || at-s.trimmed >= n {
			n = at
			break
		}
		batches++
		s.records -= b.RecordCount()
		largest = max(largest, b.MaxTimestamp())
	}
	if n == s.trimmed {
		return 0
	}
	i := s.chunkAt(n)
	clear(s.chunks[:i])
	s.chunks = s.chunks[i:]
	s.chunks[0].data = s.chunks[0].data[n-s.chunks[0].at:]
	s.chunks[0].at = n
	s.marks = s.marks[sort.Search(len(s.marks), func(i int) bool { return int(s.marks[i].at) >= n }):]
	s.index = s.index[sort.Search(len(s.index), func(i int) bool { return int(s.index[i].at) >= n }):]
	s.trimmed = n
	c = s.start()
	first, _ := c.next()
	s.firstMax = first.MaxTimestamp()
	if largest == s.maxTimestamp {
		s.maxTimestamp = s.firstMax
		for b, ok := c.next(); ok; b, ok = c.next() {
			s.maxTimestamp = max(s.maxTimestamp, b.MaxTimestamp())
		}
	}
	return batches
}
