package config

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"
	"time"
)

// Values are the settings in force at one broker. The getters panic for a name
// that Kafka doesn't have or that is of another type: that is a mistake in our code.
type Values struct {
	set map[string]value // what differs from Kafka's defaults
}

// kafkaDefaults are the defaults, parsed once for all clusters.
var kafkaDefaults = sync.OnceValue(func() map[string]value {
	all := make(map[string]value, len(brokerDefs().sorted))
	for _, d := range brokerDefs().sorted {
		all[d.name] = value{}
		if d.fallback != nil {
			v, err := d.parseType(*d.fallback)
			if err != nil {
				panic(fmt.Sprintf("config: the default of %s: %v", d.name, err))
			}
			all[d.name] = v
		}
	}
	return all
})

func newValues(defaults map[string]string) *Values {
	v := &Values{set: map[string]value{}}
	v.put(defaults)
	return v
}

// put lays settings over what is there. They were checked; unknown ones, which
// Kafka takes dynamically, have no value for anyone.
func (v *Values) put(settings map[string]string) {
	for name, raw := range settings {
		if d := brokerDef(name); d != nil {
			if parsed, err := d.parseType(raw); err == nil {
				v.set[name] = parsed
			}
		}
	}
}

// with gives a copy where other settings count, to check them before they are taken.
func (v *Values) with(settings map[string]string) *Values {
	copied := &Values{set: maps.Clone(v.set)}
	copied.put(settings)
	return copied
}

func (v *Values) get(name string, types ...Type) value {
	if val, ok := v.set[name]; ok && types == nil {
		return val
	}
	d := brokerDef(name)
	if d == nil {
		panic("config: Kafka has no broker setting " + name)
	}
	for i, t := range types {
		if t == d.typ {
			break
		}
		if i == len(types)-1 {
			panic(fmt.Sprintf("config: %s is of type %s", name, d.typ))
		}
	}
	if val, ok := v.set[name]; ok {
		return val
	}
	return kafkaDefaults()[d.name]
}

// lookup is get for a name that may be unknown.
func (v *Values) lookup(name string) value {
	if brokerDef(name) == nil {
		return value{}
	}
	return v.get(name)
}

// IsSet tells whether a setting has a value at all: some have no default.
func (v *Values) IsSet(name string) bool { return v.get(name).set }

// Int gives an int or short.
func (v *Values) Int(name string) int { return int(v.get(name, Int, Short).num) }

// Int32 gives an int or short.
func (v *Values) Int32(name string) int32 { return int32(v.get(name, Int, Short).num) }

// Int64 gives a long, int or short.
func (v *Values) Int64(name string) int64 { return v.get(name, Long, Int, Short).num }

// Float gives a double.
func (v *Values) Float(name string) float64 { return v.get(name, Double).real }

// Bool gives a boolean.
func (v *Values) Bool(name string) bool { return v.get(name, Boolean).flag }

// String gives any setting as it was written, without spaces around; "" where nothing is set.
func (v *Values) String(name string) string { return v.get(name).text }

// List gives the entries of a list. Don't change them.
func (v *Values) List(name string) []string { return v.get(name, List).list }

// Duration gives a setting whose name ends in .ms, .millis, .seconds, .minutes or .hours.
// A negative number (no limit) gives a negative duration; one that is too large the largest.
func (v *Values) Duration(name string) time.Duration {
	unit := time.Millisecond
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "ms", "millis":
	case "seconds":
		unit = time.Second
	case "minutes":
		unit = time.Minute
	case "hours":
		unit = time.Hour
	default:
		panic("config: " + name + " is no duration")
	}
	return duration(v.Int64(name), unit)
}

func duration(n int64, unit time.Duration) time.Duration {
	if n > math.MaxInt64/int64(unit) {
		return math.MaxInt64
	}
	if n < 0 {
		return -unit
	}
	return time.Duration(n) * unit
}
