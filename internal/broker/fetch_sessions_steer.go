package broker

import (
	"fmt"

	"github.com/fakekafka/fakekafka/fetchsession"
)

// What a test sees of the fetch sessions of all brokers, and how it ends them.

// FetchSession is a session and the broker that has it.
type FetchSession struct {
	Broker int32
	fetchsession.Info
}

// FetchSessions lists the open sessions, by broker and id.
func (c *Cluster) FetchSessions() []FetchSession {
	var all []FetchSession
	for _, n := range c.nodes {
		for _, info := range n.sessions.Load().list() {
			all = append(all, FetchSession{n.id, info})
		}
	}
	return all
}

// FetchSessionStats sums up all brokers.
func (c *Cluster) FetchSessionStats() (sum fetchsession.Stats) {
	for _, n := range c.nodes {
		n.sessions.Load().addTo(&sum)
	}
	return sum
}

// EvictFetchSession ends a session behind its client's back, as a full cache does: the client's next request is answered
// FETCH_SESSION_ID_NOT_FOUND.
func (c *Cluster) EvictFetchSession(id int32) error {
	for _, n := range c.nodes {
		if n.sessions.Load().evict(id, "evicted by the test") {
			return nil
		}
	}
	var open []int32
	for _, s := range c.FetchSessions() {
		open = append(open, s.ID)
	}
	return fmt.Errorf("there is no fetch session %d; open are %v", id, open)
}

// EvictAllFetchSessions ends all sessions behind their clients' backs and says how many there were.
func (c *Cluster) EvictAllFetchSessions() int {
	total := 0
	for _, n := range c.nodes {
		total += n.sessions.Load().evictAll("evicted by the test")
	}
	return total
}
