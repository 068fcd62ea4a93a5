package groups

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// benchGroup is a shard with one stable group of n members; it answers their ids.
func benchGroup(tb testing.TB, n int, prompt bool) (*Shard, []string, time.Time) {
	cfg := DefaultConfig()
	cfg.InitialRebalanceDelay, cfg.Prompt = 0, prompt
	s := NewShard(cfg, Deps{})
	now := time.Unix(1_700_000_000, 0)
	s.Loaded(now)
	metadata := subscriptionBytes([]string{"foo"}, nil)
	for i := range n {
		s.Handle(now, Command{Ticket: Ticket(i + 1), Client: Client{ID: fmt.Sprint("c", i)}, Request: benchJoin("", metadata)})
	}
	var ids []string
	leader := ""
	for at, ok := s.Deadline(); ok && !at.After(now); at, ok = s.Deadline() { // the initial delay is extended once
		for _, r := range s.Tick(now).Replies {
			resp := r.Response.(*kmsg.JoinGroupResponse)
			ids = append(ids, resp.MemberID)
			leader = resp.LeaderID
		}
	}
	if len(ids) != n {
		tb.Fatalf("%d of %d members joined", len(ids), n)
	}
	assignment := assignmentBytes(map[string][]int32{"foo": {0}})
	for i, id := range ids {
		req := kmsg.NewPtrSyncGroupRequest()
		req.Version, req.Group, req.Generation, req.MemberID = 4, "g", 1, id
		if id == leader {
			for _, other := range ids {
				a := kmsg.NewSyncGroupRequestGroupAssignment()
				a.MemberID, a.MemberAssignment = other, assignment
				req.GroupAssignment = append(req.GroupAssignment, a)
			}
		}
		s.Handle(now, Command{Ticket: Ticket(n + i + 1), Request: req})
	}
	return s, ids, now
}

func benchJoin(member string, metadata []byte) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.ProtocolType = 3, "g", member, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 45_000, 60_000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: metadata}}
	return req
}

// BenchmarkClassicJoinSync is a whole first generation: n members join and sync.
func BenchmarkClassicJoinSync(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint("members=", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				benchGroup(b, n, false)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/member")
		})
	}
}

// BenchmarkClassicHeartbeat is the heartbeat of a stable group, with and without holding it. It must not depend on the size of
// the group.
func BenchmarkClassicHeartbeat(b *testing.B) {
	for _, prompt := range []bool{false, true} {
		for _, n := range []int{10, 1000, 10000} {
			b.Run(fmt.Sprintf("prompt=%t/members=%d", prompt, n), func(b *testing.B) {
				s, ids, now := benchGroup(b, n, prompt)
				req := kmsg.NewPtrHeartbeatRequest()
				req.Version, req.Group, req.Generation = 4, "g", 1
				ticket := Ticket(2 * n)
				b.ReportAllocs()
				b.ResetTimer()
				for i := 0; b.Loop(); i++ {
					req.MemberID = ids[i%n]
					ticket++
					now = now.Add(time.Microsecond)
					s.Handle(now, Command{Ticket: ticket, Client: Client{Software: "kgo"}, Request: req})
					if prompt {
						s.Unpark(now, ticket)
					}
				}
			})
		}
	}
}

// BenchmarkOffsetCommit is a commit of one partition by a member of a stable group.
func BenchmarkOffsetCommit(b *testing.B) {
	s, ids, now := benchGroup(b, 100, false)
	s.MetadataChanged(now, (&fakeMetadata{byName: map[string]Topic{}}).with("foo", 100))
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 9, "g", 1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.Partitions = "foo", []kmsg.OffsetCommitRequestTopicPartition{kmsg.NewOffsetCommitRequestTopicPartition()}
	req.Topics = append(req.Topics, t)
	ticket := Ticket(1000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		req.MemberID = ids[i%len(ids)]
		t.Partitions[0].Partition, t.Partitions[0].Offset = int32(i%100), int64(i)
		ticket++
		s.Handle(now, Command{Ticket: ticket, Request: req})
	}
}
