package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fetchsession"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// What a rule's Topic and Partition mean for each API: which requests name them, and how only the named part fails.

// names tells whether a request is about what a rule names. An incremental Fetch is about what its session has, too.
func (c *Cluster) names(call *Call, rule *Rule) bool {
	if !NamesTopics(call.Key) {
		return false
	}
	found := false
	part(call.Request, false, func(e *entry) bool {
		found = found || c.means(rule, e)
		return false
	})
	if f, ok := call.Request.(*kmsg.FetchRequest); ok && !found && f.SessionEpoch > 0 {
		return c.sessionHas(call.Broker, f.SessionID, rule.Topic, rule.Partition)
	}
	return found
}

// means tells whether a rule names an entry of a request. A partition counts only where the request names some.
func (c *Cluster) means(rule *Rule, e *entry) bool {
	if rule.Group != "" && e.grouped && e.group != rule.Group {
		return false
	}
	if rule.Topic == "" && rule.Partition < 0 {
		return true
	}
	return e.ofTopic && c.isTopic(e.topic, e.id, rule.Topic) && (rule.Partition < 0 || !e.ofPartition || e.partition == rule.Partition)
}

// sessionHas tells whether a fetch session of a broker is about a topic and partition.
func (c *Cluster) sessionHas(broker, session int32, topic string, partition int32) bool {
	n := c.nodeByID(broker)
	if n == nil {
		return false
	}
	sh := n.sessions.Load().shardOf(session)
	if sh == nil {
		return false
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	s := sh.Session(session)
	if s == nil {
		return false
	}
	o := s.Holder.(*openSession)
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(s.Members(), func(m *fetchsession.Member) bool {
		return c.isTopic(m.Topic, m.TopicID, topic) && (partition < 0 || m.Partition.Partition == partition)
	})
}

// isTopic tells whether a topic, given by name or by id, is the wanted one; "" wants any.
func (c *Cluster) isTopic(name string, id [16]byte, want string) bool {
	if want == "" {
		return true
	}
	if id != ([16]byte{}) {
		t := c.meta.Load().ids[id]
		return t != nil && t.name == want
	}
	return name == want
}

// failsPart tells whether a Fail rule fails only what it names, while the rest of the request is served.
func failsPart(rule *Rule, r *request) bool {
	switch {
	case failsRequest(r.body, *rule.Action.Fail):
		return false
	case r.key == wire.Fetch, rule.Topic != "", rule.Partition >= 0:
		return true
	}
	return rule.Group != "" && groupsApart(r)
}

// groupsApart tells whether a request has an entry for each of several groups.
func groupsApart(r *request) bool {
	switch r.key {
	case wire.DescribeGroups, wire.DeleteGroups, wire.ConsumerGroupDescribe:
		return true
	case wire.OffsetFetch:
		return r.version >= 8
	case wire.FindCoordinator:
		return r.version >= 4
	}
	return false
}

// failCode is the error of an entry that the test fails, NONE for others.
type failCode func(*entry) wire.Code

// codesOf is what rules make of the entries of a request; of several that name the same the first one counts.
func (c *Cluster) codesOf(req kmsg.Request, rules []*Rule) failCode {
	named := func(e *entry) wire.Code {
		for _, rule := range rules {
			if c.means(rule, e) {
				return *rule.Action.Fail
			}
		}
		return wire.None
	}
	beside := map[int]wire.Code{} // by parent
	part(req, false, func(e *entry) bool {
		if code := named(e); code != wire.None && beside[e.parent] == wire.None {
			beside[e.parent] = failsBeside(req, e, code)
		}
		return false
	})
	return func(e *entry) wire.Code {
		if code := named(e); code != wire.None {
			return code
		}
		return beside[e.parent]
	}
}

// fails is what the test wants of a topic (by name or id), NONE for to be served.
func (r *request) failedTopic(topic string, id [16]byte) wire.Code {
	if r.fails == nil {
		return wire.None
	}
	return r.fails(&entry{ofTopic: true, topic: topic, id: id})
}

// failedPartition is the same of a partition.
func (r *request) failedPartition(topic string, id [16]byte, index int32) wire.Code {
	if r.fails == nil {
		return wire.None
	}
	return r.fails(&entry{ofTopic: true, topic: topic, id: id, ofPartition: true, partition: index})
}

// failsItself tells whether an API's handler puts errors of a part into its answer by itself, since that depends on more than the request names: on what a session
// has, on what is told of the cluster beside the topics, on where a page ends.
func failsItself(key wire.Key) bool {
	return key == wire.Fetch || key == wire.Metadata || key == wire.DescribeTopicPartitions
}

// handlePartly handles a request of which rules fail a part: what they name is taken out, the rest is handled as if it were all, and then the
// errors are put into the answer at the places that they have in the request. serving tells that fn serves the request, not the test.
func (c *Cluster) handlePartly(r *request, fn handler, serving bool, failing []*Rule) (answer, error) {
	if len(failing) == 0 {
		return r.run(fn)
	}
	if serving && failsItself(r.key) {
		r.fails = c.codesOf(r.body, failing)
		return r.run(fn)
	}
	codeOf := c.codesOf(r.body, failing)
	var codes []wire.Code // that are answered, in the order of the request
	rest := *r
	var left int
	rest.body, left = part(r.body, true, func(e *entry) bool {
		code := codeOf(e)
		if code != wire.None && !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
		return code == wire.None
	})
	switch {
	case len(codes) == 0: // what the rules named is gone by now
		return r.run(fn)
	case left == 0 && len(codes) == 1:
		return errorForm(r, codes[0]), nil
	}
	resp := r.body.ResponseKind()
	if left > 0 {
		ans, err := rest.run(fn)
		r.wait = rest.wait
		if err != nil {
			return nil, err
		}
		served, ok := ans.(kmsg.Response)
		if !ok {
			return ans, nil // a Produce with acks=0
		}
		resp = served
	}
	for _, code := range codes {
		failed := *r
		failed.body, _ = part(r.body, false, func(e *entry) bool { return codeOf(e) == code })
		join(resp, errorForm(&failed, code).(kmsg.Response), errorForm(r, code).(kmsg.Response))
	}
	return resp, nil
}
