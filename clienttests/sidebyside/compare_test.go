package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/partitionlog"
)

// read gives a side's view of an answer that came over the wire.
func (s *side) readMessage(t *testing.T, q kmsg.Request, a kmsg.Response) answer {
	t.Helper()
	a.SetVersion(q.GetVersion())
	frame := []byte{0, 0, 0, 1}
	if a.IsFlexible() {
		frame = append(frame, 0)
	}
	return s.read(outcome{answered, a.AppendTo(frame)}, q)
}

func sides() (kafka, ours *side) {
	return &side{world: newWorld("p-"), names: newNames()}, &side{world: newWorld("p-"), names: newNames()}
}

func joinAnswer(member, leader string, members ...string) *kmsg.JoinGroupResponse {
	a := kmsg.NewPtrJoinGroupResponse()
	a.MemberID, a.LeaderID = member, leader
	for _, m := range members {
		a.Members = append(a.Members, kmsg.JoinGroupResponseMember{MemberID: m})
	}
	return a
}

const (
	idA = "side-00000000-0000-4000-8000-00000000000a"
	idB = "side-00000000-0000-4000-8000-00000000000b"
	idC = "side-00000000-0000-4000-8000-00000000000c"
	idD = "side-00000000-0000-4000-8000-00000000000d"
)

func TestIDsCompareUpToRenaming(t *testing.T) {
	t.Parallel()
	q := &kmsg.JoinGroupRequest{Version: 4}
	for _, tt := range []struct {
		explanation string
		kafka, ours []kmsg.Response
		where       string
	}{
		{"other ids in the same places", []kmsg.Response{joinAnswer(idA, idA), joinAnswer(idB, idA)}, []kmsg.Response{joinAnswer(idC, idC), joinAnswer(idD, idC)}, ""},
		{"the leader is another one", []kmsg.Response{joinAnswer(idA, idA), joinAnswer(idB, idA)}, []kmsg.Response{joinAnswer(idC, idC), joinAnswer(idD, idD)}, "answer.LeaderID"},
		{"members are in no order", []kmsg.Response{joinAnswer(idA, idA), joinAnswer(idB, idA, idA, idB)}, []kmsg.Response{joinAnswer(idC, idC), joinAnswer(idD, idC, idD, idC)}, ""},
		{"an id of the client's is itself", []kmsg.Response{joinAnswer("m1", "m1")}, []kmsg.Response{joinAnswer("m2", "m2")}, "answer.LeaderID"},
		{"one member more", []kmsg.Response{joinAnswer(idA, idA, idA)}, []kmsg.Response{joinAnswer(idA, idA, idA, idB)}, "answer.Members"},
	} {
		kafka, ours := sides()
		var where string
		for i := range tt.kafka {
			require.Empty(t, where, tt.explanation)
			where, _, _ = differ(kafka.readMessage(t, q, tt.kafka[i]), ours.readMessage(t, q, tt.ours[i]))
		}
		require.Equal(t, tt.where, where, tt.explanation)
	}
}

func TestWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	kafka, ours := sides()
	q := &kmsg.ListGroupsRequest{Version: 5}
	of := func(groups ...string) *kmsg.ListGroupsResponse {
		a := kmsg.NewPtrListGroupsResponse()
		a.ThrottleMillis = int32(len(groups))
		for _, g := range groups {
			a.Groups = append(a.Groups, kmsg.ListGroupsResponseGroup{Group: g})
		}
		return a
	}
	where, want, got := differ(kafka.readMessage(t, q, of("p-g1", "q-g1")), ours.readMessage(t, q, of("p-g1")))
	require.Empty(t, where, "%s %s: a group of another sequence, and the throttle time", want, got)
	where, _, _ = differ(kafka.readMessage(t, q, of("q-g1")), ours.readMessage(t, q, of()))
	require.Empty(t, where, "nothing of this sequence is left")
	where, want, got = differ(kafka.readMessage(t, q, of("p-g1")), ours.readMessage(t, q, of("p-g2")))
	require.Equal(t, []string{"answer.Groups[0].Group", `"p-g1"`, `"p-g2"`}, []string{where, want, got})
}

func TestTextsCompareByPresence(t *testing.T) {
	t.Parallel()
	kafka, ours := sides()
	q := &kmsg.FindCoordinatorRequest{Version: 3}
	says := func(text *string) *kmsg.FindCoordinatorResponse {
		a := kmsg.NewPtrFindCoordinatorResponse()
		a.ErrorMessage = text
		return a
	}
	where, _, _ := differ(kafka.readMessage(t, q, says(kmsg.StringPtr("so"))), ours.readMessage(t, q, says(kmsg.StringPtr("otherwise"))))
	require.Empty(t, where)
	where, _, _ = differ(kafka.readMessage(t, q, says(kmsg.StringPtr("so"))), ours.readMessage(t, q, says(nil)))
	require.Equal(t, "answer.ErrorMessage", where)
}

func TestBatchesOfAFetchCompareByField(t *testing.T) {
	t.Parallel()
	q := &kmsg.FetchRequest{Version: 12}
	fetched := func(producer int64, value string) *kmsg.FetchResponse {
		b, err := partitionlog.BuildBatch([]partitionlog.Record{{Timestamp: oldTime, Value: []byte(value)}}, partitionlog.BatchOptions{Idempotent: true, ProducerID: producer})
		require.NoError(t, err)
		p := kmsg.NewFetchResponseTopicPartition()
		p.RecordBatches = append(b, b[:20]...)
		a := kmsg.NewPtrFetchResponse()
		a.Topics = []kmsg.FetchResponseTopic{{Topic: "p-t", Partitions: []kmsg.FetchResponseTopicPartition{p}}}
		return a
	}
	kafka, ours := sides()
	where, _, _ := differ(kafka.readMessage(t, q, fetched(1000, "v")), ours.readMessage(t, q, fetched(0, "v")))
	require.Empty(t, where, "producer ids are each broker's own")
	where, _, _ = differ(kafka.readMessage(t, q, fetched(1000, "v")), ours.readMessage(t, q, fetched(0, "w")))
	require.Equal(t, "answer.Topics[0].Partitions[0].RecordBatches[0].Records", where)
	where, _, _ = differ(kafka.readMessage(t, q, fetched(1000, "v")), ours.readMessage(t, q, fetched(7, "v")))
	require.Equal(t, "answer.Topics[0].Partitions[0].RecordBatches[0].Producer", where, "7 is a third producer")
}

func TestOutcomesDiffer(t *testing.T) {
	t.Parallel()
	kafka, ours := sides()
	q := &kmsg.HeartbeatRequest{Version: 4}
	where, want, got := differ(kafka.read(outcome{what: closed}, q), ours.read(outcome{what: silent}, q))
	require.Equal(t, []string{"the outcome", closed, silent}, []string{where, want, got})
	where, _, _ = differ(kafka.read(outcome{what: closed}, q), ours.read(outcome{what: closed}, q))
	require.Empty(t, where)
	cut := outcome{answered, []byte{0, 0, 0, 1, 0}}
	where, _, _ = differ(kafka.readMessage(t, q, kmsg.NewPtrHeartbeatResponse()), ours.read(cut, q))
	require.Equal(t, "answer", where, "what can't be decoded is shown whole")
}

func TestOnPurposeIsNarrow(t *testing.T) {
	t.Parallel()
	refused := kmsg.NewPtrProduceResponse()
	refused.Topics = []kmsg.ProduceResponseTopic{{Partitions: []kmsg.ProduceResponseTopicPartition{{ErrorCode: 87}}}}
	q, kafka := &kmsg.ProduceRequest{}, answer{what: silent}
	require.NotEmpty(t, onPurpose(q, kafka, answer{answered, refused, treeOf(refused)}, "the outcome"))
	refused.Topics[0].Partitions[0].ErrorCode = 2
	require.Empty(t, onPurpose(q, kafka, answer{answered, refused, treeOf(refused)}, "the outcome"), "another code")
	require.Empty(t, onPurpose(q, answer{what: closed}, answer{what: answered, tree: treeOf(refused)}, "the outcome"))

	join := &kmsg.JoinGroupRequest{Protocols: []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription("t")}}}
	joined := answer{what: answered, tree: treeOf(kmsg.NewPtrJoinGroupResponse())}
	require.Empty(t, onPurpose(join, kafka, joined, "the outcome"))
	join.Protocols[0].Metadata = join.Protocols[0].Metadata[:8]
	require.NotEmpty(t, onPurpose(join, kafka, joined, "the outcome"))
}
