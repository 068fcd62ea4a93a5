// Package partitionlog is one partition's log as Apache Kafka 4.3.1 keeps it: record batches in segments, and beside them what
// a broker derives from them (producer states, the index of aborted transactions, leader epochs, the time index).
//
// A [Log] is a plain value of rules and memory: no goroutine, no lock, no clock, no global state. The caller serializes access
// and passes the time as milliseconds since the epoch. Batches are validated once and then kept as the bytes that came in; a
// read hands out slices of them. Kept bytes never change, so slices from [Log.Read] and [Log.Batches] stay valid and may be
// written to a socket after the caller's lock is released.
//
// Where to look: batch.go has the layout of a record batch, validate.go the checks of a produced batch in Kafka's order,
// append.go what happens to it then, producers.go the idempotent producer, transactions.go the open and aborted transactions,
// epochs.go the leader epochs, segment.go the memory of a segment, read.go a fetch, listoffsets.go the search by time,
// retention.go and compact.go what disappears again, codecs.go the compression (lz4.go, lz4block.go and zstd.go what a broker's
// libraries take), builder.go how to make a batch.
package partitionlog
