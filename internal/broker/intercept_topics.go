package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/fetchsession"
)

// What a rule's Topic, Partition and Group mean: which requests name them.

// names tells whether a request, or what is left of one, is about what a rule names. An incremental Fetch is about what its session has, too.
func (c *Cluster) names(req kmsg.Request, call *Call, rule *Rule) bool {
	if !NamesTopics(call.Key) {
		return false
	}
	found, inside := false, failsInside(rule, req)
	part(req, false, func(e *entry) bool {
		found = found || c.means(rule, e) && (!inside || c.hasPartition(e, rule.Partition))
		return false
	})
	if f, ok := req.(*kmsg.FetchRequest); ok && !found && f.SessionEpoch > 0 {
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

// hasPartition tells whether the topic of an entry, which there may not be, has a partition.
func (c *Cluster) hasPartition(e *entry, partition int32) bool {
	m := c.meta.Load()
	t := m.topics[e.topic]
	if e.id != ([16]byte{}) {
		t = m.ids[e.id]
	}
	return t.partition(partition) != nil
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
