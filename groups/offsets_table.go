package groups

import (
	"iter"

	"github.com/fakekafka/fakekafka/internal/javatext"
)

// Kafka's coordinator keeps its state in hash tables. It walks those of the offsets, by topic and then by partition, when a group or a topic is deleted,
// when offsets expire, and when a transaction commits; those of groups and of a consumer group's members when they are listed. So the order of these
// tables is the order of tombstones in the log and of entries in answers, and it is reproduced here.

// offsetTable has a value for partitions, in the order of Kafka's tables. The zero value is empty.
type offsetTable[V any] struct {
	topics storedTable[string, *storedTable[int32, V]]
}

func (t *offsetTable[V]) empty() bool { return t.topics.n == 0 }

func (t *offsetTable[V]) get(tp topicPartition) (v V, ok bool) {
	if partitions, found := t.topics.get(tp.topic); found {
		return partitions.get(tp.partition)
	}
	return v, false
}

func (t *offsetTable[V]) set(tp topicPartition, v V) {
	partitions, ok := t.topics.get(tp.topic)
	if !ok {
		partitions = new(storedTable[int32, V])
		t.topics.set(tp.topic, partitions)
	}
	partitions.set(tp.partition, v)
}

func (t *offsetTable[V]) remove(tp topicPartition) {
	partitions, ok := t.topics.get(tp.topic)
	if !ok {
		return
	}
	if partitions.remove(tp.partition); partitions.n == 0 {
		if t.topics.remove(tp.topic); t.topics.n == 0 {
			*t = offsetTable[V]{}
		}
	}
}

// all walks the table, which must not change meanwhile.
func (t *offsetTable[V]) all() iter.Seq2[topicPartition, V] {
	return func(yield func(topicPartition, V) bool) {
		for topic, partitions := range t.topics.all() {
			for partition, v := range partitions.all() {
				if !yield(topicPartition{topic, partition}, v) {
					return
				}
			}
		}
	}
}

// storedTable is a map in the order of Kafka's: by Fibonacci hashing (storedAt), of which a table takes as many of the uppermost bits as it has slots,
// and within a slot the newest first. It doubles above four thirds of its slots, and never shrinks; once it is empty Kafka makes a new one.
type storedTable[K storedKey, V any] struct {
	slots []*storedEntry[K, V] // none, or 1 << (64-shift)
	shift int
	n     int
}

type storedKey interface{ string | int32 }

type storedEntry[K storedKey, V any] struct {
	key   K
	value V
	next  *storedEntry[K, V]
}

func storedHash[K storedKey](key K) int32 {
	switch key := any(key).(type) {
	case string:
		return javatext.HashCode(key)
	case int32:
		return key
	}
	panic("unreachable: storedKey has no other types")
}

// slot is where the entries begin among which a key is. There must be slots.
func (t *storedTable[K, V]) slot(key K) **storedEntry[K, V] {
	return &t.slots[storedAt(storedHash(key))>>t.shift]
}

// at is the place of a key in its slot: it points to nil where the slot ends without it.
func (t *storedTable[K, V]) at(key K) **storedEntry[K, V] {
	e := t.slot(key)
	for *e != nil && (*e).key != key {
		e = &(*e).next
	}
	return e
}

func (t *storedTable[K, V]) get(key K) (v V, ok bool) {
	if t.n == 0 {
		return v, false
	}
	if e := *t.at(key); e != nil {
		return e.value, true
	}
	return v, false
}

// set makes room for one more even where the key is there already, as Kafka's table does.
func (t *storedTable[K, V]) set(key K, v V) {
	switch {
	case len(t.slots) == 0:
		t.slots, t.shift = make([]*storedEntry[K, V], 2), 63
	case (t.n+1)*3 > len(t.slots)*4:
		t.grow()
	}
	if e := *t.at(key); e != nil {
		e.value = v
		return
	}
	t.n++
	first := t.slot(key)
	*first = &storedEntry[K, V]{key, v, *first}
}

// grow keeps the order of those that go to the same slot.
func (t *storedTable[K, V]) grow() {
	old := t.slots
	t.slots, t.shift = make([]*storedEntry[K, V], 2*len(old)), t.shift-1
	for _, e := range old {
		for e != nil {
			next := e.next
			e.next = nil
			*t.at(e.key) = e
			e = next
		}
	}
}

func (t *storedTable[K, V]) remove(key K) {
	if t.n == 0 {
		return
	}
	if e := t.at(key); *e != nil {
		*e = (*e).next
		t.n--
	}
}

func (t *storedTable[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, e := range t.slots {
			for ; e != nil; e = e.next {
				if !yield(e.key, e.value) {
					return
				}
			}
		}
	}
}
