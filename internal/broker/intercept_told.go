package broker

import (
	"fmt"
	"slices"
)

// What rules have done so far, for messages.

// Unmatched names the rules that never acted on a request.
func (c *Cluster) Unmatched() []string {
	c.rules.mu.Lock()
	names := slices.Clone(c.rules.idle)
	c.rules.mu.Unlock()
	for _, r := range c.rules.all() {
		r.mu.Lock()
		if !r.Internal && r.acted == 0 {
			names = append(names, c.idleRule(r))
		}
		r.mu.Unlock()
	}
	return names
}

// idleRule says of a rule that it never acted, why as far as that is known, and where it is. With r.mu held.
func (c *Cluster) idleRule(r *Rule) string {
	text := c.whyIdle(r)
	if r.At != "" {
		text += "; the rule is at " + r.At
	}
	return text
}

// WhyIdle says of a rule that it has not acted, and why as far as that is known; "" where it has.
func (c *Cluster) WhyIdle(r *Rule) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.acted > 0 {
		return ""
	}
	return c.whyIdle(r)
}

func (c *Cluster) whyIdle(r *Rule) string {
	text := r.Name + " never acted on a request"
	if r.matched > 0 {
		text = fmt.Sprintf("%s: %d matched, all of them let pass by After(%d)", text, r.matched, r.After)
		if slices.ContainsFunc(c.rules.all(), func(o *Rule) bool { return o != r && (o.Key == r.Key || o.Key == AnyKey) && o.Action.ends() }) {
			text += "; a request that a rule before this one ends doesn't count, for it never comes here"
		}
		return text
	}
	if t := c.meta.Load().topics[r.Topic]; r.Topic != "" && t == nil {
		text += fmt.Sprintf("; there is no topic %q", r.Topic)
	} else if t != nil && r.Partition >= 0 && t.partition(r.Partition) == nil {
		text += "; " + noPartition(t, r.Partition).Error()
	}
	if r.Key == AnyKey {
		return text
	}
	count, recent := c.Requests(RequestQuery{Key: r.Key})
	if count == 0 {
		return fmt.Sprintf("%s: no client sent %s", text, r.Key)
	}
	of := ""
	if r.Group != "" {
		of = fmt.Sprintf(", for groups %q", fewOf(recent, func(e *RequestEntry) string { return e.Group }))
	}
	return fmt.Sprintf("%s: %d %s came, from %s%s, and none fitted", text, count, r.Key, ClientsOf(recent), of)
}

// RulesThatActed tells of them in their order, for messages. Those that only look, and holds, which tell of themselves, are left out.
func (c *Cluster) RulesThatActed() (told []string) {
	for _, r := range c.rules.all() {
		if a := &r.Action; a.Observe != nil || a.Hold != nil || a.HoldReply != nil {
			continue
		}
		switch n := r.Acted(); {
		case n == 1:
			told = append(told, r.Name+" has acted on 1 request")
		case n > 1:
			told = append(told, fmt.Sprintf("%s has acted on %d requests", r.Name, n))
		}
	}
	return told
}
