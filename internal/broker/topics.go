package broker

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/fakekafka/fakekafka/internal/config"
	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
)

const (
	offsetsTopic      = "__consumer_offsets"
	transactionsTopic = "__transaction_state"
	shareStateTopic   = "__share_group_state"
)

// isInternal tells whether clients see the topic as internal.
func isInternal(name string) bool {
	return name == offsetsTopic || name == transactionsTopic || name == shareStateTopic
}

// topicError is why a topic can't be created or changed: the code and the text for the client.
type topicError struct {
	code wire.Code
	text string
}

func (e *topicError) Error() string { return e.text }

func refuse(code wire.Code, format string, args ...any) *topicError {
	return &topicError{code, fmt.Sprintf(format, args...)}
}

// topicPlan is a topic that passed all checks.
type topicPlan struct {
	name        string
	id          [16]byte
	configs     []config.Setting
	assignments [][]int32 // replicas by partition
}

// validateTopicName applies Kafka's rules for the names of topics.
func validateTopicName(name string) *topicError {
	switch {
	case name == "":
		return refuse(wire.InvalidTopicException, "Topic name is invalid: the empty string is not allowed")
	case name == "." || name == "..":
		return refuse(wire.InvalidTopicException, "Topic name is invalid: '.' or '..' is not allowed")
	case len(name) > 249:
		return refuse(wire.InvalidTopicException, "Topic name is invalid: the length of '%s' is longer than the max allowed length 249", name)
	}
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-') {
			return refuse(wire.InvalidTopicException, "Topic name is invalid: '%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name)
		}
	}
	return nil
}

// planTopic checks a topic of the options.
func (c *Cluster) planTopic(s TopicSpec, v *config.Values) (*topicPlan, error) {
	if err := validateTopicName(s.Name); err != nil {
		return nil, err
	}
	if s.Partitions < 1 {
		return nil, fmt.Errorf("%d partitions; it must have at least 1", s.Partitions)
	}
	rf := s.ReplicationFactor
	if rf == 0 {
		rf = int16(min(v.Int("default.replication.factor"), len(c.nodes)))
	}
	if rf < 0 || int(rf) > len(c.nodes) {
		return nil, fmt.Errorf("replication factor %d with %d brokers", rf, len(c.nodes))
	}
	p := &topicPlan{name: s.Name}
	for _, k := range sortedKeys(s.Configs) {
		value := s.Configs[k]
		p.configs = append(p.configs, config.Setting{Name: k, Value: &value})
	}
	if err := c.config.CheckTopic(p.configs); err != nil {
		return nil, fmt.Errorf("%s", err.Message)
	}
	p.assignments = c.place(0, s.Partitions, rf)
	return p, nil
}

// place chooses replicas for partitions first to first+count-1: the leader of partition p is the (p mod n)-th broker, the
// replicas are those after it, from another rack where there is one. Kafka begins at a random broker; a fixed one is within its contract
// and lets a test know where a partition is.
func (c *Cluster) place(first, count int32, replicas int16) [][]int32 {
	order := c.rackOrder()
	all := make([][]int32, count)
	for i := range all {
		p := int(first) + i
		for r := range int(replicas) {
			all[i] = append(all[i], order[(p+r)%len(order)])
		}
	}
	return all
}

// rackOrder lists the brokers so that neighbours are in different racks where possible: the first of each rack, then the second of each, ...
func (c *Cluster) rackOrder() []int32 {
	byRack := map[string][]int32{}
	var racks []string
	for _, n := range c.nodes {
		if byRack[n.rack] == nil {
			racks = append(racks, n.rack)
		}
		byRack[n.rack] = append(byRack[n.rack], n.id)
	}
	slices.Sort(racks)
	var order []int32
	for i := 0; len(order) < len(c.nodes); i++ {
		for _, r := range racks {
			if i < len(byRack[r]) {
				order = append(order, byRack[r][i])
			}
		}
	}
	return order
}

// createTopics makes planned topics, in one change of the metadata. On the loop (or before it runs).
func (c *Cluster) createTopics(plans []*topicPlan) {
	c.change(func(m *metadata) {
		for _, p := range plans {
			if p.id == ([16]byte{}) {
				p.id = c.uuid()
			}
			c.config.CreateTopic(p.name, p.configs)
			t := &topic{name: p.name, id: p.id, internal: isInternal(p.name), configs: c.config.Topic(p.name)}
			if len(p.assignments) > 0 {
				t.replicas = int16(len(p.assignments[0]))
			}
			for _, replicas := range p.assignments {
				t.partitions = append(t.partitions, c.newPartition(m, t, int32(len(t.partitions)), replicas))
			}
			m.put(t)
		}
	})
}

func (c *Cluster) newPartition(m *metadata, t *topic, index int32, replicas []int32) *partition {
	p := &partition{cluster: c, topic: t.name, id: t.id, index: index}
	p.log = partitionlog.New(logConfig(t.configs, c.settings(c.nodes[0].id)), c.clock.NowMillis(), rand.New(rand.NewPCG(c.rand.Uint64(), 0)))
	p.state.Store(electLeader(&partitionState{leader: -2, epoch: -1, replicas: replicas}, m))
	p.log.NewLeaderEpoch(0)
	return p
}

// electLeader gives the state of a partition for the brokers that run now: the ISR are the running replicas (they share the
// one log), the leader stays if it can, else it is the first replica that runs. A new leader raises the epoch.
func electLeader(s *partitionState, m *metadata) *partitionState {
	n := *s
	n.isr, n.offline = nil, nil
	n.leader = -1
	for _, r := range s.replicas {
		if node := m.node(r); node != nil && (node.alive || s.leader == -2) {
			n.isr = append(n.isr, r)
			if n.leader == -1 || r == s.leader {
				n.leader = r
			}
		} else {
			n.offline = append(n.offline, r)
		}
	}
	if n.leader != s.leader {
		n.epoch++
	}
	return &n
}

// addPartitions grows a topic. On the loop.
func (c *Cluster) addPartitions(t *topic, assignments [][]int32) {
	c.change(func(m *metadata) {
		grown := *t
		grown.partitions = slices.Clone(t.partitions)
		for _, replicas := range assignments {
			grown.partitions = append(grown.partitions, c.newPartition(m, t, int32(len(grown.partitions)), replicas))
		}
		m.put(&grown)
	})
}

// deleteTopics removes topics; fetches that wait on them are woken. On the loop.
func (c *Cluster) deleteTopics(ts []*topic) {
	c.change(func(m *metadata) {
		for _, t := range ts {
			m.remove(t)
			c.config.DeleteTopic(t.name)
		}
	})
	for _, t := range ts {
		for _, p := range t.partitions {
			p.delete()
		}
	}
}

// topicConfigsChanged publishes the settings of a topic after a change; they take effect at once. On the loop.
func (c *Cluster) topicConfigsChanged(names []string) {
	c.change(func(m *metadata) {
		for _, name := range names {
			t := m.topics[name]
			if t == nil {
				continue
			}
			changed := *t
			changed.configs = c.config.Topic(name)
			for _, p := range t.partitions {
				p.setConfig(logConfig(changed.configs, c.settings(c.nodes[0].id)))
			}
			m.put(&changed)
		}
	})
}
