package broker

import (
	"fmt"
	"strconv"

	"github.com/fakekafka/fakekafka/internal/config"
)

// createInternal makes one of the topics that brokers create by themselves, with the partitions, copies and configs that the
// settings of its coordinator say. On the loop.
func (c *Cluster) createInternal(name string) {
	if c.meta.Load().topics[name] != nil {
		return
	}
	v := c.settings(c.nodes[0].id)
	var partitions int32
	var copies int
	configs := map[string]string{}
	switch name {
	case offsetsTopic:
		partitions, copies = v.Int32("offsets.topic.num.partitions"), v.Int("offsets.topic.replication.factor")
		configs["cleanup.policy"] = "compact"
		configs["compression.type"] = "producer"
		configs["segment.bytes"] = strconv.Itoa(v.Int("offsets.topic.segment.bytes"))
	case transactionsTopic:
		partitions, copies = v.Int32("transaction.state.log.num.partitions"), v.Int("transaction.state.log.replication.factor")
		configs["cleanup.policy"] = "compact"
		configs["compression.type"] = "uncompressed"
		configs["min.insync.replicas"] = strconv.Itoa(v.Int("transaction.state.log.min.isr"))
		configs["segment.bytes"] = strconv.Itoa(v.Int("transaction.state.log.segment.bytes"))
		configs["unclean.leader.election.enable"] = "false"
	case shareStateTopic:
		partitions, copies = v.Int32("share.coordinator.state.topic.num.partitions"), v.Int("share.coordinator.state.topic.replication.factor")
		configs["cleanup.policy"] = "delete"
		configs["compression.type"] = "producer"
		configs["min.insync.replicas"] = strconv.Itoa(v.Int("share.coordinator.state.topic.min.isr"))
		configs["retention.ms"] = "-1"
		configs["segment.bytes"] = strconv.Itoa(v.Int("share.coordinator.state.topic.segment.bytes"))
	default:
		return
	}
	w := wantedTopic{name: name, partitions: partitions, replicas: int16(min(copies, len(c.nodes)))}
	for _, k := range sortedKeys(configs) {
		value := configs[k]
		w.configs = append(w.configs, config.Setting{Name: k, Value: &value})
	}
	p, err := c.planTopic(c.meta.Load(), w)
	if err != nil {
		c.log.Warn("an internal topic can't be created", "topic", name, "reason", err.text)
		return
	}
	c.createTopics([]*topicPlan{p})
}

// needOffsets is the topic of the group coordinators; where nobody has asked for one yet it is created, for which a broker must run. On the loop.
func (c *Cluster) needOffsets() (*topic, error) {
	c.createInternal(offsetsTopic)
	m := c.meta.Load()
	if t := m.topics[offsetsTopic]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("no group has a coordinator yet, and %s can't be created: running are the brokers %v; Start one", offsetsTopic, m.alive())
}
