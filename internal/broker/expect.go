package broker

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fakekafka/fakekafka/groups"
)

// Expectation is an ExpectMembers that has not been met.
type Expectation struct {
	N      int
	Limit  time.Duration
	Missed string // how it was missed; "": it waits still
}

// Expected is a group's ExpectMembers that has not been met; N is 0 where there is none. On the loop.
func (c *Cluster) Expected(group string) Expectation { return c.groups.expected[group] }

// reorder gives a fresh shard the orders of the test for its groups.
func (co *coordinator) reorder(now time.Time, sh *shard) {
	partitions := len(co.c.meta.Load().topics[offsetsTopic].partitions)
	for _, group := range sortedKeys(co.holds) {
		if groupPartition(group, partitions) == sh.partition {
			for _, step := range co.holds[group] {
				sh.Hold(group, step)
			}
		}
	}
	for _, group := range sortedKeys(co.expected) {
		if e := co.expected[group]; e.Missed == "" && groupPartition(group, partitions) == sh.partition {
			co.apply(now, sh, sh.ExpectMembers(now, group, e.N, e.Limit))
		}
	}
}

// HoldGroup stops a group at a step inside its coordinator, whichever broker that is.
func (c *Cluster) HoldGroup(group string, step groups.Step) error {
	return c.SteerGroup(group, func(_ time.Time, s *groups.Shard) (groups.Effects, error) {
		c.groups.holds[group] = append(c.groups.holds[group], step)
		s.Hold(group, step)
		return groups.Effects{}, nil
	})
}

// ReleaseGroup lifts a hold inside the coordinator.
func (c *Cluster) ReleaseGroup(group string, step groups.Step) error {
	return c.SteerGroup(group, func(now time.Time, s *groups.Shard) (groups.Effects, error) {
		rest := slices.DeleteFunc(c.groups.holds[group], func(o groups.Step) bool { return o == step })
		if c.groups.holds[group] = rest; len(rest) == 0 {
			delete(c.groups.holds, group)
		}
		return s.Release(now, group, step), nil
	})
}

// ExpectMembers makes a group's next assignment wait for n members; at most limit of real time from when the first is there.
func (c *Cluster) ExpectMembers(group string, n int, limit time.Duration) error {
	err := c.SteerGroup(group, func(now time.Time, s *groups.Shard) (groups.Effects, error) {
		c.groups.expected[group] = Expectation{N: n, Limit: limit}
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
