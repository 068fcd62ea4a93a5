package groups

import (
	"encoding/binary"

	"github.com/fakekafka/fakekafka/internal/records"
)

// write changes durable state: the records are applied, by the code that also replays them, and become one batch of
// the step's effects.
func (s *Shard) write(batch ...Record) {
	if len(batch) == 0 {
		return
	}
	for _, r := range batch {
		s.apply(s.nextOffset, r)
		s.nextOffset++
	}
	s.addBatch(batch)
}

// addBatch makes records, applied before, a batch of the step's effects. What need not stand in the log as a whole, such as the tombstones of many
// offsets, may be more than a batch can hold, and becomes several.
func (s *Shard) addBatch(batch []Record) {
	for len(batch) > 0 {
		n := max(s.fitting(batch), 1)
		s.fx.Batches = append(s.fx.Batches, Batch{Records: batch[:n:n], ProducerID: -1})
		batch = batch[n:]
	}
}

// fits says whether records can stand in one batch of the log. A request whose records must, and don't fit, fails with UNKNOWN_SERVER_ERROR and changes
// nothing: this is asked before they are applied.
func (s *Shard) fits(batch []Record) bool { return s.fitting(batch) == len(batch) }

// fitting is how many of the records, from the first on, can stand in one batch of the log: of format 2, not compressed, with one timestamp.
func (s *Shard) fitting(batch []Record) int {
	if len(batch) == 0 || s.deps.MaxBatchBytes == nil {
		return len(batch)
	}
	const header = 61
	room := s.deps.MaxBatchBytes() - header
	for i, r := range batch {
		n := 3 + varintBytes(i) + fieldBytes(r.Key) + fieldBytes(r.Value) // attributes, the timestamp's delta and the number of headers are a byte each
		if room -= varintBytes(n) + n; room < 0 {
			return i
		}
	}
	return len(batch)
}

// fieldBytes is the size of a key or value with its length, which is -1 for none.
func fieldBytes(b []byte) int {
	if b == nil {
		return 1
	}
	return varintBytes(len(b)) + len(b)
}

// varintBytes is how long a number is in zigzag form.
func varintBytes(n int) int {
	var b [binary.MaxVarintLen64]byte
	return binary.PutVarint(b[:], int64(n))
}

// writePending is write for the offsets of a transaction.
func (s *Shard) writePending(producerID int64, epoch int16, batch ...Record) {
	if len(batch) == 0 {
		return
	}
	for _, r := range batch {
		s.applyPending(s.nextOffset, producerID, r)
		s.nextOffset++
	}
	s.fx.Batches = append(s.fx.Batches, Batch{Records: batch, ProducerID: producerID, ProducerEpoch: epoch})
}

// Replay applies one record of the log while the shard is loading. producerID is that of a transactional batch, else -1.
// Records of types the shard does not know are skipped, as are those that cannot be read.
func (s *Shard) Replay(offset int64, r Record, producerID int64) {
	if producerID >= 0 {
		s.applyPending(offset, producerID, r)
	} else {
		s.apply(offset, r)
	}
	s.nextOffset = max(s.nextOffset, offset+1)
}

// ReplayMarker applies the end of a transaction while the shard is loading.
func (s *Shard) ReplayMarker(offset int64, producerID int64, commit bool) {
	s.endTransaction(producerID, commit)
	s.nextOffset = max(s.nextOffset, offset+1)
}

// apply is the only place where durable state changes.
func (s *Shard) apply(offset int64, r Record) {
	kind, err := records.KeyType(r.Key)
	if err != nil {
		return
	}
	switch kind {
	case records.TypeOffsetCommitLegacy, records.TypeOffsetCommit:
		s.applyOffset(offset, r)
	case records.TypeGroupMetadata:
		s.applyClassicGroup(r)
	default:
		s.applyConsumerRecord(kind, r)
	}
}
