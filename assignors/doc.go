// Package assignors computes who owns which partition, partition by partition as Apache Kafka does.
package assignors
