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

// Encode is the key's bytes.
func (k OffsetKey) Encode() []byte {
	w := writer{b: make([]byte, 0, 10+len(k.Group)+len(k.Topic))}
	w.int16(TypeOffsetCommit)
	w.string(k.Group)
	w.string(k.Topic)
	w.int32(k.Partition)
	return w.b
}

// DecodeOffsetKey reads a key of type 0 or 1.
func DecodeOffsetKey(b []byte) (OffsetKey, error) {
	r := key(b, TypeOffsetCommitLegacy, TypeOffsetCommit)
	k := OffsetKey{Group: r.string(), Topic: r.string(), Partition: r.int32()}
	return k, r.err
}

// Encode is the value as Kafka 4.3 writes it: version 4, or version 1 when it has an expiry, which loses leader epoch and topic id.
func (v OffsetValue) Encode() []byte {
	w := writer{b: make([]byte, 0, 46+len(v.Metadata))}
	if v.Expire != -1 {
		w.int16(1)
		w.int64(v.Offset)
		w.string(v.Metadata)
		w.int64(v.Commit)
		w.int64(v.Expire)
		return w.b
	}
	w.flexible = true
	w.int16(4)
	w.int64(v.Offset)
	w.int32(v.LeaderEpoch)
	w.string(v.Metadata)
	w.int64(v.Commit)
	if v.TopicID == [16]byte{} {
		w.noTags()
		return w.b
	}
	w.uvarint(1) // one tagged field, 0, of 16 bytes; by hand, since tag would allocate for every offset
	w.uvarint(0)
	w.uvarint(16)
	w.uuid(v.TopicID)
	return w.b
}

// DecodeOffsetValue reads versions 0 to 4.
func DecodeOffsetValue(b []byte) (OffsetValue, error) {
	r, version := value(b, "a committed offset", 4, 4)
	v := OffsetValue{LeaderEpoch: -1, Expire: -1}
	v.Offset = r.int64()
	if version >= 3 {
		v.LeaderEpoch = r.int32()
	}
	v.Metadata = r.string()
	v.Commit = r.int64()
	if version == 1 {
		v.Expire = r.int64()
	}
	if r.flexible {
		r.tags(func(tag int64, field *reader) {
			if tag == 0 {
				v.TopicID = field.uuid()
			}
		})
	}
	return v, r.err
}
