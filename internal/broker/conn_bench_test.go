package broker

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// BenchmarkRequest is a whole round trip of small requests through a socket of this machine.
func BenchmarkRequest(b *testing.B) {
	c := startCluster(b, Options{Topics: []TopicSpec{{Name: "one", Partitions: 1}, {Name: "wide", Partitions: 1000}}})
	versions := kmsg.NewPtrApiVersionsRequest()
	for name, req := range map[string]kmsg.Request{
		"ApiVersions":              versions,
		"Metadata/1 partition":     topicsRequest("one"),
		"Metadata/1000 partitions": topicsRequest("wide"),
	} {
		b.Run(name, func(b *testing.B) {
			cl := dialRaw(b, c)
			b.ReportAllocs()
			for b.Loop() {
				cl.ask(req)
			}
		})
	}
}

// BenchmarkMemberRequest is a whole round trip of what a member and a producer send again and again.
func BenchmarkMemberRequest(b *testing.B) {
	c := startCluster(b, Options{KafkaTimings: true, Topics: []TopicSpec{{Name: "one", Partitions: 1}}})
	cl := dialRaw(b, c)
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "billing"
	cl.ask(find)
	id := cl.ask(joinRequest("billing", "")).(*kmsg.JoinGroupResponse).MemberID
	joined := cl.ask(joinRequest("billing", id)).(*kmsg.JoinGroupResponse)
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Version, sync.Group, sync.MemberID, sync.Generation = 3, "billing", id, joined.Generation
	cl.ask(sync)
	beat := kmsg.NewPtrHeartbeatRequest()
	beat.Version, beat.Group, beat.MemberID, beat.Generation = 3, "billing", id, joined.Generation
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Version, commit.Group, commit.MemberID, commit.Generation = 7, "billing", id, joined.Generation
	commit.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "one", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: 1, LeaderEpoch: -1}}}}
	for _, r := range []struct {
		name string
		req  kmsg.Request
	}{{"Heartbeat", beat}, {"OffsetCommit", commit}, {"Produce", produceRequest("one", 0, oneBatch(b, 1, 1024))}} {
		b.Run(r.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				cl.ask(r.req)
			}
		})
	}
}

// BenchmarkCreateTopic creates a topic among many.
func BenchmarkCreateTopic(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("among %d", n), func(b *testing.B) {
			o := Options{}
			for i := range n {
				o.Topics = append(o.Topics, TopicSpec{Name: fmt.Sprintf("t%d", i), Partitions: 1})
			}
			c := startCluster(b, o)
			cl := dialRaw(b, c)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				cl.ask(createRequest(newTopic(fmt.Sprintf("new%d", i), 1, 1)))
				i++
			}
		})
	}
}
