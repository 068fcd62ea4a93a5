package broker

import (
	"time"

	"github.com/fakekafka/fakekafka/fetchsession"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// answerNow tells whether a fetch is answered with what was just read. Only partitions without an early error count; if
// there is none, there is nothing to wait for.
func (f *fetching) answerNow() bool {
	if f.maxWait <= 0 || f.bytes >= f.minBytes || f.settled {
		return true
	}
	if f.session != nil {
		// Members that are not due have nothing to say but may have soon.
		return f.session.s.Len() == len(f.targets)-f.tried
	}
	return f.tried == 0
}

// quietly is how long a waiting fetch leaves the connection alone. Then somebody reads ahead, so that the end of a client
// that is gone is noticed; a fetch that is answered at once doesn't pay for it.
const quietly = 5 * time.Millisecond

// wait returns when the fetch is to be read again and answered: some partition says so, there are enough bytes, or the time
// is over. An error means that the connection has ended. With the session's lock, which is given up meanwhile.
func (f *fetching) wait() error {
	if f.session != nil {
		f.session.waits++
		f.session.waiter = f
	}
	if f.wake == nil {
		f.wake = make(chan struct{}, 1)
	}
	select {
	case <-f.wake: // a leftover
	default:
	}
	f.box.wakes(f.wake)
	over := f.r.conn.waiting()
	err := f.waitIn(f.box)
	over()
	if f.overtaken {
		f.release()
		return err
	}
	f.box.wakes(nil)
	if f.session != nil {
		f.session.waiter = nil
	} else if !f.watches {
		f.release()
	}
	return err
}

func (f *fetching) waitIn(box *inbox) error {
	until := time.Now().Add(f.maxWait)
	if f.timer == nil {
		f.timer = time.NewTimer(min(f.maxWait, quietly))
	} else {
		f.timer.Reset(min(f.maxWait, quietly))
	}
	defer f.timer.Stop()
	var ahead chan frameOrError

	enough := f.subscribe(box, f.targets)
	for !enough {
		f.unlock()
		select {
		case <-f.wake:
		case <-f.timer.C:
			left := time.Until(until)
			if left <= 0 {
				f.lock()
				f.r.node.fetchExpired(f.follower)
				return nil
			}
			f.timer.Reset(left)
			if f.r.conn != nil && ahead == nil {
				ahead = f.r.conn.readAhead()
			}
			f.lock()
			continue
		case frame := <-ahead:
			ahead <- frame // left for conn.next
			if frame.err != nil {
				f.lock()
				return frame.err
			}
			ahead = nil
			f.lock()
			continue
		case <-f.r.conn.done:
			f.lock()
			return errClosed
		}
		f.lock()
		switch {
		case f.overtaken && box != f.own:
			// Another request took the session over. This one waits on for the partitions it had, and its answer will say so.
			box = f.own
			enough = f.subscribe(box, f.targets)
		case f.session != nil && !f.overtaken:
			f.session.drain(func(t *target) {
				enough = f.count(box, t) || enough
			})
		default:
			f.spare = box.take(f.spare)
			for _, t := range f.spare {
				enough = f.count(box, t) || enough
			}
		}
	}
	return nil
}

// subscribe begins the waiting: it watches the targets and looks at each once more.
func (f *fetching) subscribe(box *inbox, targets []*target) bool {
	f.sum, f.waitID = 0, 0
	if f.session != nil {
		f.waitID = f.session.waits
	}
	for _, t := range targets {
		if t.early == wire.None {
			t.counted, t.countedIn = 0, f.waitID
			if f.count(box, t) {
				return true
			}
		}
	}
	return false
}

// count looks at one partition of a waiting fetch, as Kafka does after each change: whether it ends the waiting by itself, or
// there are enough bytes now. A partition counts at most its max bytes. It watches the partition for the next change.
func (f *fetching) count(box *inbox, t *target) (enough bool) {
	if t.countedIn != f.waitID {
		t.counted, t.countedIn = 0, f.waitID
	}
	p := t.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deleted.Load() {
		return true
	}
	t.inbox = box
	p.watch(t)
	s := p.state.Load()
	fenced := t.part.CurrentLeaderEpoch >= 0 && s.checkLeaderEpoch(t.part.CurrentLeaderEpoch) == wire.FencedLeaderEpoch
	if fenced || !s.hosted(f.r.node.id) || f.onlyLeader && s.leader != f.r.node.id {
		return true
	}
	have := p.log.Available(t.begin, f.options(t.part, s.leader == f.r.node.id))
	if have.Ready {
		return true
	}
	f.sum -= t.counted
	t.counted = min(int64(have.Bytes), int64(t.part.MaxBytes))
	f.sum += t.counted
	return f.sum >= f.minBytes
}

// overtake detaches a waiting request from its session, because another request is about to change it: from here on it has a
// copy of the partitions as they were. With the session's lock.
func (f *fetching) overtake() {
	members := f.session.s.Members()
	f.targets = make([]*target, 0, len(members))
	f.own = &inbox{wake: f.wake}
	for _, m := range members {
		part, was := m.Partition, f.targetOf(m)
		f.targets = append(f.targets, &target{part: &part, early: was.early, p: was.p, begin: was.begin, inbox: f.own})
	}
	f.overtaken = true
	f.session.inbox.wakes(nil)
	f.session.waiter = nil
	signal(f.wake)
}

func (f *fetching) lock() {
	if f.session != nil {
		f.session.mu.Lock()
	}
}

func (f *fetching) unlock() {
	if f.session != nil {
		f.session.mu.Unlock()
	}
}

// targetOf is a member's target, made when the member is first read.
func (f *fetching) targetOf(m *fetchsession.Member) *target {
	t, ok := m.Watch.(*target)
	if !ok {
		t = &target{part: &m.Partition, member: m, inbox: &f.session.inbox}
		m.Watch = t
	}
	return t
}
