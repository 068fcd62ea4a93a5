package records

import (
	"fmt"
	"math"
	"slices"
)

// Types of the records of consumer groups (KIP-848): the first two bytes of a key. All values have version 0.
const (
	TypeConsumerGroup             int16 = 3  // key: group
	TypeConsumerPartitionMetadata int16 = 4  // key: group; only its tombstone is written today
	TypeConsumerMember            int16 = 5  // key: group, member
	TypeConsumerTarget            int16 = 6  // key: group
	TypeConsumerTargetMember      int16 = 7  // key: group, member
	TypeConsumerCurrentMember     int16 = 8  // key: group, member
	TypeConsumerRegex             int16 = 16 // key: group, expression
)

// ConsumerKey is the key of a record of a consumer group; second is the member or the expression of the types
// that have one, else it is left out.
func ConsumerKey(typ int16, group, second string) []byte {
	w := writer{b: make([]byte, 0, 6+len(group)+len(second))}
	w.int16(typ)
	w.string(inKey(group))
	if hasSecond(typ) {
		w.string(inKey(second))
	}
	return w.b
}

// DecodeConsumerKey reads a key that ConsumerKey can make.
func DecodeConsumerKey(key []byte) (typ int16, group, second string, err error) {
	r := reader{b: key}
	typ = r.int16()
	switch typ {
	case TypeConsumerGroup, TypeConsumerPartitionMetadata, TypeConsumerMember, TypeConsumerTarget,
		TypeConsumerTargetMember, TypeConsumerCurrentMember, TypeConsumerRegex:
	default:
		if r.err == nil {
			r.err = fmt.Errorf("type %d is not one of a consumer group", typ)
		}
	}
	group = string(r.take(int(r.int16())))
	if hasSecond(typ) {
		second = string(r.take(int(r.int16())))
	}
	if r.err != nil {
		return 0, "", "", fmt.Errorf("key of __consumer_offsets: %w", r.err)
	}
	return typ, group, second, nil
}

func hasSecond(typ int16) bool {
	switch typ {
	case TypeConsumerMember, TypeConsumerTargetMember, TypeConsumerCurrentMember, TypeConsumerRegex:
		return true
	}
	return false
}

// inKey cuts what no key can hold. Only a regular expression can be that long: the other names of a request end at 32767 bytes.
func inKey(s string) string { return s[:min(len(s), math.MaxInt16)] }

// ConsumerGroup is the value of TypeConsumerGroup.
type ConsumerGroup struct {
	Epoch        int32
	MetadataHash int64 // 0: no topics
}

// Encode is the value's bytes.
func (v ConsumerGroup) Encode() []byte { return encodeEpoch(v.Epoch, v.MetadataHash) }

// DecodeConsumerGroup reads a value of TypeConsumerGroup.
func DecodeConsumerGroup(b []byte) (v ConsumerGroup, err error) {
	v.Epoch, v.MetadataHash, err = decodeEpoch(b, "a consumer group")
	return v, err
}

// encodeEpoch is a value of an epoch, and of a number with tag 0 unless that is 0.
func encodeEpoch(epoch int32, tagged int64) []byte {
	w := flexibleValue(24)
	w.int32(epoch)
	if tagged == 0 {
		w.noTags()
	} else {
		w.tag(0, func(f *writer) { f.int64(tagged) })
	}
	return w.b
}

func decodeEpoch(b []byte, what string) (epoch int32, tagged int64, err error) {
	r, _ := value(b, what, 0, 0)
	epoch = r.int32()
	r.tags(func(tag int64, f *reader) {
		if tag == 0 {
			tagged = f.int64()
		}
	})
	return epoch, tagged, r.err
}

// ConsumerMember is the value of TypeConsumerMember.
type ConsumerMember struct {
	InstanceID         *string
	RackID             *string
	ClientID           string
	ClientHost         string
	Names              []string
	Regex              *string
	RebalanceTimeoutMs int32
	Assignor           *string
	Classic            *ClassicMember // of a member that speaks the classic protocol
}

// ClassicMember is what a consumer group keeps of a member that speaks the classic protocol.
type ClassicMember struct {
	SessionTimeoutMs int32
	Protocols        []ClassicProtocol
}

// ClassicProtocol is one of the protocols a classic member offered in JoinGroup.
type ClassicProtocol struct {
	Name     string
	Metadata []byte
}

// Encode is the value's bytes.
func (v ConsumerMember) Encode() []byte {
	w := flexibleValue(64 + len(v.ClientID) + len(v.ClientHost))
	w.nullableString(v.InstanceID)
	w.nullableString(v.RackID)
	w.string(v.ClientID)
	w.string(v.ClientHost)
	w.strings(v.Names)
	w.nullableString(v.Regex)
	w.int32(v.RebalanceTimeoutMs)
	w.nullableString(v.Assignor)
	// Kafka writes this field also where it is null.
	w.tag(0, func(f *writer) {
		if v.Classic == nil {
			f.int8(0)
			return
		}
		f.int8(1)
		f.int32(v.Classic.SessionTimeoutMs)
		f.count(len(v.Classic.Protocols))
		for _, p := range v.Classic.Protocols {
			f.string(p.Name)
			f.bytes(p.Metadata)
			f.noTags()
		}
		f.noTags()
	})
	return w.b
}

// DecodeConsumerMember reads a value of TypeConsumerMember.
func DecodeConsumerMember(b []byte) (v ConsumerMember, err error) {
	r, _ := value(b, "a consumer group's member", 0, 0)
	v.InstanceID = r.nullableString()
	v.RackID = r.nullableString()
	v.ClientID = r.string()
	v.ClientHost = r.string()
	v.Names = r.strings()
	v.Regex = r.nullableString()
	v.RebalanceTimeoutMs = r.int32()
	v.Assignor = r.nullableString()
	r.tags(func(tag int64, f *reader) {
		if tag != 0 || f.int8() <= 0 {
			return
		}
		c := &ClassicMember{SessionTimeoutMs: f.int32()}
		for range f.count(3) {
			c.Protocols = append(c.Protocols, ClassicProtocol{f.string(), f.bytes()})
			f.tags(nil)
		}
		f.tags(nil)
		v.Classic = c
	})
	return v, r.err
}

// ConsumerTarget is the value of TypeConsumerTarget.
type ConsumerTarget struct {
	Epoch     int32
	Timestamp int64 // when it was computed, in milliseconds; 0: by a conversion
}

// Encode is the value's bytes.
func (v ConsumerTarget) Encode() []byte { return encodeEpoch(v.Epoch, v.Timestamp) }

// DecodeConsumerTarget reads a value of TypeConsumerTarget.
func DecodeConsumerTarget(b []byte) (v ConsumerTarget, err error) {
	v.Epoch, v.Timestamp, err = decodeEpoch(b, "a consumer group's target")
	return v, err
}

// TopicPartitions are partitions of one topic. Epochs, where the record has them, stand beside Partitions.
type TopicPartitions struct {
	TopicID    [16]byte
	Partitions []int32
	Epochs     []int32
}

// ConsumerTargetMember is the value of TypeConsumerTargetMember.
type ConsumerTargetMember struct {
	Topics []TopicPartitions
}

// Encode is the value's bytes.
func (v ConsumerTargetMember) Encode() []byte {
	w := flexibleValue(64)
	w.topics(v.Topics, false)
	w.noTags()
	return w.b
}

// DecodeConsumerTargetMember reads a value of TypeConsumerTargetMember.
func DecodeConsumerTargetMember(b []byte) (v ConsumerTargetMember, err error) {
	r, _ := value(b, "a member's target", 0, 0)
	v.Topics = r.topics()
	r.tags(nil)
	return v, r.err
}

// ConsumerCurrentMember is the value of TypeConsumerCurrentMember.
type ConsumerCurrentMember struct {
	Epoch, Previous int32
	State           int8 // 0 stable, 1 unrevoked, 2 unreleased
	Assigned        []TopicPartitions
	Pending         []TopicPartitions // pending revocation
}

// Encode is the value's bytes.
func (v ConsumerCurrentMember) Encode() []byte {
	w := flexibleValue(128)
	w.int32(v.Epoch)
	w.int32(v.Previous)
	w.int8(v.State)
	w.topics(v.Assigned, true)
	w.topics(v.Pending, true)
	w.noTags()
	return w.b
}

// DecodeConsumerCurrentMember reads a value of TypeConsumerCurrentMember. Partitions of a topic that the record doesn't have
// an assignment epoch for each of get the member's epoch, or 0 where that is a static member's that went away.
func DecodeConsumerCurrentMember(b []byte) (v ConsumerCurrentMember, err error) {
	r, _ := value(b, "a member's assignment", 0, 0)
	v.Epoch = r.int32()
	v.Previous = r.int32()
	v.State = r.int8()
	v.Assigned = r.topics()
	v.Pending = r.topics()
	r.tags(nil)
	for _, list := range [][]TopicPartitions{v.Assigned, v.Pending} {
		for i := range list {
			t := &list[i]
			if len(t.Epochs) != len(t.Partitions) {
				t.Epochs = slices.Repeat([]int32{max(v.Epoch, 0)}, len(t.Partitions))
			}
		}
	}
	return v, r.err
}

func (w *writer) topics(topics []TopicPartitions, epochs bool) {
	w.count(len(topics))
	for _, t := range topics {
		w.uuid(t.TopicID)
		w.int32s(t.Partitions)
		if epochs {
			w.tag(0, func(f *writer) { f.int32s(t.Epochs) })
		} else {
			w.noTags()
		}
	}
}

func (r *reader) topics() []TopicPartitions {
	out := make([]TopicPartitions, 0, r.count(18))
	for range cap(out) {
		t := TopicPartitions{TopicID: r.uuid(), Partitions: r.int32s()}
		r.tags(func(tag int64, f *reader) {
			if tag == 0 {
				t.Epochs = f.int32s()
			}
		})
		out = append(out, t)
	}
	return out
}

// ConsumerRegex is the value of TypeConsumerRegex: which topics an expression matched.
type ConsumerRegex struct {
	Topics    []string
	Version   int64 // of the metadata it was matched against
	Timestamp int64 // milliseconds
}

// Encode is the value's bytes.
func (v ConsumerRegex) Encode() []byte {
	w := flexibleValue(64)
	w.strings(v.Topics)
	w.int64(v.Version)
	w.int64(v.Timestamp)
	w.noTags()
	return w.b
}

// DecodeConsumerRegex reads a value of TypeConsumerRegex.
func DecodeConsumerRegex(b []byte) (v ConsumerRegex, err error) {
	r, _ := value(b, "a regular expression", 0, 0)
	v.Topics = r.strings()
	v.Version = r.int64()
	v.Timestamp = r.int64()
	r.tags(nil)
	return v, r.err
}
