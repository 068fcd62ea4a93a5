package assignors

import "slices"

// NewRoundRobin is the client-side roundrobin assignor: all partitions, by topic and number, are dealt round the ring of
// members, static members first; who does not subscribe to a topic is passed over. It has no memory.
func NewRoundRobin() Assignor { return roundRobin{} }

type roundRobin struct{}

func (roundRobin) Name() string { return "roundrobin" }

func (a roundRobin) Assign(g Group) (map[string][]TopicPartition, error) { return assign(a, &g) }

func (roundRobin) compute(r *round) error {
	ring := r.staticFirst()
	cursor := 0
	if r.oneSub {
		for p := range r.owner {
			r.give(int32(p), ring[cursor], whyTurn)
			if cursor++; cursor == len(ring) {
				cursor = 0
			}
		}
		return nil
	}
	seat := make([]int32, len(ring)) // by member
	for s, m := range ring {
		seat[m] = int32(s)
	}
	var seats []int32
	for t := range r.topics {
		// Only the subscribers' seats matter to a topic: find the first from the cursor on, then go round among them.
		seats = seats[:0]
		for _, m := range r.subscribers[t] {
			seats = append(seats, seat[m])
		}
		if !slices.IsSorted(seats) {
			slices.Sort(seats)
		}
		next, _ := slices.BinarySearch(seats, int32(cursor))
		for p := r.first[t]; p < r.first[t+1]; p++ {
			if next == len(seats) {
				next = 0
			}
			r.give(p, ring[seats[next]], whyTurn)
			cursor = int(seats[next]) + 1
			next++
		}
		if cursor == len(ring) {
			cursor = 0
		}
	}
	return nil
}
