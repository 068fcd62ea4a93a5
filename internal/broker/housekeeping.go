package broker

import "time"

// task is something the brokers do from time to time, such as looking for segments that are past their retention.
type task struct {
	name  string
	at    time.Time // when it is next due
	every func() time.Duration
	run   func(now time.Time)
}

// schedule adds a task, due first after the given time. On the loop, or before it runs.
func (c *Cluster) schedule(name string, first time.Duration, every func() time.Duration, run func(now time.Time)) {
	c.tasks = append(c.tasks, &task{name: name, at: c.clock.Now().Add(first), every: every, run: run})
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
		t.at = now.Add(max(t.every(), time.Millisecond))
		t.run(now)
	}
}
