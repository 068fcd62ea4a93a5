package groups

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/assignors"
)

// What comes in one turn of the driver's loop. A member of a consumer group is answered at its end: by then a later request of the turn may
// have taken the member away, or the group.

// turn is a shard with a consumer group "g" of one member "n", whose requests are flushed as the test says.
type turn struct {
	t       *testing.T
	s       *Shard
	now     time.Time
	answers map[Ticket]kmsg.Response
	last    Ticket
}

func newTurn(t *testing.T, more ...assignors.ServerAssignor) *turn {
	cfg := DefaultConfig()
	cfg.Prompt = true
	cfg.Assignors = append([]assignors.ServerAssignor{assignors.NewUniform()}, more...)
	w := &turn{t: t, now: time.Unix(1_700_000_000, 0), answers: make(map[Ticket]kmsg.Response)}
	w.s = NewShard(cfg, Deps{Metadata: (&fakeMetadata{byName: map[string]Topic{}}).with("foo", 4)})
	w.took(w.s.Loaded(w.now))
	n := w.handle(beatToJoin("n"))
	w.flush()
	require.Zero(t, w.answers[n].(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
	return w
}

func (w *turn) took(fx Effects) {
	for _, r := range fx.Replies {
		require.NotContains(w.t, w.answers, r.Ticket, "answered twice")
		w.answers[r.Ticket] = r.Response
	}
}

func (w *turn) handle(req kmsg.Request) Ticket {
	w.last++
	w.took(w.s.Handle(w.now, Command{Ticket: w.last, Client: Client{ID: "c", Host: scriptHost}, Request: req}))
	return w.last
}

func (w *turn) flush() { w.took(w.s.Flush(w.now)) }

func (w *turn) join(member string) Ticket {
	return w.handle(benchJoin(member, subscriptionBytes([]string{"foo"}, nil)))
}

// leave is the end of a member of the consumer protocol.
func (w *turn) leave(member string) {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.MemberEpoch = 1, "g", member, epochLeave
	t := w.handle(req)
	require.Zero(w.t, w.answers[t].(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
}

func beatToJoin(member string) *kmsg.ConsumerGroupHeartbeatRequest {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.RebalanceTimeoutMillis = 1, "g", member, 30_000
	req.SubscribedTopicNames, req.Topics = []string{"foo"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	return req
}

// A classic member joins, and the last one of the consumer protocol leaves: the join goes on in the classic group.
func TestJoinInTheTurnOfADowngrade(t *testing.T) {
	t.Parallel()
	w := newTurn(t)
	c := w.join("")
	w.leave("n")
	require.NotContains(t, w.answers, c)
	w.flush()
	answer, ok := w.answers[c].(*kmsg.JoinGroupResponse)
	require.True(t, ok, "nothing else is to be waited for")
	require.Zero(t, answer.ErrorCode)
	state, _ := w.s.State("g")
	require.Equal(t, "classic", state.Protocol)
	require.Len(t, state.Members, 1)
	require.Equal(t, state.Members[0].ID, answer.MemberID)
	require.Equal(t, state.Epoch, answer.Generation)
	require.Equal(t, answer.MemberID, answer.LeaderID)
}

// It joins, leaves, and the empty group is deleted, or a classic member takes its name.
func TestBeatInTheTurnOfItsGroupsEnd(t *testing.T) {
	t.Parallel()
	for _, end := range []func(w *turn){
		func(w *turn) { w.handle(&kmsg.DeleteGroupsRequest{Version: 2, Groups: []string{"g"}}) },
		func(w *turn) { w.join("") },
	} {
		w := newTurn(t)
		m := w.handle(beatToJoin("m"))
		w.leave("m")
		w.leave("n")
		end(w)
		w.flush()
		require.Contains(t, w.answers, m)
		require.Equal(t, errUnknownMemberID, w.answers[m].(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
	}
}

func TestBeatInTheTurnOfAMove(t *testing.T) {
	t.Parallel()
	w := newTurn(t)
	m, c := w.handle(beatToJoin("m")), w.join("")
	w.took(w.s.Unload(w.now))
	require.Equal(t, errNotCoordinator, w.answers[m].(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
	require.Equal(t, errNotCoordinator, w.answers[c].(*kmsg.JoinGroupResponse).ErrorCode)
}

// A classic member goes on with the consumer protocol before its join is answered. The answer is that of a member; that it need not sync is known.
func TestJoinInTheTurnOfAnotherProtocol(t *testing.T) {
	t.Parallel()
	w := newTurn(t)
	c := w.join("")
	w.flush()
	id := w.answers[c].(*kmsg.JoinGroupResponse).MemberID
	req := benchJoin(id, subscriptionBytes([]string{"foo", "bar"}, nil))
	again, beat := w.handle(req), w.handle(beatToJoin(id))
	w.flush()
	require.Zero(t, w.answers[again].(*kmsg.JoinGroupResponse).ErrorCode)
	require.Equal(t, id, w.answers[again].(*kmsg.JoinGroupResponse).MemberID)
	require.Zero(t, w.answers[beat].(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
}

// A member whose target can't be computed at the end of the turn is told so. It is in the group, and goes with its session if nothing more is heard of it.
func TestMemberWithoutATargetHasASession(t *testing.T) {
	t.Parallel()
	w := newTurn(t, failingKafkaAssignor{})
	failing := "failing-kafka"
	req := beatToJoin("n")
	req.ServerAssignor = &failing
	w.handle(req)
	w.flush()
	req = beatToJoin("m")
	req.ServerAssignor = &failing
	m := w.handle(req)
	w.flush()
	require.Equal(t, errUnknownServerError, w.answers[m].(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
	require.True(t, w.s.HasMember("g", "m"))
	for at := range deadlines(w.s, w.now, w.now.Add(w.s.cfg.ConsumerSessionTimeout)) {
		w.now = at
		w.took(w.s.Tick(at))
		w.flush()
	}
	require.False(t, w.s.HasMember("g", "m"))
}

// A group of which Kafka has forgotten all but its offsets has nobody to be steered.
func TestSteeringOfAGroupOfOffsets(t *testing.T) {
	t.Parallel()
	w := newTurn(t)
	commit := &kmsg.OffsetCommitRequest{Version: 9, Group: "g", MemberID: "n", Generation: 2}
	commit.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "foo", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: 7}}}}
	w.handle(commit)
	w.leave("n")
	w.join("somebody")
	w.handle(&kmsg.OffsetCommitRequest{Version: 9, Group: "other", Generation: -1, Topics: commit.Topics})
	offset, ok := w.s.Committed("g", "foo", 0)
	require.True(t, ok)
	require.EqualValues(t, 7, offset)
	for _, steer := range []func() (Effects, error){
		func() (Effects, error) { return w.s.Evict(w.now, "g", "n", "test") },
		func() (Effects, error) { return w.s.Fence(w.now, "g", "n") },
		func() (Effects, error) { return w.s.Rebalance(w.now, "g", "test") },
	} {
		_, err := steer()
		require.ErrorContains(t, err, `"g" has no member`)
	}
}

// The name of a deleted topic is kept as long as somebody has partitions of it.
func TestNamesOfDeletedTopics(t *testing.T) {
	t.Parallel()
	w := newTurn(t)
	meta := (&fakeMetadata{byName: map[string]Topic{}}).with("foo", 4)
	w.took(w.s.MetadataChanged(w.now, meta))
	meta = meta.with("foo", 0)
	w.took(w.s.MetadataChanged(w.now, meta))
	require.Len(t, w.s.turn.gone, 1)
	w.leave("n")
	w.flush()
	w.took(w.s.MetadataChanged(w.now, meta.with("bar", 1)))
	require.Empty(t, w.s.turn.gone)
}
