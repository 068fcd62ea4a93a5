package fakekafka

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/broker"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// What a failed wait for a group says beside what was there: what became of the clients that should be its members. All of it is looked up when a call has failed.

// absentClients is how many clients a message tells of.
const absentClients = 10

// unmet is the failure of a call that wanted something of the group with at least n members, these among them.
func (g *Group) unmet(err error, n int, members ...string) error {
	if err == nil {
		return nil
	}
	if g.k.b.CheckOpen() != nil {
		return g.failed(err)
	}
	s, wanted := g.State(), g.expected()
	if missed := expectationText(wanted, len(s.Members)); missed != "" {
		err = fmt.Errorf("%s: %w", missed, err)
	}
	hints := append(g.strayed(s), g.silent(s)...)
	if len(s.Members) < max(n, wanted.N) || slices.ContainsFunc(members, func(name string) bool { return !named(s, name) }) {
		hints = append(hints, g.absent(s)...)
	}
	return g.failed(err, hints...)
}

func (g *Group) expected() (e broker.Expectation) {
	g.k.b.Look(func() { e = g.k.b.Expected(g.id) })
	return e
}

// expectationText is what the headline says of an ExpectMembers that was not met; "" while there is none, and after enough members have come.
func expectationText(e broker.Expectation, members int) string {
	switch {
	case members >= e.N || members == 0: // without any the call itself is not what is in the way
		return ""
	case e.Missed == "":
		return fmt.Sprintf("ExpectMembers(%d) still waits, there %s", e.N, are(members, "member"))
	}
	missed, _, _ := strings.Cut(e.Missed, ";")
	return fmt.Sprintf("ExpectMembers(%d) was missed, %s", e.N, missed)
}

func are(n int, thing string) string {
	if n == 1 {
		return "is 1 " + thing
	}
	return "are " + count(n, thing)
}

// named tells whether a member of the group goes by a name.
func named(s GroupState, name string) bool { return len(broker.MembersCalled(s, name)) > 0 }

// inTheWay is what the test has done that may keep something from happening: brokers that don't run, pauses, isolations, holds at which requests stand, faults.
func (k *Cluster) inTheWay() []string {
	if k.b.CheckOpen() != nil {
		return nil
	}
	told := k.b.Disturbances()
	for _, h := range k.holds.all() {
		if h.gate == nil {
			continue // a group at a step is shown with it
		}
		if stands, what := k.standsAt(h); stands {
			told = append(told, h.Name()+" holds "+what)
		}
	}
	if acted := k.b.Acted(); len(acted) > absentClients {
		told = append(told, fmt.Sprintf("%d faults of the test have acted, the last: %s", len(acted), acted[len(acted)-1]))
	} else {
		told = append(told, acted...)
	}
	return told
}

// silent says which members are not heard and still have a session, a line each.
func (g *Group) silent(s GroupState) (told []string) {
	now := g.k.Now()
	g.k.b.Look(func() {
		for _, m := range s.Members {
			if left := m.SessionDeadline.Sub(now); left > 0 && len(told) < absentClients && g.k.b.Silent(g.id, m.ID) {
				told = append(told, fmt.Sprintf("%s is not heard; its session ends in %s of the brokers' time: FastForward past it ends it at once", memberLabel(m), left.Round(time.Millisecond)))
			}
		}
	})
	return told
}

// strayed says which members subscribe to topics that there aren't, a line each.
func (g *Group) strayed(s GroupState) (told []string) {
	for _, m := range s.Members {
		for _, topic := range m.Subscribed {
			if _, err := g.k.b.Partitions(topic); err != nil && len(told) < absentClients {
				told = append(told, fmt.Sprintf("%s subscribes to topic %q: %v", memberLabel(m), topic, err))
			}
		}
	}
	return told
}

// absent says of each client that is no member what it did instead, a line each, and what to look for.
func (g *Group) absent(s GroupState) (told []string) {
	gone, refused := g.gone()
	came, others := false, 0
	for _, c := range g.k.b.ClientTraces() {
		if slices.ContainsFunc(s.Members, func(m MemberState) bool { return m.ClientID == c.Client }) {
			continue
		}
		did, ofThis := g.deed(c, gone[c.Client], refused[c.Client])
		came = came || ofThis
		if others++; others > absentClients {
			continue
		}
		line := fmt.Sprintf("client %q %s", c.Client, did)
		for _, topic := range c.Unknown {
			if _, err := g.k.b.Partitions(topic); err != nil {
				line += fmt.Sprintf("; it asked for topic %q: %v", topic, err)
			}
		}
		told = append(told, line)
	}
	if more := others - absentClients; more > 0 {
		told = append(told, fmt.Sprintf("… and %d more clients", more))
	}
	nobody := "no client has asked for this group: was one"
	switch {
	case came:
		return told
	case len(s.Members) > 0:
		nobody = "no other client has asked for this group: was another one"
	case others == 0:
		nobody = "no client has connected: was one"
	}
	dialer := ""
	if g.k.o.memory != nil {
		dialer = " the cluster's DialContext as its dialer,"
	}
	return append(told, fmt.Sprintf("%s started, with the address of this cluster, %s,%s and with group.id %q?", nobody, g.k.Bootstrap(), dialer, g.id))
}

// gone is how clients went out of the group, and why the coordinator refused others, the last of each.
func (g *Group) gone() (gone, refused map[string]Event) {
	gone, refused = map[string]Event{}, map[string]Event{}
	clients := map[string]string{} // of members, by id
	for _, e := range g.History() {
		e.ClientID = cmp.Or(e.ClientID, clients[e.Member])
		switch e.Kind {
		case groups.EventJoined:
			clients[e.Member] = e.ClientID
		case groups.EventReplaced:
			gone[clients[e.Replaces]] = e
			delete(gone, e.ClientID) // it may be the same, or have come back
			clients[e.Member] = e.ClientID
		case groups.EventLeft, groups.EventExpired, groups.EventEvicted:
			gone[e.ClientID] = e
		case broker.EventRefused:
			refused[e.ClientID] = e
		}
	}
	return gone, refused
}

// deed is what a client that is no member did; ofThis is false where that had nothing to do with this group.
func (g *Group) deed(c *broker.ClientTrace, gone, refused Event) (did string, ofThis bool) {
	last := gone
	if refused.At.After(last.At) {
		last = refused
	}
	closed := ""
	if !c.Connected {
		closed = "; its connections are closed"
	}
	switch {
	case !last.At.IsZero():
		return fmt.Sprintf("is out of it since +%.3fs: %s", last.At.Sub(g.k.b.StartedAt()).Seconds(), whatText(last)), true
	case slices.Contains(c.Joins, g.id):
		return "has asked to join it and is no member yet", true
	case slices.Contains(c.Groups, g.id):
		return fmt.Sprintf("has asked for its coordinator and not to join; it sent %s%s", apis(c.Sent), closed), true
	case len(c.Joins) > 0:
		return fmt.Sprintf("has joined another group: %s", g.quoted(c.Joins)), false
	case len(c.Groups) > 0:
		return fmt.Sprintf("has asked for another group: %s%s", g.quoted(c.Groups), closed), false
	}
	return fmt.Sprintf("has asked for no group; it sent %s%s", apis(c.Sent), closed), false
}

// quoted lists groups, and says which of them could be meant.
func (g *Group) quoted(ids []string) string {
	text := fmt.Sprintf("%q", ids)
	if len(ids) == 1 {
		text = fmt.Sprintf("%q", ids[0])
	}
	if broker.Misspelled(g.id, ids) != "" {
		text += fmt.Sprintf(" (here it is %q: is one of them misspelled?)", g.id)
	}
	return text
}

func apis(keys []wire.Key) string {
	var names []string
	for _, k := range keys {
		names = append(names, k.String())
	}
	return strings.Join(names, ", ")
}
