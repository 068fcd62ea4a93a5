package broker

import (
	"fmt"
	"slices"
	"time"

	"github.com/fakekafka/fakekafka/groups"
)

// EventSkipped is a new owner that began to fetch behind records nobody committed.
const EventSkipped groups.EventKind = "skipped"

// fetcher is a client that was assigned a partition by a group: whether it has fetched since.
type fetcher struct {
	group, client, member string
	since                 int64 // when it was assigned, by the machine's clock in Unix nanoseconds
	fetched               bool  // its client fetches it
	positioned            bool  // and it is known from where on
}

// assigned is told of an assignment: what the member gained must be fetched by its client. On the loop.
func (c *Cluster) assigned(e groups.Event) {
	m := c.meta.Load()
	for _, topicName := range sortedKeys(e.Partitions) {
		for _, index := range e.Partitions[topicName] {
			if p := m.partition(topicName, index); p != nil {
				p.expectFetch(e.Group, e.ClientID, e.Member)
			}
		}
	}
}

// expectFetch notes that a member owns the partition from now on, in place of the group's owner before. A fetch session reads
// a partition only when it changed, so that this counts as a change: the next fetch of any session is seen here.
func (p *partition) expectFetch(group, client, member string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.fetchers {
		f := &p.fetchers[i]
		if f.group == group {
			if f.member != member || f.client != client {
				*f = newFetcher(group, client, member)
				p.changed()
			}
			return
		}
	}
	p.forgetFetchers()
	p.fetchers = append(p.fetchers, newFetcher(group, client, member))
	p.changed()
}

// manyFetchers is how many groups a partition remembers before it looks for those that are gone.
const manyFetchers = 64

// forgetFetchers drops the fetchers whose member is gone, when there are many: groups of one use would add up, and a fetch looks at all. With p.mu
// held, on the loop.
func (p *partition) forgetFetchers() {
	n := len(p.fetchers)
	if n < manyFetchers || n < cap(p.fetchers) {
		return
	}
	p.fetchers = slices.DeleteFunc(p.fetchers, func(f fetcher) bool {
		sh := p.cluster.shardNow(f.group)
		return sh != nil && !sh.HasMember(f.group, f.member) // without a coordinator nobody knows
	})
	if len(p.fetchers) > n/2 {
		p.fetchers = slices.Grow(p.fetchers, n) // so that the next look is as far away
	}
}

func newFetcher(group, client, member string) fetcher {
	return fetcher{group: group, client: client, member: member, since: time.Now().UnixNano()}
}

// noteFetch notes that a client has fetched the partition at an offset. With p.mu held. It costs nothing where no group owns the partition. A fetch
// that was sent before the partition was assigned says nothing of where its owner begins: it may be one that still waits from a time when the client owned the
// partition before, or of the process that a static member's new one replaces. In a session it counts as being fetched all the same, for the session's next
// request need not read the partition again.
func (p *partition) noteFetch(r *request, offset int64, inSession bool) {
	for i := range p.fetchers {
		f := &p.fetchers[i]
		if f.positioned || f.client != r.client {
			continue
		}
		if r.conn != nil && r.conn.active.Load() < f.since {
			if inSession && !f.fetched {
				f.fetched = true
				p.cluster.changed()
			}
			continue
		}
		f.fetched, f.positioned = true, true
		group, client, start := f.group, f.client, p.log.LogStart()
		if offset <= start { // nothing is skipped, whatever is committed
			p.cluster.changed()
			continue
		}
		p.cluster.loop.post(func() { p.positioned(group, client, offset, start) })
	}
}

// positioned looks at where a new owner begins: behind the group's committed offset, or behind the log's start where there is none, it
// has skipped records. On the loop, after all that came before the fetch.
func (p *partition) positioned(group, client string, offset, start int64) {
	sh := p.cluster.shardNow(group)
	if sh == nil {
		return
	}
	epoch, ok := sh.Epoch(group)
	if !ok {
		return
	}
	from, what := start, fmt.Sprintf("the log starts at %d and nothing is committed", start)
	if committed, ok := sh.Committed(group, p.topic, p.index); ok {
		from, what = max(committed, start), fmt.Sprintf("committed is %d", committed)
	}
	if offset > from {
		skipped := "1 record is skipped"
		if n := offset - from; n > 1 {
			skipped = fmt.Sprintf("%d records are skipped", n)
		}
		p.cluster.history.add(groups.Event{
			At: p.cluster.clock.Now(), Group: group, Kind: EventSkipped, ClientID: client, Epoch: epoch, Offset: offset,
			Partitions: map[string][]int32{p.topic: {p.index}},
			Cause:      fmt.Sprintf("%s-%d is fetched from %d on, %s: %s", p.topic, p.index, offset, skipped, what),
		})
	}
}

// Fetches tells whether a member's client has fetched a partition since the group assigned it.
func (c *Cluster) Fetches(group, member, topicName string, index int32) bool {
	p := c.meta.Load().partition(topicName, index)
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.fetchers, func(f fetcher) bool { return f.fetched && f.group == group && f.member == member })
}
