package broker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// Who speaks for a member, and what the test may call it. Kafka keeps the client id of a static classic member's first process and shows it for good; a test that pauses the
// member, or waits for it to fetch, means the process that has the member's place now.

type memberKey struct{ group, member string }

// voice is who speaks for a member: a client on a connection, or a script.
type voice interface {
	// clientID is the client id under which it speaks.
	clientID() string
	// alive tells whether the member's heartbeats come through: it is connected, not paused, and its heartbeat does not stand at a hold.
	alive() bool
	// acts tells whether it may still do something by itself.
	acts() bool
}

// memberOf is the member that a group request speaks for; ok is false where it names none.
func memberOf(body kmsg.Request) (k memberKey, ok bool) {
	switch req := body.(type) {
	case *kmsg.JoinGroupRequest:
		k = memberKey{req.Group, req.MemberID}
	case *kmsg.SyncGroupRequest:
		k = memberKey{req.Group, req.MemberID}
	case *kmsg.HeartbeatRequest:
		k = memberKey{req.Group, req.MemberID}
	case *kmsg.OffsetCommitRequest:
		k = memberKey{req.Group, req.MemberID}
	case *kmsg.ConsumerGroupHeartbeatRequest:
		k = memberKey{req.Group, req.MemberID}
	}
	return k, k.member != ""
}

// voice is who speaks in a request of a member.
func (r *request) voice() voice {
	if r.script != nil {
		return r.script
	}
	return r.conn.speaks
}

// speaker is a client on a connection. Another may use the same connection, such as that of a proxy, and is not heard for it.
type speaker struct {
	conn   *conn
	client string
}

func (s *speaker) clientID() string { return s.client }

// alive tells whether the client is connected and its heartbeats come through.
func (s *speaker) alive() bool {
	c := s.conn
	return c.open() && !c.standing.heartbeat() && c.cluster.pauses.at(s.client, c.node.id, wire.Heartbeat) == nil
}

func (s *speaker) acts() bool { return s.alive() && s.conn.standing.Load() == 0 }

// heard notes who speaks for the member that a request names. Ids that the group doesn't know are left out: a client may name any number of them,
// and whoever speaks for one would be kept for as long as the cluster runs. On the loop.
func (co *coordinator) heard(sh *shard, w *waitingRequest) {
	if k, ok := memberOf(w.body); ok && w.voice != nil && sh.HasMember(k.group, k.member) {
		w.before = co.voices[k]
		co.voices[k] = w.voice
	}
}

// unheard takes back what heard noted: the coordinator refused the request, so that another client than before that names the member doesn't speak for it. On the loop.
func (co *coordinator) unheard(w *waitingRequest) {
	if k, ok := memberOf(w.body); ok && w.before != nil && w.before.clientID() != w.voice.clientID() && co.voices[k] == w.voice {
		co.voices[k] = w.before
	}
}

// noteVoice notes who speaks for a new member (heard can't: it wasn't one yet), forgets members that are gone, and names in the event who speaks.
func (co *coordinator) noteVoice(ev *groups.Event) {
	k := memberKey{ev.Group, ev.Member}
	switch ev.Kind {
	case groups.EventJoined, groups.EventReplaced:
		delete(co.voices, memberKey{ev.Group, ev.Replaces})
		if w := co.handling; w != nil && w.voice != nil {
			co.voices[k] = w.voice
		}
	case groups.EventCommitted, groups.EventOffsetsPending:
		return // they name who asked: of a transaction that is its producer
	}
	if v := co.voices[k]; v != nil {
		ev.ClientID = v.clientID()
	}
	if w := co.handling; w != nil && ev.Kind == groups.EventFenced && ev.ClientID == "" {
		ev.ClientID = w.client.ID // nobody speaks for a member that has lost its place
	}
	switch ev.Kind {
	case groups.EventLeft, groups.EventExpired, groups.EventEvicted:
		delete(co.voices, k)
	}
}

// nameSpeakers gives the members the client ids of those who speak for them. A member that was only read from the log keeps Kafka's. On the loop.
func (co *coordinator) nameSpeakers(s *groups.State) {
	for i := range s.Members {
		m := &s.Members[i]
		if v := co.voices[memberKey{s.ID, m.ID}]; v != nil {
			m.ClientID = v.clientID()
		}
	}
}

// living tells whether a member can be heard: its client is connected and not paused, its script not silent. On the loop.
func (co *coordinator) living(group, member string) bool {
	v := co.voices[memberKey{group, member}]
	return v != nil && v.alive()
}

// Silent tells whether a member can't be heard: its client isn't connected, or is paused, or its script is silent. On the loop.
func (c *Cluster) Silent(group, member string) bool { return !c.groups.living(group, member) }

// MembersCalled are the members that a name may mean: the one of this member id, or else those of this instance id or with this client id of who speaks for them.
func MembersCalled(s groups.State, name string) (called []groups.MemberState) {
	for _, m := range s.Members {
		switch {
		case m.ID == name:
			return []groups.MemberState{m}
		case m.InstanceID == name && name != "", m.ClientID == name:
			called = append(called, m)
		}
	}
	return called
}

// TimesCalled counts how many members each name fits: their client ids, instance ids and member ids.
func TimesCalled(s groups.State) map[string]int {
	called := map[string]int{}
	for _, m := range s.Members {
		called[m.ClientID]++
		if m.InstanceID != m.ClientID {
			called[m.InstanceID]++
		}
		if m.ID != m.ClientID && m.ID != m.InstanceID {
			called[m.ID]++ // in the consumer protocol it is the client's choice
		}
	}
	return called
}

// ResolveMember finds a member by client id, instance id or member id. One that fits none or two is an error that lists the members.
func ResolveMember(s groups.State, name string) (groups.MemberState, error) {
	called := MembersCalled(s, name)
	switch len(called) {
	case 1:
		return called[0], nil
	case 0:
		err := NoMember(s, name)
		if heir, ok := Heir(s, name); ok {
			err = fmt.Errorf("%w; client %[2]q has taken the place of client %[3]q: name it %[2]q", err, heir.ClientID, name)
		}
		return groups.MemberState{}, err
	}
	return groups.MemberState{}, fmt.Errorf("group %q has %d members %q: give each client a client.id of its own, or name the one you mean by another of its names: %s", s.ID, len(called), name, memberList(called, wholeLabel))
}

// NoMember is the error of a name that fits none; it lists the members.
func NoMember(s groups.State, name string) error {
	list := "it has none"
	if len(s.Members) > 0 {
		list = "it has " + memberList(s.Members, labels(s))
	}
	return fmt.Errorf("group %q has no member %q by client id, instance id or member id; %s", s.ID, name, list)
}

// memberList lists members; of many the first ones.
func memberList(members []groups.MemberState, label func(groups.MemberState) string) string {
	all := make([]string, len(members))
	for i, m := range members {
		all[i] = label(m)
	}
	slices.Sort(all)
	all, more := firstNames(all)
	return strings.Join(all, ", ") + more
}

// labels is how messages name a group's members in words by which the test may name them, too: the client id and the instance id or the start of the member id, as a timeline does; and
// of one whose name fits another, or that has none, the whole member id.
func labels(s groups.State) func(groups.MemberState) string {
	called := TimesCalled(s)
	return func(m groups.MemberState) string {
		switch {
		case m.ClientID == "" || called[m.ClientID] > 1 || m.InstanceID != "" && called[m.InstanceID] > 1:
			return wholeLabel(m)
		case m.InstanceID != "" && m.InstanceID != m.ClientID:
			return fmt.Sprintf("%s (instance %s)", Shown(m.ClientID), Shown(m.InstanceID))
		case m.ID == m.ClientID:
			return Shown(m.ClientID)
		}
		return fmt.Sprintf("%s (%s)", Shown(m.ClientID), ShortID(m.ID, m.ClientID))
	}
}

// wholeLabel is every name of a member.
func wholeLabel(m groups.MemberState) string {
	label := fmt.Sprintf("%s (client %q", Shown(m.ID), LoggedName(m.ClientID))
	if m.InstanceID != "" {
		label += fmt.Sprintf(", instance %q", LoggedName(m.InstanceID))
	}
	return label + ")"
}

// Heir is the member whose place was that of a client of this name, as Kafka goes on to call it; ok is false where there is none.
func Heir(s groups.State, name string) (heir groups.MemberState, ok bool) {
	for _, m := range s.Members {
		if m.DescribedClientID == name && m.ClientID != name && name != "" {
			return m, true
		}
	}
	return groups.MemberState{}, false
}
