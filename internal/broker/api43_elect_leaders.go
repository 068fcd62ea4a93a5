package broker

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// ElectLeaders, key 43, versions 0-2 (KIP-183, KIP-460).
//   v0 knows preferred elections only; v1: unclean ones, top-level error; v2: flexible.

const (
	preferredElection = 0
	uncleanElection   = 1
)

func (r *request) electLeaders() (answer, error) {
	req := r.body.(*kmsg.ElectLeadersRequest)
	if req.Topics != nil && len(req.Topics) == 0 {
		return req.ResponseKind().(*kmsg.ElectLeadersResponse), nil // nothing to elect, of whatever type
	}
	if outOfTime(req.TimeoutMillis) {
		return errorResponse(req, wire.RequestTimedOut), nil
	}
	if req.ElectionType != preferredElection && req.ElectionType != uncleanElection {
		return errorWithText(req, wire.InvalidRequest, "Unknown election type "+strconv.Itoa(int(req.ElectionType))), nil
	}
	return onLoop(r.cluster, func() answer { return r.cluster.electWanted(req) })
}

// electWanted holds the elections that a request asks for. On the loop.
func (c *Cluster) electWanted(req *kmsg.ElectLeadersRequest) answer {
	m := c.meta.Load()
	resp := req.ResponseKind().(*kmsg.ElectLeadersResponse)
	unclean := req.ElectionType == uncleanElection
	states := map[*partition]*partitionState{} // all are judged by what was before the request
	defer func() { c.partitionsChanged(states) }()
	if req.Topics == nil { // all topics; of their partitions those where there is something to do
		for _, name := range m.names {
			t := kmsg.NewElectLeadersResponseTopic()
			t.Topic = name
			for _, p := range m.topics[name].partitions {
				s, err := c.elect(m, p, unclean)
				if err == nil {
					states[p] = s
				}
				if err == nil || err.code != wire.ElectionNotNeeded {
					t.Partitions = append(t.Partitions, electionResult(p.index, err))
				}
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	}
	for _, w := range req.Topics {
		t := kmsg.NewElectLeadersResponseTopic()
		t.Topic = w.Topic
		for _, index := range w.Partitions {
			var err *topicError
			if topic := m.topics[w.Topic]; topic == nil {
				err = refuse(wire.UnknownTopicOrPartition, "No such topic as %s", w.Topic)
			} else if p := topic.partition(index); p == nil {
				err = refuse(wire.UnknownTopicOrPartition, "No such partition as %s-%d", w.Topic, index)
			} else {
				var s *partitionState
				if s, err = c.elect(m, p, unclean); err == nil {
					states[p] = s
				}
			}
			t.Partitions = append(t.Partitions, electionResult(index, err))
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

func electionResult(index int32, err *topicError) kmsg.ElectLeadersResponseTopicPartition {
	o := kmsg.NewElectLeadersResponseTopicPartition()
	o.Partition = index
	if err != nil {
		o.ErrorCode, o.ErrorMessage = int16(err.code), message(err.text)
	}
	return o
}

// elect holds one election: the first replica is to lead, or (unclean) any that runs, where there is no leader. On the loop.
func (c *Cluster) elect(m *metadata, p *partition, unclean bool) (*partitionState, *topicError) {
	s := p.state.Load()
	switch {
	case unclean && s.leader >= 0, !unclean && s.leader == s.replicas[0]:
		return nil, refuse(wire.ElectionNotNeeded, "Leader election not needed for topic partition.")
	case unclean:
		elected := p.afterElection(m, true, func(*partitionState) {})
		if elected.leader < 0 {
			return nil, refuse(wire.EligibleLeadersNotAvailable, "Eligible topic partition leaders are not available.")
		}
		return elected, nil
	case !m.isAlive(s.replicas[0]) || !slices.Contains(s.isr, s.replicas[0]):
		return nil, refuse(wire.PreferredLeaderNotAvailable, "The preferred leader was not available.")
	}
	return p.after(m, func(s *partitionState) { s.leader = s.replicas[0] }), nil
}
