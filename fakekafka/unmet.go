package fakekafka

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/broker"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// What a failed wait for a group says beside what was there. All of it is looked up when the call has failed. In this order: what the test did that may be in the way (inTheWay,
// which waits for other things say, too), members that are there and can't do what is wanted (strayed, silent), and what became of the clients that should be
// members and are not (absent).

// mostTold is how many clients, members or faults a message tells of, of each.
const mostTold = 10

// mostMissing is how many topics that there aren't a line of it tells of.
const mostMissing = 3

// few are the first of what is told, and how many more there are.
func few(told []string, of string) []string {
	return fewOf(told, len(told), of)
}

// fewOf is few of which only the first were put in words.
func fewOf(told []string, n int, of string) []string {
	if more := n - mostTold; more > 0 {
		return append(told[:mostTold:mostTold], fmt.Sprintf("… and %d more %s", more, of))
	}
	return told
}

// unmet is the failure of a call that wanted something of the group with at least n members, these among them; n is 0 where it is not said how many.
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
	hints := append(g.strayed(s), few(g.silent(s), "members")...)
	var unled bool
	g.k.b.Look(func() { unled = g.k.b.Unled(g.id) })
	if unled { // else who was a member would be said to have asked to join
		return g.failed(err, hints...)
	}
	missing := slices.DeleteFunc(slices.Clone(members), func(name string) bool { return named(s, name) })
	if len(s.Members) < max(n, wanted.N) || len(missing) > 0 {
		complete := n > 0 && len(s.Members) >= max(n, wanted.N)
		hints = append(hints, g.absent(s, missing, complete)...)
		hints = append(hints, few(g.rivals(s), "instance ids")...)
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

// inTheWay is what may keep something from happening: what the test has stopped, faults that have acted, transactions that have not ended, and topics that a slip of
// the pen has made.
func (k *Cluster) inTheWay() []string {
	if k.b.CheckOpen() != nil {
		return nil
	}
	var open []string
	k.b.Look(func() { open = k.b.OpenTransactions() })
	return slices.Concat(k.stops(), few(k.b.RulesThatActed(), "faults"), few(open, "transactions"), few(k.b.Misspelled(), "topics"))
}

// strayed says which members subscribe to topics that there aren't, or by a pattern that may match none, a line each. To find out which topics could be meant takes a look at all: it is done for those only
// that are told of.
func (g *Group) strayed(s GroupState) (told []string) {
	n := 0
	for _, m := range s.Members {
		strays, pattern := slices.ContainsFunc(m.Subscribed, func(topic string) bool { return !g.k.b.HasTopic(topic) }), patternFitsNone(m)
		if !strays && !pattern {
			continue
		}
		if n++; n > mostTold {
			continue
		}
		if strays {
			told = append(told, fmt.Sprintf("%s subscribes to %s", memberLabel(m), g.k.missing(m.Subscribed)))
		} else {
			told = append(told, fmt.Sprintf("%s subscribes to /%s/ and is to own nothing: does it match a topic? %s", memberLabel(m), broker.Shown(m.SubscribedRegex), g.k.b.TopicsText()))
		}
	}
	return fewOf(told, n, "members")
}

// missing says of topics that there aren't which there are; "" where there are all.
func (k *Cluster) missing(topics []string) string {
	var told []string
	n := 0
	for _, topic := range topics {
		if k.b.HasTopic(topic) {
			continue
		}
		if n++; n > mostMissing {
			continue
		}
		if _, err := k.b.Partitions(topic); err != nil {
			told = append(told, fmt.Sprintf("topic %q: %v", broker.LoggedName(topic), err))
		}
	}
	if more := n - mostMissing; more > 0 {
		told = append(told, fmt.Sprintf("and to %s more", count(more, "topic")))
	}
	return strings.Join(told, "; ")
}

// rivals says of which static members two processes claim the place, a line each: Kafka then fences the one that was there first.
func (g *Group) rivals(s GroupState) (told []string) {
	fenced := map[string]Event{} // by instance id, the last of each
	for _, e := range g.History() {
		switch {
		case e.Kind == groups.EventReplaced:
			delete(fenced, e.InstanceID)
		case e.Kind == groups.EventFenced && e.InstanceID != "":
			fenced[e.InstanceID] = e
		}
	}
	for _, m := range s.Members {
		if e, ok := fenced[m.InstanceID]; ok && e.Member != m.ID {
			told = append(told, fmt.Sprintf("two processes have the instance id %q: client %q was fenced at +%.3fs, as client %q has taken its place",
				broker.LoggedName(m.InstanceID), broker.LoggedName(e.ClientID), e.At.Sub(g.k.b.StartedAt()).Seconds(), broker.LoggedName(m.ClientID)))
		}
	}
	return told
}

// silent says which members are not heard and still have a session, a line each.
func (g *Group) silent(s GroupState) (told []string) {
	now := g.k.Now()
	g.k.b.Look(func() {
		for _, m := range s.Members {
			if left := m.SessionDeadline.Sub(now); left > 0 && g.k.b.Silent(g.id, m.ID) {
				told = append(told, fmt.Sprintf("%s is not heard; its session ends in %s of the brokers' time: FastForward past it ends it at once", memberLabel(m), left.Round(time.Millisecond)))
			}
		}
	})
	return told
}

// absent says of each client that is no member what it did instead, a line each, and first of those that are wanted by name; and where none of them has asked for this
// group, what to look for, unless it is complete: as many members are there as are wanted.
func (g *Group) absent(s GroupState, wanted []string, complete bool) (told []string) {
	out, asked, n := g.out(), false, 0
	members := map[string]bool{}
	for _, m := range s.Members {
		members[broker.LoggedName(m.ClientID)] = true
	}
	byName := map[string]string{}
	for _, name := range wanted {
		byName[broker.LoggedName(name)] = name
	}
	for _, c := range g.tracesOfFirst(byName) {
		did, forThis := "", false
		if members[c.Client] {
			did = g.elsewhere(c)
		} else {
			did, forThis = g.instead(c, out[c.Client])
		}
		if did == "" {
			continue
		}
		asked = asked || forThis
		if n++; n > mostTold {
			continue
		}
		if topics := g.k.missing(c.Unknown); topics != "" {
			did += "; it asked for " + topics
		}
		if name, ok := byName[c.Client]; ok {
			did += g.successor(s, name, out[c.Client])
			delete(byName, c.Client)
		}
		told = append(told, fmt.Sprintf("client %q %s", c.Client, did))
	}
	told = fewOf(told, n, "clients")
	for _, name := range slices.Sorted(maps.Values(byName)) { // the log of requests may have forgotten its connection
		if n >= mostTold {
			break
		}
		if after := g.successor(s, name, out[broker.LoggedName(name)]); after != "" {
			n++
			told = append(told, fmt.Sprintf("client %q is out of it%s", name, after))
		}
	}
	if asked || complete {
		return told
	}
	return append(told, g.wasOneStarted(len(s.Members) > 0, len(told) > 0))
}

// tracesOfFirst are what the clients have asked for, those of these names first, and then those that may have misspelled the group.
func (g *Group) tracesOfFirst(names map[string]string) []*broker.ClientTrace {
	traces := g.k.b.ClientTraces()
	later := func(c *broker.ClientTrace) int {
		_, wanted := names[c.Client]
		switch {
		case wanted:
			return 0
		case slices.ContainsFunc(c.Joins, g.misspelled), slices.ContainsFunc(c.Groups, g.misspelled):
			return 1
		}
		return 2
	}
	slices.SortStableFunc(traces, func(x, y *broker.ClientTrace) int { return later(x) - later(y) })
	return traces
}

// misspelled tells whether a group's id may be a slip of the pen for this one's.
func (g *Group) misspelled(id string) bool {
	return broker.NearName(g.id, []string{id}) != "" && !broker.OfASeries(g.id, id)
}

// wasOneStarted is the question where no client, or none but the members, has asked for the group.
func (g *Group) wasOneStarted(members, clients bool) string {
	nobody := "no client has asked for this group: was one"
	switch {
	case members:
		nobody = "no other client has asked for this group: was another one"
	case !clients:
		nobody = "no client has connected: was one"
	}
	dialer := ""
	if g.k.o.memory != nil {
		dialer = " the cluster's DialContext as its dialer,"
	}
	return fmt.Sprintf("%s started, with the address of this cluster, %s,%s and with group.id %q?", nobody, g.k.Bootstrap(), dialer, broker.LoggedName(g.id))
}

// successor says who has the place of a client that went out by this event, and what it is called now; "" where nobody has.
func (g *Group) successor(s GroupState, name string, out Event) string {
	heir, ok := broker.Heir(s, name)
	if !ok && out.Kind == groups.EventReplaced && out.InstanceID != "" {
		at := slices.IndexFunc(s.Members, func(m MemberState) bool { return m.InstanceID == out.InstanceID })
		if ok = at >= 0; ok {
			heir = s.Members[at]
		}
	}
	if !ok {
		return ""
	}
	called := heir.ClientID
	if len(broker.MembersCalled(s, called)) != 1 {
		called = heir.InstanceID
	}
	return fmt.Sprintf("; client %q has taken its place: name it %q", heir.ClientID, called)
}

// out is by which event each client went out of the group, or was refused by it, the last of each.
func (g *Group) out() map[string]Event {
	out := map[string]Event{}
	clients := map[string]string{} // of members, by id
	for _, e := range g.History() {
		e.ClientID = broker.LoggedName(cmp.Or(e.ClientID, clients[e.Member]))
		switch e.Kind {
		case groups.EventJoined:
			clients[e.Member] = e.ClientID
		case groups.EventReplaced:
			out[clients[e.Replaces]] = e
			delete(out, e.ClientID) // it may be the same, or have come back
			clients[e.Member] = e.ClientID
		case groups.EventLeft, groups.EventExpired, groups.EventEvicted:
			out[e.ClientID] = e
		case broker.EventRefused:
			before := out[e.ClientID]
			fenced := before.Kind == groups.EventReplaced && strings.Contains(e.Cause, " was answered "+wire.FencedInstanceID.String())
			if e.At.After(before.At) && !fenced { // else it is what follows from going out
				out[e.ClientID] = e
			}
		}
	}
	return out
}

// elsewhere is what else a client did that is a member: several may share its name, and another of them be the one that is missing. "" for nothing.
func (g *Group) elsewhere(c *broker.ClientTrace) string {
	others := slices.DeleteFunc(slices.Clone(c.Joins), func(id string) bool { return id == broker.LoggedName(g.id) })
	if len(others) == 0 {
		return ""
	}
	return "has a member here, and has joined another group, too: " + g.quoted(others)
}

// instead is what a client did that is no member; forThis is false where that had nothing to do with this group.
func (g *Group) instead(c *broker.ClientTrace, out Event) (did string, forThis bool) {
	closed := ""
	if !c.Connected {
		closed = "; its connections are closed"
	}
	switch {
	case !out.At.IsZero():
		return fmt.Sprintf("is out of it since +%.3fs: %s", out.At.Sub(g.k.b.StartedAt()).Seconds(), whatText(out)), true
	case slices.Contains(c.Joins, broker.LoggedName(g.id)):
		return "has asked to join it and is no member yet", true
	case slices.Contains(c.Groups, broker.LoggedName(g.id)):
		return fmt.Sprintf("has asked for its coordinator and not to join; it sent %s%s", apis(c.Sent), closed), true
	case len(c.Joins) > 0:
		return fmt.Sprintf("has joined another group: %s", g.quoted(c.Joins)), false
	case len(c.Groups) > 0:
		return fmt.Sprintf("has asked for another group: %s%s", g.quoted(c.Groups), closed), false
	}
	pattern := ""
	if c.AllTopics {
		pattern = "; it asked for all topics: does it wait for one that its pattern matches? " + g.k.b.TopicsText()
	}
	return fmt.Sprintf("has asked for no group; it sent %s%s%s", apis(c.Sent), closed, pattern), false
}

// quoted lists groups, and says which of them could be meant.
func (g *Group) quoted(ids []string) string {
	text := fmt.Sprintf("%q", ids)
	switch more := len(ids) - mostTold; {
	case len(ids) == 1:
		text = fmt.Sprintf("%q", ids[0])
	case more > 0:
		text = fmt.Sprintf("%q and %d more", ids[:mostTold], more)
	}
	if slices.ContainsFunc(ids, g.misspelled) {
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
