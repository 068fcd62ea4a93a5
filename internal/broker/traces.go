package broker

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// ClientTrace is what a client has asked for so far, for messages to a test that waits for it.
type ClientTrace struct {
	Client    string     // as the log of requests keeps it (LoggedName), as are groups
	Sent      []wire.Key // which requests, in the order of the first of each
	Joins     []string   // groups that it asked to join
	Groups    []string   // groups that it asked about otherwise: first for their coordinator
	Unknown   []string   // topics that it asked for and that there aren't
	AllTopics bool       // it asked for all of them, as clients with a pattern do
	Connected bool
}

// ClientTraces are those of all clients, and of scripted members, in the order in which they came.
func (c *Cluster) ClientTraces() []*ClientTrace {
	var order []*ClientTrace
	traces := map[string]*ClientTrace{}
	_, requests := c.Requests(RequestQuery{Key: AnyKey})
	type noted struct { // a client may have asked about tens of thousands of groups
		client, group string
		joins         bool
	}
	seen := map[noted]bool{}
	for i := range requests {
		e := &requests[i]
		t := traces[e.Client]
		if t == nil {
			t = &ClientTrace{Client: e.Client}
			traces[e.Client], order = t, append(order, t)
		}
		if !slices.Contains(t.Sent, e.Key) {
			t.Sent = append(t.Sent, e.Key)
		}
		n := noted{e.Client, e.Group, e.Key == wire.JoinGroup || e.Key == wire.ConsumerGroupHeartbeat}
		switch {
		case n.group == "" || seen[n]:
			continue
		case n.joins:
			t.Joins = append(t.Joins, n.group)
		default:
			t.Groups = append(t.Groups, n.group)
		}
		seen[n] = true
	}
	for _, n := range c.nodes {
		for _, cn := range n.connections() {
			if t := traces[LoggedName(cn.clientID())]; t != nil {
				t.Connected = true
			}
		}
	}
	topics := c.meta.Load().topics
	for _, s := range c.strays.all() {
		switch t := traces[s.client]; {
		case t == nil:
		case s.topic == allTopics:
			t.AllTopics = true
		case topics[s.topic] == nil:
			t.Unknown = append(t.Unknown, s.topic)
		}
	}
	return order
}

// ClientsOf names some of those who sent requests, for messages.
func ClientsOf(requests []RequestEntry) string {
	clients := fewOf(requests, func(e *RequestEntry) string { return fmt.Sprintf("%q", e.Client) })
	slices.Sort(clients)
	return strings.Join(clients, ", ")
}

// fewOf are the first few different names in requests, without those that have none.
func fewOf(requests []RequestEntry, name func(*RequestEntry) string) (few []string) {
	for i := range requests {
		if n := name(&requests[i]); n != "" && len(few) < 5 && !slices.Contains(few, n) {
			few = append(few, n)
		}
	}
	return few
}

// HasTopic tells whether there is a topic.
func (c *Cluster) HasTopic(name string) bool { return c.meta.Load().topics[name] != nil }

// Senders says, for messages, which clients have sent requests.
func (c *Cluster) Senders() string {
	if _, all := c.Requests(RequestQuery{Key: AnyKey}); len(all) > 0 {
		return "requests came from " + ClientsOf(all)
	}
	return "no client has sent anything"
}

// TopicsText says, for messages, which topics there are.
func (c *Cluster) TopicsText() string {
	names, more := firstNames(c.meta.Load().names)
	if len(names) == 0 {
		return "there is none at all"
	}
	return fmt.Sprintf("there are %q%s", names, more)
}

// stray is that a client asked for a topic that there wasn't, or for allTopics.
type stray struct{ client, topic string }

// allTopics is no topic's name.
const allTopics = ""

// Misspelled says of topics that were made because a client asked for them, and whose name is nearly that of another topic, who did, for messages: a line each.
func (c *Cluster) Misspelled() (told []string) {
	m := c.meta.Load()
	for _, s := range c.created.all() {
		if m.topics[s.topic] == nil {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(m.names), func(name string) bool { return OfASeries(name, s.topic) })
		if near := NearName(s.topic, others); near != "" {
			told = append(told, fmt.Sprintf("topic %q was created because client %q asked for it; did you mean %q?", s.topic, s.client, near))
		}
	}
	return told
}

// maxStrays bounds what is remembered of it, whatever clients ask for.
const maxStrays = 64

// strays are the last of them.
type strays struct {
	mu   sync.Mutex
	seen []stray
}

func (ss *strays) add(client, topic string) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s := stray{LoggedName(client), topic}
	if slices.Contains(ss.seen, s) {
		return
	}
	if len(ss.seen) == maxStrays {
		ss.seen = slices.Delete(ss.seen, 0, 1)
	}
	ss.seen = append(ss.seen, s)
}

func (ss *strays) all() []stray {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return slices.Clone(ss.seen)
}
