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

// Encode is the key's bytes.
func (k GroupKey) Encode() []byte {
	var w writer
	w.int16(TypeGroupMetadata)
	w.string(k.Group)
	return w.b
}

// DecodeGroupKey reads a key of type 2.
func DecodeGroupKey(b []byte) (GroupKey, error) {
	r := key(b, TypeGroupMetadata)
	k := GroupKey{Group: r.string()}
	return k, r.err
}

// Encode is the value as Kafka 4.3 writes it, in version 3.
func (v GroupValue) Encode() []byte {
	var w writer
	w.int16(3)
	w.string(v.ProtocolType)
	w.int32(v.Generation)
	w.nullableString(v.Protocol)
	w.nullableString(v.Leader)
	w.int64(v.StateTime)
	w.count(len(v.Members))
	for i := range v.Members {
		m := &v.Members[i]
		w.string(m.ID)
		w.nullableString(m.InstanceID)
		w.string(m.ClientID)
		w.string(m.ClientHost)
		w.int32(m.RebalanceTimeout)
		w.int32(m.SessionTimeout)
		w.bytes(m.Subscription)
		w.bytes(m.Assignment)
	}
	return w.b
}

// DecodeGroupValue reads versions 0 to 4.
func DecodeGroupValue(b []byte) (GroupValue, error) {
	r, version := value(b, "a classic group", 4, 4)
	v := GroupValue{StateTime: -1}
	v.ProtocolType = r.string()
	v.Generation = r.int32()
	v.Protocol = r.nullableString()
	v.Leader = r.nullableString()
	if version >= 2 {
		v.StateTime = r.int64()
	}
	// The smallest member has three short strings or lengths, a timeout and two empty byte arrays.
	minSize := 6
	if !r.flexible {
		minSize = 18
	}
	for range r.count(minSize) {
		m := GroupMember{RebalanceTimeout: -1}
		m.ID = r.string()
		if version >= 3 {
			m.InstanceID = r.nullableString()
		}
		m.ClientID = r.string()
		m.ClientHost = r.string()
		if version >= 1 {
			m.RebalanceTimeout = r.int32()
		}
		m.SessionTimeout = r.int32()
		m.Subscription = r.bytes()
		m.Assignment = r.bytes()
		if r.flexible {
			r.tags(nil)
		}
		if r.err != nil {
			return GroupValue{}, r.err
		}
		v.Members = append(v.Members, m)
	}
	if r.flexible {
		r.tags(nil)
	}
	return v, r.err
}
