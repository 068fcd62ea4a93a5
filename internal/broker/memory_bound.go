package broker

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/fakekafka/fakekafka/groups"
)

// EventDropped is records that went because of Options.MaxMemory.
const EventDropped groups.EventKind = "records dropped"

// memoryBound keeps what all logs hold together under a limit, for a broker that runs for days. Kafka has no such thing: its disk
// is larger, and retention takes care of it.
type memoryBound struct {
	limit    int64 // 0: none
	appended atomic.Int64
	looking  atomic.Bool
}

// boundMemory counts appended bytes, and looks at the logs now and then.
func (c *Cluster) boundMemory(n int) {
	b := &c.memory
	if b.limit == 0 || b.appended.Add(int64(n)) < b.limit/32 || b.looking.Swap(true) {
		return
	}
	c.loop.post(c.dropOldest)
}

// dropOldest frees an eighth of the limit when the logs have reached it: the oldest records of each topic, more of the larger ones. The
// coordinators' topics are left alone. On the loop.
func (c *Cluster) dropOldest() {
	b := &c.memory
	b.appended.Store(0)
	b.looking.Store(false)

	type log struct {
		p    *partition
		size int64
	}
	var logs []log
	var total, droppable int64
	c.eachPartition(func(p *partition) {
		p.mu.Lock()
		size := p.log.Size()
		p.mu.Unlock()
		total += size
		if !isInternal(p.topic) && size > 0 {
			logs = append(logs, log{p, size})
			droppable += size
		}
	})
	if total < b.limit-b.limit/32 || droppable == 0 {
		return
	}
	slices.SortStableFunc(logs, func(x, y log) int { return cmp.Compare(y.size, x.size) })
	want := total - (b.limit - b.limit/8)
	freed, touched, now := int64(0), 0, c.clock.NowMillis()
	for _, l := range logs {
		if freed >= want {
			break
		}
		l.p.mu.Lock()
		removed := l.p.log.DropOldest(now, want*l.size/droppable+1)
		if removed.Bytes > 0 {
			l.p.changed()
		}
		l.p.mu.Unlock()
		if removed.Bytes > 0 {
			freed += removed.Bytes
			touched++
		}
	}
	if freed == 0 {
		return
	}
	text := fmt.Sprintf("the oldest %d bytes of %d partitions: all logs together had %d bytes, the bound is %d", freed, touched, total, b.limit)
	c.log.Warn("records dropped to stay within the memory bound", "bytes", freed, "partitions", touched, "held", total, "bound", b.limit)
	c.historyAdd(EventDropped, "", text)
}
