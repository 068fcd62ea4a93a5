package groups

import (
	"iter"

	"github.com/fakekafka/fakekafka/internal/javatext"
)

// Kafka's coordinator keeps its state in hash tables. It walks those of the offsets, by topic and then by partition, when a group or a topic is deleted,
// when offsets expire, and when a transaction commits; those of groups when they are listed; and those of a consumer group's members when they are
// listed, shown to the assignor, or handed to a classic group, which the first one leads. So the order of these tables is seen in the log, in answers and in
// assignments, and it is reproduced here.

// storedTable is a map in the order of Kafka's: by Fibonacci hashing (storedAt), of which a table takes as many of the uppermost bits as it has slots,
// and within a slot the newest first. It doubles above four thirds of its slots, and never shrinks. The zero value is empty.
type storedTable[K storedKey, V any] struct {
	slots []*storedEntry[K, V] // none, or 1 << (64-shift)
	shift int
	n     int
}

func storedAt(hash int32) uint64 { return uint64(int64(hash)) * 0x9e3779b97f4a7c15 }

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

// makeRoom makes it for one more. Kafka does so whenever it stores a value, even where the key is there already.
func (t *storedTable[K, V]) makeRoom() {
	switch {
	case len(t.slots) == 0:
		t.slots, t.shift = make([]*storedEntry[K, V], 2), 63
	case (t.n+1)*3 > len(t.slots)*4:
		t.grow()
	}
}

func (t *storedTable[K, V]) set(key K, v V) {
	t.makeRoom()
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
