// Package transactions is Kafka's transaction coordinator as a replayable state machine (KIP-98, KIP-360, KIP-890).
//
// A [Shard] is one partition of __transaction_state and holds the transactional ids that hash to it. A request is handled to a result and effects: records
// for the log, and markers to be written to the partitions of a transaction that ends. When its markers are written the driver says so by
// [Shard.MarkersWritten], and the transaction is complete. Durable state changes only by applying records, so a replay of the log stands where the live
// shard stood; a transaction that was ending has its markers sent again.
//
// A request has a file: init.go (InitProducerId), partitions.go (AddPartitionsToTxn, and the verification of a Produce), endtxn.go. shard.go has a shard's life and
// its markers, entry.go what is known of an id, record.go that as Kafka writes it, housekeeping.go what the coordinator does by itself, and the looking.
//
// The package has no goroutine, lock, socket or clock; package internal/broker drives it from its control loop.
package transactions
