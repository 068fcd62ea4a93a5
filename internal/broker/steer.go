package broker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/memnet"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// Steering of groups and members by the test.

// groupShard finds a group's shard on whatever node. On the loop. It creates __consumer_offsets where nobody has asked for a coordinator yet.
func (c *Cluster) groupShard(group string) (*shard, error) {
	t, err := c.needOffsets()
	if err != nil {
		return nil, err
	}
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
	c.Rest()
	return err
}

// GroupState is a group as it stands between two steps, its members called as those who speak for them; ok is false where there is no such group. On the
// loop, or from elsewhere by Look.
func (c *Cluster) GroupState(group string) (s groups.State, ok bool) {
	if sh := c.shardNow(group); sh != nil {
		s, ok = sh.State(group)
		c.groups.nameSpeakers(&s)
	}
	return s, ok
}

// Unled tells that no broker leads the group's partition of __consumer_offsets: whatever there is of the group is not loaded. On the loop.
func (c *Cluster) Unled(group string) bool {
	t := c.meta.Load().topics[offsetsTopic]
	return t != nil && t.partitions[groupPartition(group, len(t.partitions))].state.Load().leader < 0
}

// shardNow is the shard of a group, nil while there is none. On the loop.
func (c *Cluster) shardNow(group string) *shard {
	t := c.meta.Load().topics[offsetsTopic]
	if t == nil {
		return nil
	}
	return c.groups.shards[groupPartition(group, len(t.partitions))]
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

// pause is a client whose requests wait: nothing it sends is handled, nothing it waits for is answered.
type pause struct {
	client    string    // "": every client
	asked     memberKey // the group and the name by which the test called the member; zero for one that was not of a member
	broker    int32     // 0: at every broker
	groupOnly bool
	gate      *Gate
}

func (p *pause) stops(client string, broker int32, key wire.Key) bool {
	return (p.client == "" || p.client == client) && (p.broker == 0 || p.broker == broker) && (!p.groupOnly || isGroupKey(key))
}

// pauses are the paused clients, and those that can't reach a broker.
type pauses struct {
	count atomic.Int32 // so that requests know for free that there is none
	mu    sync.Mutex
	list  []*pause
}

// find is the gate at which a request has to wait, nil for none.
func (ps *pauses) find(r *request) *Gate { return ps.at(r.client, r.node.id, r.key) }

func (ps *pauses) at(client string, broker int32, key wire.Key) *Gate {
	if ps.count.Load() == 0 {
		return nil
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.list {
		if p.stops(client, broker, key) {
			return p.gate
		}
	}
	return nil
}

// names are what each is, for messages: the pause of a client.
func (ps *pauses) names() (all []string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.list {
		all = append(all, "the "+p.gate.Name)
	}
	return all
}

// add takes a pause, or answers the one that stops the same already.
func (ps *pauses) add(p *pause) (already *pause) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if at := slices.IndexFunc(ps.list, func(o *pause) bool { return o.client == p.client && o.broker == p.broker }); at >= 0 {
		return ps.list[at]
	}
	ps.list = append(ps.list, p)
	ps.count.Add(1)
	return nil
}

// remove takes out the pauses for which fn answers true.
func (ps *pauses) remove(fn func(*pause) bool) (removed []*pause) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.list = slices.DeleteFunc(ps.list, func(p *pause) bool {
		if fn(p) {
			removed = append(removed, p)
			return true
		}
		return false
	})
	ps.count.Add(-int32(len(removed)))
	return removed
}

// Pause stops a client, by client id: as if its process hung. With groupOnly it still produces and fetches, and only its group requests wait.
// A heartbeat that the coordinator holds is let go, into the pause. It is of who speaks for the member that the test calls so in the group.
func (c *Cluster) Pause(client, group, called string, groupOnly bool) error {
	return c.stopClient(&pause{client: client, asked: memberKey{group, called}, groupOnly: groupOnly, gate: c.NewGate("pause of " + Shown(client))},
		fmt.Sprintf("client %q is paused already", client))
}

func (c *Cluster) stopClient(p *pause, twice string) error {
	if already := c.pauses.add(p); already != nil {
		if already.asked.group != p.asked.group {
			twice += fmt.Sprintf(", as a member of group %q: a pause stops all clients of a client.id, whatever their group", LoggedName(already.asked.group))
		}
		return errors.New(twice)
	}
	ok := c.loop.do(func() {
		c.historyAdd(EventPaused, p.client, p.gate.Name)
		c.groups.releaseWhere(func(sh *shard, w *waitingRequest) bool {
			return w.voice != nil && p.stops(w.client.ID, sh.node, wire.Heartbeat)
		})
	})
	if !ok {
		return errClosed
	}
	return nil
}

// Resume lets a paused client go on, and those that were paused when the test called the group's member the same: others may speak for it now.
func (c *Cluster) Resume(client, group, called string) error {
	asked := memberKey{group, called}
	if !c.goOn(func(p *pause) bool { return p.broker == 0 && (p.client == client || p.asked == asked) }) {
		now := "nobody is"
		if all := c.Disturbances(); len(all) > 0 {
			now = strings.Join(all, "; ")
		}
		return fmt.Errorf("client %q is not paused; %s", client, now)
	}
	return nil
}

// Disturbances are what keeps brokers and clients apart at the moment, for messages: brokers that don't run, pauses, isolations.
func (c *Cluster) Disturbances() (all []string) {
	if c.CheckOpen() != nil {
		return nil
	}
	for _, n := range c.nodes {
		if !n.running() {
			all = append(all, fmt.Sprintf("broker %d doesn't run", n.id))
		}
	}
	for _, name := range c.pauses.names() {
		all = append(all, name+" goes on")
	}
	return all
}

// LiftPauses lets everybody go on who is paused or isolated.
func (c *Cluster) LiftPauses() { c.goOn(func(*pause) bool { return true }) }

// goOn ends pauses.
func (c *Cluster) goOn(which func(*pause) bool) bool {
	removed := c.pauses.remove(which)
	c.loop.do(func() {
		for _, p := range removed {
			c.historyAdd(EventResumed, p.client, "end of the "+p.gate.Name)
		}
		c.groups.scripts.resumed()
	})
	for _, p := range removed {
		c.warnOfStranger(p)
		p.gate.Open()
	}
	c.Rest()
	return len(removed) > 0
}

// warnOfStranger tells of an isolation that was of a client that never came: perhaps its name is a slip of the pen.
func (c *Cluster) warnOfStranger(p *pause) {
	if p.broker == 0 || p.client == "" || p.gate.Ever() > 0 {
		return
	}
	c.WarnOfStranger("the "+p.gate.Name, p.client)
}

// WarnOfStranger tells that what the test did to a client did nothing, if that client never came.
func (c *Cluster) WarnOfStranger(what, client string) {
	if n, _ := c.Requests(RequestQuery{Key: AnyKey, Client: client}); n > 0 {
		return
	}
	c.log.Warn(fmt.Sprintf("%s did nothing: no client of this client.id ever sent a request; %s", what, c.Senders()))
}

// Isolate cuts clients off from a broker, as a network does that loses every packet: what they send there gets no answer, and their
// connections stay. Without clients it cuts off all.
func (c *Cluster) Isolate(broker int32, clients ...string) error {
	if _, err := c.needNode(broker); err != nil {
		return err
	}
	if len(clients) == 0 {
		clients = []string{""}
	}
	for _, client := range clients {
		who := "client " + client
		if client == "" {
			who = "all clients"
		}
		p := &pause{client: client, broker: broker, gate: c.NewGate(fmt.Sprintf("isolation of broker %d from %s", broker, who))}
		if err := c.stopClient(p, fmt.Sprintf("broker %d is isolated from %s already", broker, who)); err != nil {
			return err
		}
	}
	return nil
}

// Heal ends what Isolate did at a broker.
func (c *Cluster) Heal(broker int32) error {
	if _, err := c.needNode(broker); err != nil {
		return err
	}
	if !c.goOn(func(p *pause) bool { return p.broker == broker }) {
		return fmt.Errorf("broker %d is not isolated from anybody", broker)
	}
	return nil
}

// atPause waits while the request's client is paused.
func (r *request) atPause() error {
	for {
		g := r.cluster.pauses.find(r)
		if g == nil {
			return nil
		}
		if err := r.conn.waitAt(g, r, unhandled); err != nil {
			return err
		}
	}
}

// DropConnections cuts all connections of a client id and answers how many there were.
func (c *Cluster) DropConnections(client string) int {
	n := 0
	for _, node := range c.nodes {
		for _, cn := range node.connections() {
			if cn.clientID() == client {
				cn.shut("cut by the test (DropConnections)")
				n++
			}
		}
	}
	return n
}

func (c *conn) open() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// closedByPeer tells whether the client has closed the connection and all that it sent is read.
func (c *conn) closedByPeer() bool {
	switch nc := c.nc.(type) {
	case *memnet.Conn:
		return nc.Ended()
	case syscall.Conn:
		return endOfInput(nc)
	}
	return false
}

// standing is the request that stands at a gate: its API's key + 1, 0 for none.
type standing struct{ atomic.Int32 }

func (s *standing) heartbeat() bool {
	k := wire.Key(s.Load() - 1)
	return k == wire.Heartbeat || k == wire.ConsumerGroupHeartbeat
}
