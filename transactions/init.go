package transactions

import "time"

// Producer is a producer id and its epoch.
type Producer struct {
	ID    int64
	Epoch int16
}

// nobody is the producer of an answer with an error.
var nobody = Producer{noProducerID, noProducerEpoch}

// ValidTimeout tells whether a producer may have that transaction timeout. Kafka looks at it before it looks for the id's coordinator.
func (c Config) ValidTimeout(timeoutMs int32) bool {
	return timeoutMs > 0 && int64(timeoutMs) <= c.MaxTimeout.Milliseconds()
}

// InitProducerID opens a session of a transactional producer. given is the producer of the request, -1 and -1 for none; that both or neither are given, and that the id
// is not empty, is the caller's check.
func (s *Shard) InitProducerID(now time.Time, id string, timeoutMs int32, given Producer) (Producer, int16, Effects) {
	if !s.cfg.ValidTimeout(timeoutMs) {
		return nobody, codeInvalidTransactionTimeout, s.end()
	}
	e := s.entries[id]
	if e == nil { // it is known from now on, though not durably
		e = &entry{id: id, producer: s.newID(), previous: noProducerID, next: noProducerID, epoch: noProducerEpoch, timeoutMs: timeoutMs,
			started: -1, updated: now.UnixMilli(), lastEpoch: noProducerEpoch}
		s.entries[id] = e
	}
	if e.ending {
		return nobody, codeConcurrentTransactions, s.end()
	}
	if !e.knows(given) {
		return nobody, codeProducerFenced, s.end()
	}
	switch e.state {
	case PrepareCommit, PrepareAbort:
		return nobody, codeConcurrentTransactions, s.end()
	case Ongoing:
		// A new incarnation: the open transaction is aborted, and the client comes again.
		if s.readOnly {
			return nobody, codeCoordinatorNotAvailable, s.end()
		}
		s.fence(now, e, "a new incarnation of the producer")
		return nobody, codeConcurrentTransactions, s.end()
	}
	p, code := s.nextEpoch(now, e, timeoutMs, given)
	return p, code, s.end()
}

// knows tells whether a given producer is, or was, the entry's.
func (e *entry) knows(given Producer) bool {
	return given.ID == noProducerID || e.epoch == noProducerEpoch || given.ID == e.producer ||
		given.ID == e.previous && given.Epoch >= maxEpoch-1
}

// nextEpoch gives the producer its next epoch, or a new id where the epochs are used up (KIP-360).
func (s *Shard) nextEpoch(now time.Time, e *entry, timeoutMs int32, given Producer) (Producer, int16) {
	next := *e
	next.previous = e.producer
	switch {
	case e.exhausted() && (given.Epoch == noProducerEpoch || given.Epoch == e.epoch):
		next.producer, next.epoch, next.lastEpoch = s.newID(), 0, noProducerEpoch
		if given.Epoch != noProducerEpoch {
			next.lastEpoch = e.epoch
		}
	case e.exhausted():
		return nobody, codeUnknownServerError
	case given.Epoch == noProducerEpoch:
		next.epoch, next.lastEpoch = e.epoch+1, noProducerEpoch
	case given.Epoch == e.epoch || e.epoch == noProducerEpoch:
		next.epoch, next.lastEpoch = e.epoch+1, e.epoch
	case given.Epoch == e.lastEpoch:
		// The client did not hear the last answer.
	default:
		return nobody, codeProducerFenced
	}
	if s.readOnly {
		return nobody, codeCoordinatorNotAvailable
	}
	next.state, next.partitions, next.started, next.timeoutMs = Empty, nil, -1, timeoutMs
	s.write(now, next, "InitProducerId")
	return Producer{next.producer, next.epoch}, codeNone
}

// fence aborts an open transaction on the coordinator's own account, at an epoch that the client doesn't have.
func (s *Shard) fence(now time.Time, e *entry, cause string) {
	s.prepare(now, e, false, raisesEpoch, cause)
}

// raisesEpoch is the transaction version from which on every end of a transaction raises the producer's epoch (KIP-890). It is the one that
// transaction.version is finalized at, and so that of what the coordinator does by itself.
const raisesEpoch int16 = 2

// prepare writes the decision about a transaction and sends its markers; version is the transaction version of who decides.
func (s *Shard) prepare(now time.Time, e *entry, commit bool, version int16, cause string) Producer {
	next := *e
	next.previous = e.producer
	next.state = PrepareAbort
	if commit {
		next.state = PrepareCommit
	}
	next.clientTV = version
	answer := Producer{e.producer, e.epoch}
	if version >= raisesEpoch {
		next.lastEpoch = e.epoch
		if e.exhausted() {
			next.next, next.epoch = s.newID(), maxEpoch
			answer = Producer{next.next, 0}
		} else {
			next.epoch = e.epoch + 1
			answer.Epoch = next.epoch
		}
		if e.state != Ongoing {
			next.started = now.UnixMilli()
		}
	}
	s.sendMarkers(s.write(now, next, "%s", cause), version)
	return answer
}
