package transactions

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// AddPartitions puts partitions into a transaction, and opens it. version is the transaction version of the request: 2 where the broker adds on a producer's behalf
// (AddPartitionsToTxn v4+). One code is for all of them.
func (s *Shard) AddPartitions(now time.Time, id string, p Producer, partitions []TopicPartition, version int16) (int16, Effects) {
	e, code := s.checkProducer(id, p, false)
	if code != codeNone {
		return code, s.end()
	}
	if e.state == Ongoing && !slices.ContainsFunc(partitions, func(p TopicPartition) bool { return !e.has(p) }) {
		return codeNone, s.end()
	}
	if s.readOnly {
		return codeCoordinatorNotAvailable, s.end()
	}
	next := *e
	next.previous = e.producer
	next.partitions = e.with(partitions)
	if e.state != Ongoing {
		next.state, next.started = Ongoing, now.UnixMilli()
	}
	next.clientTV = version
	s.write(now, next, "%s", "added "+list(partitions))
	return codeNone, s.end()
}

// mostListed is how many partitions a text names: the client may add any number, and each as often as it likes.
const mostListed = 50

func list(ps []TopicPartition) string {
	if len(ps) == 0 {
		return "nothing"
	}
	var text strings.Builder
	for i, p := range ps {
		if i == mostListed {
			fmt.Fprintf(&text, " and %d more", len(ps)-i)
			break
		}
		if i > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "%s-%d", p.Topic, p.Partition)
	}
	return text.String()
}

// VerifyPartition tells whether a partition is in a transaction; it changes nothing.
func (s *Shard) VerifyPartition(id string, p Producer, partition TopicPartition) int16 {
	e, code := s.checkProducer(id, p, true)
	if code != codeNone {
		return code
	}
	if !e.has(partition) {
		return codeTransactionAbortable
	}
	return codeNone
}

// checkProducer compares a request's producer with the entry's.
func (s *Shard) checkProducer(id string, p Producer, verifyOnly bool) (*entry, int16) {
	e := s.entries[id]
	switch {
	case id == "":
		return nil, codeInvalidRequest
	case e == nil:
		return nil, codeInvalidProducerIDMapping
	case e.ending && !verifyOnly:
		return nil, codeConcurrentTransactions
	case e.producer != p.ID:
		return nil, codeInvalidProducerIDMapping
	case e.epoch != p.Epoch:
		return nil, codeProducerFenced
	case e.state == PrepareCommit || e.state == PrepareAbort:
		return nil, codeConcurrentTransactions
	}
	return e, codeNone
}
