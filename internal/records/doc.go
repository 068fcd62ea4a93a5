// Package records reads and writes the records of __consumer_offsets in Kafka's own formats.
//
// A key is an int16 record type followed by its fields; a value is an int16 version followed by its fields; a null
// value is a tombstone. Keys are never in the flexible encoding. Each record type has a file: offset commits (0, 1), classic
// group metadata (2), and the consumer groups of KIP-848 (3-8 and 16).
// Readers take hostile bytes: they answer an error, and never allocate more than the input justifies.
package records
