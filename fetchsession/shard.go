package fetchsession

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// NumShards is the number of shards of a cache. Kafka has no setting for it.
	NumShards = 8
	// MinAgeForEviction is how long a session must have existed, or been left alone, before another may take its place.
	// Kafka has no setting for it either.
	MinAgeForEviction = 120 * time.Second

	minAgeMs = int64(MinAgeForEviction / time.Millisecond)
	idRange  = math.MaxInt32 / NumShards
)

// ShardOf finds the shard a session id belongs to. For a handful of ids at both ends there is none; Kafka fails the whole
// request with UNKNOWN_SERVER_ERROR then, whatever its epoch, and false says to do the same. Negative ids lead to
// shard 0, where they find nothing.
func ShardOf(id int32) (int, bool) {
	i := int(id) / idRange // truncates towards 0
	return i, 0 <= i && i < NumShards
}

// ShardForTurn is the shard that the n-th full request (from 0) of a broker may open its session in.
func ShardForTurn(n uint32) int { return int(n % NumShards) }

// Shard is one eighth of a broker's cache of sessions. Its methods need the shard's lock.
type Shard struct {
	slots    int
	low, end int32 // ids: low <= id < end
	random   *rand.Rand
	sessions map[int32]*Session

	partitions int64 // sum of the sizes of all sessions
	evictions  int64
	forced     int64
	clients    map[string]*ClientStats
}

// NewShard makes shard number index (0 to 7) of a cache of slots sessions
// (max.incremental.fetch.session.cache.slots, at least 0). Each shard has an eighth of them, rounded down: a cache of fewer
// than 8 slots holds no session at all. Ids are drawn from random.
func NewShard(index, slots int, random *rand.Rand) *Shard {
	return &Shard{
		slots:    slots / NumShards,
		low:      max(1, int32(index)*idRange),
		end:      (int32(index) + 1) * idRange,
		random:   random,
		sessions: map[int32]*Session{},
		clients:  map[string]*ClientStats{},
	}
}

// Session finds a session by id, nil if there is none.
func (c *Shard) Session(id int32) *Session { return c.sessions[id] }

// Code is the part of Kafka's error codes that session checks answer.
type Code int16

// Error codes of a session, by their names in Kafka.
const (
	OK                       Code = 0
	FetchSessionIDNotFound   Code = 70
	InvalidFetchSessionEpoch Code = 71
	FetchSessionTopicIDError Code = 106
)

// Use applies an incremental request to the session of its id, which is s as found by [Shard.Session], or nil. It needs
// the session's lock as well. In order:
//
//   - no such session: FetchSessionIDNotFound;
//   - another epoch than the next one: InvalidFetchSessionEpoch;
//   - topics named by id here and by name there: FetchSessionTopicIDError. All three leave the session as it was.
//   - Then named and forgotten partitions are applied. If nothing is left the session is closed: empty is true, and the
//     request is answered as if it had come without one.
//   - Otherwise the session is in use now, and its epoch moves on.
//
// left are the members that the request forgot.
func (c *Shard) Use(s *Session, now time.Time, clientID string, epoch int32, byID bool, named, forgotten []Partition) (left []*Member, empty bool, code Code) {
	stats := c.client(clientID)
	switch {
	case s == nil:
		stats.NotFound++
		return nil, false, FetchSessionIDNotFound
	case s.epoch != epoch:
		stats.InvalidEpoch++
		return nil, false, InvalidFetchSessionEpoch
	case s.byID != byID:
		stats.TopicIDMismatch++
		return nil, false, FetchSessionTopicIDError
	}
	stats.Incremental++
	left = s.apply(named, forgotten)
	if s.count == 0 {
		c.remove(s)
		return left, true, OK
	}
	c.touch(s, now)
	s.epoch = NextEpoch(s.epoch)
	return left, false, OK
}

// CountFull counts a request answered in full, with or without a session.
func (c *Shard) CountFull(clientID string) { c.client(clientID).Full++ }

// CountOvertaken counts the answer INVALID_FETCH_SESSION_EPOCH to a request that another one overtook while it waited.
func (c *Shard) CountOvertaken(clientID string) { c.client(clientID).InvalidEpoch++ }

// Open opens a session for a full answer of n partitions. setup may set the session's Holder and say how it is
// read ([Session.StartReading]); fill is called for each member in
// the order of the answer, to set its Partition and Watch and to say what it was answered. Nobody else can find the session
// before they are done. Open returns nil if there is no room, and the session that was evicted to make room, if one was.
func (c *Shard) Open(now time.Time, clientID string, follower, byID bool, n int, setup func(*Session), fill func(i int, m *Member) Result) (opened, evicted *Session) {
	if len(c.sessions) >= c.slots {
		if evicted = c.toEvict(follower, n, now); evicted == nil {
			return nil, nil
		}
		c.remove(evicted)
		c.evictions++
	}
	s := &Session{
		id: c.newID(), clientID: clientID, privileged: follower, byID: byID, created: now.UnixMilli(),
		epoch: NextEpoch(InitialEpoch), sorted: true, members: table[*Member]{expected: n},
	}
	if setup != nil {
		setup(s)
	}
	members := make([]Member, n)
	for i := range members {
		m := &members[i]
		r := fill(i, m)
		m.highWatermark, m.logStart = r.HighWatermark, r.LogStart
		s.add(m)
		if r.open() {
			s.Touch(m)
		}
	}
	c.sessions[s.id] = s
	c.touch(s, now)
	return s, evicted
}

// Close ends the session of an id, if it exists.
func (c *Shard) Close(id int32) *Session {
	s := c.sessions[id]
	if s != nil {
		c.remove(s)
	}
	return s
}

// Evict ends the session of an id, if it exists, as a full cache would: the client does not know.
func (c *Shard) Evict(id int32) *Session {
	s := c.Close(id)
	if s != nil {
		c.forced++
	}
	return s
}

// Sessions is the shard's sessions by id.
func (c *Shard) Sessions() []*Session {
	all := make([]*Session, 0, len(c.sessions))
	for _, s := range c.sessions {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Session) int { return cmp.Compare(a.id, b.id) })
	return all
}

func (c *Shard) remove(s *Session) {
	delete(c.sessions, s.id)
	c.partitions -= int64(s.size)
	s.closed = true
}

func (c *Shard) touch(s *Session, now time.Time) {
	c.partitions += int64(s.count - s.size)
	s.lastUsed, s.size = now.UnixMilli(), s.count
}

func (c *Shard) newID() int32 {
	for {
		if id := c.low + c.random.Int32N(c.end-c.low); c.sessions[id] == nil {
			return id
		}
	}
}
