package fakekafka

import (
	"fmt"
	"time"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/broker"
)

// Member is the handle of one member of a group, named by client id, group.instance.id or member id. It is looked up at each call. The client id is that of the
// process that speaks for the member now: where another has taken a static member's place, its name is the new one's, though Kafka goes on to show
// the first one's in a classic group ([MemberState].DescribedClientID).
func (g *Group) Member(name string) *MemberHandle { return &MemberHandle{g, name} }

// MemberHandle steers and shows one member of a group.
type MemberHandle struct {
	g    *Group
	name string
}

// find looks the member up.
func (m *MemberHandle) find() (found MemberState, err error) {
	m.g.k.b.Look(func() {
		s, ok := m.g.k.b.GroupState(m.g.id)
		if !ok {
			err = fmt.Errorf("there is no group %q; there %s", m.g.id, listed(m.g.k.b.GroupIDs()))
			return
		}
		found, err = broker.ResolveMember(s, m.name)
	})
	return found, err
}

// State is the member as it stands now.
func (m *MemberHandle) State() (MemberState, error) { return m.find() }

// PauseScope says how much of a client a pause stops.
type PauseScope int

const (
	// Everything the client sends waits: as if its process hung.
	Everything PauseScope = iota
	// GroupTraffic alone waits: heartbeats, joins, commits. The client still fetches and produces: a zombie.
	GroupTraffic
)

// Pause stops the member's client: its requests get no answer until Resume. Default scope: Everything. Its session ages meanwhile, so that
// FastForward past the session timeout removes it. The pause is of the client id: clients that share it pause together. It stays with
// that client where another one takes the member's place meanwhile. It ends with the test's function, before its cleanups:
// a client that is closed in a defer is paused still, and may wait for ever for the answer to its LeaveGroup.
func (m *MemberHandle) Pause(scope ...PauseScope) error {
	m.g.k.mark.Helper()
	s, err := m.find()
	switch {
	case err != nil:
	case len(scope) > 1 || len(scope) == 1 && scope[0] != Everything && scope[0] != GroupTraffic:
		err = fmt.Errorf("the scope %v: give one of Everything and GroupTraffic, or none", scope)
	case s.ClientID == "":
		err = fmt.Errorf("the client of %s has no client.id, by which a pause goes: give it one", s.ID)
	default:
		err = m.g.k.b.Pause(s.ClientID, m.g.id, m.name, len(scope) > 0 && scope[0] == GroupTraffic)
	}
	return m.g.k.steered(fmt.Sprintf("Pause of member %s", m.name), err)
}

// Resume lets a paused member's client go on, and with it whatever client was paused by a handle of this name: one that has lost the member's place meanwhile, or the
// member with it, goes on as a zombie.
func (m *MemberHandle) Resume() error {
	m.g.k.mark.Helper()
	client := m.name
	if s, err := m.find(); err == nil {
		client = s.ClientID
	}
	return m.g.k.steered(fmt.Sprintf("Resume of member %s", m.name), m.g.k.b.Resume(client, m.g.id, m.name))
}

// Evict removes the member as its session timeout would, with no clock involved.
func (m *MemberHandle) Evict() error {
	m.g.k.mark.Helper()
	return m.steer("Evict", (*groups.Shard).Evict)
}

// Fence makes the member's next request fail as that of a member whose place was taken.
func (m *MemberHandle) Fence() error {
	m.g.k.mark.Helper()
	return m.steer("Fence", func(s *groups.Shard, now time.Time, group, member, _ string) (groups.Effects, error) {
		return s.Fence(now, group, member)
	})
}

func (m *MemberHandle) steer(what string, do func(s *groups.Shard, now time.Time, group, member, cause string) (groups.Effects, error)) error {
	m.g.k.mark.Helper()
	s, err := m.find()
	if err == nil {
		err = m.g.k.b.SteerGroup(m.g.id, func(now time.Time, sh *groups.Shard) (groups.Effects, error) {
			return do(sh, now, m.g.id, s.ID, "by the test")
		})
	}
	return m.g.k.steered(fmt.Sprintf("%s of member %s", what, m.name), err)
}
