package broker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/groups"
)

// A connection's side of a request for a group: it gives it to the coordinator and waits.

// groupClient is who sent the request, as the coordinator sees it.
func (r *request) groupClient() groups.Client {
	return groups.Client{ID: r.client, Host: r.conn.host, Software: r.conn.software, Principal: "User:ANONYMOUS", Connection: r.conn.id}
}

// toGroup is the handler of requests for one group: it waits for the coordinator's answer, however long that takes.
// While the request is parked the connection reads one frame ahead: a client that has something else to say, or is gone,
// must not wait behind a held heartbeat.
func (r *request) toGroup(group string) (answer, error) {
	for {
		w := &waitingRequest{
			body: r.body, client: r.groupClient(), voice: r.voice(), conn: r.conn, flight: r.conn.flight,
			news: make(chan requestNews, 2), likelyWaits: r.likelyWaits(),
		}
		ok := r.cluster.loop.post(func() {
			if g := r.cluster.pauses.find(r); g != nil {
				w.news <- requestNews{paused: g}
				return
			}
			if p := caught(func() { r.cluster.groups.handle(w, r.node.id, group) }); p != nil {
				r.cluster.groups.abandon(w)
				w.news <- requestNews{failed: p}
			}
		})
		if !ok {
			return nil, errClosed
		}
		n, err := r.firstNews(w, group)
		switch {
		case err != nil:
			return nil, err
		case n.failed != nil:
			panic(n.failed)
		case n.paused != nil:
			if err := r.conn.waitAt(n.paused, r, unhandled); err != nil {
				return nil, err
			}
		default:
			return n.resp, nil
		}
	}
}

// firstNews waits for what becomes of the request. One that is likely to be parked is treated so at once: to wake its connection only to tell it that
// would cost a change of goroutines for each of a thousand members.
func (r *request) firstNews(w *waitingRequest, group string) (requestNews, error) {
	if w.likelyWaits {
		return r.whileParked(w, group)
	}
	select {
	case n := <-w.news:
		if n.parked {
			return r.whileParked(w, group)
		}
		return n, nil
	case <-r.conn.done:
		return requestNews{}, errClosed
	}
}

// likelyWaits tells whether a request of a classic member waits for the other members, unless it is the last.
func (r *request) likelyWaits() bool {
	if r.cluster.clock.manual || r.conn.flight != nil { // then it counts whether the request was parked
		return false
	}
	switch req := r.body.(type) {
	case *kmsg.JoinGroupRequest:
		return req.MemberID != ""
	case *kmsg.SyncGroupRequest:
		return len(req.GroupAssignment) == 0
	}
	return false
}

// whileParked waits for the answer of a parked request.
func (r *request) whileParked(w *waitingRequest, group string) (requestNews, error) {
	post := func(fn func(*coordinator)) bool { return r.cluster.loop.post(func() { fn(r.cluster.groups) }) }
	var patience <-chan time.Time
	if w.bears > 0 {
		t := time.NewTimer(w.bears)
		defer t.Stop()
		patience = t.C
	}
	if onlyWaits(r.key) {
		defer r.conn.waiting()()
	}
	if r.conn.flight != nil {
		// An answer that waits for nothing but the end of the loop's turn is there after this; the request never was at rest then.
		r.cluster.loop.do(func() {})
		select {
		case n := <-w.news:
			return n, nil
		default:
		}
		defer r.conn.rests()()
	}
	since, key := time.Now(), pulseKey{r.client, r.conn.host}
	var look <-chan time.Time
	silence := r.silenceOf(w)
	if silence != nil {
		defer silence.Stop()
		look = silence.C
	}
	ahead := r.conn.readAhead()
	for {
		select {
		case n := <-w.news:
			return n, nil
		case f := <-ahead:
			ahead <- f // left for conn.next
			letGo := (*coordinator).release
			if f.err != nil {
				waited := time.Since(since)
				if r.conn.reason.Load() != nil { // it was cut here, which tells nothing of how long its client waits
					waited = 0
				}
				letGo = func(co *coordinator, w *waitingRequest) { co.gaveUp(w, waited) }
			}
			if !post(func(co *coordinator) { letGo(co, w) }) {
				return requestNews{}, errClosed
			}
			if f.err != nil {
				return requestNews{}, f.err // whoever waits in a join stays a member until its time is over, as in Kafka
			}
			ahead = nil
		case <-patience:
			if !post(func(co *coordinator) { co.endWait(w, group) }) {
				return requestNews{}, errClosed
			}
			patience = nil
		case <-look:
			if left := silentFor - r.cluster.pulses.silence(key, since); left > 0 {
				silence.Reset(left)
				continue
			}
			if !post(func(co *coordinator) { co.release(w) }) {
				return requestNews{}, errClosed
			}
			look = nil
		case <-r.conn.done:
			post(func(co *coordinator) { co.gaveUp(w, 0) })
			return requestNews{}, errClosed
		}
	}
}
