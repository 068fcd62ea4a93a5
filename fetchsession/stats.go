package fetchsession

// Stats is what happened in a cache, and what stands in it, as a value. The first three carry the names of Kafka's metrics
// (kafka.server:type=FetchSessionCache).
type Stats struct {
	NumIncrementalFetchSessions         int64 // sessions open now
	NumIncrementalFetchPartitionsCached int64 // their members, as of each one's last use
	IncrementalFetchSessionEvictions    int64 // one session evicted for another; closing and emptying do not count

	// ForcedEvictions counts the sessions ended by Evict and EvictAll, which Kafka does not have.
	ForcedEvictions int64

	// Clients is by client.id. Beyond a few thousand clients the rest is counted together as "(other clients)".
	Clients map[string]ClientStats
}

// ClientStats counts the fetches of one client.id.
type ClientStats struct {
	Full            int64 // answered in full: requests with epoch 0 or -1, all below version 7
	Incremental     int64 // accepted by a session
	NotFound        int64 // answered FETCH_SESSION_ID_NOT_FOUND (70)
	InvalidEpoch    int64 // answered INVALID_FETCH_SESSION_EPOCH (71)
	TopicIDMismatch int64 // answered FETCH_SESSION_TOPIC_ID_ERROR (106)
}

const (
	// maxClients bounds what a program that changes its client.id all the time can make a shard remember.
	maxClients   = 4096
	otherClients = "(other clients)"
)

func (c *Shard) client(id string) *ClientStats {
	stats := c.clients[id]
	if stats != nil {
		return stats
	}
	if len(c.clients) >= maxClients {
		id = otherClients
		if stats = c.clients[id]; stats != nil {
			return stats
		}
	}
	stats = &ClientStats{}
	c.clients[id] = stats
	return stats
}

// AddTo adds the shard's counts to those of other shards.
func (c *Shard) AddTo(sum *Stats) {
	sum.NumIncrementalFetchSessions += int64(len(c.sessions))
	sum.NumIncrementalFetchPartitionsCached += c.partitions
	sum.IncrementalFetchSessionEvictions += c.evictions
	sum.ForcedEvictions += c.forced
	if sum.Clients == nil {
		sum.Clients = map[string]ClientStats{}
	}
	for id, s := range c.clients {
		t := sum.Clients[id]
		t.Full += s.Full
		t.Incremental += s.Incremental
		t.NotFound += s.NotFound
		t.InvalidEpoch += s.InvalidEpoch
		t.TopicIDMismatch += s.TopicIDMismatch
		sum.Clients[id] = t
	}
}
