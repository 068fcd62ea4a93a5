package broker

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

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
	c.loop.post(c.makeRoom)
}

// makeRoom compacts the coordinators' topics, and frees an eighth of the limit when the logs have reached it: the oldest records of each other topic go, more of
// the larger ones. On the loop.
func (c *Cluster) makeRoom() {
	b := &c.memory
	b.appended.Store(0)
	b.looking.Store(false)

	now := c.clock.Now()
	type log struct {
		p    *partition
		size int64
	}
	var logs []log
	var total, droppable int64
	c.eachPartition(func(p *partition) {
		size := p.boundedSize(now)
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
	freed, touched := int64(0), 0
	for _, l := range logs {
		if freed >= want {
			break
		}
		l.p.mu.Lock()
		removed := l.p.log.DropOldest(now.UnixMilli(), want*l.size/droppable+1)
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
	text := fmt.Sprintf("the oldest %d bytes of %d partitions: all logs together had %d bytes, %d of them the coordinators'; the bound is %d", freed, touched, total, total-droppable, b.limit)
	c.log.Warn("records dropped to stay within the memory bound", "bytes", freed, "partitions", touched, "held", total, "coordinators", total-droppable, "bound", b.limit)
	c.historyAdd(EventDropped, "", text)
}

// boundedSize is the size of the log; that of a coordinator is compacted first if it has doubled since the last time. The log cleaner leaves the active segment alone,
// which may have 100 MiB there. Tombstones don't stay for delete.retention.ms: a coordinator that loads reads the whole log. On the loop.
func (p *partition) boundedSize(now time.Time) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	cfg := p.log.Config()
	const little = 512 // a cluster has a hundred such logs
	if !isInternal(p.topic) || !cfg.CleanupCompact || p.log.Size() < 2*p.compacted+p.cluster.memory.limit/little {
		return p.log.Size()
	}
	p.log.Roll(now.UnixMilli())
	for _, at := range []int64{now.UnixMilli(), now.UnixMilli() + cfg.DeleteRetentionMs} {
		res, err := p.log.Compact(at, p.cluster.loopCodecs())
		p.compacted = res.BytesAfter // and not what stands behind an open transaction
		if err != nil {
			p.compacted = p.log.Size()
			p.cluster.log.Warn("a coordinator's partition can't be compacted", "topic", p.topic, "partition", p.index, "reason", err)
			break
		}
	}
	p.changed()
	return p.log.Size()
}
