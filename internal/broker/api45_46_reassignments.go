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
		states := map[*partition]*partitionState{} // all are judged by what was before the request
		for _, w := range req.Topics {
			t := kmsg.NewAlterPartitionAssignmentsResponseTopic()
			t.Topic = w.Topic
			for _, wp := range w.Partitions {
				p, s, err := c.reassignWanted(w.Topic, wp, r.version == 0 || req.AllowReplicationFactorChange)
				if p != nil {
					states[p] = s
				}
				t.Partitions = append(t.Partitions, reassignmentResult(wp.Partition, err))
			}
			resp.Topics = append(resp.Topics, t)
		}
		c.partitionsChanged(states)
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

// reassignWanted begins or cancels the reassignment of one partition: it is the state to be put into force, nil where nothing changes. On the loop.
func (c *Cluster) reassignWanted(topicName string, w kmsg.AlterPartitionAssignmentsRequestTopicPartition, otherCount bool) (*partition, *partitionState, *topicError) {
	m := c.meta.Load()
	t := m.topics[topicName]
	if t == nil {
		return nil, nil, refuse(wire.UnknownTopicOrPartition, "Unable to find a topic named %s.", topicName)
	}
	p := t.partition(w.Partition)
	if p == nil {
		return nil, nil, refuse(wire.UnknownTopicOrPartition, "Unable to find partition %s:%d.", topicName, w.Partition)
	}
	s := p.state.Load()
	if w.Replicas == nil {
		switch {
		case !s.reassigning():
			return nil, nil, &topicError{code: wire.NoReassignmentInProgress}
		case len(without(s.isr, s.adding)) == 0 && !t.configs.UncleanLeaderElection:
			return nil, nil, refuse(wire.InvalidReplicaAssignment, "Unable to revert partition assignment for %s:%d because it would require an unclean leader election.", topicName, w.Partition)
		}
		return p, p.after(m, (*partitionState).cancel), nil
	}
	if err := checkReplicas(m, w.Replicas, 0); err != nil {
		return nil, nil, err
	}
	if !otherCount && len(w.Replicas) != len(s.settled()) {
		return nil, nil, refuse(wire.InvalidReplicationFactor, "The replication factor is changed from %d to %d", len(s.settled()), len(w.Replicas))
	}
	if !s.reassigning() && slices.Equal(s.replicas, w.Replicas) {
		return nil, nil, nil
	}
	// However unclean.leader.election.enable is set, whom this adds is not elected for it.
	return p, p.afterElection(m, false, func(s *partitionState) { s.reassign(w.Replicas) }), nil
}

// reassign says that a partition is to have these replicas and no others. What a reassignment that goes on has added counts as had, and stays
// among what it adds when nothing else is to be added, even if it is to be removed again: as in Kafka, where such a reassignment goes on for good.
func (s *partitionState) reassign(target []int32) {
	adding, removing := without(target, s.replicas), without(s.replicas, target)
	slices.Sort(adding)
	slices.Sort(removing)
	s.replicas = append(slices.Clone(target), removing...)
	if len(adding) > 0 {
		s.adding = adding
	}
	if len(removing) > 0 {
		s.removing = removing
	}
}

// cancel gives a reassignment up.
func (s *partitionState) cancel() {
	s.replicas, s.isr = without(s.replicas, s.adding), without(s.isr, s.adding)
	s.adding, s.removing = nil, nil
}

// settled are the replicas without those that a reassignment is adding.
func (s *partitionState) settled() []int32 { return without(s.replicas, s.adding) }

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
