package main

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// adminArea fills requests of every API but produce and fetch at random, with many odd values, and damages a third of the frames.
var adminArea = area{
	name:   "admin",
	parts:  2,
	topics: map[string]map[string]string{"t1": nil, "t2": nil, "t_a": nil},
	setup:  adminSetup,
	odd:    20,
	hurt:   35,
	kinds:  adminKinds(),
}

// adminSetup makes something of everything: groups of both protocols, offsets, a transaction that goes on.
func adminSetup(g *gen) []kmsg.Request {
	w := g.w
	group, one, two := w.prefix+"g1", w.prefix+"x1", w.prefix+"x2"
	add := kmsg.NewPtrAddPartitionsToTxnRequest()
	add.Version, add.TransactionalID = 3, one
	if p := w.producers[one]; p != nil {
		add.ProducerID, add.ProducerEpoch = p.id, p.epoch
	}
	add.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: w.topics[0], Partitions: []int32{0}}}
	join := kmsg.NewPtrJoinGroupRequest()
	join.Version, join.Group, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis, join.ProtocolType = 3, group, 45000, 60000, "consumer"
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription(w.topics[0])}}
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Version, sync.Group = 3, group
	if m := w.members[group]; len(m) > 0 {
		sync.MemberID, sync.Generation = m[0].id, m[0].epoch
		sync.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: m[0].id, MemberAssignment: []byte("bytes")}}
	}
	consumer := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	consumer.Group, consumer.MemberID, consumer.RebalanceTimeoutMillis = w.prefix+"c1", "cm", 300000
	consumer.SubscribedTopicNames, consumer.Topics = w.topics[:1], []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	return []kmsg.Request{initProducer(&one), initProducer(&two), add, committed(group, w.topics[0]), committed(w.prefix+"e1", w.topics[0]), join, sync, consumer}
}

// committed commits offset 5 of a group without members.
func committed(group, topic string) kmsg.Request {
	q := kmsg.NewPtrOffsetCommitRequest()
	q.Version, q.Group, q.Generation = 7, group, -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topic
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset = 5
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	return q
}

func adminKinds() (kinds []kind) {
	weights := map[int16]int{}
	for key := int16(3); key <= 75; key++ {
		weights[key] = 1
	}
	for _, key := range []int16{
		4, 5, 6, 7, // for controllers of old
		17, 36, // SASL
		52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, // for controllers, and what no broker serves
	} {
		delete(weights, key)
	}
	for _, key := range []int16{8, 9, 11, 12, 13, 14, 22, 24, 25, 26, 28, 68} { // what has most rules
		weights[key] += 2
	}
	for key := int16(3); key <= 75; key++ {
		if weights[key] > 0 {
			kinds = append(kinds, kind{weights[key], key, func(g *gen, q kmsg.Request) { g.fill(reflect.ValueOf(q).Elem(), "", 0) }})
		}
	}
	return kinds
}
