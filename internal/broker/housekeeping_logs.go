package broker

import (
	"time"

	"github.com/fakekafka/fakekafka/partitionlog"
)

// What the brokers do to their logs from time to time: retention, compaction, forgetting producers. It runs on the control loop,
// driven by the broker's clock, so that FastForward passes through each occasion.

// producerExpiryInterval is the setting of a task whose first run, too, comes an interval after the start.
const producerExpiryInterval = "producer.id.expiration.check.interval.ms"

// scheduleLogs begins the housekeeping at a cluster's start.
func (c *Cluster) scheduleLogs() {
	d := c.derived(c.nodes[0].id)
	c.schedule("retention", d.logTaskDelay, "log.retention.check.interval.ms", c.applyRetention)
	c.schedule("expiry of producer ids", d.producerExpiryInterval, producerExpiryInterval, c.expireProducers)
	c.schedule("log cleaner", d.logTaskDelay, "log.cleaner.backoff.ms", c.cleanLogs).idle = func(until time.Time) bool {
		return c.dirtiest(until, nil) == nil // a log that is due once stays so
	}
}

// eachPartition calls fn for all partitions, in the order of names and numbers.
func (c *Cluster) eachPartition(fn func(*partition)) {
	m := c.meta.Load()
	for _, name := range m.names {
		for _, p := range m.topics[name].partitions {
			fn(p)
		}
	}
}

func (c *Cluster) applyRetention(now time.Time) {
	c.eachPartition(func(p *partition) { p.applyRetention(now) })
}

// applyRetention removes the segments that are past their retention.
func (p *partition) applyRetention(now time.Time) partitionlog.Removed {
	p.mu.Lock()
	defer p.mu.Unlock()
	removed := p.log.ApplyRetention(now.UnixMilli())
	if removed.Segments > 0 {
		p.changed()
	}
	return removed
}

func (c *Cluster) expireProducers(now time.Time) {
	c.eachPartition(func(p *partition) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.log.ExpireProducers(now.UnixMilli())
	})
}

// cleanLogs compacts the logs that are due, the dirtiest first, until none is.
func (c *Cluster) cleanLogs(now time.Time) {
	if !c.settings(c.nodes[0].id).Bool("log.cleaner.enable") {
		return
	}
	done := map[*partition]bool{} // in this run; a log in which nothing can go stays due
	for {
		dirtiest := c.dirtiest(now, done)
		if dirtiest == nil {
			return
		}
		done[dirtiest] = true
		if _, err := dirtiest.compact(now); err != nil {
			c.log.Warn("a partition can't be compacted, and is left alone from now on", "topic", dirtiest.topic, "partition", dirtiest.index, "reason", err)
		}
	}
}

// dirtiest is the log that the cleaner takes first at a time, nil if none is due.
func (c *Cluster) dirtiest(now time.Time, done map[*partition]bool) (dirtiest *partition) {
	ratio := -1.0
	m := c.meta.Load()
	for _, name := range m.names {
		t := m.topics[name]
		if !t.configs.CleanupPolicyCompact {
			continue
		}
		for _, p := range t.partitions {
			if done[p] {
				continue
			}
			p.mu.Lock()
			if s := p.log.Cleanable(now.UnixMilli()); s.Due && s.DirtyRatio > ratio {
				dirtiest, ratio = p, s.DirtyRatio
			}
			p.mu.Unlock()
		}
	}
	return dirtiest
}

// compact runs one pass of the cleaner.
func (p *partition) compact(now time.Time) (partitionlog.CompactResult, error) {
	scratch := p.cluster.codecs.Get().(*partitionlog.Codecs)
	defer p.cluster.codecs.Put(scratch)
	p.mu.Lock()
	defer p.mu.Unlock()
	res, err := p.log.Compact(now.UnixMilli(), scratch)
	p.changed()
	return res, err
}
