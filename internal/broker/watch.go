package broker

import (
	"context"
	"sync/atomic"
)

// watchers are the waits of Await: conditions that are looked at on the control loop after every change, and never by polling.
type watchers struct {
	count atomic.Int32 // so that who changes something off the loop knows for free that nobody waits
	poked atomic.Bool
	list  []*watcher // owned by the loop
}

type watcher struct {
	check func() bool
	met   chan struct{}
}

// Await returns when check, which runs on the control loop, answers true: at once, or after the change that made it so. The error
// is the context's, or that the cluster is closed.
func (c *Cluster) Await(ctx context.Context, check func() bool) error {
	w := &watcher{check: check, met: make(chan struct{})}
	ok := c.loop.do(func() {
		c.watchers.count.Add(1) // before the look: a change off the loop right after it must find that somebody waits
		if check() {
			c.watchers.count.Add(-1)
			close(w.met)
			return
		}
		c.watchers.list = append(c.watchers.list, w)
	})
	if !ok {
		return errClosed
	}
	select {
	case <-w.met: // what is true already counts, even if the context has ended
		return nil
	default:
	}
	select {
	case <-w.met:
		return nil
	case <-ctx.Done():
		c.loop.do(func() { c.watchers.drop(w) })
		select {
		case <-w.met: // in the last moment
			return nil
		default:
			return ctx.Err()
		}
	case <-c.loop.done:
		return errClosed
	}
}

func (ws *watchers) drop(w *watcher) {
	for i, other := range ws.list {
		if other == w {
			ws.list = append(ws.list[:i], ws.list[i+1:]...)
			ws.count.Add(-1)
			return
		}
	}
}

// look runs the conditions. On the loop, at the end of each turn.
func (ws *watchers) look() {
	ws.poked.Store(false)
	kept := ws.list[:0]
	for _, w := range ws.list {
		if w.check() {
			close(w.met)
			ws.count.Add(-1)
		} else {
			kept = append(kept, w)
		}
	}
	clear(ws.list[len(kept):])
	ws.list = kept
}

// changed tells the waits that something changed off the loop: records were appended, a fetch was positioned. It costs one atomic read
// where nobody waits.
func (c *Cluster) changed() {
	if c.watchers.count.Load() > 0 && !c.watchers.poked.Swap(true) {
		c.loop.post(func() {})
	}
}

// Look runs fn, which changes nothing, on the control loop, between two steps, and waits for it. When the cluster is closed it finds the state in
// which that was left.
func (c *Cluster) Look(fn func()) { c.loop.look(fn) }
