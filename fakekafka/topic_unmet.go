package fakekafka

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fakekafka/fakekafka/internal/broker"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// What a failed wait for records says beside the difference.

// unwritten says why records may not have come, a line each: who asked for a topic that there isn't, that nobody produced, and what the test did.
func (t *TopicHandle) unwritten() (told []string) {
	told = t.k.unknown(nil)
	switch n, recent := t.k.b.Requests(broker.RequestQuery{Key: wire.Produce}); {
	case n > 0:
		told = append(told, fmt.Sprintf("%d Produce came, for all topics, from %s", n, broker.ClientsOf(recent)))
		if r := t.k.b.RefusedBatches()[t.name]; r.N > 0 {
			told = append(told, refusedText(t.name, r))
		}
		if elsewhere := t.k.b.WrittenInstead(t.name); elsewhere != "" {
			told = append(told, elsewhere)
		}
	default:
		told = append(told, "no client has sent a Produce; "+t.k.b.Senders())
	}
	return append(told, t.k.inTheWay()...)
}

// unknown says who asked for topics that there aren't, a line each, without those that are told of elsewhere.
func (k *Cluster) unknown(told map[string]bool) (lines []string) {
	n := 0
	for _, c := range k.b.ClientTraces() {
		topics := slices.DeleteFunc(c.Unknown, func(topic string) bool { return told[topic] })
		if len(topics) == 0 {
			continue
		}
		if n++; n > mostTold {
			continue
		}
		if missing := k.missing(topics); missing != "" {
			lines = append(lines, fmt.Sprintf("client %q asked for %s", c.Client, missing))
		}
	}
	return fewOf(lines, n, "clients")
}

// unwritten says what may keep the members of a group from writing what they make of its records, a line each: a topic that there isn't, refused batches; and where
// nobody has produced to.
func (g *Group) unwritten() []string {
	s := g.State()
	if len(s.Members) == 0 || g.k.b.CheckOpen() != nil { // without members, what became of clients says more
		return nil
	}
	reads := map[string]bool{}
	for _, m := range s.Members {
		for _, topic := range m.Subscribed {
			reads[topic] = true
		}
		for topic := range m.Owned {
			reads[topic] = true
		}
	}
	told := g.k.unknown(reads)
	var refused []string
	batches := g.k.b.RefusedBatches()
	for _, topic := range slices.Sorted(maps.Keys(batches)) {
		refused = append(refused, refusedText(topic, batches[topic]))
	}
	told = append(told, few(refused, "topics")...)
	empty := slices.DeleteFunc(g.k.b.Unproduced(), func(topic string) bool { return reads[topic] })
	switch more := len(empty) - mostMissing; {
	case more > 0:
		told = append(told, fmt.Sprintf("nobody has produced to the topics %q, and to %d more", empty[:mostMissing], more))
	case len(empty) == 1:
		told = append(told, fmt.Sprintf("nobody has produced to the topic %q", empty[0]))
	case len(empty) > 0:
		told = append(told, fmt.Sprintf("nobody has produced to the topics %q", empty))
	}
	return told
}

func refusedText(topic string, r broker.RefusedBatches) string {
	return fmt.Sprintf("of the batches for topic %s %s refused, the last one of %q with %s", topic, wasOrWere(r.N), r.Client, r.Code)
}

func wasOrWere(n int) string {
	if n == 1 {
		return "1 was"
	}
	return fmt.Sprintf("%d were", n)
}

// matchable are all records of the topic, whatever the handle leaves out, and those of them that no call has matched.
func (t *TopicHandle) matchable() (all, unseen []Record, err error) {
	log := t.k.Topic(t.name)
	if all, err = log.records(); err != nil {
		return nil, nil, err
	}
	m := &t.k.topics
	m.mu.Lock()
	defer m.mu.Unlock()
	unseen, err = log.unseen()
	return all, unseen, err
}

// passedOver says of records that are as wanted, and are in the log, why they don't count, a line each; "" where there are none.
func (t *TopicHandle) passedOver(e Expectation) string {
	all, unseen, err := t.matchable()
	if err != nil {
		return ""
	}
	counts := map[place]bool{}
	for _, r := range unseen {
		counts[placeOf(r)] = !t.committed || r.hidden == ""
	}
	wanted := map[content][]Record{}
	for _, r := range e.want {
		wanted[contentOf(r)] = append(wanted[contentOf(r)], r)
	}
	over := slices.DeleteFunc(all, func(r Record) bool {
		return counts[placeOf(r)] || !slices.ContainsFunc(wanted[contentOf(r)], func(want Record) bool { return want.is(r) })
	})
	told := first(over, "    ", func(r Record) string {
		why := "an earlier Await or Require call has matched it, and each record counts once"
		if _, open := counts[placeOf(r)]; open {
			why = r.hidden
		}
		return fmt.Sprintf("%s at partition %d offset %d doesn't count: %s", r, r.Partition, r.Offset, why)
	})
	if len(told) == 0 {
		return ""
	}
	return "\n" + strings.Join(told, "\n")
}
