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
	turn   atomic.Uint32 // full requests answered so far
	shards [fetchsession.NumShards]sessionShard
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
	f := &fetchSessions{node: n}
	for i := range f.shards {
		f.shards[i].Shard = fetchsession.NewShard(i, slots, rand.New(rand.NewPCG(n.cluster.seed, uint64(n.id)<<8|uint64(i))))
	}
	return f
}

// newSessions gives a starting node an empty cache: sessions don't outlive a broker.
func (n *node) newSessions() {
	slots := n.cluster.settings(n.id).Int("max.incremental.fetch.session.cache.slots")
	if old := n.sessions.Swap(newFetchSessions(n, slots)); old != nil {
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
	return &f.shards[i]
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
	n := 0
	for i := range f.shards {
		sh := &f.shards[i]
		sh.mu.Lock()
		all := sh.Sessions()
		for _, s := range all {
			sh.Evict(s.ID())
		}
		sh.mu.Unlock()
		for _, s := range all {
			f.gone(s, why)
		}
		n += len(all)
	}
	return n
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
	for i := range f.shards {
		sh := &f.shards[i]
		sh.mu.Lock()
		for _, s := range sh.Sessions() {
			o := s.Holder.(*openSession)
			o.mu.Lock()
			list = append(list, s.Info())
			o.mu.Unlock()
		}
		sh.mu.Unlock()
	}
	return list
}

// addTo adds what the shards count.
func (f *fetchSessions) addTo(sum *fetchsession.Stats) {
	for i := range f.shards {
		sh := &f.shards[i]
		sh.mu.Lock()
		sh.AddTo(sum)
		sh.mu.Unlock()
	}
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
