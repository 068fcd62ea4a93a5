package transactions

import (
	"cmp"
	"slices"
)

// State is where a transactional id stands.
type State int8

// The states, in the numbers of __transaction_state.
const (
	Empty          State = 0
	Ongoing        State = 1
	PrepareCommit  State = 2
	PrepareAbort   State = 3
	CompleteCommit State = 4
	CompleteAbort  State = 5
)

// stateNames are the names on the wire by number, those included that an entry never shows.
var stateNames = [...]string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"}

// String is Kafka's name of the state.
func (s State) String() string { return stateNames[s] }

// KnownState tells whether a name is that of a state.
func KnownState(name string) bool { return slices.Contains(stateNames[:], name) }

// TopicPartition is one partition of one topic.
type TopicPartition struct {
	Topic     string
	Partition int32
}

func comparePartitions(a, b TopicPartition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}

// The last epoch that is given to a producer is one less than the largest there is: that one fences the last one's transaction.
const (
	noProducerID    int64 = -1
	noProducerEpoch int16 = -1
	maxEpoch        int16 = 1<<15 - 1
)

// entry is what the coordinator knows of one transactional id: what its record holds, and beside it what is lost when the coordinator moves.
type entry struct {
	id         string
	producer   int64
	previous   int64 // the producer id before the last change
	next       int64 // put aside until the transaction completes, -1 for none
	epoch      int16 // -1 before the first answer
	timeoutMs  int32
	state      State
	partitions []TopicPartition // ascending
	started    int64            // ms, -1: never
	updated    int64            // ms
	clientTV   int16            // transaction version of the client's requests

	lastEpoch int16 // the epoch before a bump that the client may not have heard of, -1
	ending    bool  // markers are outstanding: the Complete state is pending
	markers   []TopicPartition
	givenUp   bool // a marker was refused: the entry stays pending until the coordinator moves
}

// exhausted: there is no further epoch that could be given to a producer.
func (e *entry) exhausted() bool { return e.epoch >= maxEpoch-1 }

func (e *entry) has(p TopicPartition) bool {
	_, ok := slices.BinarySearchFunc(e.partitions, p, comparePartitions)
	return ok
}

// with is the entry's partitions and more.
func (e *entry) with(more []TopicPartition) []TopicPartition {
	all := append(slices.Clone(e.partitions), more...)
	slices.SortFunc(all, comparePartitions)
	return slices.Compact(all)
}
