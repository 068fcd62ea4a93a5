package broker

import "sync"

// budget bounds what is decoded at the same time, in bytes of frames: a hostile frame can cost many times its size
// while it is decoded, and a thousand connections may each send one. A frame larger than the whole budget is decoded alone.
type budget struct {
	mu    sync.Mutex
	limit int
	used  int
	queue []waiter // in order of arrival
}

type waiter struct {
	n     int
	ready chan struct{}
}

// smallFrame is decoded without asking: the budget is about the large ones.
const smallFrame = 1 << 20

func newBudget(limit int) *budget { return &budget{limit: limit} }

// take waits for n bytes of the budget. The caller gives them back by release.
func (b *budget) take(n int, done <-chan struct{}) (release func(), err error) {
	if n <= smallFrame {
		return func() {}, nil
	}
	n = min(n, b.limit)
	b.mu.Lock()
	if len(b.queue) == 0 && b.used+n <= b.limit {
		b.used += n
		b.mu.Unlock()
		return func() { b.give(n) }, nil
	}
	w := waiter{n, make(chan struct{})}
	b.queue = append(b.queue, w)
	b.mu.Unlock()
	select {
	case <-w.ready:
		return func() { b.give(n) }, nil
	case <-done:
		b.mu.Lock()
		for i := range b.queue {
			if b.queue[i].ready == w.ready {
				b.queue = append(b.queue[:i], b.queue[i+1:]...)
				b.mu.Unlock()
				return nil, errClosed
			}
		}
		b.mu.Unlock()
		b.give(n) // it was granted in the same moment
		return nil, errClosed
	}
}

func (b *budget) give(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	for len(b.queue) > 0 && b.used+b.queue[0].n <= b.limit {
		b.used += b.queue[0].n
		close(b.queue[0].ready)
		b.queue = b.queue[1:]
	}
}
