package main

import (
	"encoding/base64"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What fill puts into a field, by the field's name.

func (g *gen) isOdd() bool { return g.r.IntN(100) < g.odd }

func (g *gen) uuid() [16]byte {
	switch g.r.IntN(8) {
	case 0:
		return [16]byte{}
	case 1:
		if g.key != 71 && g.key != 72 { // to them it is a client like any other, whom all sequences would be
			return [16]byte{15: 1}
		}
	case 2:
		id := [16]byte{15: 7}
		copy(id[:15], g.w.prefix)
		return id
	}
	topic := pick(g.r, g.w.topics...)
	if g.key == 1 && strings.HasSuffix(topic, "gzip") { // Fetch: the broker compresses there, with its own library
		topic = g.w.topics[0]
	}
	return g.id(topic)
}

func (g *gen) bytes() []byte {
	switch g.r.IntN(6) {
	case 0:
		return nil
	case 1:
		return []byte{}
	case 2:
		return []byte{0, 1, 0xff, 0xff}
	case 3:
		b := subscription(g.w.topics[0])
		return b[:g.r.IntN(len(b))]
	}
	return subscription(g.w.topics...)
}

// subscription is what a classic consumer tells of itself.
func subscription(topics ...string) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Version, m.Topics = 1, topics
	return m.AppendTo(nil)
}

// someProducer is the id of one that the broker knows. Odd ones are far from those a broker gives out.
func (g *gen) someProducer() int64 {
	if p := g.w.producers[g.transaction()]; p != nil && !g.percent(20) {
		return p.id
	}
	return pick[int64](g.r, -1, -2, 1<<40, 1<<63-1, -1<<63)
}

func (g *gen) number(name string, bits int) int64 {
	r := g.r
	if name == "ProducerID" || name == "ProducerIDFilters" {
		return g.someProducer()
	}
	if name == "TransactionTimeoutMillis" { // never one that ends while the sequence runs
		return pick[int64](r, 60000, 900000, 900001, 0, -1)
	}
	if g.isOdd() && name != "NumPartitions" && name != "Count" && name != "TimeoutMillis" {
		top := int64(1)<<(bits-1) - 1
		return pick(r, -1, 0, 1, -2, top, -top-1, 100, top-1)
	}
	switch name {
	case "Partition", "Partitions":
		return pick[int64](r, 0, 0, 0, 1, 1, 2, -1)
	case "ProducerEpoch":
		return pick[int64](r, 0, 0, 0, 0, 1, -1)
	case "Generation", "MemberEpoch":
		return pick[int64](r, 1, 1, 1, -1, 0, 0, 2, -2)
	case "Offset", "FetchOffset":
		return pick[int64](r, 0, 5, 7, -1, 1<<40)
	case "LeaderEpoch", "CurrentLeaderEpoch", "LastFetchedEpoch":
		return pick[int64](r, 0, -1, 3)
	case "SessionTimeoutMillis", "RebalanceTimeoutMillis":
		return pick[int64](r, 45000, 30000, 20000, 1800000, 1800001, 5999)
	case "TimeoutMillis":
		return pick[int64](r, 5000, 8000)
	case "NumPartitions":
		return pick[int64](r, 1, 2, -1, 0, -2)
	case "Count":
		return pick[int64](r, 1, 2, 3, 4, 0, -1, 2000000000, 10001)
	case "ReplicationFactor":
		return pick[int64](r, 1, 1, 1, -1, 0, 2)
	case "Replicas", "BrokerID", "BrokerIDs":
		return pick[int64](r, 1, 1, 1, 2, -1, 0)
	case "ResourceType", "ResourceTypes":
		return pick[int64](r, 2, 2, 2, 4, 8, 16, 32, 1, 3, 0)
	case "Op":
		return pick[int64](r, 0, 0, 1, 2, 3, 4, -1)
	case "CoordinatorType":
		return pick[int64](r, 0, 1, 2, 3, -1)
	case "ResponsePartitionLimit":
		return pick[int64](r, 1, 2, 2000, 0, -1)
	case "DurationFilterMillis":
		return pick[int64](r, -1, 0, 1<<40)
	case "Timestamp":
		return pick[int64](r, -1, -2, -3, -4, -5, -6, oldTime, oldTime+500, 0)
	}
	return pick[int64](r, 0, 1, 2, 3, -1, 10)
}

// oddTexts are put behind the sequence's prefix, so that no other sequence has the same name: broken UTF-8 above all, which has to be read as
// Java reads it.
var oddTexts = []string{" ", "a\x00b", "\xff\xfe", "\xed\xa0\x80", "\xed\xa0", "x\xe2\x82", "\xe2\x82x", "\xf0\x9f\x98", "\xf0\x9f\x98\x80", "\xc0\x80",
	"\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xed\xa0\x80\xed\xb0\x80", "é", "a/b", "a b", "*", "\xf0\x80\x80\x80z", "\xe0\x80\x80", "\xc3", "\t", "\u00a0",
	"\u2003", "\ufeff", "[", "\n", strings.Repeat("m", 5000)}

// oddNames stand alone. No topic can be made under them, or it is there anyway.
var oddNames = []string{"", "", ".", "..", "/", "__consumer_offsets", "__transaction_state", "__cluster_metadata"}

func (g *gen) oddText(name string) string {
	switch g.r.IntN(4) {
	case 0:
		switch name {
		case "Group", "Groups", "GroupID", "TransactionalID", "TransactionalIDs", "TransactionID":
			if g.key == 8 || g.key == 28 || g.percent(50) { // OffsetCommit and TxnOffsetCommit take a group without a name
				return g.w.prefix
			}
			return ""
		}
		return pick(g.r, oddNames...)
	case 1: // as long as a topic's name may be, and longer
		return g.w.prefix + strings.Repeat("n", pick(g.r, 249, 250)-len(g.w.prefix))
	}
	return g.w.prefix + pick(g.r, oddTexts...)
}

func (g *gen) text(name string) string {
	r := g.r
	if g.isOdd() {
		return g.oddText(name)
	}
	topic := func() string { return g.some("t1", "t1", "t1", "t2", "t_a", "t.a", "new", "new2") }
	switch name {
	case "Topic", "Topics", "SubscribedTopicNames", "TopicNames":
		if g.key == 20 { // DeleteTopics
			return g.some("new", "new2", "new3", "t2")
		}
		return topic()
	case "Group", "Groups", "GroupID":
		return g.some("g1", "g1", "g1", "g2", "c1", "c1", "e1", "n")
	case "TransactionalID", "TransactionalIDs", "TransactionID", "TransactionalIDPattern":
		return g.some("x1", "x1", "x2", "x2", "n")
	case "MemberID":
		if g.percent(50) {
			return g.member(g.some("g1", "g2")).id
		}
		return pick(r, "cm", "cm", "", "unknown", "m2")
	case "InstanceID":
		return pick(r, "i1", "i2")
	case "CoordinatorKey", "CoordinatorKeys":
		return pick(r, g.w.prefix+"g1", g.w.prefix+"c1", "a:AAAAAAAAAAAAAAAAAAAAAA:0", base64.RawURLEncoding.EncodeToString(make([]byte, 16)))
	case "ProtocolType":
		return pick(r, "consumer", "consumer", "consumer", "connect", "x")
	case "Protocol":
		return pick(r, "range", "range", "roundrobin")
	case "StatesFilter", "StateFilters":
		return pick(r, "Stable", "stable", "Empty", "Ongoing", "ongoing", "CompleteCommit", "PreparingRebalance", "bogus", "Dead", "Assigning", "Reconciling", "STABLE")
	case "TypesFilter":
		return pick(r, "consumer", "classic", "Consumer", "bogus", "share")
	case "ServerAssignor":
		return pick(r, "range", "uniform", "bogus")
	case "SubscribedTopicRegex":
		return pick(r, g.w.prefix+"t.*", "(", "[a", "a{", "(?<x>a)", "\\", "(?=a)b", "a++", "\\p{Foo}", "", "x|y")
	case "ResourceName":
		if g.key == 32 || g.key == 33 || g.key == 44 { // the requests for settings
			return pick(r, g.w.prefix+"t1", g.w.prefix+"t1", g.w.prefix+"g1", g.w.prefix+"new", "1", "1", "", "2", "x")
		}
		return topic()
	case "Name":
		return g.name()
	case "ConfigNames":
		return pick(r, "retention.ms", "cleanup.policy", "foo", "segment.bytes", "log.cleaner.threads")
	case "Value":
		return pick(r, "1", "1000", "-1", "-2", "compact", "delete", "compact,delete", "gzip", "true", "false", "x", "50000", " 7 ", "0.5", "2147483648", "INFO",
			"LogAppendTime", "delete,delete", ",", "*", "0:1,1:1", "+5", "0x10", "1e3", "TRUE", "99999999999999999999", "45000")
	case "EntityType", "Type":
		return pick(r, "user", "client-id", "ip", "bogus", "user")
	case "Key":
		return pick(r, "producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate", "connection_creation_rate", "bogus")
	case "Dir":
		return pick(r, "/tmp/x", "rel")
	case "Host":
		return pick(r, "*", "10.0.0.1")
	case "Principal":
		return pick(r, "User:a", "User:*", "bad")
	case "ClientSoftwareName", "ClientSoftwareVersion":
		return pick(r, "a", "a.b-c", "-a", "a_b", "1.0")
	}
	return pick(r, g.w.prefix+"s", "foo", "1")
}

// name is what the field Name means to the API.
func (g *gen) name() string {
	switch g.key {
	case 11: // JoinGroup
		return pick(g.r, "range", "range", "roundrobin", "sticky")
	case 57: // UpdateFeatures
		return pick(g.r, "metadata.version", "group.version", "transaction.version", "kraft.version", "foo")
	case 19, 32, 33, 44: // CreateTopics and the requests for settings
		return pick(g.r, "retention.ms", "cleanup.policy", "segment.bytes", "max.message.bytes", "compression.type", "min.insync.replicas",
			"consumer.session.timeout.ms", "consumer.heartbeat.interval.ms", "interval.ms", "metrics", "match", "foo", "kafka.server.KafkaServer",
			"leader.replication.throttled.replicas", "unclean.leader.election.enable", "remote.storage.enable", "message.timestamp.type", "flush.ms",
			"share.session.timeout.ms", "min.cleanable.dirty.ratio", "log.cleaner.threads", "preallocate")
	}
	return pick(g.r, g.w.prefix+"u", g.w.prefix+"u2")
}
