package fakekafka

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fakekafka/fakekafka/internal/broker"
)

// summaryMembers is how many members of a group a message lists.
const summaryMembers = 40

// summary is a group in one or more lines, for messages. Of a large group it lists those first that still have a step to go.
func summary(s GroupState) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s protocol, epoch %d, %s%s", s.State, s.Protocol, s.Epoch, count(len(s.Members), "member"), heldText(s))
	listed := s.Members
	if len(listed) > summaryMembers {
		listed = slices.Clone(listed)
		slices.SortStableFunc(listed, func(x, y MemberState) int { return -cmp.Compare(step(x), step(y)) })
		listed = listed[:summaryMembers]
	}
	for _, m := range listed {
		fmt.Fprintf(&b, "\n    %s: epoch %d, %s", memberLabel(m), m.Epoch, ownsText(s, m))
		if samePartitions(m.Owned, nil) && len(m.Subscribed) > 0 {
			fmt.Fprintf(&b, ", subscribes to %s", subscribedText(m.Subscribed))
		}
		if patternFitsNone(m) {
			fmt.Fprintf(&b, ", subscribes to /%s/", broker.Shown(m.SubscribedRegex))
		}
		if len(m.Revoking) > 0 {
			fmt.Fprintf(&b, ", is to give up %s", partitionsText(m.Revoking))
		}
		if m.Protocol == "consumer" && !samePartitions(m.Owned, m.Target) {
			fmt.Fprintf(&b, ", shall own %s", partitionsText(m.Target))
		}
		b.WriteString(stepText(s, m))
	}
	if more := len(s.Members) - len(listed); more > 0 {
		fmt.Fprintf(&b, "\n    … and %d more", more)
	}
	return b.String()
}

// patternFitsNone tells whether a member has a pattern and nothing to read: it may match no topic.
func patternFitsNone(m MemberState) bool {
	return m.SubscribedRegex != "" && samePartitions(m.Owned, nil) && samePartitions(m.Target, nil)
}

// ownsText says what a member owns. Of protocol types other than "consumer" only the client knows, as Kafka Connect does.
func ownsText(s GroupState, m MemberState) string {
	if m.Protocol == "classic" && s.Type != "consumer" && len(m.Assignment) > 0 {
		return fmt.Sprintf("was assigned %d bytes, of the protocol type %q: no partitions are known", len(m.Assignment), s.Type)
	}
	return "owns " + partitionsText(m.Owned)
}

// subscribedText is topics that a member subscribes to; of many the first ones.
func subscribedText(topics []string) string {
	var names []string
	for _, topic := range topics[:min(len(topics), mostTold)] {
		names = append(names, broker.Shown(topic))
	}
	if more := len(topics) - mostTold; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), more)
	}
	return strings.Join(names, ", ")
}

// heldText says at which holds the group stands; "" for none.
func heldText(s GroupState) string {
	if len(s.HeldAt) == 0 {
		return ""
	}
	return fmt.Sprintf(", stands at the test's hold of %v", s.HeldAt)
}

// stepText says what a member waits for, or what the others wait for from it; "" for nothing.
func stepText(s GroupState, m MemberState) string {
	switch {
	case m.ParkedIn != "" && m.ParkedIn != "heartbeat":
		return ", waits in " + m.ParkedIn
	case s.State == "PreparingRebalance":
		return ", has not joined again: the others wait for it"
	case s.State == "CompletingRebalance" && m.ID == s.Leader:
		return ", leads and has not sent the assignment: the others wait for it"
	}
	return ""
}

// step is 1 for a member that has one to go.
func step(m MemberState) int {
	if unsettled(m) {
		return 1
	}
	return 0
}

// lines are texts for a message, each on a line of its own.
func lines(texts []string) (out string) {
	for _, text := range texts {
		out += "\n    " + text
	}
	return out
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// memberLabel is how messages name a member: client id, with the instance id where it has one.
func memberLabel(m MemberState) string {
	name := m.ClientID
	if name == "" {
		name = m.ID
	}
	label := broker.Shown(name)
	if m.InstanceID != "" && m.InstanceID != name {
		label += " (instance " + broker.Shown(m.InstanceID) + ")"
	}
	return label
}

// partitionsText is a set of partitions for messages: "orders 0-2 5, refunds 1".
func partitionsText(p map[string][]int32) string {
	var topics []string
	for _, t := range slices.Sorted(maps.Keys(p)) {
		if len(p[t]) > 0 {
			topics = append(topics, broker.Shown(t)+" "+ranges(p[t])) // a leader may assign what is no name of a topic
		}
	}
	if len(topics) == 0 {
		return "nothing"
	}
	return strings.Join(topics, ", ")
}

// ranges writes numbers with runs as from-to.
func ranges(ps []int32) string {
	ps = slices.Sorted(slices.Values(ps))
	var out []string
	for i := 0; i < len(ps); {
		j := i
		for j+1 < len(ps) && ps[j+1] == ps[j]+1 {
			j++
		}
		switch {
		case j == i:
			out = append(out, fmt.Sprint(ps[i]))
		case j == i+1:
			out = append(out, fmt.Sprint(ps[i]), fmt.Sprint(ps[j]))
		default:
			out = append(out, fmt.Sprintf("%d-%d", ps[i], ps[j]))
		}
		i = j + 1
	}
	return strings.Join(out, " ")
}

// samePartitions compares sets; a topic without partitions counts as absent.
func samePartitions(a, b map[string][]int32) bool {
	return partitionsText(a) == partitionsText(b)
}
