package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/fakekafka/fakekafka/groups"
)

// FastForward moves the broker's time ahead by d. Timers fire one at a time in order of deadline, and what a timer sets off on the loop is
// finished before the next. A member whose client is connected and not paused counts as heartbeating all the while. A timer that waits
// for such a client (rebalance, revocation) is not passed before the client answered; limit bounds that wait, in real time.
func (c *Cluster) FastForward(d, limit time.Duration) error {
	if d < 0 {
		return fmt.Errorf("FastForward(%s): time doesn't go back", d)
	}
	var target time.Time
	ok := c.loop.do(func() {
		target = c.clock.Now().Add(d)
		c.historyAdd(EventTimeMoved, "", fmt.Sprintf("FastForward(%s)", d))
	})
	for ok {
		var done bool
		var blocked *groups.Timer
		ok = c.loop.do(func() { done, blocked = c.forwardOnce(target) })
		if !ok || done {
			break
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

// forwardOnce moves time to the next deadline, if that is before target, and fires what is due; else to target. On the loop.
func (c *Cluster) forwardOnce(target time.Time) (done bool, blocked *groups.Timer) {
	sh, t, ok := c.groups.nextTimer()
	task := c.nextTask()
	switch {
	case ok && !t.Deadline.After(target) && (task == nil || !task.at.Before(t.Deadline)):
		if t.WaitsForClients && c.groups.someoneLiving(t.Group) {
			return false, &t
		}
		c.clock.moveTo(t.Deadline)
		now := c.clock.Now()
		if t.Kind == "session" && c.groups.living(t.Group, t.Member) {
			sh.Touch(now, t.Group, t.Member)
			return false, nil
		}
		c.groups.apply(now, sh, sh.Tick(now))
		c.groups.apply(now, sh, sh.Flush(now))
		c.watchers.look()
		return false, nil
	case task != nil && !task.at.After(target):
		c.clock.moveTo(task.at)
		c.tick(c.clock.Now())
		return false, nil
	}
	c.clock.moveTo(target)
	return true, nil
}

// nextTimer is the shards' earliest timer that counts for FastForward: one that only delays an answer runs on real time.
func (co *coordinator) nextTimer() (sh *shard, t groups.Timer, ok bool) {
	for _, p := range co.order {
		for _, other := range co.shards[p].Timers() {
			if other.IO {
				continue
			}
			if !ok || other.Deadline.Before(t.Deadline) {
				sh, t, ok = co.shards[p], other, true
			}
			break // they are in order of deadline
		}
	}
	return sh, t, ok
}

// someoneLiving tells whether a group has a member whose client could still answer.
func (co *coordinator) someoneLiving(group string) bool {
	s, ok := co.c.GroupState(group)
	if !ok {
		return false
	}
	for _, m := range s.Members {
		if m.ParkedIn != "join" && m.ParkedIn != "sync" && co.living(group, m.ID) {
			return true
		}
	}
	return false
}

// awaitClients waits, in real time, until the timer has gone because the clients it waits for have answered.
func (c *Cluster) awaitClients(t groups.Timer, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := c.Await(ctx, func() bool {
		_, next, ok := c.groups.nextTimer()
		return !ok || next != t || !c.groups.someoneLiving(t.Group)
	})
	if err == context.DeadlineExceeded {
		return fmt.Errorf("FastForward: group %q waits for its members (%s timer) and they did not answer within %s of real time: %s", t.Group, t.Kind, limit, c.silent(t.Group))
	}
	return err
}

// silent names the members that could answer and don't.
func (c *Cluster) silent(group string) string {
	names := ""
	c.loop.do(func() {
		s, _ := c.GroupState(group)
		for _, m := range s.Members {
			if m.ParkedIn == "" && c.groups.living(group, m.ID) {
				names += fmt.Sprintf(" %q (member %s)", m.ClientID, m.ID)
			}
		}
	})
	if names == "" {
		return "nobody is left to answer"
	}
	return "waiting for" + names
}
