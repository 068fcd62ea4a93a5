package broker

import (
	"fmt"

	"github.com/fakekafka/fakekafka/groups"
)

// EventSkipped is a new owner that began to fetch behind records nobody committed.
const EventSkipped groups.EventKind = "skipped"

// fetcher is a client that was assigned a partition by a group: whether it has fetched since.
type fetcher struct {
	group, client, member string
	fetched               bool
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
			if f.member != member {
				*f = fetcher{group: group, client: client, member: member}
				p.changed()
			}
			return
		}
	}
	p.fetchers = append(p.fetchers, fetcher{group: group, client: client, member: member})
	p.changed()
}

// noteFetch notes that a client has fetched the partition at an offset. With p.mu held. It costs nothing where no group owns the partition.
func (p *partition) noteFetch(client string, offset int64) {
	for i := range p.fetchers {
		f := &p.fetchers[i]
		if f.fetched || f.client != client {
			continue
		}
		f.fetched = true
		group, start := f.group, p.log.LogStart()
		p.cluster.loop.post(func() { p.positioned(group, client, offset, start) })
	}
}

// positioned looks at where a new owner begins: behind the group's committed offset, or behind the log's start where there is none, it
// has skipped records. On the loop, after all that came before the fetch.
func (p *partition) positioned(group, client string, offset, start int64) {
	s, ok := p.cluster.GroupState(group)
	if !ok {
		return
	}
	from, what := start, fmt.Sprintf("the log starts at %d and nothing is committed", start)
	for _, o := range s.Offsets {
		if o.Topic == p.topic && o.Partition == p.index {
			from, what = max(o.Offset, start), fmt.Sprintf("committed is %d", o.Offset)
		}
	}
	if offset > from {
		p.cluster.history.add(groups.Event{
			At: p.cluster.clock.Now(), Group: group, Kind: EventSkipped, ClientID: client, Epoch: s.Epoch, Offset: offset,
			Partitions: map[string][]int32{p.topic: {p.index}},
			Cause:      fmt.Sprintf("%s-%d is fetched from %d on, %d records are skipped: %s", p.topic, p.index, offset, offset-from, what),
		})
	}
}

// Fetches tells whether a client has fetched a partition since a group assigned it.
func (c *Cluster) Fetches(client, topicName string, index int32) bool {
	p := c.meta.Load().partition(topicName, index)
	if p == nil {
		return false
	}
	p.mu.Lock()
	for i := range p.fetchers {
		if f := &p.fetchers[i]; f.client == client && f.fetched {
			p.mu.Unlock()
			return true
		}
	}
	p.mu.Unlock()
	return false
}
