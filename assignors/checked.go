package assignors

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
)

// AssignorError is what an assignor did wrong.
type AssignorError struct {
	Assignor string
	Reason   string
	Stack    []byte // of a panic; nil otherwise
	Err      error  // what the assignor itself answered, if it did
}

func (e *AssignorError) Error() string { return fmt.Sprintf("assignor %q %s", e.Assignor, e.Reason) }

func (e *AssignorError) Unwrap() error { return e.Err }

// Checked guards against an assignor of somebody else's. A panic and a result that makes no sense (a member the group does not
// have, a partition with two owners or none such, a topic the member does not subscribe to) come back as an *AssignorError. The
// assignor works on a copy of the input and its result is copied, so nothing it keeps or changes can hurt the caller.
//
// Leaving partitions to nobody is allowed, and a member missing from the result gets nothing, both as in Kafka. A member whose
// target does not change is answered with the very map it came with.
func Checked(a ServerAssignor) ServerAssignor { return checked{a} }

type checked struct{ a ServerAssignor }

// Name answers "" if the assignor's own Name panics; Assign then tells.
func (c checked) Name() (name string) {
	defer func() {
		if recover() != nil {
			name = ""
		}
	}()
	return c.a.Name()
}

func (c checked) Assign(in ServerInput) (out map[string]Partitions, err error) {
	name := c.Name()
	result, err := c.call(name, in.clone())
	if err != nil {
		return nil, err
	}
	if reason := in.nonsense(result); reason != "" {
		return nil, &AssignorError{Assignor: name, Reason: reason}
	}
	out = make(map[string]Partitions, len(in.Members))
	for i := range in.Members {
		m := &in.Members[i]
		if target := tidy(result[m.ID]); m.Target != nil && maps.EqualFunc(target, m.Target, slices.Equal) {
			out[m.ID] = m.Target
		} else {
			out[m.ID] = target
		}
	}
	return out, nil
}

func (c checked) call(name string, in ServerInput) (result map[string]Partitions, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, &AssignorError{Assignor: name, Reason: fmt.Sprintf("panicked: %v", p), Stack: debug.Stack()}
		}
	}()
	result, err = c.a.Assign(in)
	if err != nil {
		return nil, &AssignorError{Assignor: name, Reason: "failed: " + err.Error(), Err: err}
	}
	return result, nil
}

func (in ServerInput) clone() ServerInput {
	members := in.Members
	in.Members = slices.Clone(members)
	for i := range in.Members {
		m := &in.Members[i]
		if i > 0 && sameSlice(m.Topics, members[i-1].Topics) {
			m.Topics = in.Members[i-1].Topics
		} else {
			m.Topics = slices.Clone(m.Topics)
		}
		m.Target = maps.Clone(m.Target)
		for id, ps := range m.Target {
			m.Target[id] = slices.Clone(ps)
		}
		if m.InstanceID != nil {
			m.InstanceID = new(*m.InstanceID)
		}
		if m.Rack != nil {
			m.Rack = new(*m.Rack)
		}
	}
	in.Topics = maps.Clone(in.Topics)
	for id, t := range in.Topics {
		t.Racks = slices.Clone(t.Racks)
		for p, racks := range t.Racks {
			t.Racks[p] = slices.Clone(racks)
		}
		in.Topics[id] = t
	}
	return in
}

// nonsense tells the first thing wrong with a result, "" if it is sound.
func (in ServerInput) nonsense(result map[string]Partitions) string {
	known := make(map[string]*ServerMember, len(in.Members))
	for i := range in.Members {
		known[in.Members[i].ID] = &in.Members[i]
	}
	type partition struct {
		id TopicID
		p  int32
	}
	owner := map[partition]string{}
	for _, id := range slices.Sorted(maps.Keys(result)) {
		m := known[id]
		if m == nil {
			return fmt.Sprintf("gave partitions to %q, which is not in the group; its members are %q", id, slices.Sorted(maps.Keys(known)))
		}
		for _, topic := range slices.SortedFunc(maps.Keys(result[id]), compareTopicIDs) {
			ps := result[id][topic]
			if len(ps) == 0 {
				continue
			}
			t, exists := in.Topics[topic]
			switch {
			case !exists || t.Partitions < 0:
				return fmt.Sprintf("gave %q partitions %v of topic id %s, which does not exist", id, ps, TopicIDString(topic))
			case !slices.Contains(m.Topics, topic):
				return fmt.Sprintf("gave %q partitions %v of topic %s, to which it does not subscribe", id, ps, in.topicName(topic))
			}
			for _, p := range ps {
				if p < 0 || p >= t.Partitions {
					return fmt.Sprintf("gave %q partition %d of topic %s, which has %d partitions", id, p, in.topicName(topic), t.Partitions)
				}
				if first, taken := owner[partition{topic, p}]; taken {
					return fmt.Sprintf("gave partition %d of topic %s to %q and to %q", p, in.topicName(topic), first, id)
				}
				owner[partition{topic, p}] = id
			}
		}
	}
	return ""
}

// tidy copies a target: no empty topics, partitions ascending.
func tidy(target Partitions) Partitions {
	out := make(Partitions, len(target))
	for id, ps := range target {
		if len(ps) > 0 {
			out[id] = slices.Sorted(slices.Values(ps))
		}
	}
	return out
}
