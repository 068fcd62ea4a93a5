package broker

import (
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// RequestEntry is one request in the log of requests.
type RequestEntry struct {
	At      time.Time // the machine's time when it was read
	Key     wire.Key
	Version int16
	Client  string
	Broker  int32
	Group   string // of group requests
}

// maxLogged bounds what a connection remembers one by one; the counts go on beyond it.
const maxLogged = 4096

// requestLog is what a connection was asked. It has a lock of its own, so that connections don't share one.
type requestLog struct {
	mu      sync.Mutex
	recent  []logged // the last maxLogged, a ring once it is full
	next    int
	who     *requester       // of the entry before: it is mostly the same again
	dropped map[countKey]int // those that the ring has lost
}

// logged is an entry as it is kept: a connection has thousands of them.
type logged struct {
	at      int64 // Unix nanoseconds
	who     *requester
	key     wire.Key
	version int16
}

// requester is who asked whom, for which group.
type requester struct {
	client string
	group  string
	broker int32
}

type countKey struct {
	key wire.Key
	requester
}

// entry is what the log's users see.
func (l *logged) entry() RequestEntry {
	return RequestEntry{At: time.Unix(0, l.at), Key: l.key, Version: l.version, Client: l.who.client, Broker: l.who.broker, Group: l.who.group}
}

func (l *requestLog) add(r *request) {
	if r.script != nil {
		r.conn.touch() // a script's request comes through no socket
	}
	who := requester{client: LoggedName(r.client), broker: r.node.id}
	if isGroupKey(r.key) || r.key == wire.FindCoordinator {
		who.group = LoggedName(groupOf(r.body))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.who == nil || *l.who != who {
		fresh := who
		l.who = &fresh
	}
	l.put(logged{at: r.conn.active.Load(), who: l.who, key: r.key, version: r.version})
}

// groupOf is the one group that a request names, "" for none or several. It is asked of every request of a member, and makes no list.
func groupOf(req kmsg.Request) string {
	switch req := req.(type) {
	case *kmsg.JoinGroupRequest:
		return req.Group
	case *kmsg.SyncGroupRequest:
		return req.Group
	case *kmsg.HeartbeatRequest:
		return req.Group
	case *kmsg.ConsumerGroupHeartbeatRequest:
		return req.Group
	}
	if g := groupsOf(req); len(g) == 1 {
		return g[0]
	}
	return ""
}

// last names the latest request, for messages.
func (l *requestLog) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.recent) == 0 {
		return "request"
	}
	at := len(l.recent) - 1
	if l.next > 0 {
		at = l.next - 1
	}
	return l.recent[at].key.String()
}

// put adds an entry. With l.mu held.
func (l *requestLog) put(e logged) {
	if l.recent == nil {
		l.recent = make([]logged, 0, 8)
	}
	if len(l.recent) < maxLogged {
		l.recent = append(l.recent, e)
		return
	}
	old := &l.recent[l.next]
	l.drop(countKey{old.key, *old.who}, 1)
	*old = e
	l.next = (l.next + 1) % maxLogged
}

// drop counts entries that the ring has lost, by client and group. A client that makes up a new name for each request must not make this grow
// without end: past maxLogged names the others are counted without one. With l.mu held.
func (l *requestLog) drop(k countKey, n int) {
	if l.dropped == nil {
		l.dropped = map[countKey]int{}
	}
	if _, known := l.dropped[k]; !known && len(l.dropped) >= maxLogged {
		k.requester = requester{broker: k.broker}
	}
	l.dropped[k] += n
}

// takeOver makes the first log that comes this one. With l.mu held.
func (l *requestLog) takeOver(ended *requestLog) bool {
	if len(l.recent) > 0 || len(l.dropped) > 0 {
		return false
	}
	l.recent, l.next, l.dropped = ended.recent, ended.next, ended.dropped
	ended.recent, ended.next, ended.dropped = nil, 0, nil
	return true
}

// absorb takes over the log of a connection that has ended.
func (l *requestLog) absorb(ended *requestLog) {
	ended.mu.Lock()
	defer ended.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.takeOver(ended) {
		return
	}
	for i := range ended.recent {
		l.put(ended.recent[(ended.next+i)%len(ended.recent)])
	}
	for k, n := range ended.dropped {
		l.drop(k, n)
	}
	ended.recent, ended.dropped = nil, nil
}

// RequestQuery selects entries of the log; zero fields select everything.
type RequestQuery struct {
	Key    wire.Key // AnyKey: every API
	Client string
	Group  string
	Broker int32
}

func (q RequestQuery) takes(e *RequestEntry) bool {
	return (q.Key == AnyKey || q.Key == e.Key) && (q.Client == "" || q.Client == e.Client) && (q.Group == "" || q.Group == e.Group) &&
		(q.Broker == 0 || q.Broker == e.Broker)
}

// Requests answers how many requests a query selects, and the recent ones among them in order of arrival.
func (c *Cluster) Requests(q RequestQuery) (count int, recent []RequestEntry) {
	q.Client, q.Group = LoggedName(q.Client), LoggedName(q.Group)
	c.logs.Lock()
	defer c.logs.Unlock()
	logs := []*requestLog{&c.ended}
	for _, n := range c.nodes {
		for _, cn := range n.connections() {
			logs = append(logs, cn.requests)
		}
	}
	for _, l := range logs {
		l.mu.Lock()
		for i := range l.recent {
			if e := l.recent[i].entry(); q.takes(&e) {
				recent = append(recent, e)
			}
		}
		for k, n := range l.dropped {
			if q.takes(&RequestEntry{Key: k.key, Client: k.client, Group: k.group, Broker: k.broker}) {
				count += n
			}
		}
		l.mu.Unlock()
	}
	slices.SortStableFunc(recent, func(a, b RequestEntry) int { return a.At.Compare(b.At) })
	return count + len(recent), recent
}
