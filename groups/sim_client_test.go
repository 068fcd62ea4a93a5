package groups

import (
	"cmp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
)

// simClient behaves as a consumer of the classic protocol does.
type simClient struct {
	r           *simRun
	name        string
	instance    *string
	software    string
	cooperative bool
	session     time.Duration

	running  bool
	state    simState
	life     int // grows with each start and each rejoin; callbacks of an older one are void
	member   string
	gen      int32
	owned    map[topicPartition]bool
	ownedGen int32 // the generation by which it owns them
	leading  int32
	assign   []kmsg.SyncGroupRequestGroupAssignment
	beat     *simCall

	silentUntil, lossyUntil time.Time
}

// simState is where a client of the simulator stands.
type simState uint8

const (
	simOff simState = iota
	simJoining
	simSyncing
	simStable
)

// simCall is one request and what becomes of its answer.
type simCall struct {
	c        *simClient
	life     int
	ticket   Ticket
	answered bool
	done     bool
	onReply  func(kmsg.Response)
}

func (call *simCall) deliver(resp kmsg.Response) {
	if call.done || call.life != call.c.life || !call.c.running || call.c.r.err != nil {
		return
	}
	call.done = true
	call.onReply(resp)
	call.c.r.check()
}

// send sends a request; onTimeout is called if no answer comes within limit.
func (c *simClient) send(req kmsg.Request, limit time.Duration, onReply func(kmsg.Response), onTimeout func()) *simCall {
	r := c.r
	call := &simCall{c: c, life: c.life, onReply: onReply}
	if r.lost(c) {
		r.say("%s of %s is lost", kmsg.NameForKey(req.Key()), c.name)
	} else {
		r.after(r.latency(c), func() { r.arrive(call, req) })
	}
	r.after(limit, func() {
		if !call.done && call.life == c.life && c.running {
			call.done = true
			onTimeout()
		}
	})
	return call
}

func (r *simRun) arrive(call *simCall, req kmsg.Request) {
	if r.err != nil {
		return
	}
	if beat := call.c.beat; beat != nil && beat != call && !beat.answered && beat.ticket != 0 {
		if r.ticket%8 > 0 {
			r.effects(r.shard.Unpark(r.now, beat.ticket)) // the connection has another frame
		} else {
			r.effects(r.shard.GaveUp(r.now, beat.ticket, time.Second)) // it was closed, and this is another
		}
	}
	r.ticket++
	call.ticket = r.ticket
	r.tickets[r.ticket] = call
	r.effects(r.shard.Handle(r.now, Command{Ticket: r.ticket, Client: Client{ID: call.c.name, Host: "/127.0.0.1", Software: call.c.software}, Request: req}))
	r.effects(r.shard.Flush(r.now))
	r.check()
}

func (c *simClient) startUp() {
	c.running = true
	c.member, c.gen, c.leading = "", -1, 0
	c.lose()
	c.join()
}

// shutDown ends the process, with or without a LeaveGroup.
func (c *simClient) shutDown(leave bool) {
	if !c.running {
		return
	}
	if leave && c.member != "" && c.instance == nil {
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Version, req.Group = 5, simGroup
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = c.member
		req.Members = append(req.Members, m)
		c.send(req, time.Minute, func(kmsg.Response) {}, func() {})
	}
	c.running, c.state = false, simOff
	c.life++
	c.lose()
}

// lose gives up everything: the member is out of the group.
func (c *simClient) lose() { c.owned, c.ownedGen = map[topicPartition]bool{}, -1 }

func (c *simClient) restart(memberID string) {
	c.lose()
	c.member = memberID
	c.join()
}

func (c *simClient) retry(again func()) {
	life := c.life
	c.r.after(100*time.Millisecond, func() {
		if c.running && c.life == life {
			again()
		}
	})
}

// join begins a rejoin. An eager member gives everything up before it.
func (c *simClient) join() {
	c.life++
	c.beat = nil
	c.state = simJoining
	if !c.cooperative {
		c.lose()
	}
	c.sendJoin()
}

func (c *simClient) sendJoin() {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID, req.ProtocolType = 9, simGroup, c.member, c.instance, "consumer"
	req.SessionTimeoutMillis = int32(c.session.Milliseconds())
	req.RebalanceTimeoutMillis = 10_000
	sub := assignors.Subscription{Topics: []string{"bar", "foo"}, Generation: c.ownedGen}
	if c.cooperative {
		for _, tp := range sortedOwned(c.owned) {
			sub.Owned = append(sub.Owned, assignors.TopicPartition{Topic: tp.topic, Partition: tp.partition})
		}
		sub.UserData = assignors.EncodeCooperativeUserData(c.ownedGen)
	}
	metadata, err := assignors.EncodeSubscription(sub, 3)
	if err != nil {
		c.r.fail("%v", err)
		return
	}
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = c.r.settings.style, metadata
	req.Protocols = append(req.Protocols, p)
	c.send(req, 15*time.Second, func(resp kmsg.Response) { c.joined(resp.(*kmsg.JoinGroupResponse)) }, c.join)
}

func sortedOwned(owned map[topicPartition]bool) []topicPartition {
	keys := make([]topicPartition, 0, len(owned))
	for tp := range owned {
		keys = append(keys, tp)
	}
	slices.SortFunc(keys, func(a, b topicPartition) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
	})
	return keys
}

func (c *simClient) joined(resp *kmsg.JoinGroupResponse) {
	switch resp.ErrorCode {
	case errNone:
		c.gen, c.member = resp.Generation, resp.MemberID
		c.assign = nil
		if resp.LeaderID == resp.MemberID && !resp.SkipAssignment {
			c.assign = c.compute(resp)
		}
		c.state = simSyncing
		c.sync(*resp.Protocol)
	case errMemberIDRequired:
		c.member = resp.MemberID
		c.sendJoin()
	case errUnknownMemberID:
		c.restart("")
	case errFencedInstanceID:
		// Only a crashed predecessor can be fenced here: there is one client an instance id.
		c.restart("")
	case errNotCoordinator, errCoordinatorNotAvailable, errCoordinatorLoadInProgress, errRebalanceInProgress:
		c.retry(c.join)
	default:
		c.r.fail("%s: JoinGroup answered %s", c.name, code(resp.ErrorCode))
	}
}

// compute is what the leader does.
func (c *simClient) compute(resp *kmsg.JoinGroupResponse) []kmsg.SyncGroupRequestGroupAssignment {
	assignor, err := assignors.Named(*resp.Protocol)
	if err != nil {
		c.r.fail("%v", err)
		return nil
	}
	g := assignors.Group{Topics: map[string]assignors.Topic{}, LedGeneration: c.leading}
	for _, name := range c.r.meta.TopicNames() {
		t, _ := c.r.meta.Topic(name)
		g.Topics[name] = assignors.Topic{Partitions: t.Partitions}
	}
	for _, m := range resp.Members {
		sub, err := assignors.DecodeSubscription(m.ProtocolMetadata)
		if err != nil {
			c.r.fail("the leader can't read the metadata of %s: %v", m.MemberID, err)
			return nil
		}
		g.Members = append(g.Members, assignors.Member{ID: m.MemberID, InstanceID: m.InstanceID, Subscription: sub})
	}
	out, err := assignor.Assign(g)
	if err != nil {
		c.r.fail("%v", err)
		return nil
	}
	c.leading = max(c.leading, resp.Generation)
	var list []kmsg.SyncGroupRequestGroupAssignment
	for _, m := range resp.Members {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID = m.MemberID
		a.MemberAssignment, _ = assignors.EncodeAssignment(assignors.Assignment{Partitions: out[m.MemberID]}, 3)
		list = append(list, a)
	}
	return list
}

func (c *simClient) sync(protocol string) {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID, req.Generation = 5, simGroup, c.member, c.instance, c.gen
	req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), &protocol
	req.GroupAssignment = c.assign
	again := func() { c.sync(protocol) }
	c.send(req, 5*time.Second, func(resp kmsg.Response) { c.synced(resp.(*kmsg.SyncGroupResponse), again) }, again)
}

func (c *simClient) synced(resp *kmsg.SyncGroupResponse, again func()) {
	switch resp.ErrorCode {
	case errNone:
		assigned, ok := assignedPartitions(resp.MemberAssignment)
		if !ok {
			c.r.fail("%s got an assignment it can't read", c.name)
			return
		}
		before := c.owned
		c.owned, c.ownedGen = map[topicPartition]bool{}, c.gen
		for topic, partitions := range assigned {
			for _, p := range partitions {
				c.owned[topicPartition{topic, p}] = true
			}
		}
		c.r.say("%s owns %s by generation %d", c.name, showPartitions(assigned), c.gen)
		for tp := range before {
			if !c.owned[tp] {
				c.join() // KIP-429: who gave something up rejoins at once
				return
			}
		}
		c.state = simStable
		c.heartbeat()
	case errUnknownMemberID, errFencedInstanceID:
		c.restart("")
	case errIllegalGeneration:
		c.restart(c.member)
	case errRebalanceInProgress:
		c.join()
	case errNotCoordinator, errCoordinatorNotAvailable, errCoordinatorLoadInProgress:
		c.retry(again)
	default:
		c.r.fail("%s: SyncGroup answered %s", c.name, code(resp.ErrorCode))
	}
}

// heartbeat sends the next one after the interval.
func (c *simClient) heartbeat() {
	life := c.life
	c.r.after(time.Second, func() {
		if !c.running || c.life != life {
			return
		}
		req := kmsg.NewPtrHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.InstanceID, req.Generation = 4, simGroup, c.member, c.instance, c.gen
		c.beat = c.send(req, 10*time.Second, func(resp kmsg.Response) {
			switch said := resp.(*kmsg.HeartbeatResponse).ErrorCode; said {
			case errNone, errNotCoordinator:
				c.heartbeat()
			case errRebalanceInProgress:
				c.join()
			case errUnknownMemberID, errFencedInstanceID:
				c.restart("")
			case errIllegalGeneration:
				c.restart(c.member)
			default:
				c.r.fail("%s: Heartbeat answered %s", c.name, code(said))
			}
		}, c.heartbeat)
	})
}

func (c *simClient) commit() {
	if !c.running || c.state != simStable {
		return
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID, req.Generation = 9, simGroup, c.member, c.instance, c.gen
	for _, tp := range sortedOwned(c.owned) {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic = tp.topic
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = tp.partition, int64(c.r.rng.IntN(1000))
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
	}
	c.send(req, 10*time.Second, func(kmsg.Response) {}, func() {})
}

// txnCommit commits in a transaction whose producer id is the client's number.
func (c *simClient) txnCommit() {
	if !c.running || c.state != simStable {
		return
	}
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID, req.Generation = 3, simGroup, c.member, c.instance, c.gen
	req.ProducerID = int64(slices.Index(c.r.clients, c))
	for _, tp := range sortedOwned(c.owned) {
		t := kmsg.NewTxnOffsetCommitRequestTopic()
		t.Topic = tp.topic
		p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = tp.partition, int64(c.r.rng.IntN(1000))
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
	}
	c.send(req, 10*time.Second, func(kmsg.Response) {}, func() {})
}
