//go:build cgo

package clienttests

import (
	"maps"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"github.com/fakekafka/fakekafka/fakekafka"
)

func confluentReportKinds() []reportKind {
	return []reportKind{
		{"librdkafka range", rdWorker(kafka.ConfigMap{"partition.assignment.strategy": "range"}), 1},
		{"librdkafka cooperative-sticky", rdWorker(kafka.ConfigMap{"partition.assignment.strategy": "cooperative-sticky"}), 2},
		{"librdkafka KIP-848", rdWorker(kafka.ConfigMap{"group.protocol": "consumer"}), 2},
	}
}

func confluentLifeKinds() []lifeKind {
	member := func(settings kafka.ConfigMap) func(addr, group, topic, clientID, instanceID string) (*worker, error) {
		return func(addr, group, topic, clientID, instanceID string) (*worker, error) {
			conf := kafka.ConfigMap{"client.id": clientID}
			maps.Copy(conf, settings)
			if instanceID != "" {
				conf["group.instance.id"] = instanceID
			}
			if topic[0] == '^' {
				conf["topic.metadata.refresh.interval.ms"] = 200
			}
			return rdWorker(conf)(addr, group, topic)
		}
	}
	return []lifeKind{
		{"librdkafka cooperative-sticky", fakekafka.Classic, member(kafka.ConfigMap{"partition.assignment.strategy": "cooperative-sticky"})},
		{"librdkafka KIP-848", fakekafka.Consumer, member(kafka.ConfigMap{"group.protocol": "consumer"})},
	}
}
