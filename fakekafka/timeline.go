package fakekafka

import (
	"fmt"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// Timeline is the group's history for a reader: when, at which epoch, who, what and why; with it stands what the test did meanwhile to the time, to brokers, and to
// clients that are in the group. A failing test prints it by itself.
func (g *Group) Timeline() string {
	return g.head() + "\n" + timeline(g.k.b.HistoryAround(g.id), g.k.b.StartedAt(), 0, "")
}

// failureEvents is how much of a timeline a failure shows: a thousand members write thousands of lines.
const failureEvents = 150

// listed says which groups there are, for messages.
func listed(groups []string) string {
	const most = 20
	switch n := len(groups); {
	case n == 0:
		return "is none"
	case n > most:
		return fmt.Sprintf("are %q and %d more", groups[:most], n-most)
	}
	return fmt.Sprintf("are %q", groups)
}

// recent is the last of these events for a failure, from the first on that isn't known yet.
func (g *Group) recent(events []Event, known int) string {
	if len(events) == 0 { // perhaps the name is a slip of the pen
		var others []string
		g.k.b.Look(func() { others = g.k.b.GroupIDs() })
		return g.head() + fmt.Sprintf("\n     (nothing has happened; of groups there %s)\n", listed(others))
	}
	from, note := known, ""
	if hidden := len(events) - known - failureEvents; hidden > 0 {
		from += hidden
		note = fmt.Sprintf("   … %d earlier events: Group(%q).Timeline() has them all\n", hidden, g.id)
	}
	return g.head() + "\n" + timeline(events, g.k.b.StartedAt(), from, note)
}

// unshown is the part of the timeline that no failure of the test has shown; "" for none.
func (g *Group) unshown() string {
	events := g.k.b.HistoryAround(g.id)
	known := g.k.shown.of(g.id)
	switch {
	case known == 0:
		return g.recent(events, 0)
	case known < len(events):
		return "after the failure above, " + g.recent(events, known)
	}
	return ""
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
	head := "group " + g.id
	if s.Protocol != "" {
		head += " · " + s.Protocol + " protocol"
	}
	if s.Assignor != "" {
		head += " · " + s.Assignor + " assignor"
	}
	return head
}

// Timeline is everything that happened to groups and the cluster, for a reader.
func (k *Cluster) Timeline() string {
	return timeline(k.b.History(""), k.b.StartedAt(), 0, "")
}

// timeline shows the events from one on; note stands in place of those before it.
func timeline(events []Event, start time.Time, from int, note string) string {
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
		if i < from {
			continue
		}
		fmt.Fprintf(w, "   +%.3fs\t%s\t%s\t%s\n", e.At.Sub(start).Seconds(), epochText(e), whoText(e, told), whatText(e))
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
		return shortID(e.Member, "")
	}
	if told[name] == e.Member {
		return name
	}
	told[name] = e.Member
	return fmt.Sprintf("%s (%s)", name, shortID(e.Member, name))
}

// shortID is the part of a member id that tells it from others: the start of its uuid.
func shortID(id, client string) string {
	id = strings.TrimPrefix(id, client+"-")
	if len(id) > 8 {
		return id[:8] + "…"
	}
	return id
}

func whatText(e Event) string {
	what := string(e.Kind)
	if len(e.Partitions) > 0 {
		what += " " + partitionsText(e.Partitions)
	}
	if e.Kind == "committed" || e.Kind == "offsets pending" {
		what += fmt.Sprintf(" at %d", e.Offset)
	}
	if e.Cause != "" {
		what += ": " + e.Cause
	}
	return what
}
