package groups

import (
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// hashCache keeps the last metadata hash with what it was computed from.
type hashCache struct {
	subscriptions uint64
	version       int64
	value         int64
	valid         bool
}

// metadataHash is a number that changes when a subscribed topic appears, goes, grows, or moves to other racks. It is over
// the topics that exist; 0 stands for none. Kafka computes an XXH3; only equality matters.
func (s *Shard) metadataHash(g *consumerGroup) int64 {
	c := &g.hash
	if c.valid && c.subscriptions == g.subscriptions && c.version == s.meta.Version() {
		return c.value
	}
	*c = hashCache{subscriptions: g.subscriptions, version: s.meta.Version(), valid: true}
	h := fnv.New64a()
	some := false
	for _, name := range g.subscribedTopics() {
		if t, ok := s.meta.Topic(name); ok {
			some = true
			hashTopic(h, t)
		}
	}
	if some {
		c.value = int64(h.Sum64())
	}
	return c.value
}

func hashTopic(h hash.Hash64, t Topic) {
	number := func(n int) { h.Write(binary.BigEndian.AppendUint32(nil, uint32(n))) }
	text := func(s string) {
		number(len(s))
		h.Write([]byte(s))
	}
	h.Write(t.ID[:])
	text(t.Name)
	number(int(t.Partitions))
	for _, racks := range t.Racks {
		racks = slices.Clone(racks)
		slices.Sort(racks)
		number(len(racks))
		for _, r := range racks {
			text(r)
		}
	}
}

// resolvedRegex is what an expression matched when it was last looked at.
type resolvedRegex struct {
	topics  []string // ascending
	version int64    // of the metadata
	at      int64    // Unix milliseconds
}

// regexEffect is what a new expression of a member means for the group.
type regexEffect struct {
	changed         bool
	bumps           bool
	needsResolution bool
	dropped         string // an expression that nobody uses any more
}

// regexChange judges a member's change from one expression to another, before it is stored. An expression is looked at
// only when it is new to the group.
func regexChange(g *consumerGroup, was, is string) (regexEffect, *refusal) {
	if was == is {
		return regexEffect{}, nil
	}
	e := regexEffect{changed: true}
	if is != "" && (g == nil || g.regexUsers[is] == 0) {
		if r := checkRegex(is); r != nil {
			return e, r
		}
		e.needsResolution = true
	} else if is == "" || g.regexes[is] != nil {
		e.bumps = true
	}
	if was != "" && g.regexUsers[was] == 1 { // resolved or not
		e.dropped = was
	}
	return e, nil
}

// regexPause is how long a group's expressions are not resolved again, whatever happens. It spares a busy broker; with prompt
// rebalances there is none.
const regexPause = 10 * time.Second

// resolutions is what of a group's resolved expressions decides whether they are resolved again. A request is judged by what there was
// before it: an expression that it drops still holds the resolution of the one it brings back.
type resolutions struct {
	count   int
	at      int64 // of the last one, Unix milliseconds
	version int64 // of the metadata it looked at
}

func (g *consumerGroup) resolutions() resolutions {
	if g == nil {
		return resolutions{}
	}
	r := resolutions{count: len(g.regexes)}
	for _, resolved := range g.regexes {
		if resolved.at > r.at {
			r.at, r.version = resolved.at, resolved.version
		} else if resolved.at == r.at { // of one instant, in whatever order the map has them
			r.version = max(r.version, resolved.version)
		}
	}
	return r
}

// maybeResolve asks for a resolution of the group's expressions at the end of this turn, if one is due. The topics are filtered by what
// the principal of the asking request may see.
func (s *Shard) maybeResolve(g *consumerGroup, before resolutions, principal string, newExpression bool) {
	if len(g.regexUsers) == 0 || s.isResolving(g) {
		return
	}
	g.principal = principal
	age := time.Duration(s.now.UnixMilli()-before.at) * time.Millisecond
	if before.count > 0 && age <= regexPause && !s.cfg.Prompt {
		return
	}
	if newExpression || len(g.regexUsers) != before.count || before.version < s.meta.LastCreated() || age > s.cfg.ConsumerRegexRefresh {
		if s.turn.resolving == nil {
			s.turn.resolving = make(map[string]struct{})
		}
		s.turn.resolving[g.id] = struct{}{}
	}
}

func (s *Shard) isResolving(g *consumerGroup) bool {
	_, ok := s.turn.resolving[g.id]
	return ok
}

// resolveRegexes matches all expressions of a group against all topics, in one write. The assignor is not run: the next
// heartbeat does that.
func (s *Shard) resolveRegexes(g *consumerGroup) {
	var topics []string
	for _, name := range s.meta.TopicNames() {
		if s.deps.MayDescribe == nil || s.deps.MayDescribe(g.principal, name) {
			topics = append(topics, name)
		}
	}
	tx := s.beginTx(g.id)
	var changed []string
	for _, expression := range sortedNames(g.regexUsers) {
		re, err := wholeName(expression)
		if err != nil {
			continue // it was checked when it came, so only a log of some other broker can hold it
		}
		now := &resolvedRegex{version: s.meta.Version(), at: s.now.UnixMilli()}
		for _, name := range topics {
			if re.MatchString(name) {
				now.topics = append(now.topics, name)
			}
		}
		slices.Sort(now.topics)
		if was := g.regexes[expression]; was == nil && len(now.topics) > 0 || was != nil && !slices.Equal(was.topics, now.topics) {
			changed = append(changed, fmt.Sprintf("%s matches %s", cut(expression), listed(now.topics)))
		}
		tx.putRegex(expression, now)
	}
	s.bumpIfMoved(tx, g, len(changed) > 0, strings.Join(changed, ", "))
	_ = tx.commitOwn() // else a later heartbeat asks for it again
}

// firstOf is how the first of many are called, and how many more there are.
func firstOf[T any](many []T, call func(T) string) []string {
	const most = 20
	var names []string
	for _, one := range many[:min(len(many), most)] {
		names = append(names, call(one))
	}
	if more := len(many) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return names
}

func subscriptionText(m *consumerMember) string {
	text := listed(firstOf(m.names, cut))
	if m.regex != "" {
		if len(m.names) == 0 {
			return "/" + cut(m.regex) + "/"
		}
		text += " and /" + cut(m.regex) + "/"
	}
	return text
}
