package fetchsession

import "math"

// Session ids and epochs with a meaning of their own.
const (
	// NoSession is the id of requests and answers without a session.
	NoSession int32 = 0
	// InitialEpoch asks for a full answer and a new session.
	InitialEpoch int32 = 0
	// FinalEpoch closes a session, or asks for a full answer without one.
	FinalEpoch int32 = -1
)

// Kind is what a request's session id and epoch ask for.
type Kind uint8

const (
	// Sessionless answers the request's partitions without a session, and closes the one it names.
	Sessionless Kind = iota
	// Full answers the request's partitions, closes the session it names and tries to open a new one.
	Full
	// Incremental changes and reads the session it names.
	Incremental
)

func (k Kind) String() string {
	switch k {
	case Sessionless:
		return "sessionless"
	case Full:
		return "full"
	default:
		return "incremental"
	}
}

// KindOf reads a request's session epoch. Requests below version 7 have none; theirs is FinalEpoch.
func KindOf(epoch int32) Kind {
	switch epoch {
	case FinalEpoch:
		return Sessionless
	case InitialEpoch:
		return Full
	default:
		return Incremental
	}
}

// NextEpoch is the epoch that follows e in a session: after the largest number comes 1, since 0 has a meaning of its own.
func NextEpoch(e int32) int32 {
	switch {
	case e < 0:
		return FinalEpoch
	case e == math.MaxInt32:
		return 1
	default:
		return e + 1
	}
}

// Partition is one partition as a request names it: what to read, and from where.
type Partition struct {
	Topic     string   // empty when the request gave an id that has no name (yet)
	TopicID   [16]byte // zero in requests below version 13
	Partition int32

	FetchOffset        int64
	LogStartOffset     int64 // a follower's; -1 from consumers
	MaxBytes           int32
	CurrentLeaderEpoch int32 // -1: not to be checked
	LastFetchedEpoch   int32 // -1: not to be checked
}

// topicKey is what makes a topic the same in two requests of a session: from version 13 on its id, before that its name.
type topicKey struct {
	id   [16]byte
	name string
}

func (p *Partition) topicKey(byID bool) topicKey {
	if byID {
		return topicKey{id: p.TopicID}
	}
	return topicKey{name: p.Topic}
}

func (p *Partition) sameTopic(o *Partition, byID bool) bool {
	if byID {
		return p.TopicID == o.TopicID
	}
	return p.Topic == o.Topic
}

// Merge drops repeated partitions from a request's list, in place: the last entry's fields stand at the first one's
// place. byID says how topics are named (version 13 and up: by id).
func Merge(list []Partition, byID bool) []Partition {
	if len(list) < 2 {
		return list
	}
	seen := table[int]{expected: len(list)} // 1 + where a partition stands
	n := 0
	for i := range list {
		at := seen.put(&list[i], byID, n+1)
		if at == 0 {
			n++
			at = n
		}
		list[at-1] = list[i]
	}
	return list[:n]
}

// table finds something by topic and partition; a zero V stands for nothing. Neighbours in a list mostly are of the same topic,
// so that the topic need not be looked up for each. The zero value is empty.
type table[V comparable] struct {
	topics   map[topicKey]*byNumber[V]
	last     *byNumber[V]
	lastOf   Partition // a partition of the topic that last is of
	expected int       // about how many there will be
}

// byNumber finds something by the number of a partition: in a list while the numbers are small for how many there are, as
// they are in practice.
type byNumber[V comparable] struct {
	dense  []V
	sparse map[int32]V
	count  int
}

func (b *byNumber[V]) get(number int32) (v V) {
	if number >= 0 && int(number) < len(b.dense) {
		return b.dense[number]
	}
	return b.sparse[number]
}

func (b *byNumber[V]) set(number int32, v V, expected int) {
	b.count++
	if number >= 0 && int(number) < 4*expected+64 {
		if n := int(number) + 1; n > len(b.dense) {
			b.grow(n)
		}
		b.dense[number] = v
		return
	}
	if b.sparse == nil {
		b.sparse = map[int32]V{}
	}
	b.sparse[number] = v
}

// grow makes room for numbers below n, and moves in those that were too large before.
func (b *byNumber[V]) grow(n int) {
	b.dense = append(b.dense, make([]V, n-len(b.dense))...)
	if len(b.sparse) == 0 {
		return
	}
	for number, v := range b.sparse {
		if number >= 0 && int(number) < n {
			b.dense[number] = v
			delete(b.sparse, number)
		}
	}
}

func (b *byNumber[V]) remove(number int32) {
	var nothing V
	b.count--
	if number >= 0 && int(number) < len(b.dense) {
		b.dense[number] = nothing
		return
	}
	delete(b.sparse, number)
}

func (b *byNumber[V]) each(fn func(V)) {
	var nothing V
	for _, v := range b.dense {
		if v != nothing {
			fn(v)
		}
	}
	for _, v := range b.sparse {
		fn(v)
	}
}

func (t *table[V]) of(p *Partition, byID bool) *byNumber[V] {
	if t.last == nil || !p.sameTopic(&t.lastOf, byID) {
		t.last, t.lastOf = t.topics[p.topicKey(byID)], *p
	}
	return t.last
}

// get finds what was put for the partition.
func (t *table[V]) get(p *Partition, byID bool) (v V) {
	if b := t.of(p, byID); b != nil {
		return b.get(p.Partition)
	}
	return v
}

// put stores v unless there is something already, which it returns.
func (t *table[V]) put(p *Partition, byID bool, v V) (was V) {
	b := t.of(p, byID)
	if b == nil {
		if t.topics == nil {
			t.topics = map[topicKey]*byNumber[V]{}
		}
		b = &byNumber[V]{}
		t.topics[p.topicKey(byID)] = b
		t.last, t.lastOf = b, *p
	}
	var nothing V
	if was = b.get(p.Partition); was == nothing {
		b.set(p.Partition, v, t.expected)
	}
	return was
}

// remove forgets the partition, for which something has been put.
func (t *table[V]) remove(p *Partition, byID bool) {
	b := t.of(p, byID)
	if b.remove(p.Partition); b.count == 0 {
		delete(t.topics, p.topicKey(byID))
		t.last = nil
	}
}
