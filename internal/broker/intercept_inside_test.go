package broker

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// An error about the leader of one partition stands at that partition of a Metadata, in every version, and the others are told as usual.
func TestMetadataFailsOnePartition(t *testing.T) {
	t.Parallel()
	for version := range int16(14) {
		for _, byID := range []bool{false, version >= 12} {
			w := newPartWorld(t, &partTest{})
			req := w.request(&partTest{key: wire.Metadata}, version).(*kmsg.MetadataRequest)
			for i := range req.Topics {
				if byID {
					req.Topics[i].Topic, req.Topics[i].TopicID = nil, w.id(partTopics[i])
				}
			}
			want := w.raw.ask(req).(*kmsg.MetadataResponse)
			for _, e := range []struct {
				code   wire.Code
				leader int32
			}{{wire.LeaderNotAvailable, -1}, {wire.ListenerNotFound, -1}, {wire.ReplicaNotAvailable, 1}} {
				rule := w.fail(wire.Metadata, oneOfFour, e.code)
				p := &want.Topics[0].Partitions[1]
				p.ErrorCode, p.Leader = int16(e.code), e.leader
				got := w.raw.ask(req).(*kmsg.MetadataResponse)
				require.Equal(t, want, got, "v%d %s", version, e.code)
				w.c.RemoveRule(rule)
			}
			w.fail(wire.Metadata, oneOfFour, wire.UnknownTopicOrPartition) // has its place at the topic
			got := w.raw.ask(req).(*kmsg.MetadataResponse)
			require.Equal(t, int16(wire.UnknownTopicOrPartition), got.Topics[0].ErrorCode)
			require.Empty(t, got.Topics[0].Partitions)
			require.Equal(t, want.Topics[1], got.Topics[1])
		}
	}
}

// Rules of one partition each, rules of the same one, and one of a partition that isn't there.
func TestMetadataFailsSeveralPartitions(t *testing.T) {
	t.Parallel()
	w := newPartWorld(t, &partTest{})
	once := func(n partNames, code wire.Code) *Rule {
		rule := &Rule{Key: wire.Metadata, Topic: n.Topic, Partition: n.Partition, Times: 1, Name: "the rule", Action: Action{Fail: &code}}
		w.c.AddRule(rule)
		return rule
	}
	once(oneOfFour, wire.LeaderNotAvailable)
	once(oneOfFour, wire.ListenerNotFound)
	once(partNames{Partition: 0}, wire.ReplicaNotAvailable)
	absent := once(partNames{Topic: "orders", Partition: 7}, wire.LeaderNotAvailable)
	req := w.request(&partTest{key: wire.Metadata}, 12)
	codes := func() []wire.Code { return codesIn(w.raw.ask(req)) }
	require.Equal(t, []wire.Code{wire.ReplicaNotAvailable, wire.LeaderNotAvailable, wire.ReplicaNotAvailable}, codes())
	require.Equal(t, []wire.Code{wire.ListenerNotFound}, codes())
	require.Empty(t, codes())
	require.Zero(t, absent.Acted())
}

func TestDescribeTopicPartitionsFailsOnePartition(t *testing.T) {
	t.Parallel()
	w := newPartWorld(t, &partTest{})
	req := w.request(&partTest{key: wire.DescribeTopicPartitions}, 0).(*kmsg.DescribeTopicPartitionsRequest)
	req.Cursor = nil
	want := w.raw.ask(req).(*kmsg.DescribeTopicPartitionsResponse)
	w.fail(wire.DescribeTopicPartitions, oneOfFour, wire.LeaderNotAvailable)
	p := &want.Topics[0].Partitions[1]
	p.ErrorCode, p.LeaderID = int16(wire.LeaderNotAvailable), -1
	require.Equal(t, want, w.raw.ask(req))
}
