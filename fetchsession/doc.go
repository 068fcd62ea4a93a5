// Package fetchsession is KIP-227, incremental fetch sessions, as Apache Kafka 4.3.1 has them: a broker's memory of a
// client's partition list, so that requests and answers need to name only what changed.
//
// A [Session] holds the members (partitions) of one client in the order in which they are answered. A [Shard] is one
// eighth of the broker's cache of sessions: it finds sessions by id, opens them, and evicts one for another by Kafka's
// rule. Eight shards, a counter that gives each full request the next shard ([ShardForTurn]), and [ShardOf], which finds
// the shard an id belongs to, make the cache.
//
// The package is a rule and nothing else: it has no locks, goroutines or clock. Who uses it keeps a lock for each shard
// and one for each session, takes them in that order, and passes the time in. Every method says whose lock it needs.
//
// # One request
//
// What (session id, session epoch) of a request mean is decided by [KindOf].
//
//   - Sessionless (epoch -1) and Full (epoch 0): the session of that id is closed ([Shard.Close] of its shard). All
//     partitions of the request are read and answered. After a Full one a session is opened with [Shard.Open] of the
//     shard whose turn it is; no session (nil) means that there was no room, and the answer carries id 0.
//   - Incremental (any other epoch): [Shard.Use] checks the id, the epoch and the way topics are named, and applies the
//     request. Then the partitions of [Session.Due] are read in that order, and each goes through [Session.Answer],
//     which says whether the answer names it.
//
// # Only what changed
//
// Kafka reads every member at every incremental fetch. Here only those are read that may have something to say: a
// member is due when it was named by a request, when whoever watches its log called [Session.Touch], or when its last
// answer left something open (records the client has not acknowledged by moving its offset, an error, a preferred
// replica). All others would be read and left out. The order among the due members is the order Kafka's list would
// have, by an order key that each member carries; so is the rotation of members that delivered records. An empty fetch
// therefore costs the same at one member and at a hundred thousand.
package fetchsession
