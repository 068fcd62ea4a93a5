//go:build !cgo

package clienttests

import "testing"

func TestConfluent(t *testing.T) {
	t.Skip("confluent-kafka-go needs cgo: install a C compiler, or set CGO_ENABLED=1 where there is one")
}

func TestConfluentTransactions(t *testing.T) {
	t.Skip("confluent-kafka-go needs cgo: install a C compiler, or set CGO_ENABLED=1 where there is one")
}

func TestEvictionsConfluent(t *testing.T) {
	t.Skip("confluent-kafka-go needs cgo: install a C compiler, or set CGO_ENABLED=1 where there is one")
}

func confluentWorkers() []workerKind { return nil }
