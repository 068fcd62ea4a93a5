package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// CreatePartitions, key 37, versions 0-3 (KIP-195).
//   v2: flexible; v3: quota errors (KIP-599).

func (r *request) createPartitions() (answer, error) {
	req := r.body.(*kmsg.CreatePartitionsRequest)
	return onLoop(r.cluster, func() answer { return r.cluster.growWanted(r, req) })
}

// growth is a topic that gets more partitions.
type growth struct {
	topic       *topic
	assignments [][]int32
}

// growWanted gives the topics of a request more partitions, each for itself. On the loop.
func (c *Cluster) growWanted(r *request, req *kmsg.CreatePartitionsRequest) answer {
	m := c.meta.Load()
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	times := map[string]int{}
	for _, t := range req.Topics {
		times[t.Topic]++
	}
	if outOfTime(req.TimeoutMillis) && slices.ContainsFunc(req.Topics, func(t kmsg.CreatePartitionsRequestTopic) bool { return times[t.Topic] == 1 }) {
		return errorResponse(req, wire.RequestTimedOut)
	}
	room := int64(maxPartitionsPerRequest) // counted over the topics, as they come
	quota := r.mutations(3)
	var growths []growth
	for _, t := range req.Topics {
		out := kmsg.NewCreatePartitionsResponseTopic()
		out.Topic = t.Topic
		if times[t.Topic] > 1 {
			out.ErrorCode, out.ErrorMessage = int16(wire.InvalidRequest), kmsg.StringPtr("Duplicate topic name.")
			times[t.Topic] = 0 // answered once
		} else if times[t.Topic] == 0 {
			continue
		} else if known := m.topics[t.Topic]; known == nil {
			out.ErrorCode = int16(wire.UnknownTopicOrPartition)
		} else {
			assignments, err := planGrowth(m, known, t, room)
			room -= int64(len(assignments))
			if err == nil {
				err = quota.take(len(assignments)) // also with validate_only
			}
			if err != nil {
				out.ErrorCode, out.ErrorMessage = int16(err.code), message(err.text)
			}
			if err == nil || err == errTooManyPartitions && len(assignments) > 0 {
				growths = append(growths, growth{known, assignments})
			}
		}
		resp.Topics = append(resp.Topics, out)
	}
	if len(growths) > 0 && !req.ValidateOnly {
		c.addPartitions(growths)
	}
	quota.end(resp)
	return resp
}

// errTooManyPartitions is the answer for a topic whose partitions are too many for the request: Kafka's controller has no code for it, and no text. Those for
// which there is room are made all the same: the controller has written their records when it comes to the limit.
var errTooManyPartitions = &topicError{code: wire.UnknownServerError}

// planGrowth decides where the new partitions of a topic go, of which there is room for so many; these come with errTooManyPartitions, too.
func planGrowth(m *metadata, t *topic, w kmsg.CreatePartitionsRequestTopic, room int64) ([][]int32, *topicError) {
	has := int32(len(t.partitions))
	switch {
	case w.Count == has:
		return nil, refuse(wire.InvalidPartitions, "Topic already has %d partition(s).", has)
	case w.Count < has:
		return nil, refuse(wire.InvalidPartitions, "The topic %s currently has %d partition(s); %d would not be an increase.", t.name, has, w.Count)
	}
	copies := len(t.partitions[0].state.Load().replicas)
	if w.Assignment == nil {
		wanted := int64(w.Count) - int64(has)
		assignments, err := place(m, has, int32(min(wanted, room)), int16(copies))
		if err == nil && wanted > room {
			err = errTooManyPartitions
		}
		return assignments, err
	}
	if int32(len(w.Assignment)) != w.Count-has {
		return nil, refuse(wire.InvalidReplicaAssignment, "Attempted to add %d additional partition(s), but only %d assignment(s) were specified.", w.Count-has, len(w.Assignment))
	}
	var all [][]int32
	for i, a := range w.Assignment {
		if err := checkReplicas(m, a.Replicas, copies); err != nil {
			return nil, err
		}
		if !anyAlive(m, a.Replicas) {
			return nil, refuse(wire.InvalidReplicaAssignment, "All brokers specified in the manual partition assignment for partition %d are fenced or in controlled shutdown.", int(has)+i)
		}
		all = append(all, a.Replicas)
	}
	if int64(len(all)) > room {
		return all[:room], errTooManyPartitions
	}
	return all, nil
}
