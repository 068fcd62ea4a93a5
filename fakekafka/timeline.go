package fakekafka

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/broker"
)

// Timeline is the group's history for a reader: when, at which epoch, who, what and why; with it stands what the test did meanwhile to the time, to brokers, and to
// clients that are in the group. A failing test prints it by itself.
func (g *Group) Timeline() string {
	events := g.k.b.HistoryAround(g.id)
	return g.head() + "\n" + timeline(events, rows(events, 0), g.k.b.StartedAt(), "")
}

// failureRows is how much of a timeline a failure shows: a thousand members write thousands of lines.
const failureRows = 150

// listed says which groups there are, for messages.
func listed(groups []string) string {
	const most = 20
	var names []string
	for _, id := range groups[:min(len(groups), most)] {
		names = append(names, broker.LoggedName(id))
	}
	switch n := len(groups); {
	case n == 0:
		return "is none"
	case n > most:
		return fmt.Sprintf("are %q and %d more", names, n-most)
	}
	return fmt.Sprintf("are %q", names)
}

// recent is the last of these events for a failure, from the first on that isn't known yet.
func (g *Group) recent(events []Event, known int) string {
	if len(events) == 0 { // perhaps the name is a slip of the pen
		var others []string
		g.k.b.Look(func() { others = g.k.b.GroupIDs() })
		return g.head() + fmt.Sprintf("\n     (nothing has happened; of groups there %s)\n", listed(others))
	}
	shown, note := rows(events, known), ""
	if hidden := len(shown) - failureRows; hidden > 0 {
		n := 0
		for _, r := range shown[:hidden] {
			n += r.times
		}
		shown = shown[hidden:]
		note = fmt.Sprintf("   … %d earlier events: Group(%q).Timeline() has them all\n", n, g.id)
	}
	return g.head() + "\n" + timeline(events, shown, g.k.b.StartedAt(), note)
}

// unshown is the part of the timeline that no failure of the test has shown, but for the goodbyes after one; "" for none.
func (g *Group) unshown() string {
	events := g.k.b.HistoryAround(g.id)
	known := g.k.shown.of(g.id)
	if known == 0 {
		return g.recent(events, 0)
	}
	if to := goodbyes(events, known); to > known {
		return "after the failure above, " + g.recent(events[:to], known)
	}
	return ""
}

// goodbyes is where the events begin, from one on, that are only those of clients that the test's cleanups close.
func goodbyes(events []Event, from int) int {
	at := len(events)
	for at > from && slices.Contains(ofGoodbyes, events[at-1].Kind) {
		at--
	}
	for at < len(events) && events[at].Kind != groups.EventLeft && events[at].Kind != broker.EventResumed && events[at].Kind != broker.EventTestEnded {
		at++
	}
	return at
}

var ofGoodbyes = []groups.EventKind{
	groups.EventLeft, broker.EventTestEnded, broker.EventResumed, groups.EventCommitted, broker.EventSessionGone, groups.EventRebalance, groups.EventToldToRebalance, groups.EventRejoined,
	groups.EventGeneration, groups.EventSynced, groups.EventStable, groups.EventAssigned, groups.EventEmpty,
	groups.EventEpoch, groups.EventTarget, groups.EventToldToRevoke, groups.EventRevoked,
}

// shown is how many events of each group's timeline a failure has shown already.
type shown struct {
	mu     sync.Mutex
	events map[string]int
}

func (s *shown) add(group string, events int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.events == nil {
		s.events = map[string]int{}
	}
	s.events[group] = max(s.events[group], events)
}

func (s *shown) of(group string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events[group]
}

func (g *Group) head() string {
	s := g.State()
	head := "group " + broker.Shown(g.id)
	if s.Protocol != "" {
		head += " · " + s.Protocol + " protocol"
	}
	if s.Assignor != "" {
		head += " · " + broker.Shown(s.Assignor) + " assignor"
	}
	return head
}

// Timeline is everything that happened to groups and the cluster, for a reader.
func (k *Cluster) Timeline() string {
	events := k.b.History("")
	return timeline(events, rows(events, 0), k.b.StartedAt(), "")
}

// row is one line of a timeline.
type row struct {
	event int // its index
	times int // 1, or how often it stands in the history without another event of its client between
	last  time.Time
}

// rows are the events from one on. A client that is refused and asks again, as a fenced one may do a hundred times a second, or is told to rebalance with each
// heartbeat and doesn't, has one row for it: else nothing but that were to be read.
func rows(events []Event, from int) []row {
	var all []row
	repeated := map[string]map[string]int{} // by client and what it was told: the row
	for i := from; i < len(events); i++ {
		e := &events[i]
		who := e.Group + "\x00" + e.Member
		if e.Member == "" {
			who += "\x00" + e.ClientID
		}
		switch e.Kind {
		case groups.EventRefused, groups.EventFenced, groups.EventToldToRebalance:
		default:
			delete(repeated, who)
			all = append(all, row{i, 1, e.At})
			continue
		}
		what := fmt.Sprintf("%d\x00%s\x00%s", e.Epoch, e.InstanceID, whatText(*e))
		if at, ok := repeated[who][what]; ok {
			all[at].times++
			all[at].last = e.At
			continue
		}
		if repeated[who] == nil {
			repeated[who] = map[string]int{}
		}
		repeated[who][what] = len(all)
		all = append(all, row{i, 1, e.At})
	}
	return all
}

// timeline shows the events of these rows; note stands in place of those before them.
func timeline(events []Event, shown []row, start time.Time, note string) string {
	if len(events) == 0 {
		return "     (nothing has happened)\n"
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "     t\tepoch\tmember\twhat\n")
	told := map[string]string{}  // of which member a name was told last
	names := map[string]string{} // of members, by id
	for i, e := range events {
		if e.ClientID == "" && e.InstanceID == "" {
			e.ClientID = names[e.Member]
		} else if e.Member != "" {
			names[e.Member] = e.ClientID
		}
		if len(shown) == 0 || shown[0].event != i {
			continue
		}
		again := ""
		if r := shown[0]; r.times > 1 {
			again = fmt.Sprintf(" (and again, until +%.3fs)", r.last.Sub(start).Seconds()) // not how often: the history leaves out some of them
		}
		shown = shown[1:]
		fmt.Fprintf(w, "   +%.3fs\t%s\t%s\t%s%s\n", e.At.Sub(start).Seconds(), epochText(e), broker.Shown(whoText(e, told)), broker.OneLine(whatText(e)), again)
	}
	w.Flush()
	header, rows, _ := strings.Cut(b.String(), "\n")
	return header + "\n" + note + rows
}

func epochText(e Event) string {
	if e.Epoch == 0 && e.Member == "" {
		return ""
	}
	return fmt.Sprint(e.Epoch)
}

// whoText names the member, with the start of its member id where the name was not last told of the same one: the first time, and where members share a name.
func whoText(e Event, told map[string]string) string {
	name := e.ClientID
	if e.InstanceID != "" {
		name = e.InstanceID
	}
	if e.Member == "" {
		return name
	}
	if name == "" {
		return broker.ShortID(e.Member, "")
	}
	if e.Kind == groups.EventFenced && e.ClientID != "" && e.ClientID != name { // by the instance id alone it were the member that has it now
		return fmt.Sprintf("%s (instance %s)", e.ClientID, e.InstanceID)
	}
	if told[name] == e.Member {
		return name
	}
	told[name] = e.Member
	return fmt.Sprintf("%s (%s)", name, broker.ShortID(e.Member, name))
}

func whatText(e Event) string {
	what := string(e.Kind)
	if len(e.Partitions) > 0 {
		what += " " + partitionsText(e.Partitions)
	}
	if e.Kind == "committed" || e.Kind == "offsets pending" {
		what += fmt.Sprintf(" at %d", e.Offset)
	}
	if e.Cause != "" && e.Cause != string(e.Kind) {
		what += ": " + e.Cause
	}
	return what
}
