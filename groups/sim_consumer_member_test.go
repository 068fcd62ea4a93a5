package groups

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
)

// simMember is one client, of either protocol.
type simMember struct {
	name     string
	software string
	instance *string
	classic  bool

	member  string // id
	running bool
	epoch   int32 // or generation; 0: has to join
	names   []string
	regex   string
	told    map[string][]int32
	owned   map[string][]int32
	tell    bool // must acknowledge
	full    bool // an answer was lost
	waiting Ticket
	rejoin  bool // classic
	synced  bool // classic
	leader  bool // classic: it has to hand out assignments
	members []kmsg.JoinGroupResponseMember
}

// forgets makes it the process that it is before it starts.
func (c *simMember) forgets() {
	*c = simMember{name: c.name, software: c.software, instance: c.instance, classic: c.classic}
}

func (w *consumerSim) subscribe(c *simMember) {
	c.names, c.regex = nil, ""
	switch w.rng.IntN(4) {
	case 0:
		c.names = []string{"foo"}
	case 1:
		c.names = []string{"foo", "bar"}
	case 2:
		c.regex = "foo|bar"
	case 3:
		c.names, c.regex = []string{"foo"}, "b.*"
	}
	if c.classic && c.names == nil {
		c.names = []string{"bar", "foo"}
	}
}

func (w *consumerSim) start(c *simMember) {
	w.seq++
	c.running, c.epoch, c.told, c.owned = true, 0, nil, nil
	c.member = ""
	if !c.classic {
		c.member = fmt.Sprintf("%s-%d", c.name, w.seq)
	}
	w.subscribe(c)
	w.live(c)
}

// live is what a running client does next.
func (w *consumerSim) live(c *simMember) {
	if c.waiting != 0 {
		if w.fault() {
			c.waiting = 0 // it gives up, and asks for everything
			c.full, c.tell = true, true
		}
		return
	}
	if c.classic {
		w.liveClassic(c)
		return
	}
	c.owned = c.told // callbacks are done
	w.beat(c)
}

func (w *consumerSim) beat(c *simMember) {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.MemberEpoch = 1, "g", c.member, c.epoch
	req.RebalanceTimeoutMillis = -1
	if c.instance != nil {
		req.InstanceID = c.instance
	}
	if c.epoch == 0 || c.full {
		req.RebalanceTimeoutMillis = 20_000
		req.SubscribedTopicNames = append([]string{}, c.names...)
		req.SubscribedTopicRegex = kmsg.StringPtr(c.regex)
	}
	if c.epoch == 0 || c.full || c.tell {
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		if c.epoch != 0 {
			for _, name := range sortedNames(c.owned) {
				if id, ok := w.idOf(name); ok {
					req.Topics = append(req.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: id, Partitions: c.owned[name]})
				}
			}
		}
	}
	w.say("%s beats: epoch %d full %v owned %v", c.name, req.MemberEpoch, c.full, showPartitions(c.owned))
	wasFull := c.full
	c.full, c.tell = false, false
	if w.fault() && w.rng.IntN(4) == 0 { // a slow one: it says nothing of what it owns
		req.Topics = nil
		if c.epoch == 0 {
			req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		} else {
			c.full = wasFull
			c.tell = true
		}
	}
	w.send(c, req, w.fault(), func(r kmsg.Response) {
		resp := r.(*kmsg.ConsumerGroupHeartbeatResponse)
		w.say("  %s: %s epoch %d", c.name, code(resp.ErrorCode), resp.MemberEpoch)
		switch resp.ErrorCode {
		case errNone:
			if resp.MemberEpoch < c.epoch {
				w.say("EPOCH WENT BACK for %s", c.name)
				w.epochs["back"] = 1
			}
			c.epoch = resp.MemberEpoch
			if resp.Assignment != nil {
				c.told = make(map[string][]int32)
				for _, t := range resp.Assignment.Topics {
					c.told[w.nameOf(t.TopicID)] = t.Partitions
				}
				// What is gone it stops to consume before it starts what is new.
				c.owned = intersect(c.owned, c.told)
				c.tell = true
			}
		case errFencedMemberEpoch, errUnknownMemberID:
			c.epoch, c.told, c.owned = 0, nil, nil
		case errNotCoordinator:
			c.full, c.tell = true, true
		case errGroupIDNotFound:
			c.epoch, c.told, c.owned = 0, nil, nil // fatal for a real one; here it tries again
		default: // fatal: FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID, ...
			c.forgets()
		}
	})
}

func intersect(a, b map[string][]int32) map[string][]int32 {
	out := make(map[string][]int32)
	for name, parts := range a {
		for _, p := range parts {
			if slices.Contains(b[name], p) {
				out[name] = append(out[name], p)
			}
		}
	}
	return out
}

// Topics of the simulation are told apart by id, also after they were made anew.
func (w *consumerSim) nameOf(id assignors.TopicID) string { return string(id[:]) }
func (w *consumerSim) idOf(name string) (id assignors.TopicID, ok bool) {
	copy(id[:], name)
	return id, len(name) == len(id)
}

// liveClassic is a classic client of the cooperative protocol; in a classic group it may have to lead.
func (w *consumerSim) liveClassic(c *simMember) {
	switch {
	case c.epoch == 0 || c.rejoin:
		req := kmsg.NewPtrJoinGroupRequest()
		req.Version, req.Group, req.MemberID, req.InstanceID = 9, "g", c.member, c.instance
		req.SessionTimeoutMillis, req.RebalanceTimeoutMillis, req.ProtocolType = 10_000, 20_000, "consumer"
		sub := assignors.Subscription{Topics: c.names, Generation: -1}
		for name, parts := range c.owned {
			for _, p := range parts {
				sub.Owned = append(sub.Owned, assignors.TopicPartition{Topic: name, Partition: p})
			}
		}
		slices.SortFunc(sub.Owned, func(a, b assignors.TopicPartition) int { return strings.Compare(a.String(), b.String()) })
		metadata, _ := assignors.EncodeSubscription(sub, 1)
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = "range", metadata
		req.Protocols = append(req.Protocols, p)
		w.say("%s joins: owned %v", c.name, showPartitions(c.owned))
		w.send(c, req, w.fault(), func(r kmsg.Response) {
			resp := r.(*kmsg.JoinGroupResponse)
			w.say("  %s: %s generation %d", c.name, code(resp.ErrorCode), resp.Generation)
			switch resp.ErrorCode {
			case errNone:
				c.member, c.epoch, c.rejoin, c.synced = resp.MemberID, resp.Generation, false, false
				c.leader, c.members = resp.LeaderID == resp.MemberID && len(resp.Members) > 0, resp.Members
			case errMemberIDRequired:
				c.member = resp.MemberID
			case errRebalanceInProgress, errNotCoordinator:
			default:
				w.loseClassic(c)
			}
		})
	case !c.synced:
		req := kmsg.NewPtrSyncGroupRequest()
		req.Version, req.Group, req.MemberID, req.InstanceID, req.Generation = 5, "g", c.member, c.instance, c.epoch
		req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
		if c.leader {
			for i, m := range c.members {
				sa := kmsg.NewSyncGroupRequestGroupAssignment()
				sa.MemberID = m.MemberID
				assigned := map[string][]int32{}
				for _, name := range []string{"bar", "foo"} {
					for p := range w.meta.byName[name].Partitions {
						if int(p)%len(c.members) == i {
							assigned[name] = append(assigned[name], p)
						}
					}
				}
				sa.MemberAssignment = assignmentBytes(assigned)
				req.GroupAssignment = append(req.GroupAssignment, sa)
			}
		}
		w.say("%s syncs", c.name)
		w.send(c, req, w.fault(), func(r kmsg.Response) {
			resp := r.(*kmsg.SyncGroupResponse)
			w.say("  %s: %s", c.name, code(resp.ErrorCode))
			switch resp.ErrorCode {
			case errNone:
				told, _ := assignedPartitions(resp.MemberAssignment)
				for name, parts := range c.owned {
					for _, p := range parts {
						if !slices.Contains(told[name], p) {
							c.rejoin = true
						}
					}
				}
				c.owned, c.synced = told, true
			case errRebalanceInProgress:
				c.rejoin = true
			case errNotCoordinator:
			default:
				w.loseClassic(c)
			}
		})
	default:
		req := kmsg.NewPtrHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.InstanceID, req.Generation = 4, "g", c.member, c.instance, c.epoch
		w.send(c, req, w.fault(), func(r kmsg.Response) {
			resp := r.(*kmsg.HeartbeatResponse)
			w.say("  %s: heartbeat %s", c.name, code(resp.ErrorCode))
			switch resp.ErrorCode {
			case errNone, errNotCoordinator:
			case errRebalanceInProgress:
				c.rejoin = true
			default:
				w.loseClassic(c)
			}
		})
	}
}

func (w *consumerSim) loseClassic(c *simMember) {
	c.epoch, c.owned, c.rejoin, c.synced, c.member = 0, nil, false, false, ""
}

func (w *consumerSim) leave(c *simMember) {
	if c.classic {
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Version, req.Group = 5, "g"
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID, m.InstanceID = c.member, c.instance
		req.Members = append(req.Members, m)
		w.say("%s leaves", c.name)
		w.send(c, req, false, func(kmsg.Response) {})
	} else {
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.MemberEpoch, req.InstanceID = 1, "g", c.member, -1, c.instance
		if c.instance != nil && w.rng.IntN(2) == 0 {
			req.MemberEpoch = -2
		}
		w.say("%s leaves with %d", c.name, req.MemberEpoch)
		w.send(c, req, false, func(kmsg.Response) {})
	}
	c.forgets()
}
