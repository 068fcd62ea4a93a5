package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// prepare makes the area's topics and what else its requests count on.
func (s *session) prepare() (*difference, error) {
	worlds := []*world{s.kafka.world, s.ours.world}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version, create.TimeoutMillis = 7, 9000
	for _, name := range slices.Sorted(maps.Keys(s.area.topics)) {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = s.kafka.world.prefix+name, s.area.parts, 1
		for _, setting := range slices.Sorted(maps.Keys(s.area.topics[name])) {
			t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: setting, Value: kmsg.StringPtr(s.area.topics[name][setting])})
		}
		create.Topics = append(create.Topics, t)
		for _, w := range worlds {
			w.topics = append(w.topics, t.Topic)
		}
	}
	if d, err := s.prepared(create, create); d != nil || err != nil {
		return d, err
	}
	if err := s.leaders(); err != nil {
		return nil, err
	}
	for _, name := range []string{"g1", "g2", "c1", "e1", "x1", "x2"} { // a coordinator that loads answers nothing else
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.Version, find.CoordinatorKey = 3, s.kafka.world.prefix+name
		if name[0] == 'x' {
			find.CoordinatorType = 1
		}
		if d, err := s.prepared(find, find); d != nil || err != nil {
			return d, err
		}
	}
	if slices.ContainsFunc(s.area.kinds, func(k kind) bool { return k.key == int16(kmsg.ConsumerGroupHeartbeat) }) {
		if err := s.coordinators(); err != nil {
			return nil, err
		}
	}
	if s.area.setup == nil {
		return nil, nil
	}
	for i := 0; ; i++ { // one after the other: each may use what the ones before have taught
		qk, qo := s.area.setup(&gen{w: s.kafka.world}), s.area.setup(&gen{w: s.ours.world})
		if i == len(qk) {
			return nil, nil
		}
		if d, err := s.prepared(qk[i], qo[i]); d != nil || err != nil {
			return d, err
		}
	}
}

// cleanUp deletes the topics again, so that a long run doesn't slow the brokers down.
func (s *session) cleanUp() {
	for _, on := range []*side{s.kafka, s.ours} {
		q := kmsg.NewPtrDeleteTopicsRequest()
		q.Version, q.TopicNames, q.TimeoutMillis = 5, slices.Sorted(maps.Keys(on.world.made)), 9000
		if c, err := dial(on.addr); err == nil {
			c.send(frameOf(q))
			c.await(answerLimit)
			c.close()
		}
	}
}

// prepared makes one request of the preparation.
func (s *session) prepared(qk, qo kmsg.Request) (*difference, error) {
	d, err := s.ask(0, qk, qo, nil)
	if d != nil {
		d.step = -1
	}
	return d, err
}

// leaders waits until each broker leads the partitions of the new topics: metadata is a moment ahead of that.
func (s *session) leaders() error {
	q := kmsg.NewPtrListOffsetsRequest()
	q.Version, q.ReplicaID = 5, -1
	for _, name := range s.kafka.world.topics {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = name
		for i := range s.area.parts {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp, p.CurrentLeaderEpoch = i, -1, -1
			t.Partitions = append(t.Partitions, p)
		}
		q.Topics = append(q.Topics, t)
	}
	for _, on := range []*side{s.kafka, s.ours} {
		for try := 0; ; try++ {
			on.conns[0].send(frameOf(q))
			r, err := decode(q, on.conns[0].await(answerLimit).frame)
			if err != nil {
				return fmt.Errorf("%s: ListOffsets: %w", on.addr, err)
			}
			if ready(r.(*kmsg.ListOffsetsResponse)) {
				break
			}
			if try == 200 {
				return fmt.Errorf("%s: no leader for new topics", on.addr)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}

// coordinators waits until the coordinators of groups know the new topics, which they learn of last: until a member of a group that
// nobody else uses is assigned all of them.
func (s *session) coordinators() error {
	for i := range 8 { // names that fall to all partitions of __consumer_offsets, most likely
		q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		q.Group, q.MemberID, q.RebalanceTimeoutMillis = fmt.Sprintf("probe-%s%d", s.kafka.world.prefix, i), "probe", 300000
		q.SubscribedTopicNames, q.Topics = s.kafka.world.topics, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		for _, on := range []*side{s.kafka, s.ours} {
			for try := 0; ; try++ {
				on.conns[0].send(frameOf(q))
				r, err := decode(q, on.conns[0].await(answerLimit).frame)
				if err != nil {
					return fmt.Errorf("%s: ConsumerGroupHeartbeat: %w", on.addr, err)
				}
				if a := r.(*kmsg.ConsumerGroupHeartbeatResponse); a.Assignment != nil && len(a.Assignment.Topics) == len(q.SubscribedTopicNames) {
					break
				}
				if try == 200 {
					return fmt.Errorf("%s: the coordinator of %s doesn't know new topics", on.addr, q.Group)
				}
				time.Sleep(20 * time.Millisecond)
			}
			leave := kmsg.NewPtrConsumerGroupHeartbeatRequest()
			leave.Group, leave.MemberID, leave.MemberEpoch, leave.RebalanceTimeoutMillis = q.Group, q.MemberID, -1, -1
			on.conns[0].send(frameOf(leave))
			on.conns[0].await(answerLimit)
			gone := kmsg.NewPtrDeleteGroupsRequest()
			gone.Groups = []string{q.Group}
			on.conns[0].send(frameOf(gone))
			on.conns[0].await(answerLimit)
		}
	}
	return nil
}

func ready(r *kmsg.ListOffsetsResponse) bool {
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				return false
			}
		}
	}
	return true
}
