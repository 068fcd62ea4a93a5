package broker

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// Steering of groups and members by the test.

// groupShard finds a group's shard on whatever node. On the loop. It creates __consumer_offsets where nobody has asked for a coordinator yet.
func (c *Cluster) groupShard(group string) (*shard, error) {
	c.createInternal(offsetsTopic)
	t := c.meta.Load().topics[offsetsTopic]
	p := groupPartition(group, len(t.partitions))
	sh := c.groups.shards[p]
	if sh == nil {
		return nil, fmt.Errorf("group %q has no coordinator: broker %v of %s-%d is stopped", group, t.partitions[p].state.Load().replicas, offsetsTopic, p)
	}
	return sh, nil
}

// SteerGroup runs a steering call of the group's shard on the loop.
func (c *Cluster) SteerGroup(group string, do func(now time.Time, s *groups.Shard) (groups.Effects, error)) error {
	var err error
	ok := c.loop.do(func() {
		var sh *shard
		if sh, err = c.groupShard(group); err != nil {
			return
		}
		now := c.clock.Now()
		var fx groups.Effects
		fx, err = do(now, sh.Shard)
		c.groups.apply(now, sh, fx)
		c.groups.dirty[sh.partition] = struct{}{}
	})
	if !ok {
		return errClosed
	}
	return err
}

// GroupState is a group as it stands between two steps; ok is false where there is no such group. On the loop, or from elsewhere by OnLoop.
func (c *Cluster) GroupState(group string) (s groups.State, ok bool) {
	t := c.meta.Load().topics[offsetsTopic]
	if t == nil {
		return groups.State{}, false
	}
	sh := c.groups.shards[groupPartition(group, len(t.partitions))]
	if sh == nil {
		return groups.State{}, false
	}
	return sh.State(group)
}

// GroupIDs are all groups, ascending. On the loop.
func (c *Cluster) GroupIDs() []string {
	var ids []string
	for _, p := range c.groups.order {
		ids = append(ids, c.groups.shards[p].GroupIDs()...)
	}
	slices.Sort(ids)
	return ids
}

// ResolveMember finds a member by client id, instance id or member id. One that fits none or two is an error that lists the members.
func ResolveMember(s groups.State, name string) (groups.MemberState, error) {
	var fits []groups.MemberState
	for _, m := range s.Members {
		if m.ID == name {
			return m, nil
		}
		if m.InstanceID == name && name != "" || m.ClientID == name {
			fits = append(fits, m)
		}
	}
	if len(fits) == 1 {
		return fits[0], nil
	}
	var all []string
	for _, m := range s.Members {
		d := fmt.Sprintf("%s (client %q", m.ID, m.ClientID)
		if m.InstanceID != "" {
			d += fmt.Sprintf(", instance %q", m.InstanceID)
		}
		all = append(all, d+")")
	}
	slices.Sort(all)
	list := "it has none"
	if len(all) > 0 {
		list = "it has " + strings.Join(all, ", ")
	}
	if len(fits) == 0 {
		return groups.MemberState{}, fmt.Errorf("group %q has no member %q by client id, instance id or member id; %s", s.ID, name, list)
	}
	return groups.MemberState{}, fmt.Errorf("group %q has %d members %q; name one by its member id: %s", s.ID, len(fits), name, list)
}

// pause is a client whose requests wait: nothing it sends is handled, nothing it waits for is answered.
type pause struct {
	client    string
	groupOnly bool
	gate      *Gate
}

// pauses are the paused clients; replaced as a whole.
type pauses struct {
	mu   sync.Mutex
	list []*pause
}

func (ps *pauses) find(client string, key wire.Key) *Gate {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.list {
		if p.client == client && (!p.groupOnly || IsGroupKey(key)) {
			return p.gate
		}
	}
	return nil
}

// Paused tells whether a client is paused.
func (c *Cluster) Paused(client string) bool {
	c.pauses.mu.Lock()
	defer c.pauses.mu.Unlock()
	return slices.ContainsFunc(c.pauses.list, func(p *pause) bool { return p.client == client })
}

// Pause stops a client, by client id: as if its process hung. With groupOnly it still produces and fetches, and only its group requests wait.
// A heartbeat that the coordinator holds is let go, into the pause.
func (c *Cluster) Pause(client string, groupOnly bool) error {
	c.pauses.mu.Lock()
	if slices.ContainsFunc(c.pauses.list, func(p *pause) bool { return p.client == client }) {
		c.pauses.mu.Unlock()
		return fmt.Errorf("client %q is paused already", client)
	}
	c.pauses.list = append(c.pauses.list, &pause{client, groupOnly, c.NewGate("pause of " + client)})
	c.pauses.mu.Unlock()
	c.pausing.Add(1)
	ok := c.loop.do(func() {
		c.historyAdd(EventPaused, client, "paused by the test")
		for _, p := range c.groups.order {
			for _, w := range c.groups.sortedWaiting(c.groups.shards[p]) {
				if w.r != nil && w.r.client == client {
					c.groups.release(w)
				}
			}
		}
	})
	if !ok {
		return errClosed
	}
	return nil
}

// Resume lets a paused client go on.
func (c *Cluster) Resume(client string) error {
	c.pauses.mu.Lock()
	i := slices.IndexFunc(c.pauses.list, func(p *pause) bool { return p.client == client })
	if i < 0 {
		c.pauses.mu.Unlock()
		return fmt.Errorf("client %q is not paused", client)
	}
	p := c.pauses.list[i]
	c.pauses.list = slices.Delete(slices.Clone(c.pauses.list), i, i+1)
	c.pauses.mu.Unlock()
	c.pausing.Add(-1)
	if !c.loop.do(func() { c.historyAdd(EventResumed, client, "resumed by the test") }) {
		return errClosed
	}
	p.gate.Open()
	return nil
}

// ResumeAll lifts every pause.
func (c *Cluster) ResumeAll() {
	c.pauses.mu.Lock()
	list := c.pauses.list
	c.pauses.list = nil
	c.pauses.mu.Unlock()
	c.pausing.Add(-int32(len(list)))
	for _, p := range list {
		p.gate.Open()
	}
}

// atPause waits while the request's client is paused.
func (r *request) atPause() error {
	for r.cluster.pausing.Load() > 0 {
		g := r.cluster.pauses.find(r.client, r.key)
		if g == nil {
			return nil
		}
		if err := r.conn.waitAt(g, r); err != nil {
			return err
		}
	}
	return nil
}

// DropConnections cuts all connections of a client id and answers how many there were.
func (c *Cluster) DropConnections(client string) int {
	n := 0
	for _, node := range c.nodes {
		node.mu.Lock()
		var cut []*conn
		for cn := range node.conns {
			if cn.clientID() == client {
				cut = append(cut, cn)
			}
		}
		node.mu.Unlock()
		for _, cn := range cut {
			cn.shut("cut by the test (DropConnections)")
			n++
		}
	}
	return n
}

// members remembers by which connection a member speaks, so that FastForward knows the living.
type memberKey struct{ group, member string }

// heard notes who speaks for a member. On the loop.
func (co *coordinator) heard(r *request) {
	if k, ok := memberOf(r); ok {
		co.voices[k] = r.conn
	}
}

// living tells whether a member's client is connected and not paused. On the loop.
func (co *coordinator) living(group, member string) bool {
	cn := co.voices[memberKey{group, member}]
	if cn == nil {
		return false
	}
	select {
	case <-cn.done:
		return false
	default:
	}
	return !co.c.Paused(cn.clientID())
}
