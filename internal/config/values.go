package config

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Values are the settings in force at one broker. The getters panic for a name
// that Kafka doesn't have or that is of another type: that is a mistake in our code.
type Values struct {
	set []setting // what differs from Kafka's defaults, ascending by name

	topic   atomic.Pointer[Topic] // of a topic without settings of its own, once somebody asked
	derived atomic.Pointer[any]
}

// Derived keeps what who uses the settings makes of them; it is made once, and as immutable as they are. There is one such thing: all calls
// give the same make.
func (v *Values) Derived(make func(*Values) any) any {
	if d := v.derived.Load(); d != nil {
		return *d
	}
	d := make(v)
	v.derived.Store(&d)
	return d
}

// setting is a setting that was given a value.
type setting struct {
	name string // as it was given: with its listener's prefix, if it has one
	def  *def
	value
}

// find is where a name is among the settings, or would be.
func (v *Values) find(name string) (int, bool) {
	return slices.BinarySearchFunc(v.set, name, func(s setting, name string) int { return strings.Compare(s.name, name) })
}

// put lays settings over what is there. They were checked; unknown ones, which
// Kafka takes dynamically, have no value for anyone.
func (v *Values) put(settings map[string]string) {
	for name, raw := range settings {
		v.putOne(name, raw)
	}
}

func (v *Values) putOne(name, raw string) {
	d := brokerDef(name)
	if d == nil {
		return
	}
	if parsed, err := d.parseType(raw); err == nil {
		v.putParsed(setting{name, d, parsed})
	}
}

func (v *Values) putParsed(s setting) {
	i, found := v.find(s.name)
	if found {
		v.set[i] = s
	} else {
		v.set = slices.Insert(v.set, i, s)
	}
}

// with gives a copy where other settings count, to check them before they are taken.
func (v *Values) with(settings map[string]string) *Values {
	copied := &Values{set: append(make([]setting, 0, len(v.set)+len(settings)), v.set...)}
	copied.put(settings)
	return copied
}

// over gives a copy that also has these settings, where it has none of that name.
func (v *Values) over(settings map[string]string) *Values {
	below := &Values{}
	below.put(settings)
	for _, s := range v.set {
		below.putParsed(s)
	}
	return below
}

func (v *Values) get(name string, types ...Type) *value {
	var d *def
	val := (*value)(nil)
	if i, ok := v.find(name); ok {
		d, val = v.set[i].def, &v.set[i].value
	} else if d = brokerDef(name); d != nil {
		val = &d.standard
	} else {
		panic("config: Kafka has no broker setting " + name)
	}
	if len(types) > 0 && !slices.Contains(types, d.typ) {
		panic(fmt.Sprintf("config: %s is of type %s", name, d.typ))
	}
	return val
}

// lookup is get for a name that may be unknown.
func (v *Values) lookup(name string) value {
	if brokerDef(name) == nil {
		return value{}
	}
	return *v.get(name)
}

// IsSet tells whether a setting has a value at all: some have no default.
func (v *Values) IsSet(name string) bool { return v.get(name).set }

// Int gives an int or short.
func (v *Values) Int(name string) int { return int(v.get(name, Int, Short).num) }

// Int32 gives an int or short.
func (v *Values) Int32(name string) int32 { return int32(v.get(name, Int, Short).num) }

// Int64 gives a long, int or short.
func (v *Values) Int64(name string) int64 { return v.get(name, Long, Int, Short).num }

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
