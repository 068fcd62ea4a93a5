package fakekafka

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fakekafka/fakekafka/internal/broker"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// What a failed wait for records says beside the difference.

// unwritten says why records may not have come, a line each: who asked for a topic that there isn't, that nobody produced, and what the test did.
func (t *TopicHandle) unwritten() (told []string) {
	n := 0
	for _, c := range t.k.b.ClientTraces() {
		if len(c.Unknown) == 0 {
			continue
		}
		if n++; n <= mostTold {
			if topics := t.k.missing(c.Unknown); topics != "" {
				told = append(told, fmt.Sprintf("client %q asked for %s", c.Client, topics))
			}
		}
	}
	told = fewOf(told, n, "clients")
	switch n, recent := t.k.b.Requests(broker.RequestQuery{Key: wire.Produce}); {
	case n > 0:
		told = append(told, fmt.Sprintf("%d Produce came, for all topics, from %s", n, broker.ClientsOf(recent)))
		if elsewhere := t.k.b.WrittenInstead(t.name); elsewhere != "" {
			told = append(told, elsewhere)
		}
		if r := t.k.b.RefusedBatches(t.name); r.N > 0 {
			told = append(told, fmt.Sprintf("of those for %s %s refused, the last one of %q with %s", t.name, wasOrWere(r.N, "batch", "batches"), r.Client, r.Code))
		}
	default:
		told = append(told, "no client has sent a Produce; "+t.k.b.Senders())
	}
	return append(told, t.k.inTheWay()...)
}

func wasOrWere(n int, one, several string) string {
	if n == 1 {
		return "1 " + one + " was"
	}
	return fmt.Sprintf("%d %s were", n, several)
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
