package broker

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
)

// partition is one partition of a topic: its log, behind a lock of its own, and who leads it. All replicas share the
// one log, so the high watermark is the log's end, while as many are in sync as min.insync.replicas asks for.
//
// Locks are taken in this order: a shard of fetch sessions, a fetch session, a partition, an inbox.
type partition struct {
	cluster *Cluster
	topic   string
	id      [16]byte // the topic's
	index   int32
	state   atomic.Pointer[partitionState] // changed on the control loop only
	seed    rand.PCG                       // of random
	random  rand.Rand                      // the log's

	mu       sync.Mutex
	log      *partitionlog.Log
	minISR   int32     // min.insync.replicas; changed on the control loop only
	watchers []*target // told once, at the next change
	fetchers []fetcher // the owners of the partition, one a group

	compacted int64 // what the last compaction for the memory bound left of that which it could compact; on the control loop

	deleted atomic.Bool // set with mu held
}

// append is Log.Append for all who write: it tells who watches the partition.
func (p *partition) append(now int64, batch []byte, o partitionlog.AppendOptions) (partitionlog.AppendResult, *partitionlog.AppendError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deleted.Load() {
		const reason = "the topic was deleted while the request was under way"
		return partitionlog.AppendResult{}, &partitionlog.AppendError{Code: int16(wire.UnknownTopicOrPartition), Reason: reason, LogStart: -1}
	}
	p.holdHighWatermark()
	res, err := p.log.Append(now, batch, o)
	if err == nil && !res.Duplicate {
		p.changed()
		p.cluster.boundMemory(res.Bytes)
	}
	return res, err
}

// appendInternal appends a batch of a coordinator.
func (p *partition) appendInternal(now time.Time, batch []byte) error {
	_, err := p.append(now.UnixMilli(), batch, partitionlog.AppendOptions{Origin: partitionlog.OriginCoordinator})
	if err != nil {
		return err
	}
	return nil
}

// eachRecord gives fn the records of the log, markers too, until it fails. c is scratch memory.
func (p *partition) eachRecord(c *partitionlog.Codecs, fn func(partitionlog.Record) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var records []partitionlog.Record
	for b := range p.log.Batches(p.log.LogStart()) {
		var err error
		if records, err = partitionlog.DecodeBatch(records[:0], b, c); err != nil {
			return err
		}
		for _, r := range records {
			if err := fn(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxBatchBytes is the size of the largest batch that the log takes.
func (p *partition) maxBatchBytes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	cfg := p.log.Config()
	return min(cfg.MaxMessageBytes, cfg.SegmentBytes)
}

// update runs fn on the log and tells who watches it: whatever is not an append of a batch (DeleteRecords, Roll, markers).
func (p *partition) update(fn func(*partitionlog.Log) wire.Code) wire.Code {
	return p.look(func(l *partitionlog.Log) wire.Code {
		code := fn(l)
		p.changed()
		return code
	})
}

// look runs fn on the log, unless the topic was deleted since the request found it: UNKNOWN_TOPIC_OR_PARTITION.
func (p *partition) look(fn func(*partitionlog.Log) wire.Code) wire.Code {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deleted.Load() {
		return wire.UnknownTopicOrPartition
	}
	return fn(p.log)
}

// delete marks the partition as gone and wakes who waits on it. Its records go at once: a fetch session that nobody uses any more refers to it until another needs the place.
func (p *partition) delete() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deleted.Store(true)
	p.log = partitionlog.New(p.log.Config(), p.cluster.clock.NowMillis(), &p.random)
	p.changed()
}

func (p *partition) setConfig(c partitionlog.Config, minISR int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log.SetConfig(c)
	p.minISR = minISR
}

// underMinISR tells whether fewer replicas are in sync than min.insync.replicas asks for: what is to be on all of them can't be written then. On the loop, which changes
// both, or with p.mu held.
func (p *partition) underMinISR() bool {
	s := p.state.Load()
	return len(s.isr) < effectiveMinISR(p.minISR, len(s.replicas))
}

// holdHighWatermark holds the high watermark while too few replicas are in sync. A leader looks at that when the ISR changes and when something is
// appended; another min.insync.replicas alone moves nothing. With p.mu held.
func (p *partition) holdHighWatermark() {
	p.log.HoldHighWatermark(p.underMinISR())
}

// setState makes another leader or ISR known to the log and to who watches it. On the loop.
func (p *partition) setState(s *partitionState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.state.Load(); s.epoch != old.epoch && s.leader >= 0 {
		p.log.NewLeaderEpoch(s.epoch, s.leader)
	}
	p.state.Store(s)
	p.holdHighWatermark()
	p.changed()
}

// watch subscribes t to the next change. With p.mu held.
func (p *partition) watch(t *target) {
	if t.place == 0 {
		p.watchers = append(p.watchers, t)
		t.place = len(p.watchers)
	}
}

// unwatch takes t back. With p.mu held.
func (p *partition) unwatch(t *target) {
	if t.place == 0 {
		return
	}
	last := len(p.watchers) - 1
	moved := p.watchers[last]
	p.watchers[t.place-1] = moved
	moved.place = t.place
	p.watchers[last] = nil
	p.watchers = p.watchers[:last]
	t.place = 0
}

// changed tells those who watch. Each is told once; who wants to hear more watches again. With p.mu held.
func (p *partition) changed() {
	for i, t := range p.watchers {
		p.watchers[i] = nil
		t.place = 0
		t.inbox.put(t)
	}
	p.watchers = p.watchers[:0]
	p.cluster.changed()
}

// checkLeaderEpoch compares the current leader epoch of a request with the partition's.
func (s *partitionState) checkLeaderEpoch(current int32) wire.Code {
	switch {
	case current == s.epoch:
		return wire.None
	case current < s.epoch:
		return wire.FencedLeaderEpoch
	default:
		return wire.UnknownLeaderEpoch
	}
}

// hosted tells whether a node has a replica.
func (s *partitionState) hosted(node int32) bool { return slices.Contains(s.replicas, node) }

// inbox collects what changed for one fetch session, or for one waiting fetch.
type inbox struct {
	mu      sync.Mutex
	changed []*target
	wake    chan struct{} // of the fetch that waits, nil if none does
}

func (b *inbox) put(t *target) {
	b.mu.Lock()
	b.changed = append(b.changed, t)
	wake := b.wake
	b.mu.Unlock()
	if wake != nil {
		signal(wake)
	}
}

// take empties the inbox into spare, whose memory the next one gets.
func (b *inbox) take(spare []*target) []*target {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.changed
	clear(spare[:cap(spare)])
	b.changed = spare[:0]
	return taken
}

// wakes says who is to be woken by a change.
func (b *inbox) wakes(ch chan struct{}) {
	b.mu.Lock()
	b.wake = ch
	b.mu.Unlock()
}

// signal leaves a token in a channel of capacity 1.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
