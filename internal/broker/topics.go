package broker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/config"
	"github.com/fakekafka/fakekafka/internal/wire"
	"github.com/fakekafka/fakekafka/partitionlog"
)

const (
	offsetsTopic      = "__consumer_offsets"
	transactionsTopic = "__transaction_state"
	shareStateTopic   = "__share_group_state"
	controllerTopic   = "__cluster_metadata" // the controller's own log: no topic of that name can be created
)

var errControllerTopic = refuse(wire.InvalidRequest, "Creation of internal topic %s is prohibited.", controllerTopic)

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

// wantedTopic is a topic that somebody wants created: a client, the options, or a broker for itself.
type wantedTopic struct {
	name       string
	partitions int32 // -1: num.partitions
	replicas   int16 // -1: default.replication.factor
	configs    []config.Setting
	// assignments are the replicas by partition, where the client chooses them; partitions and replicas must be -1 then.
	assignments []kmsg.CreateTopicsRequestTopicReplicaAssignment
}

// topicPlan is a topic that passed all checks.
type topicPlan struct {
	name        string
	id          [16]byte
	configs     []config.Setting
	assignments [][]int32 // replicas by partition
}

// outOfTime says that the controller doesn't come to a request: it drops one that waits for longer than its timeout, and with a timeout of
// zero or less that is every one. What needs no controller is answered all the same.
func outOfTime(timeoutMillis int32) bool { return timeoutMillis <= 0 }

// validateTopicName applies Kafka's rules for the names of topics.
func validateTopicName(name string) *topicError {
	switch {
	case name == "":
		return refuse(wire.InvalidTopicException, "Topic name is invalid: the empty string is not allowed")
	case name == "." || name == "..":
		return refuse(wire.InvalidTopicException, "Topic name is invalid: '%s' is not allowed", name)
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

// collides finds an existing topic whose name differs from this one only by '.' and '_', which metrics can't tell apart.
func (m *metadata) collides(name string) (other string, found bool) {
	if !strings.ContainsAny(name, "._") {
		return "", false
	}
	same := strings.ReplaceAll(name, ".", "_")
	for _, other := range m.names {
		if strings.ReplaceAll(other, ".", "_") == same {
			return other, true
		}
	}
	return "", false
}

// planTopic checks a topic in Kafka's order and decides where its partitions go. On the loop (or before it runs).
func (c *Cluster) planTopic(m *metadata, w wantedTopic) (*topicPlan, *topicError) {
	if w.name == controllerTopic {
		return nil, errControllerTopic
	}
	if err := validateTopicName(w.name); err != nil {
		return nil, err
	}
	if m.topics[w.name] != nil {
		return nil, refuse(wire.TopicAlreadyExists, "Topic '%s' already exists.", w.name)
	}
	if other, found := m.collides(w.name); found {
		return nil, refuse(wire.InvalidTopicException, "Topic '%s' collides with existing topic: %s", w.name, other)
	}
	if err := c.config.CheckTopic(w.configs); err != nil {
		return nil, &topicError{err.Code, err.Message}
	}
	assignments, err := c.assign(m, w)
	if err != nil {
		return nil, err
	}
	return &topicPlan{name: w.name, id: c.uuid(), configs: w.configs, assignments: assignments}, nil
}

// assign gives the replicas of a new topic's partitions: those that were asked for, or the placer's.
func (c *Cluster) assign(m *metadata, w wantedTopic) ([][]int32, *topicError) {
	if len(w.assignments) > 0 {
		return manualAssignment(m, w)
	}
	v := c.settings(c.nodes[0].id)
	replicas, count := w.replicas, w.partitions
	switch {
	case replicas < -1 || replicas == 0:
		return nil, refuse(wire.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	case count < -1 || count == 0:
		return nil, refuse(wire.InvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	}
	if replicas == -1 {
		replicas = int16(v.Int("default.replication.factor"))
	}
	if count == -1 {
		count = v.Int32("num.partitions")
	}
	return place(m, 0, count, replicas)
}

func manualAssignment(m *metadata, w wantedTopic) ([][]int32, *topicError) {
	if w.replicas != -1 {
		return nil, refuse(wire.InvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1.")
	}
	if w.partitions != -1 {
		return nil, refuse(wire.InvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
	}
	all := make([][]int32, len(w.assignments))
	seen := map[int32]bool{}
	copies := 0
	for _, a := range w.assignments {
		if seen[a.Partition] {
			return nil, refuse(wire.InvalidReplicaAssignment, "Found multiple manual partition assignments for partition %d", a.Partition)
		}
		seen[a.Partition] = true
		if err := checkReplicas(m, a.Replicas, copies); err != nil {
			return nil, err
		}
		copies = len(a.Replicas)
		if !anyAlive(m, a.Replicas) {
			return nil, refuse(wire.InvalidReplicaAssignment, "All brokers specified in the manual partition assignment for partition %d are fenced or in controlled shutdown.", a.Partition)
		}
		if a.Partition >= 0 && int(a.Partition) < len(all) {
			all[a.Partition] = a.Replicas
		}
	}
	for i := range all {
		if all[i] == nil {
			return nil, refuse(wire.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
		}
	}
	return all, nil
}

// checkReplicas checks the replicas that a client wants for one partition. copies is how many there must be; 0: any number.
func checkReplicas(m *metadata, replicas []int32, copies int) *topicError {
	if len(replicas) == 0 {
		return refuse(wire.InvalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
	}
	ascending := slices.Sorted(slices.Values(replicas))
	for i, id := range ascending {
		switch {
		case i > 0 && ascending[i-1] == id:
			return refuse(wire.InvalidReplicaAssignment, "The manual partition assignment includes the broker %d more than once.", id)
		case m.node(id) == nil:
			return refuse(wire.InvalidReplicaAssignment, "The manual partition assignment includes broker %d, but no such broker is registered.", id)
		}
	}
	if copies != 0 && len(replicas) != copies {
		return refuse(wire.InvalidReplicaAssignment, "The manual partition assignment includes a partition with %d replica(s), but this is not consistent with previous partitions, which have %d replica(s).", len(replicas), copies)
	}
	return nil
}

func anyAlive(m *metadata, replicas []int32) bool { return slices.ContainsFunc(replicas, m.isAlive) }

// place chooses replicas for partitions first to first+count-1. The leader of partition p is the (p mod n)-th of the n brokers
// that run; the further replicas come from the racks after the leader's, in turn, from each a broker that runs before one that doesn't.
// Kafka begins at a random broker and shuffles now and then; a fixed order is within its contract and lets a test know where a
// partition is.
func place(m *metadata, first, count int32, replicas int16) ([][]int32, *topicError) {
	alive := m.alive()
	switch {
	case replicas <= 0:
		return nil, refuse(wire.InvalidReplicationFactor, "Invalid replication factor %d: the replication factor must be positive.", replicas)
	case int(replicas) > len(m.nodes):
		return nil, refuse(wire.InvalidReplicationFactor, "Unable to replicate the partition %d time(s): The target replication factor of %d cannot be reached because only %d broker(s) are registered or some brokers have all their log directories cordoned.", replicas, replicas, len(m.nodes))
	case len(alive) == 0:
		return nil, refuse(wire.InvalidReplicationFactor, "All brokers are currently fenced.")
	}
	all := make([][]int32, count)
	memory := make([]int32, int(count)*int(replicas))
	for i := range all {
		all[i] = memory[i*int(replicas) : i*int(replicas)+1 : (i+1)*int(replicas)]
		all[i][0] = alive[(int(first)+i)%len(alive)]
	}
	if replicas == 1 {
		return all, nil
	}
	racks := map[string][]*nodeInfo{} // of each rack those that run first
	for _, running := range []bool{true, false} {
		for _, n := range m.nodes {
			if n.alive == running {
				racks[n.rack] = append(racks[n.rack], n)
			}
		}
	}
	names := sortedKeys(racks)
	for i := range all {
		leader := m.node(all[i][0])
		// What the n-th broker of a rack leads, the n-th of another copies, and in the next round the one after it: racks of one size share the copies evenly.
		start := slices.Index(racks[leader.rack], leader) + (int(first)+i)/len(alive)
		taken := map[string]int{}
		for rack := slices.Index(names, leader.rack) + 1; len(all[i]) < int(replicas); rack++ {
			name := names[rack%len(names)]
			if id := nextInRack(racks[name], start, taken[name], leader.id); id >= 0 {
				all[i] = append(all[i], id)
			}
			taken[name]++
		}
	}
	return all, nil
}

// nextInRack is the broker of a rack that a partition takes as this rack's n-th: those that run in turn, from the one after the leader or
// else from the start-th on; then the others. It is -1 when none is left, and for the leader itself.
func nextInRack(rack []*nodeInfo, start, n int, leader int32) int32 {
	if n >= len(rack) {
		return -1
	}
	running := 0
	for running < len(rack) && rack[running].alive {
		running++
	}
	if n >= running {
		return rack[n].id
	}
	if own := slices.IndexFunc(rack, func(i *nodeInfo) bool { return i.id == leader }); own >= 0 {
		start = own + 1
	}
	if id := rack[(start+n)%running].id; id != leader {
		return id
	}
	return -1
}

// createTopics makes planned topics, in one change of the metadata. On the loop (or before it runs).
func (c *Cluster) createTopics(plans []*topicPlan) {
	c.change(func(m *metadata) {
		for _, p := range plans {
			c.config.CreateTopic(p.name, p.configs)
			t := &topic{name: p.name, id: p.id, internal: isInternal(p.name), configs: c.config.Topic(p.name)}
			c.addTo(m, t, p.assignments)
			m.put(t)
		}
	})
}

// addTo makes further partitions of a topic that isn't published yet.
func (c *Cluster) addTo(m *metadata, t *topic, assignments [][]int32) {
	cfg, now := logConfig(t.configs, c.derived(c.nodes[0].id)), c.clock.NowMillis()
	t.partitions = slices.Grow(t.partitions, len(assignments))
	made := make([]partition, len(assignments))
	for i, replicas := range assignments {
		p := &made[i]
		p.cluster, p.topic, p.id, p.index = c, t.name, t.id, int32(len(t.partitions))
		p.seed.Seed(c.rand.Uint64(), 0)
		p.random = *rand.New(&p.seed)
		p.log = partitionlog.New(cfg, now, &p.random)
		p.minISR = t.configs.MinInsyncReplicas
		p.state.Store(newPartitionState(replicas, m))
		p.log.NewLeaderEpoch(p.state.Load().epoch, p.state.Load().leader)
		p.holdHighWatermark()
		t.partitions = append(t.partitions, p)
	}
}

// partitionsChanged puts other states of partitions into force. On the loop.
func (c *Cluster) partitionsChanged(states map[*partition]*partitionState) {
	c.change(func(*metadata) {
		for p, s := range states { // in no order: they don't touch each other
			p.setState(s)
		}
	})
}

// addPartitions grows topics. On the loop.
func (c *Cluster) addPartitions(growths []growth) {
	c.change(func(m *metadata) {
		for _, g := range growths {
			grown := *g.topic
			grown.partitions = slices.Clone(g.topic.partitions)
			c.addTo(m, &grown, g.assignments)
			m.put(&grown)
		}
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
		c.refused.forget(t.name)
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
				if s := *p.state.Load(); len(s.elr) > 0 && changed.configs.MinInsyncReplicas != t.configs.MinInsyncReplicas {
					s.elr, s.lastKnownELR = nil, nil // who was eligible was so by the old number
					p.setState(&s)
				}
				p.setConfig(logConfig(changed.configs, c.derived(c.nodes[0].id)), changed.configs.MinInsyncReplicas)
			}
			m.put(&changed)
		}
	})
}
