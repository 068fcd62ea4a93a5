package broker

import (
	"cmp"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// quotas are the client quotas that were set (KIP-546). throttle.go has their effect. Owned by the control loop.
type quotas struct {
	entities map[string]*quotaEntity // by quotaEntity.key
}

// quotaEntity is whom a quota is for: a user, a client id, both, or an address.
type quotaEntity struct {
	parts  []quotaPart // by type, ascending
	values map[string]float64
}

// quotaPart is one side of an entity; a nil name is the default of its type.
type quotaPart struct {
	kind string
	name *string
}

const (
	quotaUser   = "user"
	quotaClient = "client-id"
	quotaIP     = "ip"
)

// quotaLimits are the quotas there are: whom they can be for, and whether a fraction makes sense.
var quotaLimits = map[string]struct{ forIP, fraction bool }{
	"producer_byte_rate":       {},
	"consumer_byte_rate":       {},
	"request_percentage":       {fraction: true},
	"controller_mutation_rate": {fraction: true},
	"connection_creation_rate": {forIP: true},
}

// quotaOp sets or removes one value.
type quotaOp struct {
	key    string
	value  float64
	remove bool
}

func (e *quotaEntity) key() string {
	var b strings.Builder
	for _, p := range e.parts {
		name := "default"
		if p.name != nil {
			name = fmt.Sprintf("%q", *p.name)
		}
		fmt.Fprintf(&b, "%s=%s,", p.kind, name)
	}
	return b.String()
}

func (e *quotaEntity) part(kind string) (quotaPart, bool) {
	for _, p := range e.parts {
		if p.kind == kind {
			return p, true
		}
	}
	return quotaPart{}, false
}

// newQuotaEntity checks whom a quota is for. Of a type that is given twice the last counts.
func newQuotaEntity(parts []quotaPart) (*quotaEntity, *topicError) {
	e := &quotaEntity{values: map[string]float64{}}
	for _, p := range parts {
		if i := slices.IndexFunc(e.parts, func(o quotaPart) bool { return o.kind == p.kind }); i >= 0 {
			e.parts[i] = p
		} else {
			e.parts = append(e.parts, p)
		}
	}
	slices.SortFunc(e.parts, func(a, b quotaPart) int { return cmp.Compare(a.kind, b.kind) })
	if len(parts) == 0 {
		return e, refuse(wire.InvalidRequest, "Invalid empty client quota entity")
	}
	for _, p := range e.parts {
		switch {
		case p.kind != quotaUser && p.kind != quotaClient && p.kind != quotaIP:
			return e, refuse(wire.InvalidRequest, "Unhandled client quota entity type: %s", p.kind)
		case p.name != nil && *p.name == "":
			return e, refuse(wire.InvalidRequest, "Empty %s not supported", p.kind)
		case p.kind == quotaIP && len(e.parts) > 1:
			return e, refuse(wire.InvalidRequest, "Invalid quota entity combination: an ip stands alone")
		case p.kind == quotaIP && p.name != nil && !resolvable(*p.name):
			return e, refuse(wire.InvalidRequest, "%s is not a valid IP or resolvable host.", *p.name)
		}
	}
	return e, nil
}

// resolvable tells whether a name is an address, or the one name that needs no resolver: a test's broker asks no name server.
func resolvable(name string) bool { return net.ParseIP(name) != nil || name == "localhost" }

func (e *quotaEntity) check(ops []quotaOp) *topicError {
	_, ip := e.part(quotaIP)
	for i, o := range ops {
		limit, known := quotaLimits[o.key]
		switch {
		case slices.ContainsFunc(ops[:i], func(p quotaOp) bool { return p.key == o.key }):
			return refuse(wire.InvalidRequest, "Duplicate client quota configuration key: %s", o.key)
		case o.remove: // whatever it is, it is not set afterwards
		case !known || limit.forIP != ip:
			return refuse(wire.InvalidRequest, "Invalid configuration key %s", o.key)
		case o.value <= 0: // NaN passes here and below, as in Kafka; nothing is above it
			return refuse(wire.InvalidRequest, "Quota %s must be greater than 0", o.key)
		case !limit.fraction && !whole(o.value):
			return refuse(wire.InvalidRequest, "%s cannot be a fractional value.", o.key)
		case limit.forIP && math.Trunc(o.value) > math.MaxInt32: // a rate of connections is an int, one of bytes a long
			return refuse(wire.InvalidRequest, "Configuration %s must not be greater than %d", o.key, math.MaxInt32)
		}
	}
	return nil
}

// whole tells whether a value is a whole number that Java's long can hold, or only just above one.
func whole(v float64) bool {
	const epsilon = 1e-6
	if v >= math.MaxInt64 {
		return v == math.MaxInt64 // as a double: 2^63
	}
	return !(v-math.Trunc(v) > epsilon)
}

// alter applies operations that were checked.
func (q *quotas) alter(e *quotaEntity, ops []quotaOp) {
	k := e.key()
	if have := q.entities[k]; have != nil {
		e = have
	}
	for _, o := range ops {
		if o.remove {
			delete(e.values, o.key)
		} else {
			e.values[o.key] = o.value
		}
	}
	if len(e.values) == 0 {
		delete(q.entities, k)
		return
	}
	if q.entities == nil {
		q.entities = map[string]*quotaEntity{}
	}
	q.entities[k] = e
}

// quotaMatch is what a description asks of one side of the entities.
type quotaMatch struct {
	kind string
	how  int8
	name *string
}

const (
	matchExact = 0
	matchNone  = 1 // the default of the type
	matchAny   = 2 // any, the default of the type too
)

func checkQuotaFilter(ms []quotaMatch) *topicError {
	for i, m := range ms {
		switch {
		case m.kind == "":
			return refuse(wire.InvalidRequest, "Invalid empty entity type.")
		case slices.ContainsFunc(ms[:i], func(p quotaMatch) bool { return p.kind == m.kind }):
			return refuse(wire.InvalidRequest, "Duplicate filter component: %s", m.kind)
		case m.kind != quotaUser && m.kind != quotaClient && m.kind != quotaIP:
			return refuse(wire.UnsupportedVersion, "Custom entity type %s not supported", m.kind)
		case m.how != matchExact && m.how != matchNone && m.how != matchAny:
			return refuse(wire.InvalidRequest, "Unknown match type %d", m.how)
		case m.how == matchExact && m.name == nil:
			return refuse(wire.InvalidRequest, "Request specified MATCH_TYPE_EXACT, but set match to null.")
		case m.how != matchExact && m.name != nil:
			return refuse(wire.InvalidRequest, "Request specified match type %d, but also specified a match string.", m.how)
		}
	}
	if len(ms) > 1 && slices.ContainsFunc(ms, func(m quotaMatch) bool { return m.kind == quotaIP }) {
		return refuse(wire.InvalidRequest, "Invalid entity filter component combination: an ip stands alone")
	}
	return nil
}

// find lists the entities that a filter means. strict: none that has a type which the filter doesn't name.
func (q *quotas) find(ms []quotaMatch, strict bool) []*quotaEntity {
	var found []*quotaEntity
	for _, k := range sortedKeys(q.entities) {
		e := q.entities[k]
		if strict && len(e.parts) != len(ms) {
			continue
		}
		if !slices.ContainsFunc(ms, func(m quotaMatch) bool { return !m.matches(e) }) {
			found = append(found, e)
		}
	}
	return found
}

func (m quotaMatch) matches(e *quotaEntity) bool {
	p, has := e.part(m.kind)
	switch {
	case !has:
		return false
	case m.how == matchExact:
		return p.name != nil && *p.name == *m.name
	case m.how == matchNone:
		return p.name == nil
	default:
		return true
	}
}
