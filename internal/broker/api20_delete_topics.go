package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// DeleteTopics, key 20, versions 1-6.
//   v4: flexible; v5: messages and quota errors (KIP-599); v6: topics by id (KIP-516).

func (r *request) deleteTopics() (answer, error) {
	req := r.body.(*kmsg.DeleteTopicsRequest)
	if !r.cluster.settings(r.node.id).Bool("delete.topic.enable") {
		code := wire.TopicDeletionDisabled
		if r.version < 3 {
			code = wire.InvalidRequest
		}
		return errorWithText(req, code, "Topic deletion is disabled."), nil
	}
	return onLoop(r.cluster, func() answer { return r.cluster.deleteWanted(r, req) })
}

// deletion is one topic that a request wants deleted, and how that ends.
type deletion struct {
	name  *string
	id    [16]byte
	topic *topic
	err   *topicError
}

// deleteWanted deletes the topics of a request, each for itself. On the loop.
func (c *Cluster) deleteWanted(r *request, req *kmsg.DeleteTopicsRequest) answer {
	m := c.meta.Load()
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	quota := r.mutations(5)
	var gone []*topic
	for _, d := range resolveDeletions(m, namedTopics(req)) {
		t := kmsg.NewDeleteTopicsResponseTopic()
		t.Topic, t.TopicID = d.name, d.id
		if d.err == nil {
			d.err = quota.take(len(d.topic.partitions))
		}
		if d.err != nil {
			t.ErrorCode, t.ErrorMessage = int16(d.err.code), message(d.err.text)
		} else {
			gone = append(gone, d.topic)
		}
		resp.Topics = append(resp.Topics, t)
	}
	if len(gone) > 0 {
		c.deleteTopics(gone)
	}
	quota.end(resp)
	return resp
}

// namedTopics are the topics of a request in the form of v6.
func namedTopics(req *kmsg.DeleteTopicsRequest) []kmsg.DeleteTopicsRequestTopic {
	if req.Version >= 6 {
		return req.Topics
	}
	topics := make([]kmsg.DeleteTopicsRequestTopic, len(req.TopicNames))
	for i := range topics {
		topics[i].Topic = &req.TopicNames[i]
	}
	return topics
}

// resolveDeletions finds out what each entry means. A topic that is meant twice, in whatever way, is answered once and stays.
func resolveDeletions(m *metadata, wanted []kmsg.DeleteTopicsRequestTopic) []*deletion {
	var all []*deletion
	names, ids, meant := map[string]*deletion{}, map[[16]byte]*deletion{}, map[*topic]*deletion{}
	for _, w := range wanted {
		d := &deletion{name: w.Topic, id: w.TopicID}
		switch {
		case w.Topic == nil && w.TopicID == [16]byte{}:
			d.err = refuse(wire.InvalidRequest, "Neither topic name nor id were specified.")
		case w.Topic != nil && w.TopicID != [16]byte{}:
			d.err = refuse(wire.InvalidRequest, "You may not specify both topic name and topic id.")
		case w.Topic != nil:
			if first := names[*w.Topic]; first != nil {
				first.err, first.id = refuse(wire.InvalidRequest, "Duplicate topic name."), [16]byte{}
				continue
			}
			names[*w.Topic] = d
			d.topic = m.topics[*w.Topic]
			if d.topic == nil {
				d.err = refuse(wire.UnknownTopicOrPartition, "This server does not host this topic-partition.")
			}
		default:
			if first := ids[w.TopicID]; first != nil {
				first.err, first.name = refuse(wire.InvalidRequest, "Duplicate topic id."), nil
				continue
			}
			ids[w.TopicID] = d
			d.topic = m.ids[w.TopicID]
			if d.topic == nil {
				d.err = refuse(wire.UnknownTopicID, "This server does not host this topic ID.")
			}
		}
		if t := d.topic; t != nil {
			d.name, d.id = &t.name, t.id
			if first := meant[t]; first != nil {
				first.err = refuse(wire.InvalidRequest, "The provided topic name maps to an ID that was already supplied.")
				continue
			}
			meant[t] = d
		}
		all = append(all, d)
	}
	return all
}
