// Command sidebyside sends the same random requests to a live Apache Kafka and to fakekafka, and compares the answers.
//
//	clienttests/reference/apache-kafka/start.sh DIR 29092 group.consumer.assignment.interval.ms=0 &
//	go run ./clienttests/sidebyside -kafka 127.0.0.1:29092 [-areas classic,log] [-n 20] [-for 60s] [-seed 1] [-v]
//
// With group.min.session.timeout.ms=100 members' sessions end in the area life, and with transaction.abort.timed.out.transaction.cleanup.interval.ms=300 transactions
// in the area expiry, which is left out else. fakekafka is started by the program itself, with Kafka's timings. An area (area_*.go) is a kind of sequence: some thirty requests on
// the same few groups, transactions, topics or sessions, mostly sensible ones, with states, epochs and ids that earlier answers
// gave, in random order and version. Then some fields are set to something else (fill.go) and some frames are damaged (mutate.go).
//
// A sequence is a seed: the same seed gives the same requests, but for a number in all names, and for what the broker itself chose (ids of topics, members, producers and
// sessions), which is put in where it belongs on each side (world.go). Answers are compared field by field, up to a consistent
// renaming of these ids (tree.go, compare.go). What differs by chance, by the clock or on purpose stands in one table (known.go).
//
// A difference counts when eight more runs of its sequence end with it; others are only mentioned. The sequence is then made shorter
// while the difference stays (shrink.go), and printed (report.go): the seed, the requests decoded, the last one as hex, both answers, and
// the first field that differs. To see it again:
//
//	go run ./clienttests/sidebyside -kafka 127.0.0.1:29092 -areas classic -seed 17 -n 1 -v
package main
