package broker

import (
	"slices"
	"sync"
	"time"

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
	recent  []RequestEntry // the last maxLogged, a ring once it is full
	next    int
	dropped map[countKey]int // those that the ring has lost
}

type countKey struct {
	key    wire.Key
	client string
	group  string
	broker int32
}

func (l *requestLog) add(r *request) {
	if r.script != nil {
		r.conn.touch() // a script's request comes through no socket
	}
	e := RequestEntry{At: time.Unix(0, r.conn.active.Load()), Key: r.key, Version: r.version, Client: r.client, Broker: r.node.id}
	if IsGroupKey(r.key) {
		if g := groupsOf(r.body); len(g) == 1 {
			e.Group = g[0]
		}
	}
	l.put(e)
}

func (l *requestLog) put(e RequestEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.recent == nil {
		l.recent = make([]RequestEntry, 0, 8)
	}
	if len(l.recent) < maxLogged {
		l.recent = append(l.recent, e)
		return
	}
	old := &l.recent[l.next]
	if l.dropped == nil {
		l.dropped = map[countKey]int{}
	}
	l.dropped[countKey{old.Key, old.Client, old.Group, old.Broker}]++
	*old = e
	l.next = (l.next + 1) % maxLogged
}

// takeOver makes the first log that comes this one.
func (l *requestLog) takeOver(ended *requestLog) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
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
	if l.takeOver(ended) {
		return
	}
	for i := range ended.recent {
		l.put(ended.recent[(ended.next+i)%len(ended.recent)])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(ended.dropped) > 0 && l.dropped == nil {
		l.dropped = map[countKey]int{}
	}
	for k, n := range ended.dropped {
		l.dropped[k] += n
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
			if e := &l.recent[i]; q.takes(e) {
				recent = append(recent, *e)
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
