package broker

import "time"

// task is something the brokers do from time to time, such as looking for segments that are past their retention.
type task struct {
	name  string
	at    time.Time // when it is next due
	every string    // the broker setting that says how often
	run   func(now time.Time)
	// idle tells whether a run at any time up to an instant would find nothing to do, if nothing else happens before; nil: it may always find something.
	idle func(until time.Time) bool
}

// schedule adds a task, due first after the given time. On the loop, or before it runs.
func (c *Cluster) schedule(name string, first time.Duration, every string, run func(now time.Time)) *task {
	t := &task{name: name, at: c.clock.Now().Add(first), every: every, run: run}
	if c.tasks == nil {
		c.tasks = make([]*task, 0, 5)
	}
	c.tasks = append(c.tasks, t)
	return t
}

// interval is how often a task is due.
func (c *Cluster) interval(t *task) time.Duration {
	return max(c.settings(c.nodes[0].id).Duration(t.every), time.Millisecond)
}

// nextTaskWithWork is the first task that may find something to do up to an instant; those that will not are moved on to their last occasion
// before it. So a leap over days doesn't stop every few seconds for tasks that only look.
func (c *Cluster) nextTaskWithWork(until time.Time) *task {
	var next *task
	var idle []*task
	for _, t := range c.tasks {
		switch {
		case t.at.Before(until) && t.idle != nil && t.idle(until):
			idle = append(idle, t)
		case next == nil || t.at.Before(next.at):
			next = t
		}
	}
	if next != nil && next.at.Before(until) {
		until = next.at
	}
	for _, t := range idle {
		if every := c.interval(t); t.at.Before(until) {
			t.at = t.at.Add(until.Sub(t.at) / every * every)
		}
	}
	return next
}

// nextTask is the one that is due first; nil where there is none.
func (c *Cluster) nextTask() *task {
	var next *task
	for _, t := range c.tasks {
		if next == nil || t.at.Before(next.at) {
			next = t
		}
	}
	return next
}

// runTasks runs what is due.
func (c *Cluster) runTasks(now time.Time) {
	for {
		t := c.nextTask()
		if t == nil || t.at.After(now) {
			return
		}
		t.at = now.Add(c.interval(t))
		t.run(now)
	}
}
