package broker

import (
	"context"
	"errors"
	"time"

	"github.com/fakekafka/fakekafka/groups"
)

// ExpectMembers makes a group's next assignment wait for n members; at most limit of real time from when the first is there.
func (c *Cluster) ExpectMembers(group string, n int, limit time.Duration) error {
	err := c.SteerGroup(group, func(now time.Time, s *groups.Shard) (groups.Effects, error) {
		return s.ExpectMembers(now, group, n, limit), nil
	})
	if err == nil && c.clock.manual {
		// Nothing moves that clock while clients wait in their joins.
		c.spawn(func() { c.limitExpectation(group, limit) })
	}
	return err
}

// limitExpectation ends an expectation when its limit has passed on the machine's clock.
func (c *Cluster) limitExpectation(group string, limit time.Duration) {
	expecting := func() (expecting, limited bool) {
		sh, err := c.groupShard(group)
		if err != nil {
			return false, false
		}
		return sh.Expecting(group)
	}
	if c.Await(context.Background(), func() bool { e, limited := expecting(); return !e || limited }) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := c.Await(ctx, func() bool { e, _ := expecting(); return !e }); !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	_ = c.SteerGroup(group, func(now time.Time, s *groups.Shard) (groups.Effects, error) { // fails only when the coordinator is gone
		return s.EndExpectation(now, group), nil
	})
}
