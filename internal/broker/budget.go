package broker

import (
	"fmt"
	"sync"
)

// budget bounds the memory of requests that are decoded at the same time: kmsg's structs can take many times a hostile frame's
// size, and a thousand connections may each send one.
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

// smallCost is taken without asking: the budget is about the large ones.
const smallCost = 64 << 10

func newBudget(limit int) *budget { return &budget{limit: limit} }

// take waits for n bytes of the budget. The caller gives them back by release. What is larger than the whole budget is an error: no
// honest request is.
func (b *budget) take(n int, done <-chan struct{}) (release func(), err error) {
	if n <= smallCost {
		return func() {}, nil
	}
	if n > b.limit {
		return nil, fmt.Errorf("it would take %d bytes of memory, the limit is %d", n, b.limit)
	}
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
