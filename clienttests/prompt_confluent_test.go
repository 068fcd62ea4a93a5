//go:build cgo

package clienttests

import "github.com/confluentinc/confluent-kafka-go/v2/kafka"

// confluentWorkers are those of librdkafka.
func confluentWorkers() []workerKind {
	return []workerKind{
		{"librdkafka range", rdWorker(kafka.ConfigMap{"partition.assignment.strategy": "range"}), true},
		// It joins at most once a second, so a join that needs two rounds takes a second.
		{"librdkafka cooperative-sticky", rdWorker(kafka.ConfigMap{"partition.assignment.strategy": "cooperative-sticky"}), true},
	}
}
