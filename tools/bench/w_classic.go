package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// scripted is a member of a classic group without a client: it joins, syncs and beats on a bare connection.
type scripted struct {
	c     *conn
	group string
	id    string
	gen   int32
	// assignment is what it sends as leader.
	assignment []kmsg.SyncGroupRequestGroupAssignment
	leads      int           // members in the list it got as leader of gen, 0 as follower
	synced     atomic.Int32  // the last generation it synced in
	size       atomic.Int32  // leads, for others to read once synced has moved
	again      chan struct{} // join again now
	round      byte          // how often it was told to
}

// wClassic: many scripted classic members join and sync, and then all of them once more. The second time is what is measured: no
// initial delay and no heartbeat interval is in it.
func wClassic(t Target) error {
	if !targetCaps(t.Name()).groups {
		return nil
	}
	for _, n := range []int{100, 1000} {
		if err := classicMembers(t, n); err != nil {
			return fmt.Errorf("%d members: %w", n, err)
		}
	}
	return nil
}

func classicMembers(t Target, n int) error {
	const rounds = 5
	topic, group := uniq("c"), uniq("classic")
	b, err := t.Start(Opts{Topics: []Topic{{topic, 12}}, Kafka: true})
	if err != nil {
		return err
	}
	defer b.Close()
	if err := findCoordinator(b.Addr(), group); err != nil {
		return err
	}
	r := rec{fmt.Sprintf("classic/%d", n), t.Name()}
	fail := make(chan error, n)
	stop := make(chan struct{})
	defer close(stop)
	members := make([]*scripted, n)
	for i := range members {
		c, err := dial(b.Addr())
		if err != nil {
			return err
		}
		defer c.Close()
		c.timeout = 2 * time.Minute
		members[i] = &scripted{c: c, group: group, again: make(chan struct{}, 1)}
	}
	start := time.Now()
	for _, m := range members {
		go func() {
			if err := m.run(topic, stop); err != nil {
				fail <- err
			}
		}()
	}
	gen, err := allSynced(members, 0, fail)
	if err != nil {
		return err
	}
	r.put("first_all_synced", ms(time.Since(start)), "ms", n)
	mt := startMeter(b)
	var took []time.Duration
	for range rounds {
		t0 := time.Now()
		for _, m := range members {
			m.again <- struct{}{}
		}
		if gen, err = allSynced(members, gen, fail); err != nil {
			return err
		}
		took = append(took, time.Since(t0))
	}
	_, total, server := mt.stop()
	r.dist("rejoin_all_synced", took)
	r.put("cpu_total", ms(total)/rounds, "ms", n)
	if server > 0 {
		r.put("cpu_server", ms(server)/rounds, "ms", n)
	}
	return nil
}

// allSynced waits until every member has synced in one generation above after, whose leader saw them all.
func allSynced(members []*scripted, after int32, fail chan error) (int32, error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		select {
		case err := <-fail:
			return 0, err
		default:
		}
		gen, size, one := members[0].synced.Load(), int32(0), true
		for _, m := range members {
			one = one && m.synced.Load() == gen
			size = max(size, m.size.Load())
		}
		if one && gen > after && int(size) == len(members) {
			return gen, nil
		}
	}
	return 0, fmt.Errorf("the members did not sync in one generation within a minute")
}

// run is the member's life: join, sync, beat until told to rebalance or kicked.
func (m *scripted) run(topic string, stop chan struct{}) error {
	for {
		if err := m.join(topic); err != nil {
			return err
		}
		stable, err := m.sync()
		for stable && err == nil {
			select {
			case <-stop:
				return nil
			case <-m.again:
				m.round++ // with its metadata the same, a follower's join would be answered at once
				stable = false
			case <-time.After(300 * time.Millisecond):
				stable, err = m.beat()
			}
		}
		if err != nil {
			select {
			case <-stop:
				return nil
			default:
				return err
			}
		}
	}
}

func (m *scripted) join(topic string) error {
	for {
		req := kmsg.NewPtrJoinGroupRequest()
		req.Group, req.MemberID, req.ProtocolType = m.group, m.id, "consumer"
		req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 60_000, 60_000
		meta := kmsg.NewConsumerMemberMetadata()
		meta.Topics, meta.UserData = []string{topic}, []byte{m.round}
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = "range", meta.AppendTo(nil)
		req.Protocols = append(req.Protocols, p)
		kr, err := m.c.do(req)
		if err != nil {
			return err
		}
		resp := kr.(*kmsg.JoinGroupResponse)
		switch resp.ErrorCode {
		case 0:
			m.id, m.gen, m.leads = resp.MemberID, resp.Generation, len(resp.Members)
			m.members(resp)
			return nil
		case 79:
			m.id = resp.MemberID
		case 14, 15, 16, 27:
			time.Sleep(20 * time.Millisecond)
		default:
			return fmt.Errorf("join: error code %d", resp.ErrorCode)
		}
	}
}

// members keeps what the leader needs for its sync: an assignment of the same few bytes for each.
func (m *scripted) members(resp *kmsg.JoinGroupResponse) {
	m.assignment = m.assignment[:0]
	for i := range resp.Members {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID = resp.Members[i].MemberID
		a.MemberAssignment = []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
		m.assignment = append(m.assignment, a)
	}
}

// sync answers whether the member has its assignment; else it is to join again.
func (m *scripted) sync() (bool, error) {
	req := kmsg.NewPtrSyncGroupRequest()
	typ, name := "consumer", "range"
	req.Group, req.MemberID, req.Generation, req.ProtocolType, req.Protocol = m.group, m.id, m.gen, &typ, &name
	req.GroupAssignment = m.assignment
	kr, err := m.c.do(req)
	if err != nil {
		return false, err
	}
	switch code := kr.(*kmsg.SyncGroupResponse).ErrorCode; code {
	case 0:
		m.size.Store(int32(m.leads))
		m.synced.Store(m.gen)
		return true, nil
	case 22, 27:
		return false, nil
	default:
		return false, fmt.Errorf("sync: error code %d", code)
	}
}

func (m *scripted) beat() (bool, error) {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = m.group, m.id, m.gen
	kr, err := m.c.do(req)
	if err != nil {
		return false, err
	}
	switch code := kr.(*kmsg.HeartbeatResponse).ErrorCode; code {
	case 0:
		return true, nil
	case 22, 27:
		return false, nil
	default:
		return false, fmt.Errorf("heartbeat: error code %d", code)
	}
}
