package broker

import (
	"math"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// The effect of client quotas (KIP-13, KIP-124, KIP-219, KIP-599): the answer goes out at once and names a throttle time, for which the
// broker then doesn't read from the connection. Bytes are counted by the machine's clock. request_percentage has no effect: the time
// that threads spend on a request says nothing about a broker in a test's process.

// quotaTable is what was set, by entity; immutable.
type quotaTable map[string]map[string]float64

// rateKey is whom a rate is counted for: what a quota of user and client shares is counted for each such pair.
type rateKey struct {
	node         int32
	quota        string
	user, client string
}

// throttles holds the observed rates.
type throttles struct {
	mu      sync.Mutex
	rates   map[rateKey]*rate
	buckets map[rateKey]*bucket
}

// maxRates is how many clients are counted before those that fell silent are forgotten: names are the clients' own, and there may be any number.
const maxRates = 10_000

// silentBucket is how long a client makes no change before its bucket may be forgotten; the next one it gets is full. In Kafka what a quota has counted
// expires after as long.
const silentBucket = time.Hour

// anonymous is the user of every connection without authentication.
const anonymous = "ANONYMOUS"

// limit finds the most specific quota that counts for a client, and whom it is counted for.
func (t quotaTable) limit(node int32, quota, user, client string) (value float64, key rateKey, ok bool) {
	named := func(kind, name string) quotaPart { return quotaPart{kind, &name} }
	other := func(kind string) quotaPart { return quotaPart{kind, nil} }
	u, c := named(quotaUser, user), named(quotaClient, client)
	for _, parts := range [][]quotaPart{
		{c, u}, {other(quotaClient), u}, {u},
		{c, other(quotaUser)}, {other(quotaClient), other(quotaUser)}, {other(quotaUser)},
		{c}, {other(quotaClient)},
	} {
		value, ok := t[(&quotaEntity{parts: parts}).key()][quota]
		if !ok {
			continue
		}
		key := rateKey{node: node, quota: quota}
		for _, p := range parts {
			if p.kind == quotaUser {
				key.user = user
			} else {
				key.client = client
			}
		}
		return value, key, true
	}
	return 0, rateKey{}, false
}

// publish makes what was set known to the connections. On the loop.
func (q *quotas) publish(c *Cluster) {
	if len(q.entities) == 0 {
		c.quotaTable.Store(nil)
		return
	}
	t := quotaTable{}
	for k, e := range q.entities {
		values := map[string]float64{}
		for name, v := range e.values {
			values[name] = v
		}
		t[k] = values
	}
	c.quotaTable.Store(&t)
}

// rate is an observed rate over a sliding window of samples.
type rate struct {
	samples []rateSample // ascending; at most num
	window  time.Duration
	num     int
}

type rateSample struct {
	start time.Time
	sum   float64
}

func (r *rate) record(now time.Time, value float64) {
	if n := len(r.samples); n == 0 || now.Sub(r.samples[n-1].start) >= r.window {
		r.samples = append(r.samples, rateSample{start: now})
	}
	r.samples[len(r.samples)-1].sum += value
	r.purge(now)
}

func (r *rate) purge(now time.Time) {
	for len(r.samples) > 0 && now.Sub(r.samples[0].start) >= time.Duration(r.num)*r.window {
		r.samples = r.samples[1:]
	}
}

// observe gives the rate per second and the window it stands for. A window that isn't full yet counts as all but one of its
// samples, so that a first burst isn't divided by next to nothing.
func (r *rate) observe(now time.Time) (perSecond float64, window time.Duration) {
	r.purge(now)
	if len(r.samples) == 0 {
		return 0, time.Duration(r.num) * r.window
	}
	total := 0.0
	for _, s := range r.samples {
		total += s.sum
	}
	window = now.Sub(r.samples[0].start)
	if missing := r.num - 1 - int(window/r.window); missing > 0 {
		window += time.Duration(missing) * r.window
	}
	window = max(window, r.window)
	return total / window.Seconds(), window
}

// throttleTime is how long a client must be silent for its rate to sink to the limit.
func throttleTime(observed, limit float64, window time.Duration) time.Duration {
	if !(observed > limit) { // a limit may be NaN: Kafka takes that for a number
		return 0
	}
	ms := math.Round((observed - limit) / limit * float64(window.Milliseconds()))
	return time.Duration(min(ms, math.MaxInt32)) * time.Millisecond
}

// countBytes counts bytes for the client of a request and answers how long it is to be throttled.
func (r *request) countBytes(quota string, n int) time.Duration {
	t := r.cluster.quotaTable.Load()
	if t == nil {
		return 0
	}
	limit, key, ok := t.limit(r.node.id, quota, anonymous, r.client)
	if !ok {
		return 0
	}
	return r.node.countAgainst(key, limit, float64(n))
}

// countAgainst adds to what was counted for a key, and answers how long it is over its limit.
func (n *node) countAgainst(key rateKey, limit, more float64) time.Duration {
	v := n.cluster.settings(n.id)
	now := time.Now()
	th := &n.cluster.throttles
	th.mu.Lock()
	defer th.mu.Unlock()
	ra := th.rates[key]
	if ra == nil {
		th.forget(now)
		ra = &rate{window: v.Duration("quota.window.size.seconds"), num: v.Int("quota.window.num")}
		th.rates[key] = ra
	}
	ra.record(now, more)
	observed, window := ra.observe(now)
	return throttleTime(observed, limit, window)
}

// overConnectionRate counts a new connection of an address against connection_creation_rate (KIP-612). One above it isn't served, and closed after the time
// that it answers, which is a window of the quota at most.
func (n *node) overConnectionRate(host string) time.Duration {
	t := n.cluster.quotaTable.Load()
	if t == nil {
		return 0
	}
	const quota = "connection_creation_rate"
	limit, ok := t.ofAddress(host, quota)
	if !ok {
		return 0
	}
	key := rateKey{node: n.id, quota: quota, client: host}
	wait := n.countAgainst(key, limit, 1)
	if wait > 0 {
		n.countAgainst(key, limit, -1) // it doesn't count
	}
	return min(wait, n.cluster.settings(n.id).Duration("quota.window.size.seconds"))
}

// ofAddress finds an address's quota, under whatever name it was set, else the one for all.
func (t quotaTable) ofAddress(host, quota string) (value float64, ok bool) {
	host = strings.TrimPrefix(host, "/")
	names := []*string{&host, nil}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		local := "localhost"
		names = []*string{&host, &local, nil}
	}
	for _, name := range names {
		e := quotaEntity{parts: []quotaPart{{quotaIP, name}}}
		if value, ok = t[e.key()][quota]; ok {
			return value, true
		}
	}
	return 0, false
}

// forget makes room for another client. With th.mu held.
func (th *throttles) forget(now time.Time) {
	if th.rates == nil {
		th.rates, th.buckets = map[rateKey]*rate{}, map[rateKey]*bucket{}
	}
	if len(th.rates) >= maxRates {
		for k, r := range th.rates {
			if r.purge(now); len(r.samples) == 0 {
				delete(th.rates, k)
			}
		}
	}
	if len(th.buckets) >= maxRates {
		for k, b := range th.buckets {
			if now.Sub(b.at) >= silentBucket {
				delete(th.buckets, k)
			}
		}
	}
}

// clampFetch lets a Fetch ask for no more than what its quota allows in a window: a larger answer could never be sent.
func (r *request) clampFetch() {
	req, ok := r.body.(*kmsg.FetchRequest)
	t := r.cluster.quotaTable.Load()
	if !ok || t == nil {
		return
	}
	if limit, _, ok := t.limit(r.node.id, "consumer_byte_rate", anonymous, r.client); ok {
		v := r.cluster.settings(r.node.id)
		most := limit * float64(v.Int("quota.window.num")-1) * v.Duration("quota.window.size.seconds").Seconds()
		if math.IsNaN(most) {
			most = 0 // Java's number for it
		}
		req.MaxBytes = int32(min(float64(req.MaxBytes), most))
	}
}

// throttled sets the throttle time of an answer to a Produce or Fetch, and takes the records out of a Fetch that is over its quota.
func (r *request) throttled(a answer) (answer, time.Duration) {
	if r.cluster.quotaTable.Load() == nil {
		return a, 0
	}
	var wait time.Duration
	switch resp := a.(type) {
	case *kmsg.ProduceResponse:
		wait = r.countBytes("producer_byte_rate", len(r.frame))
		resp.ThrottleMillis = max(resp.ThrottleMillis, int32(wait.Milliseconds()))
	case *wire.FetchResponse:
		size := r.conn.fetch.QuotaSize(r.version, resp)
		if wait = r.countBytes("consumer_byte_rate", size); wait > 0 {
			resp.Topics, resp.NodeEndpoints = nil, nil
			resp.ThrottleMillis = max(resp.ThrottleMillis, int32(wait.Milliseconds()))
			r.uncountBytes("consumer_byte_rate", size)
		}
	case nil:
		if r.key == wire.Produce {
			wait = r.countBytes("producer_byte_rate", len(r.frame))
		}
	}
	return a, wait
}

// uncountBytes takes back bytes that weren't sent after all.
func (r *request) uncountBytes(quota string, n int) { r.countBytes(quota, -n) }

// bucket holds tokens for changes of the cluster: partitions that are created and deleted (KIP-599). It fills at the quota's rate
// up to what a whole window allows, and may go below zero once.
type bucket struct {
	tokens float64
	at     time.Time
}

func (b *bucket) refill(now time.Time, limit, burst float64) {
	if b.at.IsZero() {
		b.tokens = burst
	} else {
		b.tokens = min(burst, b.tokens+limit*now.Sub(b.at).Seconds())
	}
	b.at = now
}

// mutations counts the changes that one request makes against controller_mutation_rate. Its zero value counts nothing.
type mutations struct {
	r      *request
	limit  float64
	burst  float64
	bucket *bucket
	// strict refuses what comes when there are no tokens left, and throttles for that; else it is let through, and what goes below
	// zero is throttled.
	strict  bool
	refused bool
}

// mutations begins to count a request's changes. strictFrom is the version from which its API knows the error. On the loop.
func (r *request) mutations(strictFrom int16) *mutations {
	t := r.cluster.quotaTable.Load()
	if t == nil {
		return &mutations{}
	}
	limit, key, ok := t.limit(0, "controller_mutation_rate", anonymous, r.client)
	if !ok {
		return &mutations{}
	}
	v := r.cluster.settings(r.node.id)
	th := &r.cluster.throttles
	th.mu.Lock()
	defer th.mu.Unlock()
	b := th.buckets[key]
	if b == nil {
		th.forget(time.Now())
		b = &bucket{}
		th.buckets[key] = b
	}
	window := v.Duration("controller.quota.window.size.seconds").Seconds() * float64(v.Int("controller.quota.window.num"))
	return &mutations{r: r, limit: limit, burst: limit * window, bucket: b, strict: r.version >= strictFrom}
}

// take counts n changes.
func (m *mutations) take(n int) *topicError {
	if m.bucket == nil {
		return nil
	}
	m.bucket.refill(time.Now(), m.limit, m.burst)
	if m.strict && m.bucket.tokens < 0 {
		m.refused = true
		return &topicError{code: wire.ThrottlingQuotaExceeded} // Kafka says no more of it
	}
	m.bucket.tokens -= float64(n)
	return nil
}

// end sets the answer's throttle time and makes the connection pause after it.
func (m *mutations) end(resp kmsg.Response) {
	if m.bucket == nil || m.strict && !m.refused {
		return
	}
	m.bucket.refill(time.Now(), m.limit, m.burst)
	if m.bucket.tokens >= 0 {
		return
	}
	wait := time.Duration(math.Ceil(-m.bucket.tokens/m.limit*1000)) * time.Millisecond
	if s, ok := resp.(kmsg.SetThrottleResponse); ok {
		s.SetThrottle(int32(min(wait.Milliseconds(), math.MaxInt32)))
	}
	m.r.wait = wait
}
