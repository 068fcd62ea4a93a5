package broker

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/fakekafka/fakekafka/fetchsession"
	"github.com/fakekafka/fakekafka/groups"
)

// fetchSessions is a node's cache of fetch sessions: the shards of fetchsession, each behind a lock of its own.
type fetchSessions struct {
	node   *node
	slots  int                                                  // max.incremental.fetch.session.cache.slots when the broker started
	turn   atomic.Uint32                                        // full requests answered so far
	shards [fetchsession.NumShards]atomic.Pointer[sessionShard] // made when they are first asked for: most brokers of a test never need one
}

type sessionShard struct {
	mu sync.Mutex
	*fetchsession.Shard
}

// openSession is a session's lock and what its members have to say: fetchsession.Session.Holder.
type openSession struct {
	mu     sync.Mutex
	s      *fetchsession.Session
	inbox  inbox
	spare  []*target // memory for the inbox
	waiter *fetching // the request that waits
	waits  uint32    // how many have
	closed bool      // nobody finds it any more; its members stop watching when the waiting request is done
}

// newFetchSessions makes an empty cache of so many slots (max.incremental.fetch.session.cache.slots).
func newFetchSessions(n *node, slots int) *fetchSessions {
	return &fetchSessions{node: n, slots: slots}
}

// shard is a shard by its number.
func (f *fetchSessions) shard(i int) *sessionShard {
	if sh := f.shards[i].Load(); sh != nil {
		return sh
	}
	random := rand.New(rand.NewPCG(f.node.cluster.seed, uint64(f.node.id)<<8|uint64(i)))
	f.shards[i].CompareAndSwap(nil, &sessionShard{Shard: fetchsession.NewShard(i, f.slots, random)}) // or somebody else was first
	return f.shards[i].Load()
}

// made are the shards that may have something in them, in order.
func (f *fetchSessions) made(each func(*sessionShard)) {
	for i := range f.shards {
		if sh := f.shards[i].Load(); sh != nil {
			sh.mu.Lock()
			each(sh)
			sh.mu.Unlock()
		}
	}
}

// newSessions gives a starting node an empty cache: sessions don't outlive a broker.
func (n *node) newSessions() {
	if old := n.sessions.Swap(newFetchSessions(n, n.cluster.derived(n.id).fetchSessionSlots)); old != nil {
		old.evictAll("the broker was started again")
	}
}

// fetchExpired counts a fetch that was ended by the clock.
func (n *node) fetchExpired(follower bool) {
	if follower {
		n.expired.follower.Add(1)
	} else {
		n.expired.consumer.Add(1)
	}
}

// shardOf finds the shard of a session id; nil for an id that fails the request, as it does in Kafka.
func (f *fetchSessions) shardOf(id int32) *sessionShard {
	i, ok := fetchsession.ShardOf(id)
	if !ok {
		return nil
	}
	return f.shard(i)
}

// close ends the session of an id for its client. It answers false for an id that fails the request.
func (f *fetchSessions) close(id int32, why string) bool {
	sh := f.shardOf(id)
	if sh == nil {
		return false
	}
	if id == fetchsession.NoSession {
		return true
	}
	sh.mu.Lock()
	s := sh.Close(id)
	sh.mu.Unlock()
	f.gone(s, why)
	return true
}

// evict ends the session of an id behind its client's back. It answers false when there is none.
func (f *fetchSessions) evict(id int32, why string) bool {
	sh := f.shardOf(id)
	if sh == nil {
		return false
	}
	sh.mu.Lock()
	s := sh.Evict(id)
	sh.mu.Unlock()
	f.gone(s, why)
	return s != nil
}

// evictAll ends all sessions behind their clients' backs and says how many there were.
func (f *fetchSessions) evictAll(why string) int {
	var all []*fetchsession.Session
	f.made(func(sh *sessionShard) {
		for _, s := range sh.Sessions() {
			all = append(all, s)
			sh.Evict(s.ID())
		}
	})
	for _, s := range all {
		f.gone(s, why)
	}
	return len(all)
}

// gone is for a session that left its shard, nil for none: its members need not watch any longer, unless a request still waits.
func (f *fetchSessions) gone(s *fetchsession.Session, why string) {
	if s == nil {
		return
	}
	o := s.Holder.(*openSession)
	o.mu.Lock()
	o.closed = true
	if o.waiter == nil {
		o.release()
	}
	o.mu.Unlock()
	f.tell(EventSessionGone, s, why)
}

// tell adds what became of a session to the history.
func (f *fetchSessions) tell(kind groups.EventKind, s *fetchsession.Session, why string) {
	f.node.cluster.note(groups.Event{
		Kind: kind, ClientID: s.ClientID(), Cause: fmt.Sprintf("broker %d, session %d: %s", f.node.id, s.ID(), why),
	})
}

// list describes the open sessions by id.
func (f *fetchSessions) list() []fetchsession.Info {
	var list []fetchsession.Info
	f.made(func(sh *sessionShard) {
		for _, s := range sh.Sessions() {
			o := s.Holder.(*openSession)
			o.mu.Lock()
			list = append(list, s.Info())
			o.mu.Unlock()
		}
	})
	return list
}

// addTo adds what the shards count.
func (f *fetchSessions) addTo(sum *fetchsession.Stats) {
	f.made(func(sh *sessionShard) { sh.AddTo(sum) })
}

// release stops all watching of a closed session. With o.mu held.
func (o *openSession) release() {
	for _, m := range o.s.Members() {
		release(m)
	}
}

// release stops the watching of a member.
func release(m *fetchsession.Member) {
	if t, ok := m.Watch.(*target); ok {
		t.release()
	}
}

// drain makes the members due whose partitions changed. With o.mu held.
func (o *openSession) drain(each func(*target)) {
	changed := o.inbox.take(o.spare)
	for _, t := range changed {
		if t.member == nil || t.member.Gone() {
			continue
		}
		o.s.Touch(t.member)
		if each != nil {
			each(t)
		}
	}
	o.spare = changed
}
