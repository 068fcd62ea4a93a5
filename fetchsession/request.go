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
	seen := table[int]{}
	n := 0
	for i := range list {
		at, first := seen.put(&list[i], byID, n)
		if first {
			at = n
			n++
		}
		list[at] = list[i]
	}
	return list[:n]
}

// table finds something by topic and partition. Neighbours in a list mostly are of the same topic, so that the topic need not
// be looked up for each. The zero value is empty.
type table[V any] struct {
	topics map[topicKey]map[int32]V
	last   map[int32]V
	lastOf Partition // a partition of the topic that last is of
}

func (t *table[V]) of(p *Partition, byID bool) map[int32]V {
	if t.last == nil || !p.sameTopic(&t.lastOf, byID) {
		t.last, t.lastOf = t.topics[p.topicKey(byID)], *p
	}
	return t.last
}

// get finds what was put for the partition.
func (t *table[V]) get(p *Partition, byID bool) (v V, ok bool) {
	v, ok = t.of(p, byID)[p.Partition]
	return v, ok
}

// put stores v unless there is something already, which it returns.
func (t *table[V]) put(p *Partition, byID bool, v V) (was V, stored bool) {
	m := t.of(p, byID)
	if m == nil {
		if t.topics == nil {
			t.topics = map[topicKey]map[int32]V{}
		}
		m = map[int32]V{}
		t.topics[p.topicKey(byID)] = m
		t.last, t.lastOf = m, *p
	}
	if was, ok := m[p.Partition]; ok {
		return was, false
	}
	m[p.Partition] = v
	return was, true
}

func (t *table[V]) remove(p *Partition, byID bool) {
	m := t.of(p, byID)
	delete(m, p.Partition)
	if len(m) == 0 {
		delete(t.topics, p.topicKey(byID))
		t.last = nil
	}
}
