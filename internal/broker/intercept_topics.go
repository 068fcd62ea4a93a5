package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fetchsession"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// What a rule's Topic and Partition mean for each API: which requests name them, and how only the named part fails.

// names tells whether a request is about a topic ("": any) and partition (-1: any). An incremental Fetch is about what its session has,
// too.
func (c *Cluster) names(call *Call, topic string, partition int32) bool {
	found := false
	eachPartition(call.Request, func(name string, id [16]byte, p int32) bool {
		found = c.isTopic(name, id, topic) && (partition < 0 || p < 0 || p == partition)
		return !found
	})
	if f, ok := call.Request.(*kmsg.FetchRequest); ok && !found && f.SessionEpoch > 0 {
		return c.sessionHas(call.Broker, f.SessionID, topic, partition)
	}
	return found
}

// sessionHas tells whether a fetch session of a broker is about a topic and partition.
func (c *Cluster) sessionHas(broker, session int32, topic string, partition int32) bool {
	n := c.nodeByID(broker)
	if n == nil {
		return false
	}
	sh := n.sessions.Load().shardOf(session)
	if sh == nil {
		return false
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	s := sh.Session(session)
	if s == nil {
		return false
	}
	o := s.Holder.(*openSession)
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(s.Members(), func(m *fetchsession.Member) bool {
		return c.isTopic(m.Topic, m.TopicID, topic) && (partition < 0 || m.Partition.Partition == partition)
	})
}

// isTopic tells whether a topic, given by name or by id, is the wanted one; "" wants any.
func (c *Cluster) isTopic(name string, id [16]byte, want string) bool {
	if want == "" {
		return true
	}
	if id != ([16]byte{}) {
		t := c.meta.Load().ids[id]
		return t != nil && t.name == want
	}
	return name == want
}

// eachPartition walks what a request names until visit answers false; p is -1 where only a topic is named.
func eachPartition(req kmsg.Request, visit func(name string, id [16]byte, p int32) bool) {
	none := [16]byte{}
	switch req := req.(type) {
	case *kmsg.ProduceRequest:
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				if !visit(t.Topic, t.TopicID, p.Partition) {
					return
				}
			}
		}
	case *kmsg.FetchRequest:
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				if !visit(t.Topic, t.TopicID, p.Partition) {
					return
				}
			}
		}
	case *kmsg.ListOffsetsRequest:
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				if !visit(t.Topic, none, p.Partition) {
					return
				}
			}
		}
	case *kmsg.OffsetForLeaderEpochRequest:
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				if !visit(t.Topic, none, p.Partition) {
					return
				}
			}
		}
	case *kmsg.DeleteRecordsRequest:
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				if !visit(t.Topic, none, p.Partition) {
					return
				}
			}
		}
	case *kmsg.OffsetCommitRequest:
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				if !visit(t.Topic, t.TopicID, p.Partition) {
					return
				}
			}
		}
	case *kmsg.TxnOffsetCommitRequest:
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				if !visit(t.Topic, none, p.Partition) {
					return
				}
			}
		}
	case *kmsg.OffsetFetchRequest:
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				if !visit(t.Topic, none, p) {
					return
				}
			}
		}
		for _, g := range req.Groups {
			for _, t := range g.Topics {
				for _, p := range t.Partitions {
					if !visit(t.Topic, t.TopicID, p) {
						return
					}
				}
			}
		}
	case *kmsg.OffsetDeleteRequest:
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				if !visit(t.Topic, none, p.Partition) {
					return
				}
			}
		}
	case *kmsg.AddPartitionsToTxnRequest:
		for _, t := range req.Topics { // up to v3
			for _, p := range t.Partitions {
				if !visit(t.Topic, none, p) {
					return
				}
			}
		}
		for _, txn := range req.Transactions {
			for _, t := range txn.Topics {
				for _, p := range t.Partitions {
					if !visit(t.Topic, none, p) {
						return
					}
				}
			}
		}
	case *kmsg.MetadataRequest:
		for _, t := range req.Topics {
			name := ""
			if t.Topic != nil {
				name = *t.Topic
			}
			if !visit(name, t.TopicID, -1) {
				return
			}
		}
	case *kmsg.CreateTopicsRequest:
		for _, t := range req.Topics {
			if !visit(t.Topic, none, -1) {
				return
			}
		}
	case *kmsg.CreatePartitionsRequest:
		for _, t := range req.Topics {
			if !visit(t.Topic, none, -1) {
				return
			}
		}
	case *kmsg.DeleteTopicsRequest:
		for _, t := range req.TopicNames {
			if !visit(t, none, -1) {
				return
			}
		}
		for _, t := range req.Topics {
			name := ""
			if t.Topic != nil {
				name = *t.Topic
			}
			if !visit(name, t.TopicID, -1) {
				return
			}
		}
	}
}

// failsPart tells whether a Fail rule fails only what it names: the other partitions of the request are served. A Fetch has most of its errors
// at the partitions, which an incremental one need not name, so there the handler itself puts them in.
func failsPart(rule *Rule, r *request) bool {
	switch r.key {
	case wire.Fetch:
		return !failsWholeFetch(*rule.Action.Fail)
	case wire.Produce, wire.OffsetCommit:
		return rule.Topic != "" || rule.Partition >= 0
	}
	return false
}

// failsWholeFetch are the errors that a Fetch has at its top.
func failsWholeFetch(code wire.Code) bool {
	switch code {
	case wire.FetchSessionIDNotFound, wire.InvalidFetchSessionEpoch, wire.FetchSessionTopicIDError, wire.UnknownServerError:
		return true
	}
	return false
}

// handlePartly handles a request of which rules fail some partitions.
func (c *Cluster) handlePartly(r *request, fn handler, failing []*Rule) (answer, error) {
	if len(failing) == 0 {
		return r.run(fn)
	}
	code := func(name string, id [16]byte, p int32) (wire.Code, bool) {
		for _, rule := range failing {
			if c.isTopic(name, id, rule.Topic) && (rule.Partition < 0 || rule.Partition == p) {
				return *rule.Action.Fail, true
			}
		}
		return 0, false
	}
	switch req := r.body.(type) {
	case *kmsg.ProduceRequest:
		return r.producePartly(fn, req, code)
	case *kmsg.OffsetCommitRequest:
		return r.commitPartly(fn, req, code)
	default: // Fetch
		r.fails = code
		return r.run(fn)
	}
}

// failCode is the error of a partition that the test fails.
type failCode func(name string, id [16]byte, p int32) (wire.Code, bool)

// producePartly appends the partitions that don't fail.
func (r *request) producePartly(fn handler, req *kmsg.ProduceRequest, fails failCode) (answer, error) {
	var failed []kmsg.ProduceResponseTopic
	rest := *req
	rest.Topics = nil
	for _, t := range req.Topics {
		keep, lost := t, kmsg.NewProduceResponseTopic()
		keep.Partitions = nil
		lost.Topic, lost.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			code, bad := fails(t.Topic, t.TopicID, p.Partition)
			if !bad {
				keep.Partitions = append(keep.Partitions, p)
				continue
			}
			e := kmsg.NewProduceResponseTopicPartition()
			e.Partition, e.ErrorCode, e.BaseOffset = p.Partition, int16(code), -1
			lost.Partitions = append(lost.Partitions, e)
		}
		if len(keep.Partitions) > 0 {
			rest.Topics = append(rest.Topics, keep)
		}
		if len(lost.Partitions) > 0 {
			failed = append(failed, lost)
		}
	}
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	if len(rest.Topics) > 0 {
		part := *r
		part.body = &rest
		ans, err := part.run(fn)
		if err != nil {
			return nil, err
		}
		if served, ok := ans.(*kmsg.ProduceResponse); ok {
			resp = served
		}
	}
	if req.Acks == 0 {
		if len(failed) > 0 {
			return nil, noAnswer("a produce with acks=0 failed by the test: Kafka closes the connection")
		}
		return nil, nil
	}
	for _, t := range failed {
		i := slices.IndexFunc(resp.Topics, func(o kmsg.ProduceResponseTopic) bool { return o.Topic == t.Topic && o.TopicID == t.TopicID })
		if i < 0 {
			resp.Topics = append(resp.Topics, t)
		} else {
			resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, t.Partitions...)
		}
	}
	return resp, nil
}

// commitPartly commits the partitions that don't fail.
func (r *request) commitPartly(fn handler, req *kmsg.OffsetCommitRequest, fails failCode) (answer, error) {
	var failed []kmsg.OffsetCommitResponseTopic
	rest := *req
	rest.Topics = nil
	for _, t := range req.Topics {
		keep, lost := t, kmsg.NewOffsetCommitResponseTopic()
		keep.Partitions = nil
		lost.Topic, lost.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			code, bad := fails(t.Topic, t.TopicID, p.Partition)
			if !bad {
				keep.Partitions = append(keep.Partitions, p)
				continue
			}
			e := kmsg.NewOffsetCommitResponseTopicPartition()
			e.Partition, e.ErrorCode = p.Partition, int16(code)
			lost.Partitions = append(lost.Partitions, e)
		}
		if len(keep.Partitions) > 0 {
			rest.Topics = append(rest.Topics, keep)
		}
		if len(lost.Partitions) > 0 {
			failed = append(failed, lost)
		}
	}
	resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
	if len(rest.Topics) > 0 {
		part := *r
		part.body = &rest
		ans, err := part.run(fn)
		if err != nil {
			return nil, err
		}
		resp = ans.(*kmsg.OffsetCommitResponse)
	}
	resp.Topics = append(resp.Topics, failed...)
	return resp, nil
}
