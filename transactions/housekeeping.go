package transactions

import (
	"fmt"
	"time"
)

// AbortTimedOut fences and aborts the transactions that are open for longer than their timeout.
func (s *Shard) AbortTimedOut(now time.Time) Effects {
	if s.readOnly {
		return s.end()
	}
	for _, id := range s.IDs() {
		e := s.entries[id]
		if e.state == Ongoing && e.started+int64(e.timeoutMs) < now.UnixMilli() {
			s.fence(now, e, fmt.Sprintf("its timeout of %s has passed", time.Duration(e.timeoutMs)*time.Millisecond))
		}
	}
	return s.end()
}

// RemoveExpired forgets the ids that nobody has used for the expiration time.
func (s *Shard) RemoveExpired(now time.Time) Effects {
	if s.readOnly {
		return s.end()
	}
	for _, id := range s.IDs() {
		e := s.entries[id]
		if e.state == Ongoing || e.state == PrepareCommit || e.state == PrepareAbort {
			continue
		}
		if now.UnixMilli()-e.updated >= s.cfg.Expiration.Milliseconds() {
			delete(s.entries, id)
			s.fx.Records = append(s.fx.Records, Record{Key: recordKey(id)})
			s.fx.Events = append(s.fx.Events, Event{id, e.producer, e.epoch, e.state, "expired and removed"})
		}
	}
	return s.end()
}

// Description is an id as DescribeTransactions and ListTransactions show it. It is a value.
type Description struct {
	TransactionalID string
	State           State
	Producer        Producer
	TimeoutMs       int32
	StartTimestamp  int64 // ms; -1: never
	// Partitions are those added; while the transaction ends, those that lack their marker.
	Partitions []TopicPartition
}

// Describe shows an id. The code is INVALID_REQUEST for the empty one and TRANSACTIONAL_ID_NOT_FOUND for an unknown one.
func (s *Shard) Describe(id string) (Description, int16) {
	e := s.entries[id]
	switch {
	case id == "":
		return Description{}, codeInvalidRequest
	case e == nil:
		return Description{}, codeTransactionalIDNotFound
	}
	partitions := e.partitions
	if e.ending { // one that has its marker is out
		partitions = e.markers
	}
	return Description{
		TransactionalID: id, State: e.state, Producer: Producer{e.producer, e.epoch}, TimeoutMs: e.timeoutMs,
		StartTimestamp: e.started, Partitions: append([]TopicPartition(nil), partitions...),
	}, codeNone
}
