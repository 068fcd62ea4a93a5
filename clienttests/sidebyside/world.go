package main

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// world is what one broker has told so far in a sequence. Two brokers that answer alike have worlds of the same shape: the n-th member of a
// group has another id on each, but is the same member. So one recipe (gen) makes the same request for both.
type world struct {
	prefix    string // of every name in the sequence
	topics    []string
	ids       map[string][16]byte // of topics
	members   map[string][]*member
	producers map[string]*producer // by transactional id; without one by a name of ours
	session   struct{ id, epoch int32 }
	made      map[string]bool // topics, whether they are there or not
	deleted   map[string]bool // topics
	// minSession is the shortest session that a classic member may have, in milliseconds.
	minSession int32
}

// member is a group's member of either protocol.
type member struct {
	id       string
	instance *string
	epoch    int32   // or generation
	phase    phase   // of a classic one
	leads    bool    // a classic group
	protocol *string // of a classic group
	classic  bool    // it speaks that protocol
	owned    []kmsg.ConsumerMemberMetadataOwnedPartition
	topics   []kmsg.ConsumerGroupHeartbeatRequestTopic // that it was last assigned
}

type producer struct {
	id    int64
	epoch int16
	next  map[partition]int32 // sequence numbers
}

type partition struct {
	topic string
	index int32
}

func newWorld(prefix string) *world {
	return &world{prefix: prefix, ids: map[string][16]byte{}, members: map[string][]*member{}, producers: map[string]*producer{}, made: map[string]bool{}, deleted: map[string]bool{}}
}

// learn takes from an answer what later requests are made of.
func (w *world) learn(request kmsg.Request, response kmsg.Response) {
	switch a := response.(type) {
	case *kmsg.CreateTopicsResponse:
		for _, t := range a.Topics {
			w.made[t.Topic] = w.made[t.Topic] || t.ErrorCode == 0
			if t.ErrorCode == 0 && t.TopicID != [16]byte{} {
				w.ids[t.Topic] = t.TopicID
			}
		}
	case *kmsg.MetadataResponse:
		for _, t := range a.Topics {
			if t.ErrorCode == 0 && t.Topic != nil && t.TopicID != [16]byte{} {
				w.ids[*t.Topic] = t.TopicID
			}
			if t.Topic != nil && strings.HasPrefix(*t.Topic, w.prefix) { // it may be in the making
				w.made[*t.Topic] = true
			}
		}
	case *kmsg.DeleteTopicsResponse:
		for _, t := range a.Topics {
			if t.ErrorCode == 0 && t.Topic != nil {
				w.deleted[*t.Topic] = true
			}
		}
	case *kmsg.JoinGroupResponse:
		q := request.(*kmsg.JoinGroupRequest)
		w.joined(q.Group, a.MemberID, q.InstanceID, a.Generation)
		w.hears(q.Group, cmp.Or(a.MemberID, q.MemberID), a.ErrorCode, joined)
		for _, m := range w.members[q.Group] {
			if m.id == a.MemberID && (a.ErrorCode == 0 || a.ErrorCode == 79) {
				m.classic, m.leads, m.protocol = true, a.LeaderID == m.id, a.Protocol
			}
		}
	case *kmsg.SyncGroupResponse:
		q := request.(*kmsg.SyncGroupRequest)
		w.hears(q.Group, q.MemberID, a.ErrorCode, synced)
		for _, m := range w.members[q.Group] {
			if m.id == q.MemberID && a.ErrorCode == 0 {
				m.owned = ownedBy(a.MemberAssignment)
			}
		}
	case *kmsg.HeartbeatResponse:
		if q := request.(*kmsg.HeartbeatRequest); a.ErrorCode != 0 {
			w.hears(q.Group, q.MemberID, a.ErrorCode, synced)
		}
	case *kmsg.LeaveGroupResponse:
		q := request.(*kmsg.LeaveGroupRequest)
		if a.ErrorCode == 0 && q.Version < 3 {
			w.turns(q.Group, q.MemberID, gone)
		}
		for _, m := range a.Members {
			if m.ErrorCode == 0 {
				w.turns(q.Group, m.MemberID, gone)
			}
		}
	case *kmsg.ConsumerGroupHeartbeatResponse:
		w.heartbeat(request.(*kmsg.ConsumerGroupHeartbeatRequest), a)
	case *kmsg.InitProducerIDResponse:
		if q := request.(*kmsg.InitProducerIDRequest); a.ErrorCode == 0 {
			name := "idempotent"
			if q.TransactionalID != nil {
				name = *q.TransactionalID
			}
			w.producers[name] = &producer{a.ProducerID, a.ProducerEpoch, map[partition]int32{}}
		}
	case *kmsg.EndTxnResponse: // from v5 on every transaction has an epoch of its own
		if p := w.producers[request.(*kmsg.EndTxnRequest).TransactionalID]; p != nil && a.ErrorCode == 0 && a.Version >= 5 && a.ProducerID >= 0 {
			w.producers[request.(*kmsg.EndTxnRequest).TransactionalID] = &producer{a.ProducerID, a.ProducerEpoch, map[partition]int32{}}
		}
	case *kmsg.ProduceResponse:
		w.produced(request.(*kmsg.ProduceRequest), a)
	case *kmsg.FetchResponse:
		w.fetched(request.(*kmsg.FetchRequest), a)
	}
}

func (w *world) joined(group, id string, instance *string, epoch int32) {
	if id == "" {
		return
	}
	for _, m := range w.members[group] {
		if m.id == id {
			m.instance = instance
			if epoch >= 0 {
				m.epoch = epoch
			}
			return
		}
	}
	w.members[group] = append(w.members[group], &member{id: id, instance: instance, epoch: epoch})
}

func (w *world) heartbeat(q *kmsg.ConsumerGroupHeartbeatRequest, a *kmsg.ConsumerGroupHeartbeatResponse) {
	if a.ErrorCode != 0 || a.MemberID == nil {
		return
	}
	w.joined(q.Group, *a.MemberID, q.InstanceID, a.MemberEpoch)
	for _, m := range w.members[q.Group] {
		if m.id != *a.MemberID {
			continue
		}
		m.classic = false
		if a.MemberEpoch <= 0 {
			m.epoch, m.topics = a.MemberEpoch, nil
		}
		if m.phase = outside; a.MemberEpoch == -1 {
			m.phase = gone
		}
		if a.Assignment != nil {
			m.topics = nil
			for _, t := range a.Assignment.Topics {
				m.topics = append(m.topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: t.TopicID, Partitions: t.Partitions})
			}
			slices.SortFunc(m.topics, func(a, b kmsg.ConsumerGroupHeartbeatRequestTopic) int { // they came in no order
				return strings.Compare(w.topicOf("", a.TopicID), w.topicOf("", b.TopicID))
			})
		}
	}
}

func (w *world) produced(q *kmsg.ProduceRequest, a *kmsg.ProduceResponse) {
	stored := map[partition]bool{} // the answer's order is not the request's
	for _, t := range a.Topics {
		for _, p := range t.Partitions {
			stored[partition{w.topicOf(t.Topic, t.TopicID), p.Partition}] = p.ErrorCode == 0
		}
	}
	for _, t := range q.Topics {
		for _, p := range t.Partitions {
			at := partition{w.topicOf(t.Topic, t.TopicID), p.Partition}
			if b := p.Records; stored[at] && len(b) >= batchHeader {
				w.sent(int64(binary.BigEndian.Uint64(b[atProducerID:])), at, int32(binary.BigEndian.Uint32(b[atSequence:])), int32(binary.BigEndian.Uint32(b[atLastDelta:])))
			}
		}
	}
}

// sent notes a batch that was stored.
func (w *world) sent(producer int64, at partition, sequence, lastDelta int32) {
	for _, p := range w.producers {
		if p.id == producer && sequence >= 0 {
			p.next[at] = sequence + 1 + lastDelta
		}
	}
}

func (w *world) fetched(q *kmsg.FetchRequest, a *kmsg.FetchResponse) {
	switch {
	case a.ErrorCode != 0 || a.Version < 7:
	case q.SessionEpoch == 0:
		w.session.id, w.session.epoch = a.SessionID, 1
	case q.SessionEpoch > 0 && q.SessionID == w.session.id:
		w.session.epoch = q.SessionEpoch + 1
	}
}

// topicOf names a topic that a request named or meant by its id.
func (w *world) topicOf(name string, id [16]byte) string {
	for n, have := range w.ids {
		if have == id {
			return n
		}
	}
	return name
}
