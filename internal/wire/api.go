package wire

import "strconv"

// Key is an API key: the kind of a request.
type Key int16

// api is one line of the table of served APIs.
type api struct {
	name     string
	min, max int16
	flexible int16
	refused  int16 // versions below are advertised but refused
	unlisted bool  // answered, but left out of ApiVersions
}

// lowest is the first version that is served.
func (a api) lowest() int16 { return max(a.min, a.refused) }

func lookup(k Key) (api, bool) {
	if k < 0 || int(k) >= len(apis) || apis[k].name == "" {
		return api{}, false
	}
	return apis[k], true
}

// String gives Kafka's name of the API ("InitProducerId"), or "key 52" for one that a broker listener doesn't serve.
func (k Key) String() string {
	if a, ok := lookup(k); ok {
		return a.name
	}
	return "key " + strconv.Itoa(int(k))
}

// KeyNamed finds an API by Kafka's name.
func KeyNamed(name string) (Key, bool) {
	for k := range apis {
		if name != "" && apis[k].name == name {
			return Key(k), true
		}
	}
	return 0, false
}

// Keys lists every API a 4.3.1 broker serves, ascending, those it doesn't
// advertise included.
func Keys() []Key {
	var keys []Key
	for k := range apis {
		if apis[k].name != "" {
			keys = append(keys, Key(k))
		}
	}
	return keys
}

// Advertised gives the version range of k in Kafka's ApiVersions answer. ok is
// false for keys not listed there: unknown ones, and the telemetry APIs 71 and
// 72, which are answered all the same.
func Advertised(k Key) (min, max int16, ok bool) {
	a, ok := lookup(k)
	if !ok || a.unlisted {
		return 0, 0, false
	}
	return a.min, a.max, true
}

// Accepted tells whether a request of this key and version is handled. It
// differs from [Advertised] for Produce (below 3 advertised, refused) and the
// telemetry APIs. Whatever is not accepted closes the connection without an
// answer, except unknown versions of ApiVersions.
func Accepted(k Key, version int16) bool {
	a, ok := lookup(k)
	return ok && version >= a.lowest() && version <= a.max
}

// Flexible tells whether this version of k has compact fields and tag sections
// (KIP-482). It is also answered for versions that are not accepted.
func Flexible(k Key, version int16) bool {
	a, ok := lookup(k)
	return ok && a.flexible >= 0 && version >= a.flexible
}

// Feature is a line of the feature tables in the ApiVersions answer.
type Feature struct {
	Name      string
	Min, Max  int16 // supported levels
	Finalized int16 // the level in force; 0 is left out of the answer
}

// Features gives what a fresh 4.3.1 cluster supports and has finalized, by name.
func Features() []Feature {
	return []Feature{
		{"eligible.leader.replicas.version", 0, 1, 1},
		{"group.version", 0, 1, 1},
		{"kraft.version", 0, 1, 0},
		{"metadata.version", 7, 30, 30},
		{"share.version", 0, 1, 1},
		{"streams.version", 0, 1, 1},
		{"transaction.version", 0, 2, 2},
	}
}
