package groups

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// heartbeat is Heartbeat (key 12, v0 to v4).
func (s *Shard) heartbeat(c Command, req *kmsg.HeartbeatRequest) {
	if g := s.groups[req.Group]; g != nil && g.consumer != nil {
		s.heartbeatConsumerGroup(g, c, req)
		return
	}
	m, code := s.checkHeartbeat(req)
	if m != nil {
		m.beatAt = s.now
	}
	if code == errNone && s.holdHeartbeat(c, req, m) || code == errRebalanceInProgress && s.delayNews(c, req, m) {
		return
	}
	s.answerHeartbeat(c, req, m, code)
}

// heartbeatAgain answers a heartbeat that was held. It counts again, and is told what there is to say now: its group may have changed the protocol.
func (s *Shard) heartbeatAgain(c Command, req *kmsg.HeartbeatRequest) {
	if g := s.groups[req.Group]; g != nil && g.consumer != nil {
		s.classicBeat(g, c, req, false)
		return
	}
	m, code := s.checkHeartbeat(req)
	s.answerHeartbeat(c, req, m, code)
}

// answerHeartbeat tells the timeline too, but for a member that has heard of the rebalance before.
func (s *Shard) answerHeartbeat(c Command, req *kmsg.HeartbeatRequest, m *classicMember, code int16) {
	if code == errRebalanceInProgress && m.join == nil {
		s.emit(m.event(s.groups[req.Group], EventToldToRebalance).because("in the answer of its heartbeat"))
	}
	s.reply(c.Ticket, heartbeatAnswer(req, code))
}

// checkHeartbeat decides what a heartbeat is told now, and renews the session where it counts.
func (s *Shard) checkHeartbeat(req *kmsg.HeartbeatRequest) (*classicMember, int16) {
	if req.Group == "" {
		return nil, errInvalidGroupID
	}
	g := s.groups[req.Group]
	if g == nil || g.classic == nil {
		return nil, errUnknownMemberID
	}
	m, code := s.checkMember(g, req.MemberID, req.InstanceID)
	if code != errNone {
		return nil, code
	}
	if req.Generation != g.classic.generation {
		return nil, errIllegalGeneration
	}
	s.renewSession(m)
	if g.classic.state == classicPreparing {
		return m, errRebalanceInProgress
	}
	// In CompletingRebalance too: clients beat while they wait for the leader's sync.
	return m, errNone
}
