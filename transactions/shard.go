package transactions

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Config is the broker's settings that the coordinator reads.
type Config struct {
	MaxTimeout time.Duration // transaction.max.timeout.ms; the clients' own may not be longer
	Expiration time.Duration // transactional.id.expiration.ms: ids that nobody used for so long are forgotten
}

// DefaultConfig has Apache Kafka's defaults.
func DefaultConfig() Config {
	return Config{MaxTimeout: 15 * time.Minute, Expiration: 7 * 24 * time.Hour}
}

// Markers ask the driver to end a transaction in its partitions.
type Markers struct {
	TransactionalID string
	ProducerID      int64
	ProducerEpoch   int16
	Commit          bool
	// TransactionVersion is 2 where every end raises the epoch (KIP-890).
	TransactionVersion int16
	Partitions         []TopicPartition
}

// Event is a change of a transactional id, for the history.
type Event struct {
	TransactionalID string
	ProducerID      int64
	ProducerEpoch   int16
	State           State
	Cause           string
}

// Effects is what a step asks of the driver: write the records, then the markers, and tell the events. The shard's state is already that after
// the records.
type Effects struct {
	Records []Record
	Markers []Markers
	Events  []Event
}

// Shard is one partition of __transaction_state: the transactional ids that hash to it. It is not safe for concurrent use.
type Shard struct {
	cfg     Config
	newID   func() int64 // the next free producer id
	entries map[string]*entry
	fx      Effects

	readOnly bool
}

// NewShard makes an empty shard; newID gives producer ids that nobody has.
func NewShard(cfg Config, newID func() int64) *Shard {
	return &Shard{cfg: cfg, newID: newID, entries: map[string]*entry{}}
}

// SetReadOnly says whether the log takes no records, as while fewer replicas are in sync than min.insync.replicas asks for. A request that would write is then
// refused with COORDINATOR_NOT_AVAILABLE and changes nothing, and what the coordinator writes on its own account waits.
func (s *Shard) SetReadOnly(readOnly bool) { s.readOnly = readOnly }

// Replay applies one record of the log while the shard is loaded.
func (s *Shard) Replay(r Record) error {
	id, e, err := decode(r)
	switch {
	case err != nil:
		return err
	case e == nil:
		delete(s.entries, id)
	default:
		s.entries[id] = e
	}
	return nil
}

// Loaded ends the loading: transactions that were ending have their markers sent again.
func (s *Shard) Loaded() Effects {
	for _, id := range s.IDs() {
		if e := s.entries[id]; e.state == PrepareCommit || e.state == PrepareAbort {
			s.sendMarkers(e, 0)
		}
	}
	return s.end()
}

// Has tells whether there is a transactional id.
func (s *Shard) Has(id string) bool { return s.entries[id] != nil }

// IDs are the transactional ids, ascending.
func (s *Shard) IDs() []string { return slices.Sorted(maps.Keys(s.entries)) }

func (s *Shard) end() Effects {
	fx := s.fx
	s.fx = Effects{}
	return fx
}

// write changes an entry durably; no marker is outstanding then.
func (s *Shard) write(now time.Time, next entry, cause string, args ...any) *entry {
	next.updated = now.UnixMilli()
	r := next.record()
	_, applied, err := decode(r)
	if err != nil {
		panic(err) // our own record
	}
	applied.lastEpoch = next.lastEpoch
	s.entries[next.id] = applied
	s.fx.Records = append(s.fx.Records, r)
	s.fx.Events = append(s.fx.Events, Event{next.id, next.producer, next.epoch, next.state, fmt.Sprintf(cause, args...)})
	return applied
}

// sendMarkers asks for the markers of an entry in a Prepare state.
func (s *Shard) sendMarkers(e *entry, version int16) {
	e.ending = true
	e.markers = slices.Clone(e.partitions)
	s.fx.Markers = append(s.fx.Markers, Markers{
		TransactionalID: e.id, ProducerID: e.producer, ProducerEpoch: e.epoch, Commit: e.state == PrepareCommit,
		TransactionVersion: version, Partitions: slices.Clone(e.partitions),
	})
}

// MarkersWritten says that partitions have their markers, or need none any more because they are gone. After the last one the transaction is complete.
// With none given it looks whether that is so already: a transaction may end without partitions.
func (s *Shard) MarkersWritten(now time.Time, id string, written ...TopicPartition) Effects {
	e := s.entries[id]
	if e == nil || !e.ending || e.givenUp {
		return s.end()
	}
	written = slices.SortedFunc(slices.Values(written), comparePartitions) // a transaction may have very many
	e.markers = slices.DeleteFunc(e.markers, func(p TopicPartition) bool {
		_, has := slices.BinarySearchFunc(written, p, comparePartitions)
		return has
	})
	if len(e.markers) > 0 || s.readOnly {
		return s.end()
	}
	next := *e
	next.partitions = nil
	next.state = CompleteAbort
	if e.state == PrepareCommit {
		next.state = CompleteCommit
	}
	next.previous = e.producer
	if e.next != noProducerID { // the epochs of the old id were used up
		next.producer, next.next, next.epoch = e.next, noProducerID, 0
	}
	s.write(now, next, "all markers are written")
	return s.end()
}

// MarkersRefused says that a partition refused its marker for good: it knows a newer epoch of the producer or of the coordinator. Kafka then leaves the transaction as
// it is, in its Prepare state and pending, until another coordinator takes over and sends the markers again.
func (s *Shard) MarkersRefused(id string) Effects {
	if e := s.entries[id]; e != nil && e.ending && !e.givenUp {
		e.givenUp = true
		s.fx.Events = append(s.fx.Events, Event{id, e.producer, e.epoch, e.state, "a marker was refused; the transaction stays as it is until its coordinator moves"})
	}
	return s.end()
}

// Outstanding are the transactions whose markers are not all written, and the partitions that lack one.
func (s *Shard) Outstanding() []Markers {
	var all []Markers
	for _, id := range s.IDs() {
		if e := s.entries[id]; e.ending && !e.givenUp {
			all = append(all, Markers{
				TransactionalID: id, ProducerID: e.producer, ProducerEpoch: e.epoch, Commit: e.state == PrepareCommit, Partitions: slices.Clone(e.markers),
			})
		}
	}
	return all
}
