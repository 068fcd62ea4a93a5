package groups

import "iter"

// offsetTable has a value for partitions, in the order of Kafka's tables: by topic, and then by partition. It begins anew once it is empty. The zero value is empty.
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
