package groups

import (
	"cmp"
	"slices"
	"time"

	"github.com/fakekafka/fakekafka/internal/records"
)

// offsets are the committed offsets of one group, of either protocol.
type offsets struct {
	committed map[topicPartition]storedOffset
	// pending are those of open transactions, by producer.
	pending map[int64]map[topicPartition]storedOffset
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

func compareTopicPartitions(a, b topicPartition) int {
	return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
}

func (o *offsets) empty() bool { return len(o.committed) == 0 && len(o.pending) == 0 }

// isPending says whether an open transaction has an offset of the partition.
func (o *offsets) isPending(tp topicPartition) bool {
	for _, byPartition := range o.pending {
		if _, ok := byPartition[tp]; ok {
			return true
		}
	}
	return false
}

// keys are the partitions with a committed offset, sorted.
func (o *offsets) keys() []topicPartition {
	keys := make([]topicPartition, 0, len(o.committed))
	for tp := range o.committed {
		keys = append(keys, tp)
	}
	slices.SortFunc(keys, compareTopicPartitions)
	return keys
}

// allKeys are the partitions with a committed or a pending offset, sorted.
func (o *offsets) allKeys() []topicPartition {
	keys := o.keys()
	for _, byPartition := range o.pending {
		for tp := range byPartition {
			keys = append(keys, tp)
		}
	}
	slices.SortFunc(keys, compareTopicPartitions)
	return slices.Compact(keys)
}

// producers are those with pending offsets, sorted.
func (o *offsets) producers() []int64 {
	ids := make([]int64, 0, len(o.pending))
	for id := range o.pending {
		ids = append(ids, id)
	}
	slices.Sort(ids)
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
	for _, tp := range o.keys() {
		committed = append(committed, show(tp, o.committed[tp], -1))
	}
	for _, id := range o.producers() {
		for _, tp := range sortedOffsets(o.pending[id]) {
			pending = append(pending, show(tp, o.pending[id][tp], id))
		}
	}
	return committed, pending
}

func sortedOffsets(m map[topicPartition]storedOffset) []topicPartition {
	keys := make([]topicPartition, 0, len(m))
	for tp := range m {
		keys = append(keys, tp)
	}
	slices.SortFunc(keys, compareTopicPartitions)
	return keys
}

// applyOffset applies a record of type 0 or 1 outside a transaction.
func (s *Shard) applyOffset(offset int64, r Record) {
	key, err := records.ReadOffsetKey(r.Key)
	if err != nil {
		return
	}
	tp := topicPartition{key.Topic, key.Partition}
	if r.Value == nil {
		if g := s.groups[key.Group]; g != nil {
			delete(g.offsets.committed, tp)
			for _, id := range g.offsets.producers() {
				s.dropPending(g, id, tp)
			}
			s.dropIfBare(g)
		}
		return
	}
	value, err := records.ReadOffsetValue(r.Value)
	if err != nil {
		return
	}
	g := s.groupOfOffsets(key.Group)
	if g.offsets.committed == nil {
		g.offsets.committed = make(map[topicPartition]storedOffset)
	}
	g.offsets.committed[tp] = storedOffset{value, offset}
}

// applyPending applies a record of a transaction: an offset that counts when the transaction commits.
func (s *Shard) applyPending(offset, producerID int64, r Record) {
	if kind, err := records.KeyType(r.Key); err != nil || kind != records.TypeOffsetCommit || r.Value == nil {
		return
	}
	key, err := records.ReadOffsetKey(r.Key)
	if err != nil {
		return
	}
	value, err := records.ReadOffsetValue(r.Value)
	if err != nil {
		return
	}
	g := s.groupOfOffsets(key.Group)
	if g.offsets.pending == nil {
		g.offsets.pending = make(map[int64]map[topicPartition]storedOffset)
	}
	if g.offsets.pending[producerID] == nil {
		g.offsets.pending[producerID] = make(map[topicPartition]storedOffset)
	}
	g.offsets.pending[producerID][topicPartition{key.Topic, key.Partition}] = storedOffset{value, offset}
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
	delete(g.offsets.pending[producerID], tp)
	if len(g.offsets.pending[producerID]) > 0 {
		return
	}
	delete(g.offsets.pending, producerID)
	delete(s.open[producerID], g.id)
	if len(s.open[producerID]) == 0 {
		delete(s.open, producerID)
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
		pending := g.offsets.pending[producerID]
		for _, tp := range sortedOffsets(pending) {
			v := pending[tp]
			switch old, ok := g.offsets.committed[tp]; {
			case !commit:
				s.emit(Event{Group: id, Kind: EventOffsetsAborted, Partitions: tp.single(), Offset: v.Offset, Cause: "its transaction was aborted"})
			case ok && old.at > v.at:
			default:
				if g.offsets.committed == nil {
					g.offsets.committed = make(map[topicPartition]storedOffset)
				}
				g.offsets.committed[tp] = v
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
	s.nextOffset = max(s.nextOffset, offset) + 1
	return s.end()
}

// offsetTombstone deletes a committed offset and the pending ones of its partition.
func offsetTombstone(group string, tp topicPartition) Record {
	return Record{Key: records.OffsetKey{Group: group, Topic: tp.topic, Partition: tp.partition}.Append(nil)}
}
