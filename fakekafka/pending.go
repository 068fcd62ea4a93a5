package fakekafka

import (
	"slices"
	"sync"
)

// pending is what the test has begun and not finished, in order. Any goroutine of the test may begin something.
type pending[T comparable] struct {
	mu   sync.Mutex
	list []T
}

func (p *pending[T]) add(v T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, v)
}

func (p *pending[T]) remove(v T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = slices.DeleteFunc(p.list, func(o T) bool { return o == v })
}

func (p *pending[T]) all() []T {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.list)
}
