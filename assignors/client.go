package assignors

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"
)

// Topic is what an assignor may know of a topic.
type Topic struct {
	Partitions int32
	// Racks are the racks of the replicas, by partition; nil when no broker has a rack.
	Racks [][]string
	// ID matters to server-side assignors only, which go by the order of topic ids. If no topic has one, they are made up
	// in the order of the names.
	ID TopicID
}

// Member is one member of a Group: what it subscribes to and what it brings along.
type Member struct {
	ID string
	// InstanceID is group.instance.id of a static member; nil is none.
	InstanceID *string
	Subscription
}

// Group is what the leader of a classic group sees when it computes an assignment.
type Group struct {
	// Topics are the topics of the cluster by name. One that is missing here does not exist: who subscribes to it gets
	// nothing of it.
	Topics map[string]Topic
	// Members in any order.
	Members []Member
	// Left are members that have left since the last round. No assignor looks at them; Explain tells what they had.
	Left []Member
	// LedGeneration is the highest generation the same leader saw in earlier rounds; 0 is none. Only the sticky assignors look
	// at it: the Java classes never forget it, and older claims than that count for less.
	LedGeneration int32
}

// Assignor is a client-side assignor. It holds no state: equal groups get equal answers, in whatever order the members and
// their claims are listed.
type Assignor interface {
	// Name is what members list as a protocol in JoinGroup (partition.assignment.strategy).
	Name() string
	// Assign answers what every member of the group gets, sorted by topic and partition. Nothing is nil.
	Assign(Group) (map[string][]TopicPartition, error)
}

// round is one computation: members by their place in the order of ids, partitions by index, which is the first index of
// their topic (in the order of names) plus the partition number.
type round struct {
	name    string
	group   *Group
	members []int32 // by place: index into group.Members

	topics []string // known ones: subscribed by someone, existing, at least one partition
	counts []int32
	first  []int32 // one more at the end: the total
	byName map[string]int32

	subs        [][]int32 // by member: known topics, ascending; shared between members with equal lists
	oneSub      bool      // all members have one list
	subscribers [][]int32 // by topic: members, ascending

	owner []int32    // by partition: member or -1
	why   []why      // by partition, for Explain; nil when nobody asked
	match *rackTable // sticky: set when racks decide what may be kept
	heir  []int32    // by withheld partition: who gets it later, for Explain; nil when nobody asked
}

func (r *round) member(m int32) *Member { return &r.group.Members[r.members[m]] }

func (r *round) give(p, m int32, w why) {
	r.owner[p] = m
	if r.why != nil {
		r.why[p] = w
	}
}

// newRound does what is common to all client-side assignors: it collects the subscribed topics and drops those without
// metadata and those without partitions, without telling anyone.
func newRound(name string, g *Group, explain bool) (*round, error) {
	r := &round{name: name, group: g}
	at := func(i int) string { return g.Members[i].ID }
	distinct := false
	if r.members, distinct = javaOrder(len(g.Members), at); !distinct {
		return nil, fmt.Errorf("assignors: %s: the group lists member %q twice", name, twin(r.members, at))
	}
	if err := r.collectTopics(); err != nil {
		return nil, err
	}
	r.collectSubscriptions()
	r.collectSubscribers()
	r.owner = make([]int32, r.first[len(r.topics)])
	for i := range r.owner {
		r.owner[i] = -1
	}
	if explain {
		r.why = make([]why, len(r.owner))
		r.heir = slices.Clone(r.owner)
	}
	return r, nil
}

// collectTopics finds the known topics and puts them in order.
func (r *round) collectTopics() error {
	r.byName = make(map[string]int32, len(r.group.Topics))
	for k, i := range r.members {
		topics := r.group.Members[i].Topics
		if k > 0 && sameStrings(topics, r.member(int32(k-1)).Topics) {
			continue
		}
		for _, t := range topics {
			if _, ok := r.byName[t]; ok {
				continue
			}
			if r.group.Topics[t].Partitions > 0 {
				r.byName[t] = 0
				r.topics = append(r.topics, t)
			}
		}
	}
	slices.SortFunc(r.topics, compareJava)
	r.counts, r.first = make([]int32, len(r.topics)), make([]int32, len(r.topics)+1)
	for i, t := range r.topics {
		r.byName[t] = int32(i)
		r.counts[i] = r.group.Topics[t].Partitions
		if int64(r.first[i])+int64(r.counts[i]) > math.MaxInt32 {
			return fmt.Errorf("assignors: %s: the subscribed topics have more than %d partitions", r.name, math.MaxInt32)
		}
		r.first[i+1] = r.first[i] + r.counts[i]
	}
	return nil
}

// sameStrings is slices.Equal with a short cut for members that share one list.
func sameStrings(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// collectSubscriptions turns subscriptions into lists of topic places. Members with equal lists share one.
func (r *round) collectSubscriptions() {
	r.subs, r.oneSub = make([][]int32, len(r.members)), true
	var classes map[string][]int32 // by the bytes of the list; only needed when there is more than one
	var key []byte
	keyOf := func(list []int32) []byte {
		key = key[:0]
		for _, t := range list {
			key = binary.LittleEndian.AppendUint32(key, uint32(t))
		}
		return key
	}
	for k, i := range r.members {
		topics := r.group.Members[i].Topics
		if k > 0 && sameStrings(topics, r.member(int32(k-1)).Topics) {
			r.subs[k] = r.subs[k-1]
			continue
		}
		list := make([]int32, 0, len(topics))
		for _, t := range topics {
			if place, ok := r.byName[t]; ok {
				list = append(list, place)
			}
		}
		if !slices.IsSorted(list) {
			slices.Sort(list)
		}
		list = slices.Compact(list)
		if k > 0 && r.oneSub {
			if slices.Equal(list, r.subs[0]) {
				r.subs[k] = r.subs[0]
				continue
			}
			r.oneSub = false
			classes = map[string][]int32{string(keyOf(r.subs[0])): r.subs[0]}
		}
		if !r.oneSub {
			if same, ok := classes[string(keyOf(list))]; ok {
				list = same
			} else {
				classes[string(key)] = list
			}
		}
		r.subs[k] = list
	}
}

// collectSubscribers turns the lists of topics into lists of subscribers.
func (r *round) collectSubscribers() {
	r.subscribers = make([][]int32, len(r.topics))
	if r.oneSub {
		all := upTo(int32(len(r.members)))
		for t := range r.subscribers {
			r.subscribers[t] = all
		}
		return
	}
	sizes, total := make([]int32, len(r.topics)), 0
	for _, list := range r.subs {
		total += len(list)
		for _, t := range list {
			sizes[t]++
		}
	}
	all := make([]int32, total)
	for t, n := range sizes {
		r.subscribers[t], all = all[:0:n], all[n:]
	}
	for m, list := range r.subs {
		for _, t := range list {
			r.subscribers[t] = append(r.subscribers[t], int32(m))
		}
	}
}

func (r *round) subscribed(m, t int32) bool {
	if r.oneSub {
		return true
	}
	_, ok := slices.BinarySearch(r.subs[m], t)
	return ok
}

// topicOf answers the topic of every partition index.
func (r *round) topicOf() []int32 {
	of := make([]int32, len(r.owner))
	for t := range r.topics {
		for p := r.first[t]; p < r.first[t+1]; p++ {
			of[p] = int32(t)
		}
	}
	return of
}

// tp answers the partition behind an index.
func (r *round) tp(p int32) TopicPartition {
	t := sort.Search(len(r.topics), func(i int) bool { return r.first[i+1] > p })
	return TopicPartition{r.topics[t], p - r.first[t]}
}

// staticFirst orders the members as range and roundrobin do: those with an instance id come first.
func (r *round) staticFirst() []int32 {
	return staticFirst(upTo(int32(len(r.members))), func(m int32) (string, bool) {
		if id := r.member(m).InstanceID; id != nil {
			return *id, true
		}
		return "", false
	})
}

// result turns owners into lists of partitions.
func (r *round) result() map[string][]TopicPartition {
	ends := make([]int32, len(r.members)+1)
	for _, m := range r.owner {
		ends[m+1]++
	}
	ends[0] = 0
	for m := range r.members {
		ends[m+1] += ends[m]
	}
	all := make([]TopicPartition, ends[len(r.members)])
	next := slices.Clone(ends)
	for t, topic := range r.topics {
		for p, m := range r.owner[r.first[t]:r.first[t+1]] {
			if m >= 0 {
				all[next[m]] = TopicPartition{topic, int32(p)}
				next[m]++
			}
		}
	}
	out := make(map[string][]TopicPartition, len(r.members))
	for m := range r.members {
		out[r.member(int32(m)).ID] = all[ends[m]:ends[m+1]:ends[m+1]]
	}
	return out
}
