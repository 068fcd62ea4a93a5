package groups

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The coordinator reads the bytes of members only where the protocol type is "consumer".

var errBadSubscription = errors.New("groups: not a subscription of the consumer protocol")

// subscribedTopics reads a subscription of any version as one of version 0: topics and user data; what follows is not looked at.
func subscribedTopics(b []byte) ([]string, error) {
	if len(b) < 6 || int16(binary.BigEndian.Uint16(b)) < 0 {
		return nil, errBadSubscription
	}
	n := int32(binary.BigEndian.Uint32(b[2:]))
	b = b[6:]
	if n < 0 || int(n) > len(b)/2 {
		return nil, errBadSubscription
	}
	topics := make([]string, 0, n)
	for range n {
		if len(b) < 2 {
			return nil, errBadSubscription
		}
		size := int(int16(binary.BigEndian.Uint16(b)))
		if size < 0 || len(b) < 2+size {
			return nil, errBadSubscription
		}
		topics = append(topics, string(b[2:2+size]))
		b = b[2+size:]
	}
	if len(b) < 4 {
		return nil, errBadSubscription
	}
	if size := int(int32(binary.BigEndian.Uint32(b))); size > len(b)-4 {
		return nil, errBadSubscription
	}
	return topics, nil
}

// ownedPartitions are those a cooperative member lists in its subscription; nil where there are none or they can't be read.
func ownedPartitions(subscription []byte) map[string][]int32 {
	var meta kmsg.ConsumerMemberMetadata
	if err := meta.ReadFrom(subscription); err != nil {
		return nil
	}
	owned := make(map[string][]int32)
	for _, t := range meta.OwnedPartitions {
		owned[t.Topic] = append(owned[t.Topic], t.Partitions...)
	}
	return sortPartitions(owned)
}

// assignedPartitions reads an assignment; ok is false where it is none of the consumer protocol. Empty bytes are an empty assignment.
func assignedPartitions(assignment []byte) (partitions map[string][]int32, ok bool) {
	partitions = make(map[string][]int32)
	if len(assignment) == 0 {
		return partitions, true
	}
	var a kmsg.ConsumerMemberAssignment
	if err := a.ReadFrom(assignment); err != nil {
		return nil, false
	}
	for _, t := range a.Topics {
		partitions[t.Topic] = append(partitions[t.Topic], t.Partitions...)
	}
	return sortPartitions(partitions), true
}

func sortPartitions(m map[string][]int32) map[string][]int32 {
	for topic, partitions := range m {
		if len(partitions) == 0 {
			delete(m, topic)
			continue
		}
		slices.Sort(partitions)
	}
	return m
}
