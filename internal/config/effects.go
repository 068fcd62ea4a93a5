package config

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// effective lists the broker settings that change something here, beside those
// that topics and groups inherit and those that bound a group's. It grows with what is built.
var effective = []string{
	"add.partitions.to.txn.retry.backoff.ms",
	"add.partitions.to.txn.retry.backoff.max.ms",
	"auto.create.topics.enable",
	"broker.rack",
	"connections.max.idle.ms",
	"controller.quota.window.num",
	"controller.quota.window.size.seconds",
	"default.replication.factor",
	"delete.topic.enable",
	"fetch.max.bytes",
	"group.consumer.assignors",
	"group.consumer.max.size",
	"group.consumer.migration.policy",
	"group.consumer.regex.refresh.interval.ms",
	"group.coordinator.rebalance.protocols",
	"group.initial.rebalance.delay.ms",
	"group.max.session.timeout.ms",
	"group.max.size",
	"group.min.session.timeout.ms",
	"log.cleaner.backoff.ms",
	"log.cleaner.enable",
	"log.dir",
	"log.dirs",
	"log.initial.task.delay.ms",
	"log.retention.check.interval.ms",
	"max.connections",
	"max.connections.per.ip",
	"max.connections.per.ip.overrides",
	"max.incremental.fetch.session.cache.slots",
	"max.request.partition.size.limit",
	"node.id",
	"num.partitions",
	"offset.metadata.max.bytes",
	"offsets.retention.check.interval.ms",
	"offsets.retention.minutes",
	"offsets.topic.compression.codec",
	"offsets.topic.num.partitions",
	"offsets.topic.replication.factor",
	"offsets.topic.segment.bytes",
	"producer.id.expiration.check.interval.ms",
	"producer.id.expiration.ms",
	"quota.window.num",
	"quota.window.size.seconds",
	"replica.selector.class",
	"share.coordinator.state.topic.min.isr",
	"share.coordinator.state.topic.num.partitions",
	"share.coordinator.state.topic.replication.factor",
	"share.coordinator.state.topic.segment.bytes",
	"socket.request.max.bytes",
	"telemetry.max.bytes",
	"transaction.abort.timed.out.transaction.cleanup.interval.ms",
	"transaction.max.timeout.ms",
	"transaction.partition.verification.enable",
	"transaction.remove.expired.transaction.cleanup.interval.ms",
	"transaction.state.log.min.isr",
	"transaction.state.log.num.partitions",
	"transaction.state.log.replication.factor",
	"transaction.state.log.segment.bytes",
	"transactional.id.expiration.ms",
}

var effects = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, name := range effective {
		all[name] = true
	}
	for _, d := range topicDefs().sorted {
		for _, s := range d.brokers {
			all[s.name] = true
		}
	}
	for _, d := range groupDefs().sorted {
		for _, s := range d.brokers {
			all[s.name] = true
		}
		least, most := groupBounds(d)
		all[least], all[most] = true, true
	}
	// No disk, so nothing to flush, preallocate, index by the byte or keep in a second tier.
	for _, name := range []string{"", "log.flush.interval.messages", "log.flush.interval.ms", "log.flush.scheduler.interval.ms",
		"log.preallocate", "log.index.size.max.bytes", "log.local.retention.bytes", "log.local.retention.ms", "log.segment.delete.delay.ms"} {
		delete(all, name)
	}
	return all
})

// HasEffect tells whether a broker setting changes anything here. The others are
// Kafka's too, are checked and shown, and have no meaning in a broker without disk,
// threads of its own or a JVM.
func HasEffect(name string) bool { return effects()[name] }

// kafkasClasses are classes that come with Kafka and whose behaviour is built here.
var kafkasClasses = map[string][]string{
	"replica.selector.class":   {"org.apache.kafka.common.replica.RackAwareReplicaSelector"},
	"group.consumer.assignors": {"uniform", "range", "org.apache.kafka.coordinator.group.assignor.UniformAssignor", "org.apache.kafka.coordinator.group.assignor.RangeAssignor"},
	"group.share.assignors":    {"simple", "org.apache.kafka.coordinator.group.assignor.SimpleAssignor"},
}

// notBuilt are settings whose effect a test might rely on without noticing that it is missing.
var notBuilt = map[string]string{
	"authorizer.class.name":          "without it every request would be allowed",
	"create.topic.policy.class.name": "without it every topic would be allowed",
	"alter.config.policy.class.name": "without it every change would be allowed",
	"client.quota.callback.class":    "without it no quota would be kept",
}

// refuseForeignCode refuses classes that would have to run in a JVM, and what isn't built yet where that could hide a mistake.
func refuseForeignCode(d *def, name, val string) error {
	val = strings.TrimSpace(val)
	if val == "" || d.fallback != nil && val == *d.fallback {
		return nil
	}
	if why, ok := notBuilt[d.name]; ok {
		return fmt.Errorf("config %s=%s: its effect isn't built yet, and %s; leave it out", name, val, why)
	}
	known, ok := kafkasClasses[d.name]
	if !ok && d.typ != Class {
		return nil
	}
	entries := []string{val}
	if d.typ == List {
		entries = splitList(val)
	}
	for _, entry := range entries {
		if !slices.Contains(known, entry) {
			choice := "leave it out"
			if known != nil {
				choice = "choose from " + strings.Join(known, ", ")
			}
			return fmt.Errorf("config %s=%s: fakekafka can't load the class %s; %s", name, val, entry, choice)
		}
	}
	return nil
}
