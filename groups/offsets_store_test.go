package groups

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
	"github.com/fakekafka/fakekafka/internal/records"
)

func offsetRecord(group, topic string, partition int32, offset int64, id assignors.TopicID) Record {
	return Record{
		Key:   records.OffsetKey{Group: group, Topic: topic, Partition: partition}.Encode(),
		Value: records.OffsetValue{Offset: offset, LeaderEpoch: -1, Expire: -1, TopicID: id}.Encode(),
	}
}

// A record that can't be read is passed over, in a transaction or not; so is what is no offset, in a transaction.
func TestUnreadableOffsetRecords(t *testing.T) {
	t.Parallel()
	good := offsetRecord("g", "foo", 0, 5, assignors.TopicID{})
	group := Record{
		Key:   records.GroupKey{Group: "g"}.Encode(),
		Value: records.GroupValue{ProtocolType: "consumer", StateTime: -1}.Encode(),
	}
	for _, producer := range []int64{-1, 7} {
		s := NewShard(DefaultConfig(), Deps{})
		for _, r := range []Record{
			{Key: good.Key[:len(good.Key)-1], Value: good.Value},
			{Key: good.Key[:1], Value: good.Value},
			{Key: nil, Value: good.Value},
			{Key: good.Key, Value: good.Value[:len(good.Value)-1]},
			{Key: good.Key, Value: []byte{}},
		} {
			s.Replay(0, r, producer)
			require.Empty(t, s.GroupIDs())
			require.False(t, hasPending(s, 7))
		}
		s.Replay(1, good, producer)
		require.Equal(t, []string{"g"}, s.GroupIDs())
		require.Equal(t, producer == 7, hasPending(s, 7))
	}
	s := NewShard(DefaultConfig(), Deps{})
	s.Replay(0, group, 7)
	s.Replay(1, Record{Key: good.Key}, 7)
	require.Empty(t, s.GroupIDs())
	require.False(t, hasPending(s, 7))
}

func hasPending(s *Shard, producer int64) bool { return len(s.open[producer]) > 0 }

// A producer has pending offsets from its first commit to the end of its transaction, or until the last of them is deleted.
func TestProducersWithPendingOffsets(t *testing.T) {
	t.Parallel()
	foo := offsetRecord("g", "foo", 0, 5, assignors.TopicID{})
	for name, end := range map[string]func(*Shard){
		"commit": func(s *Shard) { s.ReplayMarker(9, 7, true) },
		"abort":  func(s *Shard) { s.ReplayMarker(9, 7, false) },
		"deletion": func(s *Shard) {
			s.Replay(9, Record{Key: foo.Key}, -1)
			require.True(t, hasPending(s, 7), "another one of it is pending")
			s.Replay(10, Record{Key: offsetRecord("g", "foo", 1, 0, assignors.TopicID{}).Key}, -1)
			require.True(t, hasPending(s, 7), "one of another group is")
			s.Replay(11, Record{Key: offsetRecord("h", "foo", 0, 0, assignors.TopicID{}).Key}, -1)
		},
	} {
		s := NewShard(DefaultConfig(), Deps{})
		s.Replay(0, foo, 7)
		s.Replay(1, offsetRecord("g", "foo", 1, 5, assignors.TopicID{}), 7)
		s.Replay(2, offsetRecord("h", "foo", 0, 5, assignors.TopicID{}), 7)
		s.Replay(3, offsetRecord("h", "foo", 1, 5, assignors.TopicID{}), 8)
		require.True(t, hasPending(s, 7), name)
		require.False(t, hasPending(s, 6), name)
		end(s)
		require.False(t, hasPending(s, 7), name)
		require.True(t, hasPending(s, 8), name)
	}
}

// A log may hold offsets of topics that are gone, and of older ones of the same name. Who asks by name is answered them; who asks by id, what belongs to it.
func TestOffsetsOfTopicsThatAreGone(t *testing.T) {
	t.Parallel()
	meta := (&fakeMetadata{byName: map[string]Topic{}}).with("foo", 3)
	foo, _ := meta.Topic("foo")
	older := assignors.TopicID{99}
	s := NewShard(DefaultConfig(), Deps{Metadata: meta})
	s.Replay(0, offsetRecord("g", "foo", 0, 10, foo.ID), -1)
	s.Replay(1, offsetRecord("g", "foo", 1, 11, older), -1)
	s.Replay(2, offsetRecord("g", "foo", 2, 12, assignors.TopicID{}), -1) // of a transaction
	s.Replay(3, offsetRecord("g", "gone", 0, 13, older), -1)
	s.Loaded(time.Unix(1_700_000_000, 0))

	fetch := func(version int16, topics ...kmsg.OffsetFetchRequestGroupTopic) []kmsg.OffsetFetchResponseGroupTopic {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Version = version
		req.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g", MemberEpoch: -1, Topics: topics}}
		fx := s.Handle(time.Unix(1_700_000_000, 0), Command{Ticket: 1, Request: req})
		require.Len(t, fx.Replies, 1)
		return fx.Replies[0].Response.(*kmsg.OffsetFetchResponse).Groups[0].Topics
	}
	offsets := func(topic kmsg.OffsetFetchResponseGroupTopic) (list []int64) {
		for _, p := range topic.Partitions {
			list = append(list, p.Offset)
		}
		return list
	}

	byName := fetch(9, kmsg.OffsetFetchRequestGroupTopic{Topic: "foo", Partitions: []int32{0, 1, 2}}, kmsg.OffsetFetchRequestGroupTopic{Topic: "gone", Partitions: []int32{0}})
	require.Equal(t, []int64{10, 11, 12}, offsets(byName[0]))
	require.Equal(t, []int64{13}, offsets(byName[1]))

	byID := fetch(10, kmsg.OffsetFetchRequestGroupTopic{TopicID: older, Partitions: []int32{0, 1}}, kmsg.OffsetFetchRequestGroupTopic{TopicID: foo.ID, Partitions: []int32{0, 1, 2}})
	require.Equal(t, foo.ID, byID[0].TopicID)
	require.Equal(t, []int64{10, -1, 12}, offsets(byID[0]))
	require.Zero(t, byID[0].Partitions[1].ErrorCode)
	require.Equal(t, older, byID[1].TopicID, "what is unknown comes last")
	require.Equal(t, []int64{-1, -1}, offsets(byID[1]))
	require.Equal(t, errUnknownTopicID, byID[1].Partitions[0].ErrorCode)

	all := fetch(9)
	require.Len(t, all, 2)
	require.Equal(t, []int64{12, 10, 11}, offsets(all[0]), "in the order of the table")
	require.Equal(t, []int64{13}, offsets(all[1]))
	all = fetch(10)
	require.Len(t, all, 1, "a topic without an id can't be told")
	require.Equal(t, foo.ID, all[0].TopicID)
}
