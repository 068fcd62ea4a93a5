package fakekafka

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Timeline is the group's history for a reader: when, at which epoch, who, what and why. A failing test prints it by itself.
func (g *Group) Timeline() string {
	s := g.State()
	head := "group " + g.id
	if s.Protocol != "" {
		head += " · " + s.Protocol + " protocol"
	}
	if s.Assignor != "" {
		head += " · " + s.Assignor + " assignor"
	}
	return head + "\n" + timeline(g.k.b.History(g.id), g.k.b.StartedAt())
}

// Timeline is everything that happened to groups and the cluster, for a reader.
func (k *Cluster) Timeline() string {
	return timeline(k.b.History(""), k.b.StartedAt())
}

func timeline(events []Event, start time.Time) string {
	if len(events) == 0 {
		return "     (nothing has happened)\n"
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "     t\tepoch\tmember\twhat\n")
	var told []string
	names := map[string]string{} // of members, by id
	for _, e := range events {
		if e.ClientID == "" && e.InstanceID == "" {
			e.ClientID = names[e.Member]
		} else if e.Member != "" {
			names[e.Member] = e.ClientID
		}
		fmt.Fprintf(w, "   +%.3fs\t%s\t%s\t%s\n", e.At.Sub(start).Seconds(), epochText(e), whoText(e, &told), whatText(e))
	}
	w.Flush()
	return b.String()
}

func epochText(e Event) string {
	if e.Epoch == 0 && e.Member == "" {
		return ""
	}
	return fmt.Sprint(e.Epoch)
}

// whoText names the member; the first time with the start of its member id.
func whoText(e Event, told *[]string) string {
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
	if slices.Contains(*told, e.Member) {
		return name
	}
	*told = append(*told, e.Member)
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
