package transactions

import "time"

// EndTxn commits or aborts. version is the request's: from v5 on the end raises the epoch, and the answer is the producer to go on with (KIP-890); before, it is -1 and -1.
func (s *Shard) EndTxn(now time.Time, id string, p Producer, commit bool, version int16) (Producer, int16, Effects) {
	e := s.entries[id]
	switch {
	case id == "":
		return nobody, codeInvalidRequest, s.end()
	case e == nil:
		return nobody, codeInvalidProducerIDMapping, s.end()
	}
	cause := "EndTxn: abort"
	if commit {
		cause = "EndTxn: commit"
	}
	if version < 5 {
		code := e.endClassic(p, commit)
		if code == codeNone && e.state == Ongoing {
			if s.readOnly {
				return nobody, codeCoordinatorNotAvailable, s.end()
			}
			s.prepare(now, e, commit, 0, cause)
		}
		return nobody, code, s.end()
	}
	answer, code := s.endRaising(now, e, p, commit, cause)
	return answer, code, s.end()
}

// endClassic is the table of EndTxn v0-v4; None in state Ongoing means that the transaction ends now.
func (e *entry) endClassic(p Producer, commit bool) int16 {
	switch {
	case e.producer != p.ID:
		return codeInvalidProducerIDMapping
	case e.epoch != p.Epoch:
		return codeProducerFenced
	case e.ending:
		return codeConcurrentTransactions
	}
	switch e.state {
	case Ongoing:
		return codeNone
	case CompleteCommit:
		if commit {
			return codeNone
		}
	case CompleteAbort:
		if !commit {
			return codeNone
		}
	case PrepareCommit:
		if commit {
			return codeConcurrentTransactions
		}
	case PrepareAbort:
		if !commit {
			return codeConcurrentTransactions
		}
	}
	return codeInvalidTxnState
}

// endRaising is the table of EndTxn v5. A retry is a request whose first sending has taken effect: the entry is an epoch ahead.
func (s *Shard) endRaising(now time.Time, e *entry, p Producer, commit bool, cause string) (Producer, int16) {
	newIDRetry := p.ID == e.previous && p.Epoch == maxEpoch-1 && e.epoch == 0
	retry := e.producer == p.ID && e.epoch == p.Epoch+1 || newIDRetry
	same := e.epoch == p.Epoch
	switch {
	case e.ending:
		return nobody, codeConcurrentTransactions
	case e.producer != p.ID && !newIDRetry:
		return nobody, codeInvalidProducerIDMapping
	}
	switch e.state {
	case Ongoing, Empty:
		if !same || newIDRetry {
			return nobody, codeProducerFenced
		}
	case PrepareCommit, PrepareAbort:
		if !retry {
			return nobody, codeProducerFenced
		}
	default:
		if !same && !retry {
			return nobody, codeProducerFenced
		}
	}
	current := Producer{e.producer, e.epoch}
	switch e.state {
	case Ongoing:
		return s.decide(now, e, commit, cause)
	case Empty:
		if commit {
			return nobody, codeInvalidTxnState
		}
		return s.decide(now, e, false, cause)
	case PrepareCommit, PrepareAbort:
		if commit == (e.state == PrepareCommit) {
			return nobody, codeConcurrentTransactions
		}
		return nobody, codeInvalidTxnState
	}
	done := commit == (e.state == CompleteCommit)
	switch {
	case retry && done:
		return current, codeNone
	case retry || commit:
		return nobody, codeInvalidTxnState
	}
	return s.decide(now, e, false, cause)
}

// decide is prepare for EndTxn v5.
func (s *Shard) decide(now time.Time, e *entry, commit bool, cause string) (Producer, int16) {
	if s.readOnly {
		return nobody, codeCoordinatorNotAvailable
	}
	return s.prepare(now, e, commit, raisesEpoch, cause), codeNone
}
