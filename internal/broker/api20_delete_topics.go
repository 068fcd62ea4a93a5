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
	if outOfTime(req.TimeoutMillis) && anyMeantOnce(namedTopics(req)) {
		return errorResponse(req, wire.RequestTimedOut), nil
	}
	return onLoop(r.cluster, func() answer { return r.cluster.deleteWanted(r, req) })
}

// meaning is how an entry names its topic: by a name or by an id. Both or neither is wrong.
type meaning struct {
	name   string
	id     [16]byte
	byName bool
}

func meaningOf(w kmsg.DeleteTopicsRequestTopic) (m meaning, ok bool) {
	if w.Topic != nil {
		return meaning{name: *w.Topic, byName: true}, w.TopicID == [16]byte{}
	}
	return meaning{id: w.TopicID}, w.TopicID != [16]byte{}
}

// timesMeant counts how many entries name a topic in the same way. Those that are not alone don't get as far as the controller.
func timesMeant(wanted []kmsg.DeleteTopicsRequestTopic) map[meaning]int {
	times := map[meaning]int{}
	for _, w := range wanted {
		if m, ok := meaningOf(w); ok {
			times[m]++
		}
	}
	return times
}

// anyMeantOnce says whether there is something to ask the controller.
func anyMeantOnce(wanted []kmsg.DeleteTopicsRequestTopic) bool {
	for _, n := range timesMeant(wanted) {
		if n == 1 {
			return true
		}
	}
	return false
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

// resolveDeletions finds out what each entry means. A name or an id that is there twice is answered once and means nothing. A name whose id is there too, once or
// more, is refused; an id that is there once goes with the name, if that is there once.
func resolveDeletions(m *metadata, wanted []kmsg.DeleteTopicsRequestTopic) []*deletion {
	var all []*deletion
	times, answered := timesMeant(wanted), map[meaning]bool{}
	for _, w := range wanted {
		d := &deletion{name: w.Topic, id: w.TopicID}
		key, ok := meaningOf(w)
		switch {
		case !ok && w.Topic == nil:
			d.err = refuse(wire.InvalidRequest, "Neither topic name nor id were specified.")
		case !ok:
			d.err = refuse(wire.InvalidRequest, "You may not specify both topic name and topic id.")
		case answered[key]:
			continue
		case times[key] > 1 && key.byName:
			d.err = refuse(wire.InvalidRequest, "Duplicate topic name.")
		case times[key] > 1:
			d.err = refuse(wire.InvalidRequest, "Duplicate topic id.")
		case key.byName:
			d.topic = m.topics[key.name]
			if d.topic == nil {
				d.err = refuse(wire.UnknownTopicOrPartition, "This server does not host this topic-partition.")
			} else if times[meaning{id: d.topic.id}] > 0 {
				d.err = refuse(wire.InvalidRequest, "The provided topic name maps to an ID that was already supplied.")
			}
		default:
			d.topic = m.ids[key.id]
			if d.topic == nil {
				d.err = refuse(wire.UnknownTopicID, "This server does not host this topic ID.")
			} else if times[meaning{name: d.topic.name, byName: true}] == 1 {
				continue // the answer for the name is one for both
			}
		}
		if ok { // a wrong one takes no name
			answered[key] = true
		}
		if d.topic != nil {
			d.name, d.id = &d.topic.name, d.topic.id
		}
		all = append(all, d)
	}
	return all
}
