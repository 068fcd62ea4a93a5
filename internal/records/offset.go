package records

// OffsetKey is the key of a committed offset, type 1 (and 0, which has the same fields).
type OffsetKey struct {
	Group     string
	Topic     string
	Partition int32
}

// OffsetValue is the value of a committed offset.
type OffsetValue struct {
	Offset      int64
	LeaderEpoch int32 // -1: none
	Metadata    string
	Commit      int64    // milliseconds since 1970
	Expire      int64    // milliseconds since 1970; -1: by retention
	TopicID     [16]byte // zero: unknown
}

// Append writes the key.
func (k OffsetKey) Append(b []byte) []byte {
	b = appendInt16(b, TypeOffsetCommit)
	b = appendString(b, k.Group)
	b = appendString(b, k.Topic)
	return appendInt32(b, k.Partition)
}

// ReadOffsetKey reads a key of type 0 or 1.
func ReadOffsetKey(b []byte) (OffsetKey, error) {
	r := key(b, TypeOffsetCommitLegacy, TypeOffsetCommit)
	k := OffsetKey{Group: r.string(false), Topic: r.string(false), Partition: r.int32()}
	return k, r.err
}

// Append writes the value as Kafka 4.3 does: version 4, or version 1 when it has an expiry, which loses leader epoch and topic id.
func (v OffsetValue) Append(b []byte) []byte {
	if v.Expire != -1 {
		b = appendInt16(b, 1)
		b = appendInt64(b, v.Offset)
		b = appendString(b, v.Metadata)
		b = appendInt64(b, v.Commit)
		return appendInt64(b, v.Expire)
	}
	b = appendInt16(b, 4)
	b = appendInt64(b, v.Offset)
	b = appendInt32(b, v.LeaderEpoch)
	b = appendCompactString(b, v.Metadata)
	b = appendInt64(b, v.Commit)
	if v.TopicID == [16]byte{} {
		return append(b, 0)
	}
	b = append(b, 1, 0, 16)
	return append(b, v.TopicID[:]...)
}

// ReadOffsetValue reads versions 0 to 4.
func ReadOffsetValue(b []byte) (OffsetValue, error) {
	r, version := value(b, 4)
	v := OffsetValue{LeaderEpoch: -1, Expire: -1}
	flexible := version >= 4
	v.Offset = r.int64()
	if version >= 3 {
		v.LeaderEpoch = r.int32()
	}
	v.Metadata = r.string(flexible)
	v.Commit = r.int64()
	if version == 1 {
		v.Expire = r.int64()
	}
	if flexible {
		r.tags(func(tag uint64, field *reader) {
			if tag == 0 {
				v.TopicID = field.uuid()
			}
		})
	}
	return v, r.err
}
