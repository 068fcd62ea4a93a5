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
//
// # Driving a shard
//
// A new shard is fed its log ([Shard.Replay], [Shard.ReplayMarker]), then [Shard.Loaded] starts the timers. From then on
// every request goes to [Shard.Handle], [Shard.Flush] ends a turn in which requests were handled, and [Shard.Tick] is due at
// [Shard.Deadline]. Each call answers [Effects]: write the batches, send the replies, publish the events, in this order; then
// [Shard.Recycle] may have their memory again. A
// request without a reply waits, for other members or for news; its reply comes with the effects of a later call.
// [Shard.Unload] ends the shard's life when the coordinator moves away.
//
// # Where a rule is
//
// shard.go has the life of a shard, group.go what it holds under one id, log.go the way of a record, timers.go the heap of deadlines. The classic protocol is in
// classic_*.go, a file for each request and classic_rebalance.go for the join phase; the consumer protocol in
// consumer_*.go and reconcile.go, and how groups change from one to the other in conversion.go. offsets_*.go is for both, as are
// state.go (looking), steer.go, hold.go and expect.go (steering). prompt.go has what makes rebalances quick in classic groups, consumer_turn.go in consumer
// groups; the rules of the protocols don't know of it. hashset.go, stored_table.go, consumer_votes.go and homogeneous.go reproduce the order of Java's hash
// tables, and what Kafka counts, where its answers show them.
package groups
