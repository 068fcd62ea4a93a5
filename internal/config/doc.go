// Package config knows Kafka's settings: those of brokers, topics, groups and
// client metrics, with their names, types, defaults, validators and synonyms, as
// Apache Kafka 4.3.1 defines them, and the rules of DescribeConfigs,
// IncrementalAlterConfigs and AlterConfigs.
//
// A [Cluster] holds what was set: the start-up settings of the brokers, and what
// was changed at run time. It belongs to one owner at a time and has no lock.
// What it hands out ([Values], [Topic]) is never changed afterwards and
// may be read from anywhere.
package config
