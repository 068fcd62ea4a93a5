package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// member is a kgo group consumer that keeps what it holds.
type member struct {
	cl   *kgo.Client
	mu   sync.Mutex
	have map[int32]bool
	bump chan struct{}
}

func (m *member) n() int { m.mu.Lock(); defer m.mu.Unlock(); return len(m.have) }

type proto struct {
	name string
	bal  kgo.GroupBalancer // nil: KIP-848
	hb   time.Duration     // classic: the client's; KIP-848: the group's
}

func protos() []proto {
	return []proto{
		{"range-hb10", kgo.RangeBalancer(), 10 * time.Millisecond},
		{"coop-hb10", kgo.CooperativeStickyBalancer(), 10 * time.Millisecond},
		{"kip848-hb10", nil, 10 * time.Millisecond},
		{"range-hb100", kgo.RangeBalancer(), 100 * time.Millisecond},
		{"coop-hb100", kgo.CooperativeStickyBalancer(), 100 * time.Millisecond},
		{"kip848-hb100", nil, 100 * time.Millisecond},
		{"range-hb3000", kgo.RangeBalancer(), 3 * time.Second},
		{"coop-hb3000", kgo.CooperativeStickyBalancer(), 3 * time.Second},
		{"kip848-hb5000", nil, 5 * time.Second},
	}
}

func newMember(addr, group, topic string, p proto, bump chan struct{}) (*member, error) {
	m := &member{have: map[int32]bool{}, bump: bump}
	poke := func() {
		select {
		case bump <- struct{}{}:
		default:
		}
	}
	gain := func(_ context.Context, _ *kgo.Client, ps map[string][]int32) {
		m.mu.Lock()
		for _, l := range ps {
			for _, p := range l {
				m.have[p] = true
			}
		}
		m.mu.Unlock()
		poke()
	}
	lose := func(_ context.Context, _ *kgo.Client, ps map[string][]int32) {
		m.mu.Lock()
		for _, l := range ps {
			for _, p := range l {
				delete(m.have, p)
			}
		}
		m.mu.Unlock()
		poke()
	}
	opts := []kgo.Opt{kgo.SeedBrokers(addr), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
		kgo.OnPartitionsAssigned(gain), kgo.OnPartitionsRevoked(lose), kgo.OnPartitionsLost(lose),
		kgo.HeartbeatInterval(p.hb), kgo.SessionTimeout(10 * time.Second)}
	if p.bal != nil {
		opts = append(opts, kgo.Balancers(p.bal))
	} else {
		//lint:ignore SA1029 the key is kgo's: this string, untyped
		opts = append(opts, kgo.WithContext(context.WithValue(context.Background(), "opt_in_kafka_next_gen_balancer_beta", true)))
	}
	var err error
	m.cl, err = newClient(opts...)
	return m, err
}

// waitSplit waits until each member's count lies within [lo, hi] and the sum
// is total.
func waitSplit(ms []*member, bump chan struct{}, total, lo, hi int, d time.Duration) error {
	end := time.NewTimer(d)
	defer end.Stop()
	for {
		sum, ok := 0, true
		for _, m := range ms {
			n := m.n()
			sum += n
			ok = ok && n >= lo && n <= hi
		}
		if ok && sum == total {
			return nil
		}
		select {
		case <-bump:
		case <-time.After(50 * time.Millisecond):
		case <-end.C:
			var c []int
			for _, m := range ms {
				c = append(c, m.n())
			}
			return fmt.Errorf("no stable split of %d in %v: %v", total, d, c)
		}
	}
}

func setGroupConfig(addr, group string, kv map[string]string) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	rr := kmsg.NewIncrementalAlterConfigsRequestResource()
	rr.ResourceType = kmsg.ConfigResourceType(32)
	rr.ResourceName = group
	for k, v := range kv {
		rc := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		rc.Name, rc.Value = k, &v
		rr.Configs = append(rr.Configs, rc)
	}
	req.Resources = append(req.Resources, rr)
	resp, err := c.do(req)
	if err != nil {
		return err
	}
	if x := resp.(*kmsg.IncrementalAlterConfigsResponse).Resources[0]; x.ErrorCode != 0 {
		msg := ""
		if x.ErrorMessage != nil {
			msg = *x.ErrorMessage
		}
		return fmt.Errorf("group config: error code %d %s", x.ErrorCode, msg)
	}
	return nil
}

func wGroup(t Target) error {
	c := targetCaps(t.Name())
	if !c.groups {
		return nil
	}
	for _, p := range protos() {
		if p.bal == nil && !c.kip848 || !strings.Contains(p.name, cfg.only) {
			continue
		}
		n := cfg.n(5)
		if p.hb >= time.Second {
			n = cfg.n(3)
		}
		if err := group2(t, p, n); err != nil {
			fmt.Printf("# group %s %s: %v\n", p.name, t.Name(), err)
		}
	}
	for _, p := range protos() {
		if p.bal == nil && !c.kip848 || !strings.Contains(p.name, cfg.only) {
			continue
		}
		if p.hb >= time.Second && !cfg.long {
			continue
		}
		if err := group50(t, p); err != nil {
			fmt.Printf("# group50 %s %s: %v\n", p.name, t.Name(), err)
		}
	}
	return nil
}

func groupStart(t Target, p proto, topic, group string, parts, members int) (Broker, error) {
	o := Opts{Topics: []Topic{{topic, parts}}, Members: map[string]int{group: members}}
	_, ext := t.(extTarget)
	if p.bal == nil && !ext {
		o.Configs = map[string]string{"group.consumer.heartbeat.interval.ms": fmt.Sprint(p.hb.Milliseconds())}
	}
	b, err := t.Start(o)
	if err != nil {
		return nil, err
	}
	if ext && p.bal == nil {
		kv := map[string]string{"consumer.heartbeat.interval.ms": fmt.Sprint(p.hb.Milliseconds())}
		if p.hb < time.Second {
			kv["consumer.assignment.interval.ms"] = "0"
		}
		if err := setGroupConfig(b.Addr(), group, kv); err != nil {
			b.Close()
			return nil, err
		}
	}
	return b, nil
}

func group2(t Target, p proto, n int) error {
	topic, group := uniq("g"), uniq("grp")
	b, err := groupStart(t, p, topic, group, 12, 1)
	if err != nil {
		return err
	}
	defer b.Close()
	r := rec{"group/" + p.name, t.Name()}
	var first, join, leave []time.Duration
	for i := 0; i < n; i++ {
		bump := make(chan struct{}, 1)
		t0 := time.Now()
		a, err := newMember(b.Addr(), group, topic, p, bump)
		if err != nil {
			return err
		}
		if err := waitSplit([]*member{a}, bump, 12, 12, 12, 60*time.Second); err != nil {
			a.cl.Close()
			return fmt.Errorf("first: %w", err)
		}
		first = append(first, time.Since(t0))
		// a second member, at no fixed point of the first one's heartbeat
		time.Sleep(p.hb/2 + time.Duration(i)*p.hb/7)
		t0 = time.Now()
		c, err := newMember(b.Addr(), group, topic, p, bump)
		if err != nil {
			a.cl.Close()
			return err
		}
		if err := waitSplit([]*member{a, c}, bump, 12, 6, 6, 60*time.Second); err != nil {
			a.cl.Close()
			c.cl.Close()
			return fmt.Errorf("join: %w", err)
		}
		join = append(join, time.Since(t0))
		time.Sleep(p.hb/2 + time.Duration(i)*p.hb/7)
		t0 = time.Now()
		c.cl.Close()
		if err := waitSplit([]*member{a}, bump, 12, 12, 12, 60*time.Second); err != nil {
			a.cl.Close()
			return fmt.Errorf("leave: %w", err)
		}
		leave = append(leave, time.Since(t0))
		a.cl.Close()
	}
	put := func(k string, ds []time.Duration) {
		r.put(k+"_ms_p50", ms(sorted(ds)[len(ds)/2]), "ms", len(ds))
		r.put(k+"_ms_max", ms(sorted(ds)[len(ds)-1]), "ms", len(ds))
	}
	put("first_member", first)
	put("second_joins", join)
	put("second_leaves", leave)
	return nil
}

func group50(t Target, p proto) error {
	topic, group := uniq("g50"), uniq("grp50")
	b, err := groupStart(t, p, topic, group, 100, 50)
	if err != nil {
		return err
	}
	defer b.Close()
	r := rec{"group50/" + p.name, t.Name()}
	bump := make(chan struct{}, 1)
	var all []*member
	defer func() {
		var wg sync.WaitGroup
		for _, m := range all {
			wg.Add(1)
			go func() { defer wg.Done(); m.cl.Close() }()
		}
		wg.Wait()
	}()
	mt := startMeter(b)
	for i := 0; i < 50; i++ {
		m, err := newMember(b.Addr(), group, topic, p, bump)
		if err != nil {
			return err
		}
		all = append(all, m)
	}
	if err := waitSplit(all, bump, 100, 2, 2, 90*time.Second); err != nil {
		return fmt.Errorf("join: %w", err)
	}
	wall, total, server := mt.stop()
	r.put("all_join", ms(wall), "ms", 50)
	r.put("all_join_cpu_total", ms(total), "ms", 50)
	if server > 0 {
		r.put("all_join_cpu_server", ms(server), "ms", 50)
	}
	t0 := time.Now()
	last := all[49]
	all = all[:49]
	last.cl.Close()
	if err := waitSplit(all, bump, 100, 2, 3, 90*time.Second); err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	r.put("one_leaves", ms(time.Since(t0)), "ms", 1)
	return nil
}
