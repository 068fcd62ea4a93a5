// Package groups is Kafka's group coordinator as a replayable state machine: classic groups,
// consumer groups (KIP-848) and committed offsets.
//
// A [Shard] is one partition of __consumer_offsets and holds the groups that hash to it. A request is a
// command; handling it answers records, replies, events and a deadline:
//
//	(state, command, now) -> (records, replies, events), deadline
//
// Durable state changes only by applying records, so a restart that replays the log stands where the
// live shard stood. The package has no goroutine, lock, socket or clock of its own; package
// internal/broker drives it from its control loop.
package groups
