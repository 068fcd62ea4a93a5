package broker

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fakekafka/fakekafka/internal/config"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// telemetry is what brokers know of clients that push metrics (KIP-714): enough to answer as Kafka does. The metrics themselves are
// thrown away, as by a broker without a receiver. Owned by the control loop.
type telemetry struct {
	instances map[telemetryKey]*telemetryInstance
	revision  int    // counts the changes of subscriptions
	all       uint32 // a sum over the subscriptions that revision stands for
}

type telemetryKey struct {
	node int32
	id   [16]byte
}

// telemetryInstance is one client that asked for its subscription.
type telemetryInstance struct {
	revision         int // of the telemetry's subscriptions when the instance was made
	subscription     subscription
	lastGet          time.Time
	lastPush         time.Time
	terminated       bool
	unknownSubscribe bool // the last push named another subscription: the client may ask again at once
}

// subscription is what a client is to push, and how often.
type subscription struct {
	id       int32
	interval time.Duration
	metrics  []string
}

// maxTelemetryInstances is how many clients a cluster remembers; the one that was silent the longest is forgotten first.
const maxTelemetryInstances = 16384

// telemetryCompressions are the codecs a push may use, best first: zstd, lz4, gzip, snappy.
var telemetryCompressions = []int8{4, 3, 1, 2}

// instance is a client's entry, made on first sight, with the subscription that is in force now.
func (t *telemetry) instance(r *request, id [16]byte) *telemetryInstance {
	k := telemetryKey{r.node.id, id}
	i, s := t.instances[k], r.subscriptionOf(id)
	if i == nil || i.revision != t.revision { // a change of any subscription makes a broker forget all it knows of the client
		if len(t.instances) >= maxTelemetryInstances {
			t.forgetOldest()
		}
		i = &telemetryInstance{revision: t.revision}
		r.conn.telemetry.Store(&k)
		if t.instances == nil {
			t.instances = map[telemetryKey]*telemetryInstance{}
		}
		t.instances[k] = i
	}
	i.subscription = s
	return i
}

// subscriptionsAltered notes whether anything is different after a client metrics resource was altered. On the loop.
func (c *Cluster) subscriptionsAltered(node int32) {
	sum := crc32.NewIEEE()
	for _, name := range c.config.ClientMetricsSubscriptions() {
		entries, err := c.config.Describe(node, config.ClientMetricsResource, name, nil, c.topicExists)
		if err != nil {
			continue
		}
		for _, e := range entries {
			fmt.Fprintf(sum, "%q%q%q", name, e.Name, *e.Value)
		}
	}
	if all := sum.Sum32(); all != c.telemetry.all {
		c.telemetry.all = all
		c.telemetry.revision++
	}
}

func (t *telemetry) forgetOldest() {
	var oldest telemetryKey
	var at time.Time
	for k, i := range t.instances {
		last := i.lastRequest()
		if at.IsZero() || last.Before(at) {
			oldest, at = k, last
		}
	}
	delete(t.instances, oldest)
}

func (i *telemetryInstance) lastRequest() time.Time {
	if i.lastPush.After(i.lastGet) {
		return i.lastPush
	}
	return i.lastGet
}

// get tells whether a client may ask for its subscription now.
func (i *telemetryInstance) get(now time.Time) wire.Code {
	if now.Sub(i.lastRequest()) < i.subscription.interval && !i.unknownSubscribe {
		return wire.ThrottlingQuotaExceeded
	}
	i.lastGet, i.unknownSubscribe = now, false
	return wire.None
}

// push tells whether a client may push now, and this. Also a refused push decides what the next may be.
func (i *telemetryInstance) push(now time.Time, terminating bool, subscription int32, compression int8, size, limit int) wire.Code {
	code := i.mayPush(now, terminating, subscription, compression, size, limit)
	i.terminated, i.unknownSubscribe = terminating, code == wire.UnknownSubscriptionID
	return code
}

func (i *telemetryInstance) mayPush(now time.Time, terminating bool, subscription int32, compression int8, size, limit int) wire.Code {
	if i.terminated {
		return wire.InvalidRequest
	}
	if now.Sub(i.lastPush) < i.subscription.interval && !terminating {
		return wire.ThrottlingQuotaExceeded
	}
	i.lastPush = now
	switch {
	case subscription != i.subscription.id:
		return wire.UnknownSubscriptionID
	case compression != 0 && !slices.Contains(telemetryCompressions, compression):
		return wire.UnsupportedCompressionType
	case size > limit:
		return wire.TelemetryTooLarge
	}
	return wire.None
}

// longestTelemetryInterval is a client's interval when nothing says a shorter one: a subscription's may be longer, but never counts then.
const longestTelemetryInterval = 300 * time.Second

// subscriptionOf joins the subscriptions that match the client: all their metrics, at the shortest interval. On the loop.
func (r *request) subscriptionOf(id [16]byte) subscription {
	c := r.cluster
	s := subscription{interval: longestTelemetryInterval}
	for _, name := range c.config.ClientMetricsSubscriptions() {
		entries, err := c.config.Describe(r.node.id, config.ClientMetricsResource, name, nil, c.topicExists)
		if err != nil {
			continue
		}
		values := map[string]string{}
		for _, e := range entries {
			values[e.Name] = *e.Value
		}
		if !r.matchesAll(id, splitList(values["match"])) {
			continue
		}
		s.metrics = append(s.metrics, splitList(values["metrics"])...)
		ms, _ := strconv.Atoi(values["interval.ms"]) // checked when it was set
		s.interval = min(s.interval, time.Duration(ms)*time.Millisecond)
	}
	slices.Sort(s.metrics)
	s.metrics = slices.Compact(s.metrics)
	if slices.Contains(s.metrics, "*") {
		s.metrics = []string{"*"}
	}
	sum := crc32.NewIEEE()
	sum.Write(id[:])
	sum.Write([]byte(strings.Join(s.metrics, ",")))
	sum.Write(binary.BigEndian.AppendUint64(nil, uint64(s.interval)))
	s.id = int32(sum.Sum32())
	return s
}

func splitList(text string) []string {
	var list []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// matchesAll tells whether the client fits all selectors, each name=regular expression over the whole value.
func (r *request) matchesAll(id [16]byte, selectors []string) bool {
	host, port, err := net.SplitHostPort(r.conn.nc.RemoteAddr().String())
	if err != nil {
		host = r.conn.nc.RemoteAddr().String()
	}
	client := map[string]string{
		"client_instance_id":      base64.RawURLEncoding.EncodeToString(id[:]),
		"client_id":               r.client,
		"client_software_name":    r.conn.software,
		"client_software_version": r.conn.softwareVersion,
		"client_source_address":   host,
		"client_source_port":      port,
	}
	for _, s := range selectors {
		name, pattern, _ := strings.Cut(s, "=")
		re, err := regexp.Compile("^(?:" + strings.TrimSpace(pattern) + ")$")
		if err != nil || !re.MatchString(client[strings.TrimSpace(name)]) {
			return false
		}
	}
	return true
}
