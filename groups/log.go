package groups

import (
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
	s.fx.Batches = append(s.fx.Batches, Batch{Records: batch, ProducerID: -1})
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
