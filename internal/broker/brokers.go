package broker

import (
	"fmt"
	"slices"
)

// Stopping and starting brokers, and moving leaders. Replicas share one log, so nothing is lost whoever leads.

// nodeByID is nil for an id that no broker has.
func (c *Cluster) nodeByID(id int32) *node {
	if id < 1 || int(id) > len(c.nodes) {
		return nil
	}
	return c.nodes[id-1]
}

func (c *Cluster) needNode(id int32) (*node, error) {
	n := c.nodeByID(id)
	if n == nil {
		return nil, fmt.Errorf("there is no broker %d; node ids are 1 to %d", id, len(c.nodes))
	}
	return n, nil
}

func (n *node) running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.listener != nil
}

// StopBroker stops a broker. A clean stop hands over leaders and coordinators first, as Kafka's controlled shutdown does; an unclean one
// cuts the connections at once, and the rest of the cluster finds out after that.
func (c *Cluster) StopBroker(id int32, clean bool) error {
	n, err := c.needNode(id)
	if err == nil {
		err = c.CheckOpen()
	}
	if err != nil {
		return err
	}
	if !n.running() {
		return fmt.Errorf("broker %d is stopped already; Start starts it again", id)
	}
	handOver := func() { c.brokersChanged(map[int32]bool{id: false}) }
	if clean {
		var told []*conn // who waits in a group hears that the coordinator is another
		if !c.loop.do(func() { told = c.groups.waitingAt(n); handOver() }) {
			return errClosed
		}
		const why = "the broker was stopped by the test"
		finish(told, why)
		n.stop(why)
		return nil
	}
	n.stop("the broker was killed by the test")
	n.killed.Store(true)
	if !c.loop.do(handOver) {
		return errClosed
	}
	return nil
}

// StartBroker starts a stopped broker on the port it had. Its partitions' leaders stay where they moved; it follows.
func (c *Cluster) StartBroker(id int32) error {
	n, err := c.needNode(id)
	if err == nil {
		err = c.CheckOpen()
	}
	if err != nil {
		return err
	}
	if n.running() {
		return fmt.Errorf("broker %d runs already; Restart stops and starts it", id)
	}
	if err := n.start(); err != nil {
		return err
	}
	var killed []int32
	if n.killed.Swap(false) {
		killed = append(killed, id)
	}
	if !c.loop.do(func() { c.brokersChanged(map[int32]bool{id: true}, killed...) }) {
		return errClosed
	}
	return nil
}

// brokersChanged makes the cluster follow what became of brokers. Of those that come back after they were killed nobody knows whether they have
// all that was acknowledged. On the loop.
func (c *Cluster) brokersChanged(alive map[int32]bool, killed ...int32) {
	var moved []*partition
	c.change(func(m *metadata) {
		m.nodes = c.describeNodes()
		for _, n := range m.nodes {
			if a, ok := alive[n.id]; ok {
				n.alive = a
			}
		}
		for _, name := range sortedKeys(m.topics) {
			for _, p := range m.topics[name].partitions {
				old := p.state.Load()
				changed := slices.ContainsFunc(old.replicas, func(id int32) bool { _, changed := alive[id]; return changed })
				if !changed && len(without(killed, old.elr)) == len(killed) { // who is eligible need not be a replica
					continue
				}
				s := p.after(m, func(s *partitionState) { s.elr = without(s.elr, killed) })
				p.setState(s)
				if s.epoch != old.epoch {
					moved = append(moved, p)
				}
			}
		}
	})
	for _, id := range sortedKeys(alive) {
		what := EventBrokerStopped
		if alive[id] {
			what = EventBrokerStarted
		}
		c.historyAdd(what, "", fmt.Sprintf("broker %d; %d partitions have another leader", id, len(moved)))
	}
}

// MoveLeader makes a running replica the leader of a partition.
func (c *Cluster) MoveLeader(topicName string, index, to int32) error {
	var err error
	ok := c.loop.do(func() {
		var p *partition
		if p, err = c.needPartition(topicName, index); err == nil {
			err = c.moveLeader(p, to)
		}
	})
	if !ok {
		return errClosed
	}
	return err
}

// moveLeader is MoveLeader on the loop.
func (c *Cluster) moveLeader(p *partition, to int32) error {
	m := c.meta.Load()
	n := m.node(to)
	if n == nil {
		return fmt.Errorf("%s-%d can't be led by broker %d: there is no such broker, node ids are 1 to %d; running are %v", p.topic, p.index, to, len(c.nodes), m.alive())
	}
	if !n.alive {
		return fmt.Errorf("%s-%d can't be led by broker %d: it doesn't run; running are %v", p.topic, p.index, to, m.alive())
	}
	s := *p.state.Load()
	if s.leader == to {
		return nil
	}
	if !slices.Contains(s.replicas, to) {
		// Replicas share one log: a broker becomes one by being named.
		s.replicas = replaceReplica(s.replicas, s.leader, to)
		s.isr = replaceReplica(s.isr, s.leader, to)
	}
	s.leader = to
	s.epoch++
	s.elr, s.lastKnownELR = without(s.elr, s.isr), nil
	c.change(func(*metadata) { p.setState(&s) })
	c.historyAdd(EventLeaderMoved, "", fmt.Sprintf("%s-%d is led by broker %d at leader epoch %d", p.topic, p.index, to, s.epoch))
	return nil
}

// MoveCoordinator makes another broker the coordinator of a group: leader of its partition of __consumer_offsets.
func (c *Cluster) MoveCoordinator(group string, to int32) error {
	var err error
	ok := c.loop.do(func() {
		var t *topic
		if t, err = c.needOffsets(); err == nil {
			err = c.moveLeader(t.partitions[groupPartition(group, len(t.partitions))], to)
		}
	})
	if !ok {
		return errClosed
	}
	return err
}

// ReloadCoordinator makes the group's coordinator forget what it holds in memory and load it from its log, as after a restart of the broker.
func (c *Cluster) ReloadCoordinator(group string) error {
	var err error
	ok := c.loop.do(func() {
		var t *topic
		if t, err = c.needOffsets(); err != nil {
			return
		}
		p := t.partitions[groupPartition(group, len(t.partitions))]
		now := c.clock.Now()
		if sh := c.groups.shards[p.index]; sh != nil {
			c.groups.unload(now, sh)
		}
		c.groups.follow(now, p)
	})
	if !ok {
		return errClosed
	}
	return err
}

func replaceReplica(ids []int32, old, id int32) []int32 {
	out := make([]int32, 0, len(ids))
	for _, i := range ids {
		if i == old {
			i = id
		}
		out = append(out, i)
	}
	if !slices.Contains(out, id) {
		out = append(out, id)
	}
	return out
}
