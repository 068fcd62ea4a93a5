package fakekafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/broker"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// Protocol is how a scripted member takes part in its group.
type Protocol int

const (
	// Classic is the protocol in which members assign the partitions: JoinGroup, SyncGroup, Heartbeat.
	Classic Protocol = iota
	// Consumer is KIP-848: the broker assigns, members only send ConsumerGroupHeartbeat.
	Consumer
)

// Member describes a scripted member: see [Cluster.Join].
type Member struct {
	// ClientID names it. Default "member-1", "member-2", ... by the order of joining.
	ClientID string
	// InstanceID is group.instance.id and makes it a static member. Default: none.
	InstanceID string
	// Topics are what it subscribes to.
	Topics []string
	// Regex subscribes to the topics that match instead (Consumer only), in the syntax of RE2/J.
	Regex string
	// Protocol is Classic by default.
	Protocol Protocol
	// Assignors are those it offers, in order of preference: range (the default), roundrobin, sticky, cooperative-sticky; under Consumer the one
	// server-side assignor that it asks for, none by default.
	Assignors []string
	// SessionTimeout is 45 s by default, as in the Java client. Classic only: under Consumer the broker says.
	SessionTimeout time.Duration
	// RebalanceTimeout is how long it may take to join or to give partitions up. Default 5 min, max.poll.interval.ms of the Java client.
	RebalanceTimeout time.Duration
	// Rack is client.rack.
	Rack string
	// ByHand makes it do nothing by itself: the test sends every request, by Ask and the other calls. Without it, it behaves as a good client
	// does: it joins, assigns if it leads, syncs, gives up what it is told to, and rejoins.
	ByHand bool
	// RefuseRevoke makes it keep what it is told to give up, until RefuseRevoke(false).
	RefuseRevoke bool
}

// ScriptedMember is a member of a group without a client: it does what the test says, and behaves well where the test says nothing. It has no goroutine
// and no connection. It is a member like any other: rules, holds and pauses apply to what it sends, and [Group.Member] names it by its client id.
//
// It sends no heartbeats by the clock: it counts as heartbeating while it isn't silent or paused, and hears at once what a heartbeat would tell it.
type ScriptedMember struct {
	k     *Cluster
	group string
	name  string
	s     *broker.Script
}

// Join makes a scripted member join a group, which need not exist yet. When it returns the member has sent what it could: it is
// in the group as soon as the others, or the initial rebalance delay, let it. A bad description fails the test; what the coordinator refuses (a session timeout
// out of bounds, a server-side assignor that there isn't) doesn't, and stands in the member's Err.
func (k *Cluster) Join(group string, m Member) *ScriptedMember {
	k.mark.Helper()
	list := k.JoinAll(group, m)
	if len(list) == 0 {
		return &ScriptedMember{k: k, group: group, name: m.ClientID}
	}
	return list[0]
}

// JoinAll makes several scripted members join at the same instant, in their order.
func (k *Cluster) JoinAll(group string, members ...Member) []*ScriptedMember {
	k.mark.Helper()
	if err := k.Group(group).nameless(); err != nil {
		_ = k.steered("Join", err)
		return nil
	}
	specs := make([]broker.ScriptSpec, len(members))
	for i, m := range members {
		s, err := m.spec(int(k.joined.Add(1)))
		if err != nil {
			_ = k.steered(fmt.Sprintf("Join of group %s", group), err)
			return nil
		}
		specs[i] = s
	}
	scripts, err := k.b.AddScripts(group, specs)
	if err != nil {
		_ = k.steered(fmt.Sprintf("Join of group %s", group), err)
		return nil
	}
	list := make([]*ScriptedMember, len(scripts))
	for i, s := range scripts {
		list[i] = &ScriptedMember{k, group, specs[i].Client, s}
	}
	return list
}

// spec checks the description and fills in the defaults.
func (m Member) spec(n int) (broker.ScriptSpec, error) {
	s := broker.ScriptSpec{
		Client: m.ClientID, Instance: m.InstanceID, Topics: m.Topics, Regex: m.Regex, Consumer: m.Protocol == Consumer, Assignors: m.Assignors,
		Rack: m.Rack, Session: m.SessionTimeout, Rebalance: m.RebalanceTimeout, ByHand: m.ByHand, KeepOnLoss: m.RefuseRevoke,
	}
	if m.Protocol != Classic && m.Protocol != Consumer {
		return s, fmt.Errorf("there is no protocol %d; there are Classic and Consumer", m.Protocol)
	}
	if s.Client == "" {
		s.Client = fmt.Sprintf("member-%d", n)
	}
	if s.Session == 0 {
		s.Session = 45 * time.Second
	}
	if s.Rebalance == 0 {
		s.Rebalance = 5 * time.Minute
	}
	if s.Consumer {
		switch {
		case len(s.Assignors) > 1:
			return s, errors.New("under Consumer give at most one of Assignors: the server-side assignor to ask for")
		case m.SessionTimeout != 0:
			return s, errors.New("a SessionTimeout is of the classic protocol; under Consumer set group.consumer.session.timeout.ms")
		case len(s.Topics) > 0 && s.Regex != "":
			return s, errors.New("give Topics or Regex, not both")
		}
		return s, nil
	}
	if s.Regex != "" {
		return s, errors.New("a Regex needs Protocol: Consumer; classic clients look the topics up themselves")
	}
	if len(s.Assignors) == 0 {
		s.Assignors = []string{"range"}
	}
	for _, a := range s.Assignors {
		if known := broker.ClientAssignors(); !slices.Contains(known, a) {
			return s, fmt.Errorf("there is no assignor %q; there are %q", a, known)
		}
	}
	return s, nil
}

// ID is its member id, "" while it has none.
func (m *ScriptedMember) ID() string { return m.s.State().ID }

// Epoch is its generation or member epoch.
func (m *ScriptedMember) Epoch() int32 { return m.s.State().Epoch }

// Owned is what it believes to own, by topic. After it was thrown out behind its back that is more than the group's State says.
func (m *ScriptedMember) Owned() map[string][]int32 { return m.s.State().Owned }

// Err says why it does nothing any more: an answer for which a client has no next step, such as FENCED_INSTANCE_ID. Nil: it goes on.
func (m *ScriptedMember) Err() error { return m.s.State().Err }

// Has waits until the member owns just these partitions, as it believes itself; the context bounds the wait.
func (m *ScriptedMember) Has(ctx context.Context, owned map[string][]int32) error {
	want := partitionsText(owned)
	g := m.k.Group(m.group)
	err := m.k.await(ctx, m.name+" with "+want, func() (bool, string) {
		st := m.s.StateNow()
		have := partitionsText(st.Owned)
		if st.Err != nil {
			have += "; it has stopped: " + st.Err.Error()
		}
		return partitionsText(st.Owned) == want, have
	})
	if err != nil {
		err = fmt.Errorf("%w%s", err, g.misnamedIn(Assignment{m.name: owned}))
	}
	return g.unmet(err, 0, m.name)
}

// AwaitOwned waits until the member owns just these partitions, as it believes itself.
func (m *ScriptedMember) AwaitOwned(tb testing.TB, owned map[string][]int32) {
	tb.Helper()
	ctx, cancel := m.k.limited(tb)
	defer cancel()
	check(tb, m.Has(ctx, owned))
}

func (m *ScriptedMember) do(what string, change func(*broker.Script)) error {
	m.k.mark.Helper()
	return m.k.steered(fmt.Sprintf("%s of scripted member %s", what, m.name), m.s.Do(change))
}

// FallSilent makes it send nothing more and hear nothing, as a process that hangs: FastForward past the session timeout removes it.
func (m *ScriptedMember) FallSilent() error {
	m.k.mark.Helper()
	return m.do("FallSilent", (*broker.Script).Silence)
}

// Speak ends FallSilent: it goes on from where it believes to be, as a zombie does.
func (m *ScriptedMember) Speak() error {
	m.k.mark.Helper()
	return m.do("Speak", (*broker.Script).Speak)
}

// RefuseRevoke says whether it keeps what it is told to give up.
func (m *ScriptedMember) RefuseRevoke(on bool) error {
	m.k.mark.Helper()
	return m.do("RefuseRevoke", func(s *broker.Script) { s.Refuse(on) })
}

// ComeBack makes it join again as a new process would: without its member id, under the same instance id. What it was before is not told goodbye.
func (m *ScriptedMember) ComeBack() error {
	m.k.mark.Helper()
	return m.do("ComeBack", (*broker.Script).Return)
}

// answered bounds a request of the test's own by WaitLimit.
func (m *ScriptedMember) answered() (done <-chan struct{}, cancel func()) {
	ctx, cancel := context.WithTimeout(context.Background(), m.k.o.waitLimit)
	return ctx.Done(), cancel
}

func (m *ScriptedMember) coded(what string, send func(done <-chan struct{}) (wire.Code, error)) ErrorCode {
	m.k.mark.Helper()
	done, cancel := m.answered()
	defer cancel()
	code, err := send(done)
	if err != nil {
		_ = m.k.steered(fmt.Sprintf("%s of scripted member %s", what, m.name), err)
		return UnknownServerError
	}
	return ErrorCode(code)
}

// Leave leaves the group and answers what the coordinator said: NoError normally. It stays away until ComeBack.
func (m *ScriptedMember) Leave() ErrorCode {
	m.k.mark.Helper()
	return m.coded("Leave", func(done <-chan struct{}) (wire.Code, error) { return m.s.Leave(done, false) })
}

// LeaveForAWhile is how a static member of Protocol Consumer goes away for a restart (epoch -2): its partitions wait for ComeBack.
func (m *ScriptedMember) LeaveForAWhile() ErrorCode {
	m.k.mark.Helper()
	return m.coded("LeaveForAWhile", func(done <-chan struct{}) (wire.Code, error) { return m.s.Leave(done, true) })
}

// Heartbeat sends one and answers what the coordinator said. A member ByHand of Protocol Consumer joins by its first one, and acknowledges what it was told to
// give up by the next after that.
func (m *ScriptedMember) Heartbeat() ErrorCode {
	m.k.mark.Helper()
	return m.coded("Heartbeat", m.s.Heartbeat)
}

// JoinGroup sends one, for a classic member ByHand, and answers what the coordinator said: MemberIDRequired to the first, and after the next the member
// has its generation. It is answered when the join phase ends.
func (m *ScriptedMember) JoinGroup() ErrorCode {
	m.k.mark.Helper()
	return m.byHand("JoinGroup", m.s.JoinGroup)
}

// SyncGroup sends one, for a classic member ByHand, with the assignment if it leads, and answers what the coordinator said.
func (m *ScriptedMember) SyncGroup() ErrorCode {
	m.k.mark.Helper()
	return m.byHand("SyncGroup", m.s.SyncGroup)
}

func (m *ScriptedMember) byHand(what string, send func(done <-chan struct{}) (wire.Code, error)) ErrorCode {
	m.k.mark.Helper()
	if !m.s.ByHand() {
		_ = m.k.steered(what+" of scripted member "+m.name, errors.New("it joins and syncs by itself; describe it with ByHand: true, and Protocol: Classic"))
		return UnknownServerError
	}
	return m.coded(what, send)
}

// Commit commits the offset of one partition, whether or not the member owns it, and answers what the coordinator said. It is answered within
// WaitLimit, or fails the test: call it from a goroutine of its own where a Hold stops it.
func (m *ScriptedMember) Commit(topic string, partition int32, offset int64) ErrorCode {
	m.k.mark.Helper()
	return m.coded("Commit", func(done <-chan struct{}) (wire.Code, error) { return m.s.Commit(done, topic, partition, offset) })
}

// Ask sends a request of the test's making as this member, and answers the response. Set its Version; group, member id, instance id and generation are filled in
// where they are empty (in ConsumerGroupHeartbeat the epoch is not: 0 joins). A member ByHand follows the answer: it takes over member id, epoch and
// assignment.
func (m *ScriptedMember) Ask(req kmsg.Request) (kmsg.Response, error) {
	m.k.mark.Helper()
	done, cancel := m.answered()
	defer cancel()
	if req == nil {
		return nil, m.k.steered(fmt.Sprintf("Ask of scripted member %s", m.name), errors.New("there is no request: give one"))
	}
	resp, err := m.s.Ask(done, req)
	return resp, m.k.steered(fmt.Sprintf("Ask of scripted member %s", m.name), err)
}
