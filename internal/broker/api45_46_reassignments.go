package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// AlterPartitionReassignments, key 45, versions 0-1, and ListPartitionReassignments, key 46, version 0 (KIP-455).
//   45 v1: AllowReplicationFactorChange (KIP-860).
// All replicas share one log, so a reassignment is complete as soon as all wanted brokers run; else it goes on until they do.

func (r *request) alterPartitionReassignments() (answer, error) {
	req := r.body.(*kmsg.AlterPartitionAssignmentsRequest)
	if outOfTime(req.TimeoutMillis) && len(req.Topics) > 0 {
		return errorResponse(req, wire.RequestTimedOut), nil
	}
	return onLoop(r.cluster, func() answer {
		c := r.cluster
		resp := req.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
		resp.AllowReplicationFactorChange = req.AllowReplicationFactorChange || len(req.Topics) == 0 // nothing is asked of the controller then
		if len(req.Topics) == 0 {
			resp.ErrorMessage = kmsg.StringPtr("") // null only where there was something to do
		}
		for _, w := range req.Topics {
			t := kmsg.NewAlterPartitionAssignmentsResponseTopic()
			t.Topic = w.Topic
			for _, wp := range w.Partitions {
				err := c.reassignWanted(w.Topic, wp, r.version == 0 || req.AllowReplicationFactorChange)
				t.Partitions = append(t.Partitions, reassignmentResult(wp.Partition, err))
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	})
}

func reassignmentResult(index int32, err *topicError) kmsg.AlterPartitionAssignmentsResponseTopicPartition {
	o := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
	o.Partition = index
	if err != nil {
		o.ErrorCode, o.ErrorMessage = int16(err.code), message(err.text)
	}
	return o
}

// reassignWanted begins or cancels the reassignment of one partition. On the loop.
func (c *Cluster) reassignWanted(topicName string, w kmsg.AlterPartitionAssignmentsRequestTopicPartition, otherCount bool) *topicError {
	m := c.meta.Load()
	p := m.partition(topicName, w.Partition)
	if p == nil {
		return refuse(wire.UnknownTopicOrPartition, "Unable to find partition %s-%d.", topicName, w.Partition)
	}
	s := p.state.Load()
	if w.Replicas == nil {
		if !s.reassigning() {
			return &topicError{code: wire.NoReassignmentInProgress}
		}
		c.partitionsChanged(map[*partition]*partitionState{p: s.cancelled(m)})
		return nil
	}
	if err := checkReplicas(m, w.Replicas, 0); err != nil {
		return err
	}
	if !otherCount && len(w.Replicas) != len(s.settled()) {
		return refuse(wire.InvalidReplicationFactor, "The replication factor is changed from %d to %d", len(s.settled()), len(w.Replicas))
	}
	c.partitionsChanged(map[*partition]*partitionState{p: s.reassigned(w.Replicas, m)})
	return nil
}

func (s *partitionState) reassigning() bool { return len(s.adding)+len(s.removing) > 0 }

// settled are the replicas without those that a reassignment is adding.
func (s *partitionState) settled() []int32 {
	return slices.DeleteFunc(slices.Clone(s.replicas), func(id int32) bool { return slices.Contains(s.adding, id) })
}

// reassigned is the state when a partition is to have these replicas and no others.
func (s *partitionState) reassigned(target []int32, m *metadata) *partitionState {
	n := *s
	before := s.settled()
	n.adding = without(target, before)
	n.removing = without(before, target)
	n.replicas = append(slices.Clone(target), n.removing...)
	if !n.reassigning() { // the same replicas in another order
		n.adding, n.removing = nil, nil
		return &n
	}
	return electLeader(&n, m)
}

// cancelled is the state when a reassignment is given up.
func (s *partitionState) cancelled(m *metadata) *partitionState {
	n := *s
	n.replicas = s.settled()
	n.adding, n.removing = nil, nil
	return electLeader(&n, m)
}

// completeReassignment ends a reassignment whose new replicas all run: they are in sync at once. Removing replicas raises the epoch.
func (s *partitionState) completeReassignment(m *metadata) {
	target := without(s.replicas, s.removing)
	if !s.reassigning() || slices.ContainsFunc(target, func(id int32) bool { return !m.isAlive(id) }) {
		return
	}
	if len(s.removing) > 0 {
		s.epoch++
	}
	s.replicas, s.adding, s.removing = target, nil, nil
}

// without is ids without those in others.
func without(ids, others []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(ids), func(id int32) bool { return slices.Contains(others, id) })
}

func (r *request) listPartitionReassignments() (answer, error) {
	req := r.body.(*kmsg.ListPartitionReassignmentsRequest)
	resp := req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
	m := r.cluster.meta.Load()
	list := func(t *topic, indexes []int32) {
		out := kmsg.NewListPartitionReassignmentsResponseTopic()
		for _, index := range indexes {
			p := t.partition(index)
			if p == nil || !p.state.Load().reassigning() {
				continue
			}
			s := p.state.Load()
			o := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
			o.Partition, o.Replicas, o.AddingReplicas, o.RemovingReplicas = index, s.replicas, s.adding, s.removing
			out.Partitions = append(out.Partitions, o)
		}
		if len(out.Partitions) > 0 {
			out.Topic = t.name
			resp.Topics = append(resp.Topics, out)
		}
	}
	if req.Topics == nil {
		for _, name := range m.names {
			t := m.topics[name]
			all := make([]int32, len(t.partitions))
			for i := range all {
				all[i] = int32(i)
			}
			list(t, all)
		}
		return resp, nil
	}
	for _, w := range req.Topics {
		list(m.topics[w.Topic], w.Partitions)
	}
	return resp, nil
}
