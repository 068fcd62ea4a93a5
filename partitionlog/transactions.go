package partitionlog

import (
	"math"
	"sort"
)

// Verification stands for a question to the transaction coordinator under way. The zero value is no verification.
type Verification uint64

// verification is a producer's first batch of a transaction that waits for the coordinator's word.
type verification struct {
	token          Verification
	epoch          int16
	lowestSequence int32
	epochBump      bool // asked by Produce v12+
	begun          int64
}

// BeginVerification is to be called for each transactional batch before it is appended. needed is false when the producer's
// transaction is already open here at this epoch. Otherwise the caller asks the coordinator (Produce up to v11: verify, from
// v12: add) and then appends with the returned token. A marker that arrives in between makes the token worthless, so a late
// batch cannot reopen an ended transaction. With transaction.partition.verification.enable off the caller need not ask up to
// v11, and no token is needed.
func (l *Log) BeginVerification(now int64, batch []byte, version int16) (v Verification, needed bool) {
	if !OfTransaction(batch) {
		return 0, false
	}
	b := Batch(batch)
	if l.producers[b.ProducerID()].transactionOpen(b.ProducerEpoch()) {
		return 0, false
	}
	k := l.verifications[b.ProducerID()]
	if k == nil {
		l.lastToken++
		k = &verification{token: l.lastToken, epoch: b.ProducerEpoch(), lowestSequence: b.BaseSequence(), epochBump: version >= 12, begun: now}
		if l.verifications == nil {
			l.verifications = map[int64]*verification{}
		}
		l.verifications[b.ProducerID()] = k
	}
	if b.ProducerEpoch() > k.epoch {
		k.epoch, k.lowestSequence = b.ProducerEpoch(), b.BaseSequence()
	}
	if b.ProducerEpoch() == k.epoch {
		k.lowestSequence = min(k.lowestSequence, b.BaseSequence())
	}
	return k.token, true
}

// StaleEpoch reports whether the batch's producer is known here with a larger epoch. A transactional batch of such a producer is
// refused (47) before the coordinator is asked.
func (l *Log) StaleEpoch(batch []byte) bool {
	if len(batch) < posRecordCount {
		return false // Append refuses it
	}
	stale, _ := l.ProducerState(Batch(batch).ProducerID(), Batch(batch).ProducerEpoch())
	return stale
}

// ProducerState tells of a producer, also of one whose batch is yet to be made, whether a larger epoch is known here, and whether its transaction is
// open at this one, so that nobody need be asked.
func (l *Log) ProducerState(id int64, epoch int16) (stale, open bool) {
	p := l.producers[id]
	return p != nil && p.epoch > epoch, p.transactionOpen(epoch)
}

// transactionOpen: p is nil for a producer that is not known here.
func (p *producer) transactionOpen(epoch int16) bool {
	return p != nil && p.txnFirst >= 0 && p.epoch == epoch
}

// checkTransaction lets a transactional batch in only if its transaction is open here, or the coordinator said so.
func (l *Log) checkTransaction(p *producer, b Batch, o AppendOptions) *AppendError {
	if !b.Transactional() || p.transactionOpen(b.ProducerEpoch()) {
		return nil
	}
	if p != nil && p.epoch > b.ProducerEpoch() {
		return refuse(CodeInvalidProducerEpoch, l.logStart, "producer %d sent epoch %d; the last one known is %d", b.ProducerID(), b.ProducerEpoch(), p.epoch)
	}
	if v := l.verifications[b.ProducerID()]; l.cfg.TransactionVerification && o.Origin == OriginClient && (v == nil || v.token != o.Verification) {
		return refuse(CodeInvalidTxnState, l.logStart, "producer %d sent a transactional batch; it has no open transaction here and the coordinator did not confirm one", b.ProducerID())
	}
	return nil
}

// Marker describes the end of a transaction.
type Marker struct {
	ProducerID       int64
	ProducerEpoch    int16
	Commit           bool
	CoordinatorEpoch int32
	// TransactionVersion is 2 when every end raises the epoch; then an epoch equal to the known one is refused unless nothing
	// is open, or there is no higher one. -1 is that of markers that a follower copies, which nobody may send.
	TransactionVersion int16
}

const unknownTransactionVersion = -1

// AppendMarker appends the control batch that ends a transaction (WriteTxnMarkers), even when none is open. Errors: -1 for an
// unknown transaction version, 47 for an old epoch, 52 for an old coordinator epoch.
func (l *Log) AppendMarker(now int64, m Marker) (AppendResult, *AppendError) {
	b := buildMarker(now, m)
	b.setMaxTimestamp(l.cfg.TimestampType, now)
	rolled := l.maybeRoll(now, len(b), now, l.end)
	if b.hasProducerID() { // a negative id is nobody's, and nobody has an epoch
		if err := l.checkMarker(m); err != nil {
			return AppendResult{}, err
		}
	}
	b = l.store(now, b, false)
	if b.hasProducerID() {
		l.completeTransaction(b, m)
	}
	return AppendResult{
		BaseOffset: b.BaseOffset(), LastOffset: b.BaseOffset(), LogAppendTime: l.logAppendTime(now), LogStart: l.logStart,
		Rolled: rolled, Records: 1, Bytes: len(b),
	}, nil
}

func (l *Log) checkMarker(m Marker) *AppendError {
	p, known := l.producers[m.ProducerID]
	if !known {
		p = &producer{epoch: noProducerEpoch, coordinatorEpoch: -1, txnFirst: -1}
	}
	old := m.ProducerEpoch < p.epoch
	switch {
	case m.TransactionVersion == unknownTransactionVersion && !(known && old):
		return refuse(CodeUnknownServerError, l.logStart, "a marker for producer %d has transaction version %d", m.ProducerID, m.TransactionVersion)
	case old, m.TransactionVersion >= 2 && m.ProducerEpoch == p.epoch && p.txnFirst >= 0 && m.ProducerEpoch != math.MaxInt16:
		return refuse(CodeInvalidProducerEpoch, l.logStart, "a marker for producer %d has epoch %d; the last one known is %d", m.ProducerID, m.ProducerEpoch, p.epoch)
	case m.CoordinatorEpoch < p.coordinatorEpoch:
		return refuse(CodeTxnCoordinatorFenced, l.logStart, "a marker for producer %d has coordinator epoch %d; the last one known is %d", m.ProducerID, m.CoordinatorEpoch, p.coordinatorEpoch)
	}
	return nil
}

// completeTransaction updates the indexes by a marker that is in the log.
func (l *Log) completeTransaction(b Batch, m Marker) {
	first, open := l.applyMarker(b, m)
	if open && !m.Commit {
		stable := b.BaseOffset() + 1
		if len(l.open) > 0 {
			stable = l.open[0].FirstOffset
		}
		l.aborted = append(l.aborted, AbortedTxn{ProducerID: m.ProducerID, FirstOffset: first, LastOffset: b.BaseOffset(), LastStable: stable})
	}
}

// applyMarker updates the producer state by a marker, and returns where its transaction began if one was open.
func (l *Log) applyMarker(b Batch, m Marker) (first int64, open bool) {
	p := l.producer(m.ProducerID)
	first = p.txnFirst
	if first >= 0 {
		i := sort.Search(len(l.open), func(i int) bool { return l.open[i].FirstOffset >= first })
		l.open = append(l.open[:i], l.open[i+1:]...)
	}
	p.setEpoch(m.ProducerEpoch)
	p.txnFirst = -1
	p.coordinatorEpoch = m.CoordinatorEpoch
	p.lastTimestamp = b.MaxTimestamp()
	if v := l.verifications[m.ProducerID]; v != nil && !v.epochBump { // one of v12+ ends with the next epoch, or with a batch that is let in
		delete(l.verifications, m.ProducerID)
	}
	return first, first >= 0
}

// markerOf reads the marker of a control batch in the log; ok is false if its record was compacted away.
func markerOf(b Batch) (m Marker, ok bool) {
	if b.RecordCount() == 0 {
		return Marker{}, false
	}
	r := recordReader{buf: b[headerSize:]}
	var rec rawRecord
	if r.next(&rec) != nil {
		return Marker{}, false
	}
	return ParseMarker(rec.record(b))
}

// LastStable is the last stable offset: where a read committed consumer stops. While a transaction is open it is that
// transaction's first offset, or the base offset of the batch that holds the log start if the log start has passed it. It is never
// above the high watermark.
func (l *Log) LastStable() int64 {
	if len(l.open) == 0 {
		return l.HighWatermark()
	}
	first := l.open[0].FirstOffset
	if first < l.logStart {
		_, _, b, ok := l.findBatch(l.logStart)
		if !ok {
			return l.HighWatermark()
		}
		first = b.BaseOffset()
	}
	return min(first, l.HighWatermark())
}

// AbortedTxn is an entry of the index of aborted transactions.
type AbortedTxn struct {
	ProducerID  int64
	FirstOffset int64
	LastOffset  int64 // the marker's
	LastStable  int64 // last stable offset after the abort
}

// OpenTransaction is one that has no marker yet.
type OpenTransaction struct {
	ProducerID    int64
	ProducerEpoch int16 // of its first batch
	FirstOffset   int64
	Started       int64 // max timestamp of its first batch, in ms
}

// OpenTransactions lists the open transactions by first offset.
func (l *Log) OpenTransactions() []OpenTransaction { return append([]OpenTransaction(nil), l.open...) }

// AbortedTransactions lists the aborted transactions that overlap [from, to), in the order of their markers.
func (l *Log) AbortedTransactions(from, to int64) []AbortedTxn {
	out := []AbortedTxn{}
	i := sort.Search(len(l.aborted), func(i int) bool { return l.aborted[i].LastOffset >= from })
	for _, t := range l.aborted[i:] {
		if t.FirstOffset < to {
			out = append(out, t)
		}
		if t.LastStable >= to {
			break // all that follow began behind to
		}
	}
	return out
}

// forgetAborted drops the entries whose marker is outside of [from, to).
func (l *Log) forgetAborted(from, to int64) {
	i := sort.Search(len(l.aborted), func(i int) bool { return l.aborted[i].LastOffset >= from })
	j := sort.Search(len(l.aborted), func(i int) bool { return l.aborted[i].LastOffset >= to })
	if i == j {
		l.aborted = nil
		return
	}
	l.aborted = l.aborted[i:j]
}
