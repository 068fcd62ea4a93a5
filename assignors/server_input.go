package assignors

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// topicTable holds the topics a computation deals with in the order of their ids. A partition is known by its index: the
// topic's first index plus the partition number.
type topicTable struct {
	ids    []TopicID
	slots  []int32 // hash table of places, -1 empty: a look-up per topic of each member is most of the work
	shift  uint8   // of the hash, to the size of slots
	counts []int32
	first  []int32 // index of each topic's partition 0; one more at the end: the total
	// ordered: lists of partitions stay in their order instead of being sorted.
	ordered bool

	hands     []hand // scratch of indices
	lastPlace int    // of placeOf
}

// newTopicTable looks up every subscribed topic; members that share one slice are looked at once. A topic the metadata does
// not know fails the computation: it can only have vanished between the coordinator's two looks at the metadata.
func newTopicTable(name string, in ServerInput) (*topicTable, error) {
	t := &topicTable{ids: make([]TopicID, 0, len(in.Topics))}
	t.index(len(in.Topics))
	for i := range in.Members {
		if i > 0 && in.Homogeneous {
			break
		}
		if ts := in.Members[i].Topics; i == 0 || !sameSlice(ts, in.Members[i-1].Topics) {
			for j := range ts {
				t.add(&ts[j])
			}
		}
	}
	if !slices.IsSortedFunc(t.ids, compareTopicIDs) {
		slices.SortFunc(t.ids, compareTopicIDs)
		t.index(len(t.ids))
	}
	t.counts, t.first = make([]int32, len(t.ids)), make([]int32, len(t.ids)+1)
	for i, id := range t.ids {
		topic, ok := in.Topics[id]
		if !ok || topic.Partitions < 0 {
			return nil, fmt.Errorf("assignors: %s: a member subscribes to topic id %s, which the metadata does not know",
				name, TopicIDString(id))
		}
		t.counts[i] = topic.Partitions
		if int64(t.first[i])+int64(topic.Partitions) > math.MaxInt32 {
			return nil, fmt.Errorf("assignors: %s: the subscribed topics have more than %d partitions", name, math.MaxInt32)
		}
		t.first[i+1] = t.first[i] + topic.Partitions
	}
	return t, nil
}

func sortedTopicIDs(ids []TopicID) []TopicID {
	if !slices.IsSortedFunc(ids, compareTopicIDs) {
		slices.SortFunc(ids, compareTopicIDs)
	}
	return slices.Compact(ids)
}

func (t *topicTable) total() int { return int(t.first[len(t.ids)]) }

// index makes a hash table for n topics and puts in those that are there.
func (t *topicTable) index(n int) {
	width := bits.Len(uint(2*n + 1))
	if len(t.slots) != 1<<width {
		t.slots, t.shift = make([]int32, 1<<width), uint8(64-width)
	}
	for i := range t.slots {
		t.slots[i] = -1
	}
	for i := range t.ids {
		t.slots[t.freeSlot(&t.ids[i])] = int32(i)
	}
}

// add takes a topic in that is not there yet.
func (t *topicTable) add(id *TopicID) {
	if t.find(id) >= 0 {
		return
	}
	if 2*len(t.ids) >= len(t.slots)-1 {
		t.index(2 * len(t.slots))
	}
	t.slots[t.freeSlot(id)] = int32(len(t.ids))
	t.ids = append(t.ids, *id)
}

func (t *topicTable) freeSlot(id *TopicID) int {
	slot := t.slot(id)
	for t.slots[slot] >= 0 {
		slot = (slot + 1) & (len(t.slots) - 1)
	}
	return slot
}

// slot is where a topic's search begins.
func (t *topicTable) slot(id *TopicID) int {
	h := (binary.LittleEndian.Uint64(id[:8]) ^ binary.LittleEndian.Uint64(id[8:])) * 0x9E3779B97F4A7C15
	return int(h >> t.shift)
}

// find answers the place of a topic, -1 if nobody subscribes to it.
func (t *topicTable) find(id *TopicID) int {
	for slot := t.slot(id); ; slot = (slot + 1) & (len(t.slots) - 1) {
		switch place := t.slots[slot]; {
		case place < 0:
			return -1
		case t.ids[place] == *id:
			return int(place)
		}
	}
}

func sameSlice(a, b []TopicID) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// equalTopics tells whether two subscriptions have the same topics, in whatever order.
func equalTopics(a, b []TopicID) bool {
	if sameSlice(a, b) || slices.Equal(a, b) {
		return true
	}
	return slices.Equal(sortedTopicIDs(slices.Clone(a)), sortedTopicIDs(slices.Clone(b)))
}

// membersByID answers the indices of the members in the order of their ids.
func membersByID(name string, ms []ServerMember) ([]int32, error) {
	at := func(i int) string { return ms[i].ID }
	order, distinct := javaOrder(len(ms), at)
	if !distinct {
		return nil, fmt.Errorf("assignors: %s: the group lists member %q twice", name, twin(order, at))
	}
	return order, nil
}

// staticFirst answers members in the order of the range assignors and roundrobin: those with a group.instance.id first, by
// instance id, then the others by member id.
func staticFirst(byID []int32, instance func(int32) (string, bool)) []int32 {
	var static, dynamic []int32
	for k, i := range byID {
		if _, ok := instance(i); !ok {
			if static != nil {
				dynamic = append(dynamic, i)
			}
			continue
		}
		if static == nil {
			static = make([]int32, 0, len(byID))
			dynamic = append(make([]int32, 0, len(byID)), byID[:k]...)
		}
		static = append(static, i)
	}
	if static == nil {
		return byID
	}
	ids := make([]string, len(static))
	for k, i := range static {
		ids[k], _ = instance(i)
	}
	out := make([]int32, 0, len(byID))
	byInstance, _ := javaOrder(len(ids), func(k int) string { return ids[k] })
	for _, k := range byInstance {
		out = append(out, static[k])
	}
	return append(out, dynamic...)
}

// upTo is the list 0..n-1, of which runs of consecutive partitions are cut.
func upTo(n int32) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}

// TopicIDString writes a topic id as Kafka prints it: 22 characters of unpadded URL-safe base64.
func TopicIDString(id TopicID) string { return base64.RawURLEncoding.EncodeToString(id[:]) }
