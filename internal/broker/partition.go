package broker

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/fakekafka/fakekafka/partitionlog"
)

// partition is one partition of a topic: its log, behind a lock of its own, and who leads it. All replicas share the
// one log, so the high watermark is the log's end.
type partition struct {
	cluster *Cluster
	topic   string
	id      [16]byte // the topic's
	index   int32
	state   atomic.Pointer[partitionState] // changed on the control loop only

	mu      sync.Mutex
	log     *partitionlog.Log
	deleted bool
}

// appendInternal appends a batch of a coordinator.
func (p *partition) appendInternal(now time.Time, batch []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.log.Append(now.UnixMilli(), batch, partitionlog.AppendOptions{Origin: partitionlog.OriginCoordinator})
	if err != nil {
		return err
	}
	return nil
}

// delete marks the partition as gone and wakes who waits on it.
func (p *partition) delete() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deleted = true
}

func (p *partition) setConfig(c partitionlog.Config) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log.SetConfig(c)
}
