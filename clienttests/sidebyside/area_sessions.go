package main

import "github.com/twmb/franz-go/pkg/kmsg"

// sessionsArea reads with incremental fetch sessions (KIP-227), while records come and go.
var sessionsArea = area{
	name:   "sessions",
	parts:  3,
	topics: map[string]map[string]string{"t1": oldRecords(), "t2": oldRecords()},
	spoil:  15,
	hurt:   5,
	kinds: []kind{
		on(12, (*gen).sessionFetch),
		on(3, (*gen).soundProduce),
		on(1, (*gen).deleteRecords),
	},
}

// sessionFetch goes on with the session, mostly; or begins, ends or mistakes one.
func (g *gen) sessionFetch(q *kmsg.FetchRequest) {
	q.MaxBytes, q.IsolationLevel = pick[int32](g.r, 1<<20, 1<<20, 1<<20, 300), 0
	if g.percent(10) {
		q.IsolationLevel = 1
	}
	q.Version = max(q.Version, 7)
	have := g.w.session
	switch {
	case have.id == 0 || g.percent(10):
		q.SessionID, q.SessionEpoch = pick(g.r, 0, have.id), 0
	case g.percent(80):
		q.SessionID, q.SessionEpoch = have.id, have.epoch
	default:
		q.SessionID, q.SessionEpoch = pick(g.r, have.id, have.id, have.id, 0, 1<<30), pick(g.r, -1, have.epoch+1, have.epoch-1, 0, -2)
	}
	topics := pick(g.r, 0, 0, 1, 1, 2)
	if q.SessionEpoch <= 0 {
		topics = 2
	}
	for range topics {
		t := kmsg.NewFetchRequestTopic()
		t.Topic = g.topic()
		t.TopicID = g.id(t.Topic)
		for range pick(g.r, 1, 2, 3) {
			p := g.fetchPartition()
			p.FetchOffset = g.r.Int64N(8)
			t.Partitions = append(t.Partitions, p)
		}
		q.Topics = append(q.Topics, t)
	}
	for g.percent(20) {
		t := kmsg.NewFetchRequestForgottenTopic()
		t.Topic = g.topic()
		t.TopicID = g.id(t.Topic)
		t.Partitions = []int32{g.partition()}
		q.ForgottenTopics = append(q.ForgottenTopics, t)
	}
}

// soundProduce sends a batch that is right.
func (g *gen) soundProduce(q *kmsg.ProduceRequest) {
	g.produce(q)
	q.TransactionID = nil
	for i := range q.Topics {
		q.Topics[i].Partitions[0].Records = batchOf(g.r, noProducer)
	}
}
