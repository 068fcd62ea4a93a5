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
	for _, c := range t.k.b.ClientTraces() {
		for _, topic := range t.k.missing(c.Unknown) {
			told = append(told, fmt.Sprintf("client %q asked for %s", c.Client, topic))
		}
	}
	told = few(told, "topics")
	switch n, recent := t.k.b.Requests(broker.RequestQuery{Key: wire.Produce}); {
	case n > 0:
		told = append(told, fmt.Sprintf("%d Produce came, for all topics, from %s", n, broker.ClientsOf(recent)))
	default:
		told = append(told, "no client has sent a Produce; "+t.k.b.Senders())
	}
	return append(told, t.k.inTheWay()...)
}

// passedOver says of records that are as wanted, and are in the log, why they don't count, a line each.
func (t *TopicHandle) passedOver(e Expectation) string {
	all, err := t.k.Topic(t.name).records()
	if err != nil {
		return ""
	}
	m := &t.k.topics
	m.mu.Lock()
	unseen, err := t.k.Topic(t.name).unseen()
	m.mu.Unlock()
	if err != nil {
		return ""
	}
	at := func(r Record) [2]int64 { return [2]int64{int64(r.Partition), r.Offset} }
	counts := map[[2]int64]bool{}
	for _, r := range unseen {
		counts[at(r)] = true
	}
	var told []string
	for _, r := range all {
		why := ""
		switch {
		case !counts[at(r)]:
			why = "an earlier Await or Require call has matched it, and each record counts once"
		case t.committed && r.hidden != "":
			why = r.hidden
		default:
			continue
		}
		if slices.ContainsFunc(e.want, func(want Record) bool { return want.is(r) }) {
			told = append(told, fmt.Sprintf("    %s at partition %d offset %d doesn't count: %s", r, r.Partition, r.Offset, why))
		}
	}
	if len(told) == 0 {
		return ""
	}
	return "\n" + strings.Join(first(told), "\n")
}
