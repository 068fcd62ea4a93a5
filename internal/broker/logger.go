package broker

import (
	"context"
	"log/slog"
	"sync"
)

// The logger's handler may be the test's own code, and may ask the cluster something. So it runs as user code does, on a goroutine of its own: the
// control loop, or whoever else logs, doesn't wait for it. Records come to it in order, one at a time.

// discard is the logger of a cluster that nobody gave one.
var discard = slog.New(slog.DiscardHandler)

// logQueue is the records that wait for the handler. Its goroutine lives while there are some.
type logQueue struct {
	c       *Cluster
	mu      sync.Mutex
	waiting []func()
	running bool
}

// put queues the handling of a record.
func (q *logQueue) put(handle func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, handle)
	if !q.running {
		q.running = true
		q.c.startUser("the Logger", q.drain)
	}
}

func (q *logQueue) drain() func() {
	stopped := false
	defer func() {
		if !stopped { // the handler has ended the goroutine: the next record gets another one
			q.mu.Lock()
			q.running = false
			q.mu.Unlock()
		}
	}()
	for {
		q.mu.Lock()
		if len(q.waiting) == 0 {
			q.running, stopped = false, true
			q.mu.Unlock()
			return nil
		}
		handle := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.mu.Unlock()
		q.handled(handle)
	}
}

// handled runs one record's handling. A panic in it must not keep the others back, nor be logged by the logger that panics.
func (q *logQueue) handled(handle func()) {
	defer func() {
		if p := recover(); p != nil {
			if f := q.c.options.User; f != nil {
				f("the Logger panicked: " + (&panicked{value: p}).Error())
			}
		}
	}()
	handle()
}

// laterHandler hands records to another handler by way of a queue.
type laterHandler struct {
	q *logQueue
	h slog.Handler
}

// later gives a logger whose handler doesn't run on the goroutine that logs.
func (c *Cluster) later(l *slog.Logger) *slog.Logger {
	return slog.New(&laterHandler{&logQueue{c: c}, l.Handler()})
}

func (h *laterHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.h.Enabled(ctx, level)
}

func (h *laterHandler) Handle(ctx context.Context, r slog.Record) error {
	r = r.Clone()
	h.q.put(func() { _ = h.h.Handle(ctx, r) }) // slog.Logger drops a handler's error too
	return nil
}

func (h *laterHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &laterHandler{h.q, h.h.WithAttrs(attrs)}
}

func (h *laterHandler) WithGroup(name string) slog.Handler {
	return &laterHandler{h.q, h.h.WithGroup(name)}
}
