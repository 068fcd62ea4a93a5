// Package clienttests holds tests that real, unmodified Kafka clients run
// against a broker: franz-go, sarama, segmentio/kafka-go, confluent-kafka-go
// (librdkafka), the Java client and Kafka Streams on it, kafka-python and kafkajs.
//
// By default each test starts a fakekafka broker of its own. With
// FAKEKAFKA_BOOTSTRAP=host:port the same tests run against that broker
// instead; this is how the tests themselves are checked against Apache Kafka.
// On such a broker a test refuses a topic that exists already and deletes only
// what it made.
//
// Tests whose toolchain is missing (Java and Maven, Python, Node, cgo) skip
// with a line that says what is missing.
//
// The folder reference holds recorded answers of Apache Kafka, and the player
// that compares a broker with them. The program sidebyside compares random
// requests with a live Apache Kafka. DIFFERENCES.md lists where fakekafka
// answers otherwise on purpose. The folder docs checks the Go code in the documents.
package clienttests
