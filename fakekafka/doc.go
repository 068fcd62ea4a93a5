// Package fakekafka is an embedded, in-memory Kafka broker for Go tests.
//
// One line in a test starts a real Kafka endpoint on loopback, closed with the test; any Kafka client talks to it:
//
//	k := fakekafka.Start(t, fakekafka.Topic("orders", 6))
//	client, err := kgo.NewClient(kgo.SeedBrokers(k.Bootstrap()))
//
// On the wire it behaves as Apache Kafka 4.3.1 does. Beyond that the test can look at what a real broker hides and steer
// it: [Cluster] has the handles.
//
// Outside tests [New] does the same and returns errors. cmd/fakekafka is the same broker as a program.
package fakekafka
