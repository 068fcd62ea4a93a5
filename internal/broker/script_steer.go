package broker

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// What the test sees of a scripted member and makes it do.

// ScriptState is what a scripted member believes.
type ScriptState struct {
	ID    string
	Epoch int32
	Owned map[string][]int32
	Out   bool  // it is no member: not yet, or no longer
	Err   error // why the autopilot stopped
}

// State is what the script believes now. From off the loop.
func (s *Script) State() (st ScriptState) {
	if s == nil {
		return ScriptState{Out: true, Err: errNoScript}
	}
	s.c.loop.look(func() { st = s.StateNow() })
	return st
}

// StateNow is State for callers on the loop.
func (s *Script) StateNow() ScriptState {
	owned := make(map[string][]int32, len(s.owned))
	for t, ps := range s.owned {
		owned[t] = slices.Clone(ps)
	}
	return ScriptState{ID: s.id, Epoch: s.epoch, Owned: owned, Out: s.phase == scriptOut || s.phase == scriptGone, Err: s.err}
}

// Do runs a change of a script on the loop, and lets it act on it.
func (s *Script) Do(change func(*Script)) error {
	if s == nil {
		return errNoScript
	}
	ok := s.c.loop.do(func() {
		change(s)
		s.c.groups.scripts.wake(s)
		s.c.endTurn(s.c.clock.Now())
	})
	if !ok {
		return errClosed
	}
	s.c.Rest()
	return nil
}

// Silence makes it send nothing more and hear nothing, as a process that hangs or has lost its network.
func (s *Script) Silence() { s.silent = true }

// Speak ends Silence.
func (s *Script) Speak() { s.silent, s.news = false, true }

// Refuse says whether it keeps what it is told to revoke.
func (s *Script) Refuse(on bool) {
	s.refuses, s.news = on, true
	if !on && s.told != nil {
		s.owned, s.told, s.tells = s.told, nil, true
	}
}

// Return makes it join as a new process would, under its instance id if it has one.
func (s *Script) Return() {
	s.phase, s.id, s.epoch, s.err, s.silent, s.late, s.flying = scriptOut, "", 0, nil, false, nil, false
	s.owned, s.told = map[string][]int32{}, nil
}

// gone is after it has left.
func (s *Script) gone() {
	s.phase, s.owned = scriptGone, map[string][]int32{}
}

// Ask sends a request of the test's own as this member and waits for the answer. Group, member id, instance id, and generation or epoch are
// filled in where they are empty. From off the loop.
func (s *Script) Ask(done <-chan struct{}, req kmsg.Request) (kmsg.Response, error) {
	if s == nil {
		return nil, errNoScript
	}
	var r *request
	var err error
	if !s.c.loop.do(func() {
		s.fill(req)
		if s.node() == 0 {
			err = fmt.Errorf("group %q has no coordinator: the brokers that could be it are stopped", s.group)
			return
		}
		r = s.request(req)
	}) {
		return nil, errClosed
	}
	if err != nil {
		return nil, err
	}
	if r.key < 0 || r.key >= maxKey || s.c.handlers[r.key] == nil {
		return nil, fmt.Errorf("%s is not served here", r.key)
	}
	if !wire.Accepted(r.key, r.version) {
		return nil, fmt.Errorf("%w; set the request's Version to one of these", &wire.UnsupportedError{Key: r.key, Version: r.version})
	}
	type result struct {
		ans answer
		err error
	}
	ch := make(chan result, 1)
	if !s.c.spawn(func() {
		ans, err := s.c.intercepted(r, s.c.handlers[r.key])
		ch <- result{ans, err}
	}) {
		return nil, errClosed
	}
	select {
	case res := <-ch:
		if res.err != nil {
			return nil, res.err
		}
		resp, ok := res.ans.(kmsg.Response)
		if !ok {
			return nil, fmt.Errorf("%s has an answer that a scripted member can't read", r.key)
		}
		if s.spec.ByHand {
			return resp, s.Do(func(s *Script) { s.take(resp) })
		}
		s.c.Rest() // others may have something to do now
		return resp, nil
	case <-done:
		return nil, fmt.Errorf("%s of %q for group %q was not answered in time: is it paused, or does it stand at a hold?", r.key, s.spec.Client, s.group)
	}
}

// fill puts in who the member is, where the request leaves it out.
func (s *Script) fill(req kmsg.Request) {
	identify := func(group, member *string, instance **string) {
		if *group == "" {
			*group = s.group
		}
		if *member == "" {
			*member = s.id
		}
		if *instance == nil {
			*instance = optional(s.spec.Instance)
		}
	}
	switch req := req.(type) {
	case *kmsg.JoinGroupRequest:
		identify(&req.Group, &req.MemberID, &req.InstanceID)
	case *kmsg.SyncGroupRequest:
		identify(&req.Group, &req.MemberID, &req.InstanceID)
		if req.Generation == 0 {
			req.Generation = s.epoch
		}
	case *kmsg.HeartbeatRequest:
		identify(&req.Group, &req.MemberID, &req.InstanceID)
		if req.Generation == 0 {
			req.Generation = s.epoch
		}
	case *kmsg.LeaveGroupRequest:
		m := kmsg.NewLeaveGroupRequestMember()
		identify(&req.Group, &m.MemberID, &m.InstanceID)
		if len(req.Members) == 0 {
			req.Members = append(req.Members, m)
		}
	case *kmsg.OffsetCommitRequest:
		identify(&req.Group, &req.MemberID, &req.InstanceID)
		if req.Generation <= 0 {
			req.Generation = s.epoch
		}
	case *kmsg.ConsumerGroupHeartbeatRequest:
		identify(&req.Group, &req.MemberID, &req.InstanceID)
	}
}

// Leave leaves the group: a static member of the classic protocol by its instance id, one of KIP-848 with epoch -1, or for a while with -2.
// From off the loop.
func (s *Script) Leave(done <-chan struct{}, forAWhile bool) (wire.Code, error) {
	if s == nil {
		return 0, errNoScript
	}
	var req kmsg.Request
	if s.spec.Consumer {
		hb := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		hb.Version, hb.MemberEpoch = 1, -1
		if forAWhile {
			hb.MemberEpoch = -2
		}
		req = hb
	} else {
		leave := kmsg.NewPtrLeaveGroupRequest()
		leave.Version = 5
		req = leave
	}
	if err := s.Do(func(s *Script) { s.leaving = true }); err != nil {
		return 0, err
	}
	resp, err := s.Ask(done, req)
	if err != nil {
		_ = s.Do(func(s *Script) { s.leaving = false })
		return 0, err
	}
	code := wire.None
	switch resp := resp.(type) {
	case *kmsg.ConsumerGroupHeartbeatResponse:
		code = wire.Code(resp.ErrorCode)
	case *kmsg.LeaveGroupResponse:
		code = wire.Code(resp.ErrorCode)
		if code == wire.None && len(resp.Members) > 0 {
			code = wire.Code(resp.Members[0].ErrorCode)
		}
	}
	return code, s.Do(func(s *Script) {
		s.leaving = false
		if code == wire.None {
			s.gone()
		}
	})
}

// Heartbeat sends one and answers its code; one of KIP-848 that is no member joins by it. From off the loop.
func (s *Script) Heartbeat(done <-chan struct{}) (wire.Code, error) {
	return s.step(done, func() kmsg.Request {
		if s.spec.Consumer {
			return s.consumerBeat(s.phase == scriptOut)
		}
		return s.classicBeat()
	})
}

// JoinGroup sends one and answers its code. From off the loop.
func (s *Script) JoinGroup(done <-chan struct{}) (wire.Code, error) { return s.step(done, s.join) }

// SyncGroup sends one, with the assignment if it leads, and answers its code. From off the loop.
func (s *Script) SyncGroup(done <-chan struct{}) (wire.Code, error) { return s.step(done, s.sync) }

// step sends what build makes on the loop.
func (s *Script) step(done <-chan struct{}, build func() kmsg.Request) (wire.Code, error) {
	if s == nil {
		return 0, errNoScript
	}
	var req kmsg.Request
	if !s.c.loop.do(func() { req = build() }) {
		return 0, errClosed
	}
	resp, err := s.Ask(done, req)
	if err != nil {
		return 0, err
	}
	switch resp := resp.(type) {
	case *kmsg.JoinGroupResponse:
		return wire.Code(resp.ErrorCode), nil
	case *kmsg.SyncGroupResponse:
		return wire.Code(resp.ErrorCode), nil
	case *kmsg.HeartbeatResponse:
		return wire.Code(resp.ErrorCode), nil
	case *kmsg.ConsumerGroupHeartbeatResponse:
		return wire.Code(resp.ErrorCode), nil
	}
	return 0, fmt.Errorf("%s was answered by a %T", wire.Key(req.Key()), resp)
}

// ByHand tells whether it is a classic member whose every step the test takes.
func (s *Script) ByHand() bool { return s != nil && s.spec.ByHand && !s.spec.Consumer }

// Commit commits one offset and answers its code. From off the loop.
func (s *Script) Commit(done <-chan struct{}, topicName string, partition int32, offset int64) (wire.Code, error) {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version = 9
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topicName
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset = partition, offset
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := s.Ask(done, req)
	if err != nil {
		return 0, err
	}
	c, ok := resp.(*kmsg.OffsetCommitResponse)
	if !ok || len(c.Topics) == 0 || len(c.Topics[0].Partitions) == 0 {
		return 0, fmt.Errorf("the answer of OffsetCommit has no partition")
	}
	return wire.Code(c.Topics[0].Partitions[0].ErrorCode), nil
}
