package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// What a rule's Topic and Partition mean for each API: which requests name them, and how only the named part fails.

// names tells whether a request is about a topic ("": any) and partition (-1: any). A Fetch is about what it names; an incremental one that names
// nothing may be about any of its session's, so its answer is what is looked at (failFetched).
func (c *Cluster) names(req kmsg.Request, topic string, partition int32) bool {
	found := false
	eachPartition(req, func(name string, id [16]byte, p int32) bool {
		found = c.isTopic(name, id, topic) && (partition < 0 || p < 0 || p == partition)
		return !found
	})
	if f, ok := req.(*kmsg.FetchRequest); ok && !found {
		return f.SessionEpoch > 0
	}
	return found
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

// failsPart tells whether a Fail rule fails only what it names: the other partitions of the request are served.
func (r *Rule) failsPart(req *request) bool {
	if r.Topic == "" && r.Partition < 0 {
		return false
	}
	switch req.key {
	case wire.Produce, wire.Fetch, wire.OffsetCommit:
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
	default:
		ans, err := r.run(fn)
		if f, ok := ans.(*wire.FetchResponse); ok {
			failFetched(f, code)
		}
		return ans, err
	}
}

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

// failFetched puts errors in the place of what was read. Nothing is lost: the client asks for the same offset again.
func failFetched(resp *wire.FetchResponse, fails failCode) {
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			if code, bad := fails(t.Topic, t.TopicID, t.Partitions[j].Partition); bad {
				t.Partitions[j] = wire.NewFetchPartition(t.Partitions[j].Partition, code)
			}
		}
	}
}
