package partitionlog

import (
	"cmp"
	"math"
	"slices"
)

// rememberedBatches is how many of a producer's last batches are known again.
const rememberedBatches = 5

// producer is what the log knows of one producer id.
type producer struct {
	epoch            int16
	count            int8 // of batches in use
	batches          [rememberedBatches]producerBatch
	lastTimestamp    int64 // of the last batch or marker: record time
	coordinatorEpoch int32
	txnFirst         int64 // first offset of the open transaction, or -1
}

// producerBatch is a batch that is recognized when it is sent again.
type producerBatch struct {
	lastSequence int32
	offsetDelta  int32
	lastOffset   int64
	timestamp    int64
}

func (p *producer) lastSequence() int32 {
	if p.count == 0 {
		return noSequence
	}
	return p.batches[p.count-1].lastSequence
}

// duplicate finds the remembered batch that has the same first and last sequence.
func (p *producer) duplicate(b Batch) *producerBatch {
	if p.epoch != b.ProducerEpoch() {
		return nil
	}
	for i := range p.batches[:p.count] {
		k := &p.batches[i]
		if k.lastSequence == b.lastSequence() && decrementSequence(k.lastSequence, k.offsetDelta) == b.BaseSequence() {
			return k
		}
	}
	return nil
}

// remember adds a batch, and forgets the oldest of five. A changed epoch forgets all.
func (p *producer) remember(b Batch) {
	p.setEpoch(b.ProducerEpoch())
	if p.count == rememberedBatches {
		copy(p.batches[:], p.batches[1:])
		p.count--
	}
	p.batches[p.count] = producerBatch{b.lastSequence(), b.lastOffsetDelta(), b.LastOffset(), b.MaxTimestamp()}
	p.count++
	p.lastTimestamp = b.MaxTimestamp()
}

func (p *producer) setEpoch(epoch int16) {
	if p.epoch != epoch {
		p.epoch = epoch
		p.count = 0
	}
}

// incrementSequence adds n to a sequence number; after 2147483647 comes 0.
func incrementSequence(sequence, n int32) int32 {
	if sequence > math.MaxInt32-n {
		return n - (math.MaxInt32 - sequence) - 1
	}
	return sequence + n
}

func decrementSequence(sequence, n int32) int32 {
	if sequence < n {
		return math.MaxInt32 - (n - sequence) + 1
	}
	return sequence - n
}

func follows(last, next int32) bool {
	return int64(next) == int64(last)+1 || (next == 0 && last == math.MaxInt32)
}

// checkProducer decides about a batch with a producer id. dup is the first copy of a batch that was sent again.
func (l *Log) checkProducer(b Batch, o AppendOptions) (dup *producerBatch, refused *AppendError) {
	p := l.producers[b.ProducerID()]
	if p != nil && o.Origin == OriginClient {
		if dup = p.duplicate(b); dup != nil {
			return dup, nil
		}
	}
	if err := l.checkTransaction(p, b, o); err != nil {
		return nil, err
	}
	known := noProducerEpoch // that of a producer without state: a smaller epoch is refused, too
	if p != nil {
		known = p.epoch
	}
	if b.ProducerEpoch() < known {
		return nil, refuse(CodeInvalidProducerEpoch, l.logStart, "producer %d sent epoch %d; the last one known is %d", b.ProducerID(), b.ProducerEpoch(), known)
	}
	if o.Origin == OriginClient {
		if err := l.checkSequence(p, b, o); err != nil {
			return nil, err
		}
	}
	if p != nil && p.txnFirst >= 0 && !b.Transactional() {
		return nil, refuse(CodeInvalidTxnState, l.logStart, "producer %d sent a batch outside of a transaction; it has one open since offset %d", b.ProducerID(), p.txnFirst)
	}
	return nil, nil
}

// checkSequence is the rule that nothing of a producer may be missing.
func (l *Log) checkSequence(p *producer, b Batch, o AppendOptions) *AppendError {
	id, first := b.ProducerID(), b.BaseSequence()
	v := l.verifications[id]
	if v != nil && first > v.lowestSequence {
		return refuse(CodeOutOfOrderSequence, l.logStart, "producer %d sent sequence %d; a batch with sequence %d waits for its transaction to be verified", id, first, v.lowestSequence)
	}
	// The Produce request that began the verification decides, however old that is.
	if v != nil && v.epochBump && (p == nil || p.count == 0) && first != 0 {
		return refuse(CodeOutOfOrderSequence, l.logStart, "producer %d is unknown here and began at sequence %d; want 0", id, first)
	}
	switch {
	case p == nil || p.epoch == noProducerEpoch: // anything goes, as after all of a producer's records were deleted
	case b.ProducerEpoch() != p.epoch:
		if first != 0 {
			return refuse(CodeOutOfOrderSequence, l.logStart, "producer %d began epoch %d at sequence %d; want 0", id, b.ProducerEpoch(), first)
		}
	case !follows(p.lastSequence(), first):
		return refuse(CodeOutOfOrderSequence, l.logStart, "producer %d sent sequence %d; the last one here is %d", id, first, p.lastSequence())
	}
	return nil
}

// applyData updates the producer state by a data batch that is in the log.
func (l *Log) applyData(b Batch) {
	p := l.producer(b.ProducerID())
	p.remember(b)
	if b.Transactional() {
		if p.txnFirst < 0 {
			p.txnFirst = b.BaseOffset()
			l.open = append(l.open, OpenTransaction{ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), FirstOffset: p.txnFirst, Started: b.MaxTimestamp()})
		}
		delete(l.verifications, b.ProducerID())
	}
}

func (l *Log) producer(id int64) *producer {
	p := l.producers[id]
	if p == nil {
		p = &producer{epoch: noProducerEpoch, lastTimestamp: noTimestamp, coordinatorEpoch: -1, txnFirst: -1}
		if l.producers == nil {
			l.producers = map[int64]*producer{}
		}
		l.producers[id] = p
	}
	return p
}

// ProducerState is what the log knows of a producer (DescribeProducers).
type ProducerState struct {
	ProducerID       int64
	Epoch            int16
	LastSequence     int32 // -1 after a marker with a new epoch
	LastTimestamp    int64
	CoordinatorEpoch int32 // -1 before the first marker
	TxnStart         int64 // first offset of the open transaction, or -1
}

// Producers lists the known producers by id.
func (l *Log) Producers() []ProducerState {
	out := make([]ProducerState, 0, len(l.producers))
	for id, p := range l.producers {
		out = append(out, ProducerState{id, p.epoch, p.lastSequence(), p.lastTimestamp, p.coordinatorEpoch, p.txnFirst})
	}
	slices.SortFunc(out, func(a, b ProducerState) int { return cmp.Compare(a.ProducerID, b.ProducerID) })
	return out
}

// ExpireProducers forgets producers without an open transaction whose last record timestamp is producer.id.expiration.ms old,
// and returns how many went.
func (l *Log) ExpireProducers(now int64) int {
	n := 0
	for id, p := range l.producers {
		if p.txnFirst < 0 && now-p.lastTimestamp >= l.cfg.ProducerIDExpirationMs {
			delete(l.producers, id)
			n++
		}
	}
	for id, v := range l.verifications {
		if now-v.begun >= l.cfg.ProducerIDExpirationMs {
			delete(l.verifications, id)
		}
	}
	return n
}
