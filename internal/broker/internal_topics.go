package broker

import (
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
	default:
		return
	}
	p := &topicPlan{name: name, assignments: c.place(0, partitions, int16(min(copies, len(c.nodes))))}
	for _, k := range sortedKeys(configs) {
		value := configs[k]
		p.configs = append(p.configs, config.Setting{Name: k, Value: &value})
	}
	c.createTopics([]*topicPlan{p})
}
