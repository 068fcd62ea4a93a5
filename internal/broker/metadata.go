package broker

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/config"
)

// metadata is an immutable picture of the cluster. Handlers read the current one without a lock; only the control loop makes the next.
type metadata struct {
	topics map[string]*topic
	ids    map[[16]byte]*topic
	names  []string // ascending

	nodes []*nodeInfo // ascending by id, the stopped ones included

	version     int64 // grows with every change
	lastCreated int64 // version of the last change that created a topic
}

// topic is immutable but for its partitions' state: a changed topic (grown, other configs) is a new one that shares the partitions.
type topic struct {
	name       string
	id         [16]byte
	internal   bool
	partitions []*partition
	configs    *config.Topic
}

// nodeInfo is what clients may know of a broker.
type nodeInfo struct {
	id   int32
	host string
	// everywhere: it listens on all addresses and no host was advertised, so that each client is told the one by which it came: see request.brokerHost.
	everywhere bool
	port       int32
	rack       string // "": none
	alive      bool
}

// partitionState is who leads a partition and who follows; immutable.
type partitionState struct {
	leader   int32 // -1: none
	epoch    int32
	replicas []int32
	isr      []int32
	// elr are out of the ISR but have all that was acknowledged (KIP-966); lastKnownELR is who led last, where nobody does.
	elr, lastKnownELR []int32
	offline           []int32
	// A reassignment that goes on: replicas has both kinds.
	adding, removing []int32
}

func (m *metadata) partition(name string, p int32) *partition {
	return m.topics[name].partition(p)
}

// partition is nil for a number the topic doesn't have, and for a nil topic.
func (t *topic) partition(p int32) *partition {
	if t == nil || p < 0 || int(p) >= len(t.partitions) {
		return nil
	}
	return t.partitions[p]
}

func (m *metadata) node(id int32) *nodeInfo {
	i, ok := slices.BinarySearchFunc(m.nodes, id, func(n *nodeInfo, id int32) int { return int(n.id - id) })
	if !ok {
		return nil
	}
	return m.nodes[i]
}

func (m *metadata) isAlive(id int32) bool {
	n := m.node(id)
	return n != nil && n.alive
}

// alive lists the running brokers' ids, ascending.
func (m *metadata) alive() []int32 {
	ids := make([]int32, 0, len(m.nodes))
	for _, n := range m.nodes {
		if n.alive {
			ids = append(ids, n.id)
		}
	}
	return ids
}

// next is a copy to be changed before it is published.
func (m *metadata) next() *metadata {
	n := *m
	n.topics = maps.Clone(m.topics)
	n.ids = maps.Clone(m.ids)
	n.version++
	return &n
}

func (m *metadata) put(t *topic) {
	if old := m.topics[t.name]; old == nil {
		m.lastCreated = m.version
		m.names = nil
	}
	m.topics[t.name] = t
	m.ids[t.id] = t
}

func (m *metadata) remove(t *topic) {
	delete(m.topics, t.name)
	delete(m.ids, t.id)
	m.names = nil
}

// seal makes a changed picture ready to be published: the names are sorted anew where topics came or went.
func (m *metadata) seal() *metadata {
	if m.names == nil {
		m.names = sortedKeys(m.topics)
	}
	return m
}

// groupsMetadata shows the picture to the group coordinator.
type groupsMetadata struct{ *metadata }

func (g groupsMetadata) Topic(name string) (groups.Topic, bool)     { return g.describe(g.topics[name]) }
func (g groupsMetadata) TopicByID(id [16]byte) (groups.Topic, bool) { return g.describe(g.ids[id]) }
func (g groupsMetadata) TopicNames() []string                       { return g.names }
func (g groupsMetadata) Version() int64                             { return g.version }
func (g groupsMetadata) LastCreated() int64                         { return g.lastCreated }

func (g groupsMetadata) describe(t *topic) (groups.Topic, bool) {
	if t == nil {
		return groups.Topic{}, false
	}
	d := groups.Topic{Name: t.name, ID: t.id, Partitions: int32(len(t.partitions))}
	if g.hasRacks() {
		d.Racks = make([][]string, len(t.partitions))
		for i, p := range t.partitions {
			for _, r := range p.state.Load().replicas {
				if n := g.node(r); n != nil && n.rack != "" {
					d.Racks[i] = append(d.Racks[i], n.rack)
				}
			}
		}
	}
	return d, true
}

func (m *metadata) hasRacks() bool {
	return slices.ContainsFunc(m.nodes, func(n *nodeInfo) bool { return n.rack != "" })
}

// published holds the current picture.
type published struct{ atomic.Pointer[metadata] }
