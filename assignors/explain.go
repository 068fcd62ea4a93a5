package assignors

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Placement is where one partition is, where it was, and why.
type Placement struct {
	Partition TopicPartition
	// Owner has it after the round; "" is nobody.
	Owner string
	// Before had it before the round, if that is undisputed; "" is nobody. It may have left the group.
	Before string
	// Why is a sentence for people, which may change from release to release.
	Why string
}

// Moved tells whether somebody had the partition who does not have it now.
func (p Placement) Moved() bool { return p.Before != "" && p.Owner != p.Before }

func (p Placement) String() string {
	switch {
	case p.Moved():
		return fmt.Sprintf("%v: %s -> %s: %s", p.Partition, p.Before, cmp.Or(p.Owner, "nobody"), p.Why)
	case p.Owner == "":
		return fmt.Sprintf("%v: nobody: %s", p.Partition, p.Why)
	}
	return fmt.Sprintf("%v: %s: %s", p.Partition, p.Owner, p.Why)
}

// Explain computes one round, as Predict does, and tells for each partition why it is where it is and what moved.
func Explain(a Assignor, g Group) ([]Placement, error) {
	r, err := predictRound(a, g)
	if err != nil {
		return nil, err
	}
	return r.Explain(), nil
}

// Explain tells for each partition of the group's topics, by name and number, why it is where it is and what moved.
func (r Round) Explain() []Placement {
	e := newExplainer(r)
	var out []Placement
	for _, topic := range slices.SortedFunc(maps.Keys(r.Before.Topics), compareJava) {
		for n := range r.Before.Topics[topic].Partitions {
			tp := TopicPartition{topic, n}
			p := Placement{Partition: tp, Owner: e.owner[tp], Before: e.holder[tp]}
			p.Why = e.why(p)
			out = append(out, p)
		}
	}
	return out
}

type explainer struct {
	r       Round
	owner   map[TopicPartition]string
	holder  map[TopicPartition]string   // undisputed ones
	rivals  map[TopicPartition][]string // who claims it in one generation
	members map[string]*Member
	left    map[string]bool
	place   map[string]int32 // in the order of ids
	lists   map[string][]string
	had     map[string]int
}

func newExplainer(r Round) *explainer {
	e := &explainer{r: r, owner: map[TopicPartition]string{}, holder: map[TopicPartition]string{}, rivals: map[TopicPartition][]string{},
		members: map[string]*Member{}, left: map[string]bool{}, place: map[string]int32{}, lists: map[string][]string{}, had: map[string]int{}}
	for id, tps := range r.Assignment {
		for _, tp := range tps {
			e.owner[tp] = id
		}
	}
	for i := range r.Before.Members {
		m := &r.Before.Members[i]
		e.members[m.ID] = m
	}
	for i, id := range slices.SortedFunc(maps.Keys(e.members), compareJava) {
		e.place[id] = int32(i)
	}
	for _, m := range r.Before.Left {
		e.left[m.ID] = e.members[m.ID] == nil
	}
	e.claims()
	return e
}

// claims finds out who had what: the newest generation counts.
func (e *explainer) claims() {
	type claim struct {
		member     string
		generation int32
	}
	all := map[TopicPartition][]claim{}
	for _, ms := range [][]Member{e.r.Before.Members, e.r.Before.Left} {
		for _, m := range ms {
			for _, tp := range m.Owned {
				if c := (claim{m.ID, m.Generation}); !slices.Contains(all[tp], c) {
					all[tp] = append(all[tp], c)
				}
			}
		}
	}
	for tp, cs := range all {
		slices.SortFunc(cs, func(a, b claim) int {
			return cmp.Or(cmp.Compare(b.generation, a.generation), compareJava(a.member, b.member))
		})
		if len(cs) > 1 && cs[0].generation == cs[1].generation {
			for _, c := range cs {
				if c.generation == cs[0].generation {
					e.rivals[tp] = append(e.rivals[tp], c.member)
				}
			}
			continue
		}
		e.holder[tp] = cs[0].member
		e.had[cs[0].member]++
	}
}

func (e *explainer) why(p Placement) string {
	topic := p.Partition.Topic
	if p.Owner == "" {
		if heir := e.heir(p.Partition); heir != "" {
			if p.Before != "" {
				return fmt.Sprintf("withheld for a round: %s has to give it up before %s gets it", p.Before, heir)
			}
			return fmt.Sprintf("withheld for a round before %s gets it, as %s says it has it", heir, both(e.rivals[p.Partition]))
		}
		if len(e.subscribers(topic)) == 0 {
			return "nobody subscribes to " + topic
		}
		return e.r.Assignor + " gave it to nobody"
	}
	gain := e.gain(p)
	if loss := e.loss(p); loss != "" {
		return loss + "; " + gain
	}
	return gain
}

func both(names []string) string {
	switch len(names) {
	case 0:
		return "another member"
	case 1:
		return names[0]
	}
	return fmt.Sprintf("each of %q", names)
}

func (e *explainer) heir(tp TopicPartition) string {
	if i := e.index(tp); i >= 0 && e.r.inside.heir[i] >= 0 {
		return e.r.inside.member(e.r.inside.heir[i]).ID
	}
	return ""
}

// index answers the partition's index inside the assignor, -1 if that is not one of ours.
func (e *explainer) index(tp TopicPartition) int32 {
	if in := e.r.inside; in != nil {
		if t, ok := in.byName[tp.Topic]; ok && tp.Partition < in.counts[t] {
			return in.first[t] + tp.Partition
		}
	}
	return -1
}

// loss tells why the one that had it has it no more; "" if that needs no telling.
func (e *explainer) loss(p Placement) string {
	topic, m := p.Partition.Topic, e.members[p.Before]
	rivals := e.rivals[p.Partition]
	switch {
	case len(rivals) > 0 && e.sticky():
		return both(rivals) + " says it has it, so none does"
	case !p.Moved():
		return ""
	case e.left[p.Before]:
		return p.Before + " has left"
	case m == nil:
		return ""
	case !slices.Contains(m.Topics, topic):
		return fmt.Sprintf("%s no longer subscribes to %s", p.Before, topic)
	case !e.sticky() && !e.uniform():
		return e.r.Assignor + " has no memory"
	case e.sticky() && e.r.inside.match != nil && e.r.inside.match.mismatch(e.place[p.Before], e.index(p.Partition)):
		return fmt.Sprintf("it has no replica in rack %s of %s", *m.Rack, p.Before)
	}
	return fmt.Sprintf("%s had %d", p.Before, e.had[p.Before])
}

func (e *explainer) sticky() bool {
	return e.r.inside != nil && (e.r.Assignor == "sticky" || e.r.Assignor == "cooperative-sticky")
}

func (e *explainer) uniform() bool { return e.r.inside == nil && e.r.Assignor == "uniform" }

// gain tells why the owner has it.
func (e *explainer) gain(p Placement) string {
	switch {
	case e.r.Assignor == "range" && (e.r.inside == nil || e.step(p) == whyRun):
		return e.run(p)
	case e.uniform():
		return e.uniformGain(p)
	case e.r.inside == nil:
		return "decided by " + e.r.Assignor
	}
	share := fmt.Sprint(len(e.r.inside.owner) / len(e.r.inside.members))
	switch e.step(p) {
	case whyRunRack:
		return "matched by rack: " + e.rack(p)
	case whyRunRest:
		return p.Owner + " had room for it after the matching by rack"
	case whyTurn:
		return e.turn(p)
	case whyKept:
		return p.Owner + " had it"
	case whyShare:
		return fmt.Sprintf("fills %s up to its share of %s", p.Owner, share)
	case whyShareRack:
		return fmt.Sprintf("fills %s up to its share of %s: %s", p.Owner, share, e.rack(p))
	case whyExtra:
		return fmt.Sprintf("%s gets one of %d left over when everyone has %s", p.Owner, len(e.r.inside.owner)%len(e.r.inside.members), share)
	case whyExtraRack:
		return fmt.Sprintf("%s gets one of %d beyond the share of %s: %s", p.Owner, len(e.r.inside.owner)%len(e.r.inside.members), share, e.rack(p))
	case whyLeast:
		return fmt.Sprintf("%s had the least of the subscribers of %s", p.Owner, p.Partition.Topic)
	case whyLeastRack:
		return fmt.Sprintf("%s had the least of the subscribers of %s in reach: %s", p.Owner, p.Partition.Topic, e.rack(p))
	case whyBalance:
		return fmt.Sprintf("moved to %s, which had at least two fewer", p.Owner)
	case whyReturned:
		return fmt.Sprintf("moved back to %s, which had it in an older generation and had at least two fewer", p.Owner)
	}
	return "decided by " + e.r.Assignor
}

func (e *explainer) step(p Placement) why {
	if i := e.index(p.Partition); i >= 0 {
		return e.r.inside.why[i]
	}
	return whyNone
}

func (e *explainer) rack(p Placement) string {
	if m := e.members[p.Owner]; m != nil && m.Rack != nil && *m.Rack != "" {
		return fmt.Sprintf("a replica is in its rack %s", *m.Rack)
	}
	return p.Owner + " has no rack, which matches all"
}

// run explains both range assignors.
func (e *explainer) run(p Placement) string {
	topic := p.Partition.Topic
	subscribers := e.subscribers(topic)
	n, count := int32(len(subscribers)), e.r.Before.Topics[topic].Partitions
	each := fmt.Sprintf("%d each", count/n)
	if extras := count % n; extras > 0 {
		each = fmt.Sprintf("%d each and 1 more for the first %d", count/n, extras)
	}
	return fmt.Sprintf("%s for %s make %s; %s is number %d", plural(count, "partition"), plural(n, "subscriber"), each, p.Owner, slices.Index(subscribers, p.Owner)+1)
}

func plural(n int32, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// turn explains roundrobin.
func (e *explainer) turn(p Placement) string {
	in := e.r.inside
	i := e.index(p.Partition)
	if i == 0 {
		return p.Owner + " is the first in the ring that subscribes to " + p.Partition.Topic
	}
	last := in.member(in.owner[i-1]).ID
	var passed []string
	ring := e.ring()
	for k := slices.Index(ring, last) + 1; ; k++ {
		id := ring[k%len(ring)]
		if id == p.Owner {
			break
		}
		passed = append(passed, id)
	}
	if len(passed) == 0 {
		return fmt.Sprintf("%s's turn after %s", p.Owner, last)
	}
	return fmt.Sprintf("%s's turn after %s, passing over %d that do not subscribe to %s", p.Owner, last, len(passed), p.Partition.Topic)
}

func (e *explainer) uniformGain(p Placement) string {
	if p.Before == p.Owner {
		return p.Owner + " had it"
	}
	if !e.r.Before.homogeneous() {
		return fmt.Sprintf("%s had the least of the subscribers of %s", p.Owner, p.Partition.Topic)
	}
	total, n := 0, len(e.members)
	for topic, t := range e.r.Before.Topics {
		if len(e.subscribers(topic)) > 0 {
			total += int(t.Partitions)
		}
	}
	if total%n == 0 {
		return fmt.Sprintf("fills %s up to its share of %d", p.Owner, total/n)
	}
	return fmt.Sprintf("fills %s up to its share of %d or %d", p.Owner, total/n, total/n+1)
}

// ring is the static-first order of all members.
func (e *explainer) ring() []string {
	if ring, ok := e.lists[""]; ok {
		return ring
	}
	byID := slices.SortedFunc(maps.Keys(e.members), compareJava)
	order := staticFirst(upTo(int32(len(byID))), func(k int32) (string, bool) {
		if id := e.members[byID[k]].InstanceID; id != nil {
			return *id, true
		}
		return "", false
	})
	ring := make([]string, len(order))
	for i, k := range order {
		ring[i] = byID[k]
	}
	e.lists[""] = ring
	return ring
}

// subscribers of a topic in static-first order.
func (e *explainer) subscribers(topic string) []string {
	key := "/" + topic // the ring of all is kept under ""
	if ids, ok := e.lists[key]; ok {
		return ids
	}
	ids := []string{}
	for _, id := range e.ring() {
		if slices.Contains(e.members[id].Topics, topic) {
			ids = append(ids, id)
		}
	}
	e.lists[key] = ids
	return ids
}
