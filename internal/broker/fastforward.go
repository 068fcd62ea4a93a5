package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fakekafka/fakekafka/groups"
)

// FastForward moves the broker's time ahead by d. Timers fire one at a time in order of deadline, and what a timer sets off on the loop is
// finished before the next. A member whose client is connected and not paused counts as heartbeating all the while. A timer that waits
// for such a client (rebalance, revocation) is not passed before the client answered; limit bounds that wait, in real time. rest, if there is one, waits
// after each step until everybody has done what they can do without any time passing.
func (c *Cluster) FastForward(d, limit time.Duration, rest func()) error {
	if d < 0 {
		return errors.New("time doesn't go back: give 0 or more")
	}
	var target time.Time
	ok := c.loop.do(func() {
		c.groups.noticeGone()
		target = c.clock.Now().Add(d)
		c.historyAdd(EventTimeMoved, "", fmt.Sprintf("FastForward(%s)", d))
	})
	for ok {
		var done bool
		var blocked *groups.Timer
		ok = c.loop.do(func() { done, blocked = c.forwardOnce(target, limit) })
		if !ok || done {
			break
		}
		c.Rest()
		if rest != nil {
			rest()
		}
		if blocked != nil {
			if err := c.awaitClients(*blocked, limit); err != nil {
				return err
			}
		}
	}
	if !ok {
		return errClosed
	}
	return nil
}

// noticeGone ends the connections that members' clients have closed, which their readers may not have found out yet: a test that closes a client and moves time
// must not depend on who comes first. Their held heartbeats are over before time moves. On the loop.
func (co *coordinator) noticeGone() {
	for _, v := range co.voices {
		if s, ok := v.(*speaker); ok && s.conn.standing.Load() == 0 && s.conn.closedByPeer() {
			s.conn.shut("the client closed it")
		}
	}
	co.eachWaiting(func(_ *shard, w *waitingRequest) {
		if s, ok := w.voice.(*speaker); ok && !s.conn.open() {
			co.gaveUp(w, 0)
		}
	})
}

// busyMachine is how long the machine may keep this process from running without a timer firing that waits for a client's answer.
const busyMachine = 10 * time.Second

// forwardOnce moves time to the next deadline, if that is not after target, and fires what is due there; else to target. It doesn't move
// past a timer that a client has to answer first. On the loop.
func (c *Cluster) forwardOnce(target time.Time, limit time.Duration) (done bool, blocked *groups.Timer) {
	co := c.groups
	sh, next, ok := co.nextTimer(func(sh *shard, t groups.Timer) bool { return !t.IO && !sh.Idle(t) && !co.keptAlive(t) })
	at := target
	if ok && next.Deadline.Before(at) {
		at = next.Deadline
	}
	if t := c.nextTaskWithWork(at); t != nil && t.at.Before(at) {
		at = t.at
	}
	if t, has := co.scripts.deadline(); has && t.Before(at) {
		at = t
	}
	if _, t, has := co.nextTimer(func(_ *shard, t groups.Timer) bool { return co.blocks(t) }); has {
		before := t.Deadline.Add(-1)
		if !c.clock.manual {
			before = before.Add(-2*limit - busyMachine) // its time goes on while the client is waited for
		}
		if !before.After(at) {
			if before.After(c.clock.Now()) {
				c.leap(before)
			}
			return false, &t
		}
	}
	c.leap(at)
	now := c.clock.Now()
	if ok && !next.Deadline.After(now) {
		co.apply(now, sh, sh.Tick(now))
		co.apply(now, sh, sh.Flush(now))
	} else {
		c.tick(now)
	}
	c.endTurn(now)
	// At the target itself there may be more than one.
	return !at.Before(target) && !c.due(now), nil
}

// leap moves the clock. Living members count as heard at the new time, and the limits of requests that only wait for an answer move along, so
// that these wait as long as they would have.
func (c *Cluster) leap(to time.Time) {
	before := c.clock.Now()
	c.clock.moveTo(to)
	now := c.clock.Now()
	for _, p := range c.groups.order {
		sh := c.groups.shards[p]
		sh.ShiftWaits(now.Sub(before))
		sh.TouchAll(now, c.groups.living)
	}
}

// due tells whether something is to be done now.
func (c *Cluster) due(now time.Time) bool {
	at, ok := c.deadline()
	return ok && !at.After(now)
}

// nextTimer is the earliest of the shards' timers that want says yes to.
func (co *coordinator) nextTimer(want func(*shard, groups.Timer) bool) (sh *shard, t groups.Timer, ok bool) {
	for _, p := range co.order {
		of := co.shards[p]
		other, has := of.NextTimer(func(t groups.Timer) bool { return want(of, t) })
		if has && (!ok || other.Deadline.Before(t.Deadline)) {
			sh, t, ok = of, other, true
		}
	}
	return sh, t, ok
}

// keptAlive tells whether a timer is the session of a member that counts as heartbeating.
func (co *coordinator) keptAlive(t groups.Timer) bool {
	return t.Kind == "session" && co.living(t.Group, t.Member)
}

// blocks tells whether time must not pass a timer: a living client can still do what it waits for.
func (co *coordinator) blocks(t groups.Timer) bool {
	return t.WaitsForClients && len(co.awaited(t)) > 0
}

// awaited are the living members for whose doing a timer waits.
func (co *coordinator) awaited(t groups.Timer) []string {
	sh, err := co.c.groupShard(t.Group)
	if err != nil {
		return nil
	}
	var ids []string
	for _, id := range sh.AwaitedBy(t) {
		if v := co.voices[memberKey{t.Group, id}]; v != nil && v.acts() {
			ids = append(ids, id)
		}
	}
	return ids
}

// awaitClients waits, in real time, until the timer has gone because the clients it waits for have answered, or none of them is left.
func (c *Cluster) awaitClients(t groups.Timer, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	stands := func() bool {
		_, _, there := c.groups.nextTimer(func(_ *shard, o groups.Timer) bool { return o == t })
		return there && c.groups.blocks(t)
	}
	err := c.Await(ctx, func() bool { return !stands() })
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var names []string
	c.loop.do(func() {
		s, _ := c.GroupState(t.Group)
		label := labels(s)
		for _, id := range c.groups.awaited(t) {
			for _, m := range s.Members {
				if m.ID == id {
					names = append(names, label(m))
				}
			}
		}
	})
	return fmt.Errorf("the %s timer of group %q waits for %s, which did not answer within %s of real time; pause or evict who is not to answer",
		t.Kind, t.Group, strings.Join(names, ", "), limit)
}
