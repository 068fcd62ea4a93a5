package groups

import (
	"encoding/binary"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/javatext"
)

// The coordinator reads the bytes of members only where the protocol type is "consumer".

var errBadSubscription = errors.New("groups: not a subscription of the consumer protocol")

// subscribedTopics reads a subscription of any version as one of version 0.
func subscribedTopics(b []byte) ([]string, error) {
	topics, _, err := readSubscriptionV0(b)
	return topics, err
}

// readSubscriptionV0 reads topics and user data, and answers what follows them.
func readSubscriptionV0(b []byte) (topics []string, rest []byte, err error) {
	if len(b) < 6 { // the version may be any, even a negative one
		return nil, nil, errBadSubscription
	}
	n := int32(binary.BigEndian.Uint32(b[2:]))
	b = b[6:]
	if n < 0 || int(n) > len(b)/2 {
		return nil, nil, errBadSubscription
	}
	topics = make([]string, 0, n)
	for range n {
		if len(b) < 2 {
			return nil, nil, errBadSubscription
		}
		size := int(int16(binary.BigEndian.Uint16(b)))
		if size < 0 || len(b) < 2+size {
			return nil, nil, errBadSubscription
		}
		topics = append(topics, javatext.Of(b[2:2+size]))
		b = b[2+size:]
	}
	if len(b) < 4 {
		return nil, nil, errBadSubscription
	}
	size := max(int(int32(binary.BigEndian.Uint32(b))), 0) // -1 is null
	if size > len(b)-4 {
		return nil, nil, errBadSubscription
	}
	return topics, b[4+size:], nil
}

// readSubscription reads a subscription with its names as Kafka reads them.
func readSubscription(b []byte) (assignors.Subscription, error) {
	sub, err := assignors.DecodeSubscription(b)
	for i := range sub.Topics {
		reread(&sub.Topics[i])
	}
	for i := range sub.Owned {
		reread(&sub.Owned[i].Topic)
	}
	return sub, err
}

func reread(name *string) {
	if !utf8.ValidString(*name) {
		*name = javatext.Of([]byte(*name))
	}
}

// ownedPartitions are those a cooperative member lists in its subscription; nil where there are none or they can't be read.
func ownedPartitions(subscription []byte) map[string][]int32 {
	sub, err := readSubscription(subscription)
	if err != nil || len(sub.Owned) == 0 {
		return nil
	}
	return byTopic(sub.Owned)
}

// assignedPartitions reads an assignment; ok is false where it is none of the consumer protocol. Empty bytes are an empty assignment.
func assignedPartitions(assignment []byte) (partitions map[string][]int32, ok bool) {
	if len(assignment) == 0 {
		return map[string][]int32{}, true
	}
	a, err := assignors.DecodeAssignment(assignment)
	if err != nil {
		return nil, false
	}
	return byTopic(a.Partitions), true
}

// byTopic is a list of partitions as events and states show it.
func byTopic(list []assignors.TopicPartition) map[string][]int32 {
	m := make(map[string][]int32)
	for _, tp := range list {
		m[tp.Topic] = append(m[tp.Topic], tp.Partition)
	}
	for _, partitions := range m {
		slices.Sort(partitions)
	}
	return m
}
