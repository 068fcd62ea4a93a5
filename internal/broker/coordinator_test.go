package broker

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// A group's partition is the absolute value of Java's hash of its id, not that with the sign bit masked off.
func TestGroupPartition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		group      string
		partitions int
		want       int32
	}{
		{"", 50, 0},
		{"a", 50, 97 % 50},
		{"ab", 50, (97*31 + 98) % 50},
		{"batches", 50, 331743896 % 50}, // its hash is negative
		{"batches", 7, 331743896 % 7},
		{"polygenelubricants", 50, 0},                 // the smallest number, which has no absolute value
		{"\U0001f389", 50, (0xd83c*31 + 0xdf89) % 50}, // by the two units of UTF-16
		{"batches", 1, 0},
	} {
		require.Equal(t, c.want, groupPartition(c.group, c.partitions), "%q of %d", c.group, c.partitions)
	}
}

// In which order requests that name many groups are answered was seen at a real broker with four partitions of __consumer_offsets. It is the same whether
// the topic exists or not.
func TestOrderOfManyGroups(t *testing.T) {
	t.Parallel()
	cl := dialRaw(t, startCluster(t, Options{Topics: []TopicSpec{{Name: "t", Partitions: 1}}, Config: map[string]string{"offsets.topic.num.partitions": "4"}}))
	asked := omNames("alpha beta gamma delta eps zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi psi omega")
	described := omNames("gamma kappa xi pi delta eps mu tau upsilon chi alpha beta zeta eta theta psi iota lambda nu omicron rho sigma phi omega")
	deleted := omNames("gamma pi kappa xi eps upsilon mu tau chi delta zeta alpha beta psi theta eta omicron omega phi nu rho iota lambda sigma")
	for _, code := range []wire.Code{wire.NotCoordinator, wire.GroupIDNotFound} {
		var got []string
		desc := kmsg.NewPtrDescribeGroupsRequest()
		desc.Version, desc.Groups = 6, asked
		for _, g := range cl.ask(desc).(*kmsg.DescribeGroupsResponse).Groups {
			require.Equal(t, code, wire.Code(g.ErrorCode))
			got = append(got, g.Group)
		}
		require.Equal(t, described, got)

		got = nil
		consumer := kmsg.NewPtrConsumerGroupDescribeRequest()
		consumer.Version, consumer.Groups = 1, append(slices.Clone(asked), "") // which is refused before the others are looked for
		for _, g := range cl.ask(consumer).(*kmsg.ConsumerGroupDescribeResponse).Groups {
			got = append(got, g.Group)
		}
		require.Equal(t, append([]string{""}, described...), got)

		got = nil
		del := kmsg.NewPtrDeleteGroupsRequest()
		del.Version, del.Groups = 2, asked
		for _, g := range cl.ask(del).(*kmsg.DeleteGroupsResponse).Groups {
			require.Equal(t, code, wire.Code(g.ErrorCode))
			got = append(got, g.Group)
		}
		require.Equal(t, deleted, got)

		find := kmsg.NewPtrFindCoordinatorRequest()
		find.Version, find.CoordinatorKeys = 4, asked[:1]
		cl.ask(find)
	}

	for _, g := range asked {
		commit := kmsg.NewPtrOffsetCommitRequest()
		commit.Version, commit.Group, commit.Generation = 8, g, -1
		commit.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Partition: 0, Offset: 1, LeaderEpoch: -1}}}}
		require.Zero(t, cl.ask(commit).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
	}
	list := kmsg.NewPtrListGroupsRequest()
	list.Version = 5
	var partitions []int32
	for _, g := range cl.ask(list).(*kmsg.ListGroupsResponse).Groups {
		partitions = append(partitions, groupPartition(g.Group, 4))
	}
	require.Len(t, partitions, len(asked))
	require.Equal(t, []int32{0, 3, 1, 2}, slices.Compact(partitions))
}

func omNames(words string) []string {
	var out []string
	for _, w := range strings.Fields(words) {
		out = append(out, "om-"+w)
	}
	return out
}
