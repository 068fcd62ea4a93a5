package groups

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/fakekafka/fakekafka/internal/records"
)

// offsets are the committed offsets of one group, of either protocol.
type offsets struct {
	committed offsetTable[storedOffset]
	// pending are those of open transactions, by producer.
	pending map[int64]*offsetTable[storedOffset]
	// open are the partitions that have pending ones, and of how many producers: a set of them in Kafka, whose changes don't touch the table.
	open offsetTable[*int]
}

type topicPartition struct {
	topic     string
	partition int32
}

// storedOffset is a committed offset and where its record stands in the log: of two the later one wins.
type storedOffset struct {
	records.OffsetValue
	at int64
}

func (o *offsets) empty() bool { return o.committed.empty() && len(o.pending) == 0 }

// isPending says whether an open transaction has an offset of the partition.
func (o *offsets) isPending(tp topicPartition) bool {
	_, ok := o.open.get(tp)
	return ok
}

// allKeys are the partitions with a committed or a pending offset, as Kafka deletes them: the committed ones first.
func (o *offsets) allKeys() (keys []topicPartition) {
	for tp := range o.committed.all() {
		keys = append(keys, tp)
	}
	for tp := range o.open.all() {
		if _, ok := o.committed.get(tp); !ok {
			keys = append(keys, tp)
		}
	}
	return keys
}

// producers are those with pending offsets, in the order of Kafka's table.
func (o *offsets) producers() []int64 {
	ids := slices.Sorted(maps.Keys(o.pending))
	slices.SortStableFunc(ids, func(a, b int64) int { return cmp.Compare(storedAt(int32(a^a>>32)), storedAt(int32(b^b>>32))) })
	return ids
}

// list is what State shows.
func (o *offsets) list() (committed, pending []CommittedOffset) {
	show := func(tp topicPartition, v storedOffset, producerID int64) CommittedOffset {
		return CommittedOffset{
			Topic: tp.topic, Partition: tp.partition, Offset: v.Offset, LeaderEpoch: v.LeaderEpoch,
			Metadata: v.Metadata, CommittedAt: time.UnixMilli(v.Commit), ProducerID: producerID,
		}
	}
	for tp, v := range o.committed.all() {
		committed = append(committed, show(tp, v, -1))
	}
	for id, table := range o.pending {
		for tp, v := range table.all() {
			pending = append(pending, show(tp, v, id))
		}
	}
	slices.SortFunc(committed, compareOffsets)
	slices.SortFunc(pending, compareOffsets)
	return committed, pending
}

func compareOffsets(a, b CommittedOffset) int {
	return cmp.Or(cmp.Compare(a.ProducerID, b.ProducerID), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}

// applyOffset applies a record of type 0 or 1 outside a transaction.
func (s *Shard) applyOffset(offset int64, r Record) {
	key, err := records.DecodeOffsetKey(r.Key)
	if err != nil {
		return
	}
	tp := topicPartition{key.Topic, key.Partition}
	if r.Value == nil {
		if g := s.groups[key.Group]; g != nil {
			g.offsets.committed.remove(tp)
			for _, id := range g.offsets.producers() {
				s.dropPending(g, id, tp)
			}
			s.dropIfBare(g)
		}
		return
	}
	value, err := records.DecodeOffsetValue(r.Value)
	if err != nil {
		return
	}
	s.groupOfOffsets(key.Group).offsets.committed.set(tp, storedOffset{value, offset})
}

// applyPending applies a record of a transaction: an offset that counts when the transaction commits.
func (s *Shard) applyPending(offset, producerID int64, r Record) {
	if kind, err := records.KeyType(r.Key); err != nil || kind != records.TypeOffsetCommit || r.Value == nil {
		return
	}
	key, err := records.DecodeOffsetKey(r.Key)
	if err != nil {
		return
	}
	value, err := records.DecodeOffsetValue(r.Value)
	if err != nil {
		return
	}
	g := s.groupOfOffsets(key.Group)
	if g.offsets.pending == nil {
		g.offsets.pending = make(map[int64]*offsetTable[storedOffset])
	}
	pending := g.offsets.pending[producerID]
	if pending == nil {
		pending = new(offsetTable[storedOffset])
		g.offsets.pending[producerID] = pending
	}
	tp := topicPartition{key.Topic, key.Partition}
	if _, again := pending.get(tp); !again {
		n, others := g.offsets.open.get(tp)
		if !others {
			n = new(int)
			g.offsets.open.set(tp, n)
		}
		*n++
	}
	pending.set(tp, storedOffset{value, offset})
	if s.open[producerID] == nil {
		s.open[producerID] = make(map[string]struct{})
	}
	s.open[producerID][key.Group] = struct{}{}
}

// groupOfOffsets is the group of an offset's record. Where there is none it is a simple one: a classic group
// that has no record of its own, which a record of either kind of group may replace.
func (s *Shard) groupOfOffsets(id string) *group {
	s.forgetAllDoomed() // this is the record
	g := s.groups[id]
	if g == nil {
		g = s.addGroup(id)
	}
	if g.classic == nil && g.consumer == nil {
		s.newClassicGroup(g)
	}
	return g
}

// dropPending forgets one pending offset.
func (s *Shard) dropPending(g *group, producerID int64, tp topicPartition) {
	pending := g.offsets.pending[producerID]
	if _, ok := pending.get(tp); ok {
		pending.remove(tp)
		g.offsets.close(tp)
	}
	if !pending.empty() {
		return
	}
	delete(g.offsets.pending, producerID)
	delete(s.open[producerID], g.id)
	if len(s.open[producerID]) == 0 {
		delete(s.open, producerID)
	}
}

// close takes one producer's away from the pending ones of a partition.
func (o *offsets) close(tp topicPartition) {
	n, _ := o.open.get(tp)
	if *n--; *n == 0 {
		o.open.remove(tp)
	}
}

// endTransaction moves the producer's pending offsets among the committed ones, or drops them. An offset committed
// after the pending one wins over it.
func (s *Shard) endTransaction(producerID int64, commit bool) {
	ids := make([]string, 0, len(s.open[producerID]))
	for id := range s.open[producerID] {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		g := s.groups[id]
		for tp, v := range g.offsets.pending[producerID].all() {
			g.offsets.close(tp)
			switch old, ok := g.offsets.committed.get(tp); {
			case !commit:
				s.emit(Event{Group: id, Kind: EventOffsetsAborted, Partitions: tp.single(), Offset: v.Offset, Cause: "its transaction was aborted"})
			case ok && old.at > v.at:
			default:
				g.offsets.committed.set(tp, v)
				s.emit(Event{Group: id, Kind: EventCommitted, Partitions: tp.single(), Offset: v.Offset, Cause: "its transaction was committed"})
			}
		}
		delete(g.offsets.pending, producerID)
	}
	delete(s.open, producerID)
}

func (tp topicPartition) single() map[string][]int32 {
	return map[string][]int32{tp.topic: {tp.partition}}
}

// CompleteTransaction brings the outcome of a producer's transaction for its pending offsets. The driver writes the marker;
// offset is where it stands in the log.
func (s *Shard) CompleteTransaction(now time.Time, producerID int64, commit bool, offset int64) Effects {
	s.begin(now)
	s.endTransaction(producerID, commit)
	s.moveReaders()
	s.nextOffset = max(s.nextOffset, offset) + 1
	return s.end()
}

// offsetTombstone deletes a committed offset and the pending ones of its partition.
func offsetTombstone(group string, tp topicPartition) Record {
	return Record{Key: records.OffsetKey{Group: group, Topic: tp.topic, Partition: tp.partition}.Encode()}
}
