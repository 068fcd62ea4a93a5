package fakekafka

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fakekafka/fakekafka/internal/broker"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// RequestQuery asks the log of requests: what clients have sent since the cluster started.
type RequestQuery struct {
	k *Cluster
	q broker.RequestQuery
}

// Requests begins a query for requests of one API; [AnyAPI] takes all.
func (k *Cluster) Requests(api API) *RequestQuery {
	return &RequestQuery{k, broker.RequestQuery{Key: wire.Key(api)}}
}

// From takes only requests of this client, by client.id.
func (q *RequestQuery) From(client string) *RequestQuery {
	q.q.Client = client
	return q
}

// Group takes only requests of members of this group.
func (q *RequestQuery) Group(id string) *RequestQuery {
	q.q.Group = id
	return q
}

// Broker takes only requests to this broker, by node id.
func (q *RequestQuery) Broker(id int) *RequestQuery {
	q.q.Broker = int32(id)
	return q
}

// Count is how many there were.
func (q *RequestQuery) Count() int {
	n, _ := q.k.b.Requests(q.q)
	return n
}

// Counted waits until there were at least n; the context bounds the wait.
func (q *RequestQuery) Counted(ctx context.Context, n int) error {
	what := fmt.Sprintf("%d requests (%s)", n, q.text())
	err := q.k.await(ctx, what, func() (bool, string) {
		have := q.Count()
		return have >= n, fmt.Sprint(have)
	})
	if err != nil {
		return fmt.Errorf("fakekafka: %w%s", err, q.others())
	}
	return nil
}

// others says who sent such requests beside those that are asked for.
func (q *RequestQuery) others() string {
	if q.q.Client == "" && q.q.Group == "" && q.q.Broker == 0 {
		return ""
	}
	n, recent := q.k.b.Requests(broker.RequestQuery{Key: q.q.Key})
	if n == 0 {
		return "; no client sent any"
	}
	var from []string
	for _, e := range recent {
		if c := fmt.Sprintf("%q", e.Client); len(from) < 5 && !slices.Contains(from, c) {
			from = append(from, c)
		}
	}
	slices.Sort(from)
	return fmt.Sprintf("; with those of others %d came, from %s", n, strings.Join(from, ", "))
}

// AwaitCount waits until there were at least n: that a client has asked, not that it was answered.
func (q *RequestQuery) AwaitCount(tb testing.TB, n int) {
	tb.Helper()
	ctx, cancel := q.k.limited(tb)
	defer cancel()
	check(tb, q.Counted(ctx, n))
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

// RequestEntry is one request of the log.
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
	_, recent := q.k.b.Requests(q.q)
	list := make([]RequestEntry, len(recent))
	for i, e := range recent {
		list[i] = RequestEntry{e.At, API(e.Key), e.Version, e.Client, int(e.Broker), e.Group}
	}
	return list
}

// DropConnections cuts all connections of a client, by client.id, and answers how many there were.
func (k *Cluster) DropConnections(client string) int { return k.b.DropConnections(client) }
