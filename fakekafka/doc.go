// Package fakekafka is an embedded, in-memory Kafka broker for Go tests.
//
// One line in a test starts a real Kafka endpoint on loopback, closed with the test; any Kafka client talks to it. On the wire it behaves as
// Apache Kafka 4.3.1 does. Beyond that the test can look at what a real broker hides, and steer it.
//
// # Start
//
//	k := fakekafka.Start(t, fakekafka.Topic("orders", 6), fakekafka.Topic("receipts", 1))
//	startWorker(t, k.Bootstrap(), "worker-1") // the code under test, with the client it uses anyway
//
// [Start] fails the test for what it can't do, and closes the cluster with the test; [New] does the same outside tests and returns errors.
// Everything else is reached from the [Cluster].
//
// # Seed
//
//	k.Topic("orders").Produce(fakekafka.KV("ada", "o-1"), fakekafka.KV("bob", "o-2").On(3))
//
// No client is needed. Without a partition the key decides, as in Kafka's own clients.
//
// # Wait for the event, never for a time
//
//	g := k.Group("billing")
//	g.ExpectMembers(2)    // before the workers start: the first assignment waits for both
//	g.AwaitStable(t, 2)   // each member has what it shall have, and knows it
//	g.AwaitFetching(t)    // and fetches it: from now on a new record reaches it
//	g.AwaitLag(t, 0)      // all is committed
//
// An Await call is woken by what it waits for and gives up after [WaitLimit], 10 s. A Require call judges what is there now. Both have twins that take
// a context and return an error ([Group.Stable], [TopicHandle.Has]), and plain getters ([Group.State], [TopicHandle.Records]).
//
// # Break something
//
//	k.On(fakekafka.Produce).Topic("receipts").Times(2).Fail(fakekafka.NotLeaderOrFollower)
//	k.On(fakekafka.Produce).Times(1).LoseReply()   // stored, but the producer can't know
//	g.Member("worker-2").Pause()                   // as if its process hung
//	k.FastForward(46 * time.Second)                // past its session timeout, in no real time
//	commit := g.Hold(fakekafka.Commit)             // the next commit stands until commit.Release()
//	k.FetchSessions().EvictAll()
//	k.Broker(1).Restart()
//
// Such calls return an error and fail the test that Start was given, so that they need no check. A fault that never acted fails the test: it can't pass because the fault
// missed. Where a client's own behaviour is in the way, [Cluster.Join] makes members that do just what the test says.
//
// # Judge
//
//	g.AwaitOwner(t, "orders", 4, "worker-1")
//	g.RequireNoDoubleOwner(t)     // over the whole history, not only now
//	g.RequireNothingSkipped(t)
//	g.RequireCommitted(t, "orders", 0, 41)
//	k.Topic("receipts").RequireRecords(t, fakekafka.PerKey(fakekafka.KV("ada", "paid o-1"), fakekafka.KV("bob", "paid o-2")))
//	k.AwaitIdle(t)
//	k.Topic("receipts").RequireNoMore(t)
//
// # Read the timeline
//
// A failure says what was wanted and what was there; then what the test did that may be in the way, and what became of clients that should be members and are not; and
// what led to it, which [Group.Timeline] gives at any time:
//
//	group billing · classic protocol · range assignor
//	     t       epoch  member                what
//	   +0.029s   1      worker-2              generation: 2 of 2 members joined; protocol range
//	   +0.031s   1      worker-2              assigned orders 3-5
//	   +0.031s   1      worker-1              assigned orders 0-2
//	   +45.031s  1      worker-2              expired: session timeout of 45s passed
//	   +45.031s  1                            rebalance: worker-2 expired
//
// t counts from the start by the brokers' clock; the epoch is a classic group's generation. A failed test also logs its [Seed], which repeats
// what fakekafka chose at random.
//
// # Pitfalls
//
//   - Members are named by client.id: give each worker its own (franz-go: kgo.ClientID, kafka-go: ReaderConfig.Dialer with a ClientID). By default all share their
//     library's, which then names none of them. A static member whose place another process has taken goes by that one's.
//   - A member that was thrown out and comes back is told so by its client: franz-go's PollFetches has a kgo.ErrGroupSession among its
//     errors. A worker that ends at any error ends there. kafka-go waits 5 s before it joins again (ReaderConfig.JoinGroupBackoff).
//   - Some clients don't let a topic be created by using it (franz-go: [kgo.AllowAutoTopicCreation]). Name the topics in Start.
//   - Stable is not fetching. With auto.offset.reset=latest, produce after [Group.AwaitFetching].
//   - A classic member sends its first heartbeat an interval after it joined, 3 s by default, and can't be told of a rebalance before. Give the client
//     a short interval in tests, such as kgo.HeartbeatInterval(100*time.Millisecond).
//   - After an error or a cut connection franz-go looks for the leader again at most every 5 s, and waits 250 ms and more before it repeats a request:
//     kgo.MetadataMinAge(10*time.Millisecond) and a kgo.RetryBackoffFn that answers as little make tests with faults quick.
//   - A fetch of franz-go waits up to 5 s at the end of the log, and what it was assigned since it reads only after that: kgo.FetchMaxWait(100*time.Millisecond).
//   - The session timeout is the client's, under KIP-848 the broker's: by default 45 s at most, so that FastForward(46*time.Second) removes the silent ones of all.
//   - In a subtest, a steering call fails the parent whose Start made the cluster, and the subtest goes on. Start a cluster in each subtest, or check what
//     the call returns. Await and Require calls fail the test that they are given.
//   - A fault acts on what clients send while a cleanup closes them, too: one without Times that keeps them from joining or leaving keeps franz-go's Close busy for 45 s. Remove it before.
//   - A producer that repeats a request until it is answered never ends where a Drop, or a Fail with a retriable code, has no Times: franz-go's
//     ProduceSync doesn't even end with its context, once it has sent a record with a sequence number.
//   - A committed offset is that of the next record: 41 after the records 0 to 40.
//   - [Cluster.FastForward] moves the brokers' clock and not the client's: a client's own timeouts still take real time. [InMemoryNetwork] in a
//     testing/synctest bubble moves both.
//   - A fetch session is opened by the answer to a client's first fetch. At an empty log that answer waits for fetch.max.wait.ms: produce a record first.
//   - [TopicHandle] looks at the log as it is: records of aborted transactions are in it, and markers take offsets.
//     [TopicHandle.ReadCommitted] is the topic as consumers with isolation.level=read_committed see it.
//   - Pauses, isolations and holds end when the test's function does, before its cleanups, so that clients close in peace: close them in t.Cleanup. A deferred Close comes
//     before that. franz-go's waits without end for the answer to its LeaveGroup, and the test stands until go test is about to end it, which fails it with that reason: Resume before.
//   - A static member of confluent-kafka-go that was fenced (its place was taken, and it heard so) gets a fatal error, after which its Close never returns, on Apache
//     Kafka neither. A worker that sees kafka.Error.IsFatal leaves the consumer open: the cluster cuts its connections at the test's end.
//
// cmd/fakekafka is the same broker as a program.
//
// [kgo.AllowAutoTopicCreation]: https://pkg.go.dev/github.com/twmb/franz-go/pkg/kgo#AllowAutoTopicCreation
package fakekafka
