package config

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// The tables are Kafka 4.3.1's definitions in a compact form; the tests compare
// them with what a real broker says of itself.
var (
	//go:embed broker.tsv
	brokerTable string
	//go:embed topic.tsv
	topicTable string
	//go:embed group.tsv
	groupTable string
)

// updateMode says how a broker setting can be changed at run time.
type updateMode uint8

const (
	readOnly updateMode = iota
	perBroker
	clusterWide // for one broker, too
)

// def is the definition of a setting.
type def struct {
	name     string
	typ      Type
	fallback *string // the default; nil is null
	standard value   // the default of a broker setting, parsed; not set where that is null
	required bool    // has no default at all
	internal bool    // not shown unless set
	mode     updateMode
	valid    validator
	allowed  string // what valid lets pass, in Kafka's notation
	// emptyEntries: a list whose entries may be empty although it has a validator.
	emptyEntries bool
	// brokers are the broker settings a topic or group setting is taken from
	// where it has no own value, the first that has a value.
	brokers []brokerSource
}

// brokerSource is a broker setting in another unit: its number is times as much here.
type brokerSource struct {
	name  string
	times int64
}

func (d *def) sensitive() bool { return d.typ == Password }

// defs is a table of definitions, by name and in order of names.
type defs struct {
	byName map[string]*def
	sorted []*def
}

var typeNames = map[string]Type{
	"boolean": Boolean, "string": String, "int": Int, "short": Short, "long": Long,
	"double": Double, "list": List, "class": Class, "password": Password,
}

func (t Type) String() string {
	for name, typ := range typeNames {
		if typ == t {
			return strings.ToUpper(name)
		}
	}
	return "UNKNOWN"
}

// parseTable reads a table's lines; row fills what only this table has.
func parseTable(table string, row func(d *def, columns []string)) *defs {
	all := &defs{byName: map[string]*def{}}
	for line := range strings.Lines(table) {
		if line[0] == '#' {
			continue
		}
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for len(columns) < 6 {
			columns = append(columns, "")
		}
		d := &def{name: columns[0], typ: typeNames[columns[1]], valid: parseValidator(columns[3]), allowed: columns[3], emptyEntries: columns[3] == replicasOfPartitions}
		if columns[2] != "<null>" {
			d.fallback = &columns[2]
		}
		row(d, columns)
		all.byName[d.name] = d
		all.sorted = append(all.sorted, d)
	}
	return all
}

var brokerDefs = sync.OnceValue(func() *defs {
	modes := map[string]updateMode{"read-only": readOnly, "per-broker": perBroker, "cluster-wide": clusterWide}
	return parseTable(brokerTable, func(d *def, columns []string) {
		d.mode = modes[columns[4]]
		d.required = strings.Contains(columns[5], "required")
		d.internal = strings.Contains(columns[5], "internal")
		if d.fallback != nil {
			v, err := d.parseType(*d.fallback)
			if err != nil {
				panic(fmt.Sprintf("config: the default of %s: %v", d.name, err))
			}
			d.standard = v
		}
	})
})

var topicDefs = sync.OnceValue(func() *defs { return parseTable(topicTable, parseBrokerSources) })

var groupDefs = sync.OnceValue(func() *defs { return parseTable(groupTable, parseBrokerSources) })

var clientMetricsDefs = sync.OnceValue(func() *defs {
	empty, interval := "", "300000"
	all := &defs{byName: map[string]*def{}}
	all.sorted = []*def{
		{name: "interval.ms", typ: Int, fallback: &interval},
		{name: "match", typ: List, fallback: &empty, valid: parseValidator("distinct"), allowed: "distinct"},
		{name: "metrics", typ: List, fallback: &empty, valid: parseValidator("distinct"), allowed: "distinct"},
	}
	for _, d := range all.sorted {
		all.byName[d.name] = d
	}
	return all
})

func parseBrokerSources(d *def, columns []string) {
	d.internal = strings.Contains(columns[5], "internal")
	for _, word := range strings.Fields(columns[4]) {
		name, times, ok := strings.Cut(word, "*")
		s := brokerSource{name: name, times: 1}
		if ok {
			s.times, _ = strconv.ParseInt(times, 10, 64)
		}
		d.brokers = append(d.brokers, s)
	}
}

// brokerDef finds a broker setting, also under a listener's prefix
// ("listener.name.internal.ssl.keystore.location").
func brokerDef(name string) *def {
	if d := brokerDefs().byName[name]; d != nil {
		return d
	}
	if base, ok := listenerSetting(name); ok {
		return brokerDefs().byName[base]
	}
	return nil
}

// throttleDefs are broker settings that can be set at run time only: how fast brokers copy from each other, which nothing here does.
var throttleDefs = sync.OnceValue(func() map[string]*def {
	all := map[string]*def{}
	for _, name := range []string{"leader.replication.throttled.rate", "follower.replication.throttled.rate", "replica.alter.log.dirs.io.max.bytes.per.second"} {
		all[name] = &def{name: name, typ: Long, mode: clusterWide, valid: parseValidator("[0,...]")}
	}
	return all
})

// dynamicDef finds what can be set at run time: a broker setting, or a throttle, which no broker's file has.
func dynamicDef(name string) *def {
	if d := brokerDef(name); d != nil {
		return d
	}
	if base, ok := listenerSetting(name); ok {
		name = base
	}
	return throttleDefs()[name]
}

// listenerSetting takes the prefix of one listener off a name, and that of one SASL mechanism.
func listenerSetting(name string) (base string, ok bool) {
	rest, ok := strings.CutPrefix(name, "listener.name.")
	if !ok {
		return "", false
	}
	_, base, ok = strings.Cut(rest, ".")
	if !ok {
		return "", false
	}
	for _, mechanism := range []string{"plain.", "scram-sha-256.", "scram-sha-512.", "oauthbearer.", "gssapi."} {
		base = strings.TrimPrefix(base, mechanism)
	}
	return base, true
}

// sameMeaning are broker settings that say the same in other units, the one that wins first.
var sameMeaning = [][]string{
	{"log.roll.ms", "log.roll.hours"},
	{"log.roll.jitter.ms", "log.roll.jitter.hours"},
	{"log.flush.interval.ms", "log.flush.scheduler.interval.ms"},
	{"log.retention.ms", "log.retention.minutes", "log.retention.hours"},
}

// brokerSynonyms are the names under which a broker setting may be given, in order of precedence.
func brokerSynonyms(name string) []string {
	for _, names := range sameMeaning {
		for i, n := range names {
			// log.flush.scheduler.interval.ms alone is also a setting of its own.
			if n == name && (i == 0 || names[0] != "log.flush.interval.ms") {
				return names
			}
		}
	}
	if base, ok := listenerSetting(name); ok {
		return []string{name, base}
	}
	return []string{name}
}
