// Package broker is the moving part of fakekafka: listeners and connections, the control loop, the clock,
// the locks of the partition logs, and the dispatch of requests to handlers.
//
// It owns no rule of the protocol. A handler file (apiNN_name.go, named as Kafka names the API) translates between
// kmsg's structs and the rule packages: partitionlog, fetchsession, groups, transactions, assignors.
//
// Who runs what:
//   - each connection has one goroutine, which reads a frame, handles it and writes the answer, so requests
//     of a connection are handled one at a time and answered in order, as Kafka does; while a request is parked
//     a second one reads ahead, and goes on with the connection if it still reads when the first has answered;
//   - groups and cluster metadata change only on the control loop (loop.go): one total order of events;
//   - produce and fetch don't pass through the loop: each partition has its own lock (partition.go), and metadata
//     is read from an immutable snapshot (metadata.go).
package broker
