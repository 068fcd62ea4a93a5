package groups

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
)

// TestConsumerHostileRequests sends requests whose fields are chosen at random, most of them nonsense, from few ids so that they meet:
// nothing panics, no partition has two owners, the indexes are right, every request but a classic join or sync that another of its member took the
// place of is answered once, and a replay of the log stands where the live shard stands.
func TestConsumerHostileRequests(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		cfg := DefaultConfig()
		cfg.Prompt = seed%2 == 0
		cfg.ConsumerAssignment = time.Duration(seed%3) * time.Second
		cfg.ConsumerMigrationPolicy = []string{"bidirectional", "upgrade", "downgrade", "disabled"}[seed%4]
		cfg.ConsumerMaxSize = 3 + int(seed%5)
		cfg.Assignors = []assignors.ServerAssignor{assignors.NewUniform(), assignors.NewServerRange()}
		if seed%7 == 0 {
			cfg.Assignors = append(cfg.Assignors, failingAssignor{})
		}
		meta := (&fakeMetadata{byName: map[string]Topic{}}).with("foo", 3).with("bar", 2)
		deps := Deps{Rand: rand.New(rand.NewPCG(seed, 4)), Metadata: meta}
		if seed%5 == 1 { // now and then a step's records are too many
			deps.MaxBatchBytes = func() int { return 700 }
		}
		s, shadow := NewShard(cfg, deps), NewShard(cfg, deps)
		now := time.Unix(1_700_000_000, 0)
		var offset int64
		waiting := make(map[Ticket]kmsg.Request)
		took := func(fx Effects) {
			offset = shadow.follow(fx, offset)
			for _, r := range fx.Replies {
				require.Contains(t, waiting, r.Ticket, "seed %d", seed)
				delete(waiting, r.Ticket)
			}
		}
		took(s.Loaded(now))
		for n := range 400 {
			req := hostileRequest(rng, meta)
			waiting[Ticket(n+1)] = req
			if seed%5 == 2 && n%20 == 0 {
				s.SetReadOnly(rng.IntN(3) == 0)
			}
			took(s.Handle(now, Command{
				Ticket: Ticket(n + 1), Client: Client{ID: pick(rng, "a", "b"), Host: "/127.0.0.1", Software: pick(rng, "kgo", "")},
				Request: req,
			}))
			if rng.IntN(3) > 0 {
				took(s.Flush(now))
			}
			switch rng.IntN(12) {
			case 0:
				meta = meta.with(pick(rng, "foo", "bar", "baz"), int32(rng.IntN(4)))
				took(s.MetadataChanged(now, meta))
			case 1:
				now = now.Add(time.Duration(rng.IntN(60)) * time.Second)
				took(s.Tick(now))
			case 2:
				took(s.Unpark(now, Ticket(rng.IntN(n+1)+1)))
				took(s.GaveUp(now, Ticket(rng.IntN(n+1)+1), time.Duration(rng.IntN(1000))*time.Millisecond))
			case 3:
				fx, _ := s.Evict(now, "g", pick(rng, "a", "b", "c"), "the test")
				took(fx)
			}
			require.NoError(t, checkIndexes(s), "seed %d, request %d", seed, n)
			require.LessOrEqual(t, len(s.doomed), len(s.groups), "seed %d, request %d", seed, n)
			for _, id := range s.GroupIDs() {
				s.State(id)
			}
		}
		took(s.Flush(now))
		require.Equal(t, durable(s), durable(shadow), "seed %d", seed)
		took(s.Unload(now))
		for ticket, req := range waiting {
			switch req.(type) {
			case *kmsg.JoinGroupRequest, *kmsg.SyncGroupRequest:
			default:
				require.Fail(t, "never answered", "seed %d, request %d: %+v", seed, ticket, req)
			}
		}
	}
}

func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

func maybe(rng *rand.Rand, of ...string) *string {
	if rng.IntN(2) == 0 {
		return nil
	}
	s := pick(rng, of...)
	return &s
}

func hostileRequest(rng *rand.Rand, meta *fakeMetadata) kmsg.Request {
	member, group := pick(rng, "a", "b", "c", "d", "e", ""), pick(rng, "g", "g", "g", "h", "")
	epoch := pick(rng, int32(0), 0, 0, 1, 2, 3, int32(rng.IntN(30)), -1, -2, -3, 1<<31-1)
	switch rng.IntN(10) {
	case 0:
		req := kmsg.NewPtrJoinGroupRequest()
		req.Version, req.Group, req.MemberID, req.InstanceID = int16(rng.IntN(10)), group, member, maybe(rng, "i", "j", "")
		req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = pick(rng, int32(10_000), 10_000, 0, -1), int32(rng.IntN(20_000)-100)
		req.ProtocolType = pick(rng, "consumer", "consumer", "connect", "")
		for range rng.IntN(3) {
			p := kmsg.NewJoinGroupRequestProtocol()
			p.Name, p.Metadata = pick(rng, "range", "sticky", ""), subscriptionBytes([]string{pick(rng, "foo", "bar", "none")}, []string{fmt.Sprintf("foo-%d", rng.IntN(5))})
			if rng.IntN(4) == 0 {
				p.Metadata = p.Metadata[:rng.IntN(len(p.Metadata))]
			}
			req.Protocols = append(req.Protocols, p)
		}
		return req
	case 1:
		req := kmsg.NewPtrSyncGroupRequest()
		req.Version, req.Group, req.MemberID, req.Generation, req.InstanceID = int16(rng.IntN(6)), group, member, epoch, maybe(rng, "i", "j")
		req.ProtocolType, req.Protocol = maybe(rng, "consumer", "connect"), maybe(rng, "range", "sticky")
		return req
	case 2:
		req := kmsg.NewPtrHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.Generation, req.InstanceID = 4, group, member, epoch, maybe(rng, "i", "j")
		return req
	case 3:
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Version, req.Group, req.MemberID = int16(rng.IntN(6)), group, member
		for range rng.IntN(3) {
			m := kmsg.NewLeaveGroupRequestMember()
			m.MemberID, m.InstanceID = pick(rng, "a", "b", "c", ""), maybe(rng, "i", "j")
			req.Members = append(req.Members, m)
		}
		return req
	case 4:
		req := kmsg.NewPtrConsumerGroupDescribeRequest()
		req.Version, req.Groups = 1, []string{group, "g"}
		return req
	}
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.MemberEpoch = int16(rng.IntN(2)), group, member, epoch
	req.InstanceID, req.RackID = maybe(rng, "i", "j", ""), maybe(rng, "r", "")
	req.RebalanceTimeoutMillis = pick(rng, int32(-1), 0, 1000, 30_000, -5)
	req.ServerAssignor = maybe(rng, "uniform", "range", "failing", "nope", "")
	if rng.IntN(2) == 0 {
		req.SubscribedTopicNames = []string{}
		for range rng.IntN(4) {
			req.SubscribedTopicNames = append(req.SubscribedTopicNames, pick(rng, "foo", "bar", "baz", ""))
		}
	}
	req.SubscribedTopicRegex = maybe(rng, "f.*", "b.*", "", "(", "foo|bar")
	if rng.IntN(2) == 0 {
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		for range rng.IntN(3) {
			topic := meta.byName[pick(rng, "foo", "bar", "baz")]
			req.Topics = append(req.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: topic.ID, Partitions: []int32{int32(rng.IntN(5) - 1), int32(rng.IntN(5))}})
		}
	}
	if req.MemberEpoch == 0 && rng.IntN(3) > 0 { // most joins shall succeed
		req.Topics, req.RebalanceTimeoutMillis, req.RackID, req.ServerAssignor = []kmsg.ConsumerGroupHeartbeatRequestTopic{}, 20_000, nil, maybe(rng, "range", "failing")
	}
	return req
}
