package fakekafka

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fakekafka/fakekafka/internal/broker"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// RequestQuery asks the log of requests: what clients have sent since the cluster started.
//
// What can't be asked for (an API that there isn't, a broker that there isn't, no name) fails the test when the answer is asked for.
type RequestQuery struct {
	k     *Cluster
	q     broker.RequestQuery
	wrong error // what can't be asked for
}

// Requests begins a query for requests of one API; [AnyAPI] takes all.
func (k *Cluster) Requests(api API) *RequestQuery {
	q := &RequestQuery{k: k, q: broker.RequestQuery{Key: wire.Key(api)}}
	if api != AnyAPI && !knownAPI(api.String()) {
		q.refuse("", noAPI(api))
	}
	return q
}

// refuse notes the first thing that can't be asked for.
func (q *RequestQuery) refuse(call string, err error) {
	if q.wrong == nil {
		q.wrong = fmt.Errorf("%s%w", call, err)
	}
}

// checked reports what can't be asked for.
func (q *RequestQuery) checked() error {
	q.k.mark.Helper()
	if q.wrong == nil {
		return nil
	}
	return q.k.steered("Requests("+q.text()+")", q.wrong)
}

// From takes only requests of this client, by client.id.
func (q *RequestQuery) From(client string) *RequestQuery {
	if client == "" {
		q.refuse("From: ", errNamesNothing)
	}
	q.q.Client = client
	return q
}

// Group takes only requests of members of this group, and those that look for its coordinator.
func (q *RequestQuery) Group(id string) *RequestQuery {
	if id == "" {
		q.refuse("Group: ", errNamesNothing)
	}
	q.q.Group = id
	return q
}

// Broker takes only requests to this broker, by node id.
func (q *RequestQuery) Broker(id int) *RequestQuery {
	if n := len(q.k.Addrs()); id < 1 || id > n {
		q.refuse("", noBroker(id, n))
	}
	q.q.Broker = int32(id)
	return q
}

// Count is how many there were.
func (q *RequestQuery) Count() int {
	q.k.mark.Helper()
	if q.checked() != nil {
		return 0
	}
	return q.count()
}

func (q *RequestQuery) count() int {
	n, _ := q.k.b.Requests(q.q)
	return n
}

// Counted waits until there were at least n; the context bounds the wait.
func (q *RequestQuery) Counted(ctx context.Context, n int) error {
	what := fmt.Sprintf("%s (%s)", count(n, "request"), q.text())
	switch {
	case q.wrong != nil:
		return fmt.Errorf("fakekafka: wanted %s: %w", what, q.wrong)
	case n < 0:
		return fmt.Errorf("fakekafka: wanted %s: give a number from 0 on", what)
	}
	err := q.k.await(ctx, what, func() (bool, string) {
		have := q.count()
		return have >= n, fmt.Sprint(have)
	})
	if err != nil {
		return fmt.Errorf("fakekafka: %w%s%s", err, q.others(), lines(q.k.inTheWay()))
	}
	return nil
}

// others says who sent such requests beside those that are asked for.
func (q *RequestQuery) others() string {
	if q.q.Client == "" && q.q.Group == "" && q.q.Broker == 0 {
		if n := q.count(); n == 0 {
			return "; no client sent any; " + q.k.b.Senders()
		}
		return ""
	}
	if client := q.q.Client; client != "" {
		if n, _ := q.k.b.Requests(broker.RequestQuery{Key: broker.AnyKey, Client: client}); n == 0 {
			return fmt.Sprintf("; client %q has sent nothing; %s", client, q.k.b.Senders())
		}
	}
	n, recent := q.k.b.Requests(broker.RequestQuery{Key: q.q.Key})
	if n == 0 {
		return "; no client sent any"
	}
	return fmt.Sprintf("; with those of others %d came, from %s", n, broker.ClientsOf(recent))
}

// AwaitCount waits until there were at least n: that a client has asked, not that it was answered.
func (q *RequestQuery) AwaitCount(tb testing.TB, n int) {
	tb.Helper()
	ctx, cancel := q.k.limited(tb)
	defer cancel()
	check(tb, q.Counted(ctx, n))
}

var errNamesNothing = errors.New("what is given names nothing: give a name, or leave it out")

func noAPI(api API) error {
	return fmt.Errorf("there is no API %d: give one of the constants here, such as %s, or AnyAPI", int16(api), Fetch)
}

func noBroker(id, brokers int) error {
	return fmt.Errorf("there is no broker %d; node ids are 1 to %d", id, brokers)
}

// text says what is asked for.
func (q *RequestQuery) text() string {
	what := "any API"
	if q.q.Key != broker.AnyKey {
		what = q.q.Key.String()
	}
	if q.q.Client != "" {
		what += fmt.Sprintf(" from %q", q.q.Client)
	}
	if q.q.Group != "" {
		what += fmt.Sprintf(" for group %q", q.q.Group)
	}
	if q.q.Broker != 0 {
		what += fmt.Sprintf(" to broker %d", q.q.Broker)
	}
	return what
}

// RequestEntry is one request of the log. Of a name of more than 255 bytes it has the beginning, the length and a hash; [RequestQuery.From] and [RequestQuery.Group]
// take the whole name.
type RequestEntry struct {
	At      time.Time // when it was read, by the machine's clock
	API     API
	Version int16
	Client  string
	Broker  int
	Group   string // of a member's requests
}

// List gives them in order of arrival. Of a connection that sent more than 4096 the older ones are only counted.
func (q *RequestQuery) List() []RequestEntry {
	q.k.mark.Helper()
	if q.checked() != nil {
		return nil
	}
	_, recent := q.k.b.Requests(q.q)
	list := make([]RequestEntry, len(recent))
	for i, e := range recent {
		list[i] = RequestEntry{e.At, API(e.Key), e.Version, e.Client, int(e.Broker), e.Group}
	}
	return list
}

// DropConnections cuts all connections of a client, by client.id, and answers how many there were.
// Of a client that never sent a request a line in the log says so: perhaps its name is a slip of the pen.
func (k *Cluster) DropConnections(client string) int {
	n := k.b.DropConnections(client)
	if n == 0 {
		k.b.WarnOfStranger(fmt.Sprintf("DropConnections(%q)", client), client)
	}
	return n
}
