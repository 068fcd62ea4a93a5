package groups

import (
	"encoding/binary"
	"fmt"

	"github.com/fakekafka/fakekafka/internal/records"
)

// write changes durable state: the records are applied, by the code that also replays them, and become one batch of
// the step's effects. That they can be was asked before.
func (s *Shard) write(batch ...Record) {
	for _, r := range batch {
		s.apply(s.nextOffset, r)
		s.nextOffset++
	}
	s.addBatch(batch)
}

// addBatch makes records, applied before, a batch of the step's effects.
func (s *Shard) addBatch(batch []Record) {
	if len(batch) > 0 {
		s.fx.Batches = append(s.fx.Batches, Batch{Records: batch, ProducerID: -1})
	}
}

// tombstones delete offsets or groups, with the news that some of them make.
type tombstones struct {
	records []Record
	news    map[int]Event // by the index of the record
}

func (t *tombstones) add(records ...Record) { t.records = append(t.records, records...) }

// tell is news of the last record that was added.
func (t *tombstones) tell(e Event) {
	if t.news == nil {
		t.news = make(map[int]Event)
	}
	t.news[len(t.records)-1] = e
}

// writeEach is write for tombstones that need not stand in the log as a whole: they become as many batches as it takes. One that none can hold ends it.
func (s *Shard) writeEach(t tombstones) {
	for i := 0; i < len(t.records); {
		n := s.fitting(t.records[i:])
		if n == 0 {
			return
		}
		s.write(t.records[i : i+n : i+n]...)
		for ; n > 0; i, n = i+1, n-1 {
			if e, ok := t.news[i]; ok {
				s.emit(e)
			}
		}
	}
}

// writeAsked writes the tombstones that a request asks for: all of them in one batch, or none.
func (s *Shard) writeAsked(t tombstones) *refusal {
	if r := s.unwritable(t.records); r != nil {
		return r
	}
	s.writeEach(t)
	return nil
}

// unwritable is why records that a request asks for can't become one batch of the log, nil if they can. The request fails then, and changes nothing that is
// stored; who leaves a classic group has left all the same, and timers of consumer groups begin and end as Kafka's do, which doesn't know yet (commitBeat,
// stopUnremoved).
func (s *Shard) unwritable(batch []Record) *refusal {
	if s.readOnly && len(batch) > 0 {
		return &refusal{code: errCoordinatorNotAvailable, reason: "too few replicas of the coordinator's log are in sync"}
	}
	return s.tooLarge(batch)
}

// tooLarge is unwritable for what the coordinator does on its own account, which it does while too few replicas are in sync too.
func (s *Shard) tooLarge(batch []Record) *refusal {
	if s.fits(batch) {
		return nil
	}
	what := "its record does"
	if len(batch) > 1 {
		what = fmt.Sprintf("its %d records do", len(batch))
	}
	return broken("%s not fit into a batch of the coordinator's log (max.message.bytes)", what)
}

// fits says whether records can stand in one batch of the log.
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
