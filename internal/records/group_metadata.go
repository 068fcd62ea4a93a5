package records

// GroupKey is the key of a classic group, type 2.
type GroupKey struct{ Group string }

// GroupValue is the value of a classic group: its last synced generation.
type GroupValue struct {
	ProtocolType string
	Generation   int32
	Protocol     *string
	Leader       *string
	StateTime    int64 // milliseconds since 1970 of the last change of state; -1: unknown
	Members      []GroupMember
}

// GroupMember is one member of a GroupValue.
type GroupMember struct {
	ID               string
	InstanceID       *string
	ClientID         string
	ClientHost       string
	RebalanceTimeout int32 // milliseconds; -1: the session timeout
	SessionTimeout   int32 // milliseconds
	Subscription     []byte
	Assignment       []byte
}

// Append writes the key.
func (k GroupKey) Append(b []byte) []byte {
	return appendString(appendInt16(b, TypeGroupMetadata), k.Group)
}

// ReadGroupKey reads a key of type 2.
func ReadGroupKey(b []byte) (GroupKey, error) {
	r := key(b, TypeGroupMetadata)
	k := GroupKey{Group: r.string(false)}
	return k, r.err
}

// Append writes the value as Kafka 4.3 does, in version 3.
func (v GroupValue) Append(b []byte) []byte {
	b = appendInt16(b, 3)
	b = appendString(b, v.ProtocolType)
	b = appendInt32(b, v.Generation)
	b = appendNullableString(b, v.Protocol)
	b = appendNullableString(b, v.Leader)
	b = appendInt64(b, v.StateTime)
	b = appendInt32(b, int32(len(v.Members)))
	for _, m := range v.Members {
		b = appendString(b, m.ID)
		b = appendNullableString(b, m.InstanceID)
		b = appendString(b, m.ClientID)
		b = appendString(b, m.ClientHost)
		b = appendInt32(b, m.RebalanceTimeout)
		b = appendInt32(b, m.SessionTimeout)
		b = appendBytes(b, m.Subscription)
		b = appendBytes(b, m.Assignment)
	}
	return b
}

// ReadGroupValue reads versions 0 to 4.
func ReadGroupValue(b []byte) (GroupValue, error) {
	r, version := value(b, 4)
	flexible := version >= 4
	v := GroupValue{StateTime: -1}
	v.ProtocolType = r.string(flexible)
	v.Generation = r.int32()
	v.Protocol = r.nullableString(flexible)
	v.Leader = r.nullableString(flexible)
	if version >= 2 {
		v.StateTime = r.int64()
	}
	// The smallest member has three short strings or lengths, a timeout and two empty byte arrays.
	minSize := 6
	if !flexible {
		minSize = 18
	}
	n := r.count(flexible, minSize)
	for range n {
		m := GroupMember{RebalanceTimeout: -1}
		m.ID = r.string(flexible)
		if version >= 3 {
			m.InstanceID = r.nullableString(flexible)
		}
		m.ClientID = r.string(flexible)
		m.ClientHost = r.string(flexible)
		if version >= 1 {
			m.RebalanceTimeout = r.int32()
		}
		m.SessionTimeout = r.int32()
		m.Subscription = r.bytes(flexible)
		m.Assignment = r.bytes(flexible)
		if flexible {
			r.tags(nil)
		}
		if r.err != nil {
			return GroupValue{}, r.err
		}
		v.Members = append(v.Members, m)
	}
	if flexible {
		r.tags(nil)
	}
	return v, r.err
}
