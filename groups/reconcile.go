package groups

import (
	"slices"

	"github.com/fakekafka/fakekafka/assignors"
)

// Reconciliation is how one member of a consumer group (KIP-848) moves from what it has to what the
// target gives it: it is first told to revoke, it acknowledges, and only then do others get what it
// gave up. This file is the whole rule, as a function of the member, its target and the partition
// epochs; it knows neither the group nor the request.

// memberState is how far a member has come; the numbers are those of the records.
type memberState int8

const (
	// memberStable: the member has its whole target at its epoch.
	memberStable memberState = 0
	// memberUnrevoked: the member was told to give partitions up and has not said that it did.
	memberUnrevoked memberState = 1
	// memberUnreleased: the member is at the target's epoch and waits for partitions others still hold.
	memberUnreleased memberState = 2
	// memberUnknown stands in a record of some later version.
	memberUnknown memberState = 127
)

// memberStateOf is the state in a record.
func memberStateOf(value int8) memberState {
	switch s := memberState(value); s {
	case memberStable, memberUnrevoked, memberUnreleased:
		return s
	}
	return memberUnknown
}

func (s memberState) String() string {
	switch s {
	case memberStable:
		return "STABLE"
	case memberUnrevoked:
		return "UNREVOKED_PARTITIONS"
	case memberUnreleased:
		return "UNRELEASED_PARTITIONS"
	}
	return "UNKNOWN"
}

// memberAssignment is the part of a member that reconciliation moves.
type memberAssignment struct {
	epoch    int32 // the member epoch
	previous int32 // the member epoch before the last change
	state    memberState
	assigned ownership
	pending  ownership // told to revoke, not yet acknowledged
}

func (m memberAssignment) equal(o memberAssignment) bool {
	return m.epoch == o.epoch && m.previous == o.previous && m.state == o.state &&
		m.assigned.equal(o.assigned) && m.pending.equal(o.pending)
}

// reconciliation is what the rule looks at besides the member.
type reconciliation struct {
	targetEpoch int32 // the assignment epoch
	target      partitionSet
	// told: the request listed the partitions the member owns, and owned is that list.
	told  bool
	owned partitionSet
	// subscriptionChanged by this very request.
	subscriptionChanged bool
	// subscribesToNothing: none of the topics that the member subscribes to exists.
	subscribesToNothing bool
	// subscribed says whether the member subscribes to a topic now.
	subscribed func(assignors.TopicID) bool
	// free says that a partition is in no member's assigned or pending set.
	free func(topic assignors.TopicID, partition int32) bool
}

// reconcile moves the member one step. ok is false when its state is one this version doesn't know and
// it still owns something: it has to be fenced.
func reconcile(m memberAssignment, r reconciliation) (next memberAssignment, ok bool) {
	switch m.state {
	case memberStable:
		if m.epoch != r.targetEpoch {
			return r.computeNext(m), true
		}
		if r.subscriptionChanged {
			return r.shrink(m), true
		}
		return m, true
	case memberUnrevoked:
		if !r.ownsAny(m.pending) {
			// Towards the latest target: it may have to revoke again.
			return r.computeNext(m), true
		}
		if r.subscriptionChanged {
			return r.shrink(m), true
		}
		return m, true
	case memberUnreleased:
		return r.computeNext(m), true
	case memberUnknown:
	}
	if !r.told || len(r.owned) > 0 {
		return m, false
	}
	next = r.computeNext(memberAssignment{epoch: r.targetEpoch, assigned: m.assigned, pending: m.pending})
	next.previous = m.epoch
	return next, true
}

// ownsAny says whether the member may still own one of these partitions; a request that doesn't list
// what the member owns proves nothing, so it does.
func (r reconciliation) ownsAny(set ownership) bool {
	if !r.told {
		return true
	}
	for _, t := range set {
		owned := r.owned[t.topic]
		if len(owned) == 0 {
			continue
		}
		for _, p := range t.parts {
			if _, ok := slices.BinarySearch(owned, p); ok {
				return true
			}
		}
	}
	return false
}

// computeNext is the step towards the target: revoke first; then take what is free; then wait.
func (r reconciliation) computeNext(m memberAssignment) memberAssignment {
	var keep, revoke, add ownership
	unreleased := false
	for _, topic := range r.topics(m) {
		var target []int32
		if r.subscribed(topic) {
			target = r.target[topic]
		}
		var assigned ownedTopic
		if t := m.assigned.find(topic); t != nil {
			assigned = *t
		}
		kept, revoked := splitOwned(assigned, target)
		keep.add(topic, kept.parts, kept.epochs)
		revoke.add(topic, revoked.parts, revoked.epochs)
		var free []int32
		for _, p := range target {
			if _, has := slices.BinarySearch(kept.parts, p); has {
				continue
			}
			if r.free(topic, p) || m.pending.has(topic, p) {
				free = append(free, p)
			} else {
				unreleased = true
			}
		}
		add.add(topic, free, repeatEpoch(r.targetEpoch, len(free)))
	}

	next := memberAssignment{previous: m.epoch, assigned: keep}
	switch {
	case len(revoke) > 0 && r.ownsAny(revoke):
		next.state, next.epoch, next.pending = memberUnrevoked, m.epoch, revoke
	case len(add) > 0:
		next.state, next.epoch = memberStable, r.targetEpoch
		if unreleased {
			next.state = memberUnreleased
		}
		next.assigned = mergeOwnership(keep, add)
	case unreleased:
		next.state, next.epoch = memberUnreleased, r.targetEpoch
	default:
		next.state, next.epoch = memberStable, r.targetEpoch
	}
	return next
}

// shrink takes back at once what the member no longer subscribes to, before there is a new target.
func (r reconciliation) shrink(m memberAssignment) memberAssignment {
	var keep, gone ownership
	for _, t := range m.assigned {
		if r.subscribed(t.topic) {
			keep = append(keep, t)
		} else {
			gone = append(gone, t)
		}
	}
	// Kafka has a shorter way for a member without any topic, which is a step even where there is nothing to take back.
	if len(gone) == 0 && !(r.subscribesToNothing && len(m.pending) == 0) {
		return m
	}
	m.assigned, m.previous = keep, m.epoch
	if pending := mergeOwnership(m.pending, gone); len(pending) > 0 && r.ownsAny(pending) {
		m.state, m.pending = memberUnrevoked, pending
	}
	return m
}

// topics are those of the target and of what the member has, ascending.
func (r reconciliation) topics(m memberAssignment) []assignors.TopicID {
	ids := sortedTopicIDs(r.target)
	grown := false
	for _, t := range m.assigned {
		if _, ok := r.target[t.topic]; !ok {
			ids, grown = append(ids, t.topic), true
		}
	}
	if grown {
		slices.SortFunc(ids, compareTopicIDs)
	}
	return ids
}

// splitOwned parts what is owned into what the target keeps and what it takes away.
func splitOwned(owned ownedTopic, target []int32) (kept, revoked ownedTopic) {
	if slices.Equal(owned.parts, target) {
		return owned, ownedTopic{}
	}
	for i, p := range owned.parts {
		if _, ok := slices.BinarySearch(target, p); ok {
			kept.parts, kept.epochs = append(kept.parts, p), append(kept.epochs, owned.epochs[i])
		} else {
			revoked.parts, revoked.epochs = append(revoked.parts, p), append(revoked.epochs, owned.epochs[i])
		}
	}
	return kept, revoked
}
