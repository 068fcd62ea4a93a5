package fetchsession

import (
	"cmp"
	"slices"
	"time"
)

// Session is one client's list of partitions. Its methods need the session's lock.
type Session struct {
	// Holder is for the user of this package: what it keeps beside the session, such as the session's lock. It is set by the
	// function given to [Shard.Open], before anyone else can find the session.
	Holder any

	id         int32
	clientID   string
	privileged bool
	byID       bool
	created    int64 // ms

	epoch   int32 // what the next request must carry
	reading Reading
	members table[*Member]
	count   int
	next    uint64 // the order key of the next member that is put at the end

	due    []*Member // members with the listed flag; sorted by order unless unsorted
	sorted bool

	// Of the shard, under its lock: what its eviction rule goes by.
	lastUsed int64 // ms; set when the session is opened and by each accepted incremental request
	size     int   // members at that moment
	closed   bool
}

// Closed reports whether the session has been closed, emptied or evicted. It needs the shard's lock.
func (s *Session) Closed() bool { return s.closed }

// Member is one partition of a session. Its fields need the session's lock.
type Member struct {
	// Partition is what the client's last request said about it. The topic's name, once known, stays, even when the
	// topic is deleted and made again with another id.
	Partition

	// Watch is for the user of this package: what it keeps beside the member, such as its place among the watchers of
	// the partition's log.
	Watch any

	highWatermark int64 // as last answered; -1: never, or with an error
	logStart      int64 // as last answered
	order         uint64
	due           bool // to be read by the next request
	listed        bool // stands in Session.due
	gone          bool // forgotten by the client
}

// Gone reports whether the client has forgotten the member.
func (m *Member) Gone() bool { return m.gone }

// Reading is what a request says about reading that is not kept in the session but decides which members have something
// to say. A client practically never changes it.
type Reading struct {
	Version   int16
	Isolation int8
	Rack      string
	Replica   int32 // the follower's id; below 0 for a consumer
}

// ID is the session's id: positive, and in the range of its shard.
func (s *Session) ID() int32 { return s.id }

// ClientID is the client.id of the request that opened the session.
func (s *Session) ClientID() string { return s.clientID }

// ByTopicID reports whether the session was opened by a request that names topics by id (version 13 and up).
func (s *Session) ByTopicID() bool { return s.byID }

// Epoch is what the next request must carry.
func (s *Session) Epoch() int32 { return s.epoch }

// Len is the number of members.
func (s *Session) Len() int { return s.count }

// Overtaken reports whether another request was accepted since the one with this epoch. Its answer then is
// INVALID_FETCH_SESSION_EPOCH with the session's own id.
func (s *Session) Overtaken(epoch int32) bool { return s.epoch != NextEpoch(epoch) }

// StartReading notes how the request at hand reads. When it differs from the last one, every member is due: one that had
// nothing to say to a reader of committed records may have something for a reader of all.
func (s *Session) StartReading(r Reading) {
	if r != s.reading {
		s.reading = r
		s.TouchAll()
	}
}

// Touch makes a member due: something about its partition changed.
func (s *Session) Touch(m *Member) {
	if m.gone {
		return
	}
	m.due = true
	if m.listed {
		return
	}
	m.listed = true
	if n := len(s.due); n > 0 && s.due[n-1].order > m.order {
		s.sorted = false
	}
	s.due = append(s.due, m)
}

// TouchAll makes every member due. It costs a step for each.
func (s *Session) TouchAll() {
	for _, m := range s.Members() {
		s.Touch(m)
	}
}

// Due is the members to be read by the request at hand, in the session's order. The slice is valid until the next call of
// a method other than [Session.Answer].
func (s *Session) Due() []*Member {
	s.due = slices.DeleteFunc(s.due, func(m *Member) bool {
		if !m.due {
			m.listed = false
		}
		return !m.due
	})
	if !s.sorted {
		slices.SortFunc(s.due, byOrder)
		s.sorted = true
	}
	return s.due
}

// Members is all members in the session's order, in a slice of the caller's own.
func (s *Session) Members() []*Member {
	all := make([]*Member, 0, s.count)
	for _, topic := range s.members.topics {
		topic.each(func(m *Member) { all = append(all, m) })
	}
	slices.SortFunc(all, byOrder)
	return all
}

func byOrder(a, b *Member) int { return cmp.Compare(a.order, b.order) }

// Result is what reading a member came to.
type Result struct {
	HighWatermark int64 // -1 with an error
	LogStart      int64 // -1 with an error
	Bytes         int   // of records, an incomplete last batch counted

	Error bool // any error code
	Hint  bool // a preferred read replica or a diverging epoch

	// Readable says that there are records between the fetch offset and the end a reader may see, whether or not the
	// limits left room for them.
	Readable bool
}

// open tells whether a member is to be read again although nothing changed: there are records its client has not moved
// past, or something that nobody tells of, such as a topic that appears.
func (r *Result) open() bool { return r.Bytes > 0 || r.Readable || r.Error || r.Hint }

// Answer takes the result of one due member into the session and says whether the answer names the member: only if it
// has records, an error or a hint, or its high watermark or log start differ from what was last answered. Results are
// given in the order of [Session.Due]: a member that delivers records goes to the end of the session's order, which is
// what keeps a small max_bytes from starving the others.
func (s *Session) Answer(m *Member, r Result) (named bool) {
	named = r.Bytes > 0 || r.HighWatermark != m.highWatermark || r.LogStart != m.logStart || r.Error || r.Hint
	m.highWatermark, m.logStart = r.HighWatermark, r.LogStart
	if r.Error {
		m.highWatermark = -1 // so that it shows up again once the error is gone
	}
	if r.Bytes > 0 {
		m.order = s.next
		s.next++
		s.sorted = false
	}
	m.due = r.open()
	return named
}

// apply takes a request's changes: partitions named are put at the end if they are new, and have their fields replaced
// in place if not; then the forgotten ones leave. It returns those that left.
func (s *Session) apply(named, forgotten []Partition) (left []*Member) {
	for i := range named {
		p := &named[i]
		m := s.members.get(p, s.byID)
		if m == nil {
			m = &Member{highWatermark: -1, logStart: -1, Partition: *p}
			s.add(m)
		} else {
			topic := m.Topic
			m.Partition = *p
			if topic != "" {
				m.Topic = topic
			}
		}
		s.Touch(m)
	}
	for i := range forgotten {
		if m := s.members.get(&forgotten[i], s.byID); m != nil {
			s.members.remove(&forgotten[i], s.byID)
			s.count--
			m.gone, m.due = true, false
			left = append(left, m)
		}
	}
	return left
}

func (s *Session) add(m *Member) {
	m.order = s.next
	s.next++
	s.count++
	s.members.expected = max(s.members.expected, s.count)
	s.members.put(&m.Partition, s.byID, m)
}

// Info is a session as a value, for lists and comparisons.
type Info struct {
	ID         int32
	ClientID   string
	Epoch      int32 // what the next request must carry
	Privileged bool  // opened by a follower
	ByTopicID  bool  // opened by version 13 or up
	Created    time.Time
	LastUsed   time.Time
	Partitions []MemberInfo // in the session's order
}

// MemberInfo is a member as a value.
type MemberInfo struct {
	Partition
	HighWatermark int64 // as last answered; -1: not yet, or with an error
	LastLogStart  int64 // as last answered
}

// Info describes the session. It needs the locks of the shard and of the session.
func (s *Session) Info() Info {
	info := Info{
		ID: s.id, ClientID: s.clientID, Epoch: s.epoch, Privileged: s.privileged, ByTopicID: s.byID,
		Created: time.UnixMilli(s.created), LastUsed: time.UnixMilli(s.lastUsed),
		Partitions: make([]MemberInfo, 0, s.count),
	}
	for _, m := range s.Members() {
		info.Partitions = append(info.Partitions, MemberInfo{m.Partition, m.highWatermark, m.logStart})
	}
	return info
}
