package fakekafka

import (
	"github.com/fakekafka/fakekafka/fetchsession"
	"github.com/fakekafka/fakekafka/internal/broker"
)

// FetchSession is one incremental fetch session (KIP-227) and the broker that has it. It is a value.
type FetchSession = broker.FetchSession

// FetchSessionStats counts fetch sessions under Kafka's metric names, and per client how its fetches were answered. It is a value.
type FetchSessionStats = fetchsession.Stats

// FetchSessions shows and ends the incremental fetch sessions of all brokers.
type FetchSessions struct{ k *Cluster }

// FetchSessions gives the handle of the fetch sessions.
func (k *Cluster) FetchSessions() *FetchSessions { return &FetchSessions{k} }

// List is the open sessions, by broker and id. A session is opened by the answer to its client's first fetch: at the end of a log that answer waits for
// fetch.max.wait.ms, or for a record.
func (s *FetchSessions) List() []FetchSession { return s.k.b.FetchSessions() }

// Stats sums up all brokers. NotFound and InvalidEpoch of a client are the answers FETCH_SESSION_ID_NOT_FOUND (70) and
// INVALID_FETCH_SESSION_EPOCH (71).
func (s *FetchSessions) Stats() FetchSessionStats { return s.k.b.FetchSessionStats() }

// Evict ends a session behind its client's back, as a full cache does: the client's next request is answered FETCH_SESSION_ID_NOT_FOUND, and it opens
// another one.
func (s *FetchSessions) Evict(id int32) error {
	s.k.mark.Helper()
	return s.k.steered("Evict of a fetch session", s.k.b.EvictFetchSession(id))
}

// EvictAll ends all sessions and answers how many there were.
func (s *FetchSessions) EvictAll() int { return s.k.b.EvictAllFetchSessions() }
