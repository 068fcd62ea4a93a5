package fakekafka

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fakekafka/fakekafka/internal/broker"
)

// A record of an aborted transaction is in the log, and so a wait on the log may be met by it. A test that means what consumers get wants ReadCommitted and
// isn't told so by a wait that succeeds: it is logged once, and stands in what fails later.

// looseMatches is what was matched on a topic though it was aborted, and whether the test was told that something was that is not committed.
type looseMatches struct {
	n     int
	first Record
	told  bool
}

// looseOf gives what was matched of a topic. With m.mu held.
func (m *topicMemory) looseOf(topic string) *looseMatches {
	if m.loose == nil {
		m.loose = map[string]*looseMatches{}
	}
	if m.loose[topic] == nil {
		m.loose[topic] = &looseMatches{}
	}
	return m.loose[topic]
}

func (l *looseMatches) note(r Record) {
	if r.hidden != broker.Aborted {
		return
	}
	if l.n++; l.n == 1 {
		l.first = r
	}
}

// logLoose logs, once for a topic, that a call of this test was met by records that were aborted.
func (t *TopicHandle) logLoose(tb testing.TB) {
	tb.Helper()
	m := &t.k.topics
	m.mu.Lock()
	l := m.loose[t.name]
	tell := l != nil && l.n > 0 && !l.told
	text := ""
	if tell {
		l.told = true
		text = fmt.Sprintf("%d of the matched records of topic %s %s; want ReadCommitted()?", l.n, t.name, ofTransaction(l.n, "aborted", l.first))
	}
	m.mu.Unlock() // before the test's own code
	if tell {
		tb.Log("fakekafka: " + text)
	}
}

// matchedLoosely says for a failure how many of the records that were matched before are of aborted or open transactions, on a line of its own; "" for none, and where
// the test asks for committed ones anyway.
func (t *TopicHandle) matchedLoosely() string {
	if t.committed {
		return ""
	}
	text := t.loose()
	if text == "" {
		return ""
	}
	m := &t.k.topics
	m.mu.Lock()
	m.looseOf(t.name).told = true
	m.mu.Unlock()
	return "\n    " + text
}

// loose says which of the topic's records that were matched are not committed now; "" for none.
func (t *TopicHandle) loose() string {
	all, unseen, err := t.matchable()
	if err != nil {
		return ""
	}
	unmatched := map[place]bool{}
	for _, r := range unseen {
		unmatched[placeOf(r)] = true
	}
	n, first := map[string]int{}, map[string]Record{}
	for _, r := range all {
		if unmatched[placeOf(r)] {
			continue
		}
		if n[r.hidden]++; n[r.hidden] == 1 {
			first[r.hidden] = r
		}
	}
	var told []string
	for _, of := range []struct{ hidden, word string }{{broker.Aborted, "aborted"}, {broker.InOpenTransaction, "open"}} {
		if n := n[of.hidden]; n > 0 {
			told = append(told, fmt.Sprintf("%d of the records matched before %s", n, ofTransaction(n, of.word, first[of.hidden])))
		}
	}
	if len(told) == 0 {
		return ""
	}
	return strings.Join(told, "; ") + "; want ReadCommitted()?"
}

// ofTransaction is "was of an aborted transaction" with the record; of several it names the first.
func ofTransaction(n int, which string, first Record) string {
	at := fmt.Sprintf("%s at partition %d offset %d", first, first.Partition, first.Offset)
	if n == 1 {
		return fmt.Sprintf("was of an %s transaction (%s)", which, at)
	}
	return fmt.Sprintf("were of %s transactions (the first is %s)", which, at)
}

// reportLoose logs at the end of a failed test what was matched and isn't committed, of topics where nothing has said so.
func (k *Cluster) reportLoose() {
	k.tb.Helper()
	m := &k.topics
	m.mu.Lock()
	matched := slices.Sorted(maps.Keys(m.loose))
	matched = slices.DeleteFunc(matched, func(topic string) bool { return m.loose[topic].told })
	m.mu.Unlock()
	for _, topic := range matched {
		if text := k.Topic(topic).loose(); text != "" {
			k.tb.Logf("fakekafka: topic %s: %s", topic, text)
		}
	}
}
