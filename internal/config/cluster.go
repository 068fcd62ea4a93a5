package config

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Cluster holds the settings of a cluster: given at the start, or changed at
// run time.
type Cluster struct {
	nodes    []int32 // ascending
	given    Start
	files    map[int32]map[string]string // what static has answered
	defaults *Defaults                   // in place of Kafka's

	dynamicDefault map[string]string // for all brokers
	onlyDefaults   bool              // nothing was set at the start, and dynamicDefault is what it was
	dynamic        map[int32]map[string]string
	topics         map[string]map[string]string
	groups         map[string]map[string]string
	clientMetrics  map[string]map[string]string
	loggers        map[int32]map[string]string

	values map[int32]*Values // of brokers, until the next change
}

// Start is what a cluster is started with.
type Start struct {
	// Static settings of all brokers, by Kafka's names.
	Static map[string]string
	// PerBroker has settings of one broker, by node id, such as broker.rack. Every broker has an entry.
	PerBroker map[int32]map[string]string
	// Listeners tells where a broker listens and where clients are told to connect
	// to, as HOST:PORT; "" before it listens. They stand in its start-up file
	// unless the settings above have others. Nil: nothing does.
	Listeners func(id int32) (listens, advertised string)
	// Defaults replace Kafka's defaults where nothing is set. They show as
	// defaults (source 5), not as static settings. Nil: Kafka's own.
	Defaults *Defaults
}

// New checks the settings: an unknown name or a bad value is an error that names
// the setting and says what would be right.
// The maps must not change afterwards: they are read when somebody asks.
func New(s Start) (*Cluster, error) {
	c := &Cluster{
		nodes:          slices.Sorted(maps.Keys(s.PerBroker)),
		given:          s,
		defaults:       s.Defaults,
		dynamicDefault: map[string]string{},
		dynamic:        map[int32]map[string]string{},
		topics:         map[string]map[string]string{},
		groups:         map[string]map[string]string{},
		clientMetrics:  map[string]map[string]string{},
		loggers:        map[int32]map[string]string{},
		values:         map[int32]*Values{},
	}
	if c.defaults == nil {
		c.defaults = kafkas
	}
	if len(c.nodes) == 0 {
		return nil, fmt.Errorf("config: no broker is given")
	}
	if err := checkAll(s.Static); err != nil {
		return nil, err
	}
	c.onlyDefaults = len(s.Static) == 0
	for _, id := range c.nodes {
		c.onlyDefaults = c.onlyDefaults && len(s.PerBroker[id]) == 0
		if err := checkAll(s.PerBroker[id]); err != nil {
			return nil, err
		}
	}
	// A cluster with eligible leader replicas keeps min.insync.replicas as a dynamic default.
	c.dynamicDefault["min.insync.replicas"] = c.minInsync()
	for _, id := range c.nodes {
		v := c.Broker(id)
		if v == c.defaults.values(id) {
			continue // an earlier cluster's, checked then
		}
		if err := checkBroker(v); err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
		if c.onlyDefaults {
			c.defaults.share(id, v)
		}
	}
	return c, nil
}

// checkAll checks settings given at the start. Of several bad ones the error is the first one's by name.
func checkAll(settings map[string]string) (first error) {
	bad := ""
	for name, val := range settings {
		if _, err := Check(name, val); err != nil && (first == nil || name < bad) {
			bad, first = name, err
		}
	}
	return first
}

// minInsync is min.insync.replicas as it is set or defaults for the first broker.
func (c *Cluster) minInsync() string {
	const name = "min.insync.replicas"
	for _, settings := range []map[string]string{c.given.PerBroker[c.nodes[0]], c.given.Static, c.defaults.raw} {
		if val, ok := settings[name]; ok {
			return strings.TrimSpace(val)
		}
	}
	return brokerDef(name).standard.text
}

// startUpFile are the settings no Kafka broker starts without, but for those with its id.
var startUpFile = map[string]string{
	"process.roles":              "broker,controller",
	"controller.listener.names":  "CONTROLLER",
	"inter.broker.listener.name": "PLAINTEXT",
}

// idSettings are the names under which a broker's start-up file has its id.
var idSettings = [...]string{"node.id", "broker.id"}

// parsedStartUpFile is startUpFile for Values, ascending by name.
var parsedStartUpFile = sync.OnceValue(func() []setting {
	var v Values
	v.put(startUpFile)
	return v.set
})

// static are the settings a broker was started with. They are put together when somebody asks, since most clusters are never described.
func (c *Cluster) static(id int32) map[string]string {
	if own := c.files[id]; own != nil {
		return own
	}
	own := maps.Clone(startUpFile)
	for _, name := range idSettings {
		own[name] = strconv.Itoa(int(id))
	}
	listeners := c.listeners(id)
	maps.Copy(own, listeners)
	maps.Copy(own, c.given.Static)
	maps.Copy(own, c.given.PerBroker[id])
	if listeners == nil && c.given.Listeners != nil {
		return own // it doesn't listen yet
	}
	if c.files == nil {
		c.files = map[int32]map[string]string{}
	}
	c.files[id] = own
	return own
}

// listeners are the settings that say where a broker listens, nil before it does. They are no part of its Values, which clusters with equal settings share:
// nobody but who describes the broker asks for them.
func (c *Cluster) listeners(id int32) map[string]string {
	if c.given.Listeners == nil {
		return nil
	}
	listens, advertised := c.given.Listeners(id)
	if listens == "" {
		return nil
	}
	return map[string]string{"listeners": "PLAINTEXT://" + listens, "advertised.listeners": "PLAINTEXT://" + advertised}
}

// changed forgets what was derived from the settings.
func (c *Cluster) changed() { clear(c.values) }

// Check checks one broker setting given by a user. noEffect is true for a setting
// that Kafka has but that changes nothing here.
func Check(name, val string) (noEffect bool, err error) {
	d := brokerDef(name)
	if d == nil {
		return false, unknownSetting(name)
	}
	if err := refuseForeignCode(d, name, val); err != nil {
		return false, err
	}
	if _, err := d.parse(val); err != nil {
		return false, fmt.Errorf("config %s=%s: %w", name, val, err)
	}
	return !HasEffect(name), nil
}

// clientSettings are settings of clients that are easily taken for the broker's, and what the broker has instead; "" for nothing.
var clientSettings = map[string]string{
	"auto.offset.reset":             "",
	"bootstrap.servers":             "",
	"client.id":                     "",
	"enable.auto.commit":            "",
	"group.id":                      "",
	"group.instance.id":             "",
	"group.protocol":                "",
	"heartbeat.interval.ms":         "; for groups of the consumer protocol (KIP-848) the broker's is group.consumer.heartbeat.interval.ms",
	"isolation.level":               "",
	"max.poll.interval.ms":          "",
	"partition.assignment.strategy": "",
	"session.timeout.ms":            "; for groups of the consumer protocol (KIP-848) the broker's is group.consumer.session.timeout.ms",
}

func unknownSetting(name string) error {
	hint := ""
	if instead, is := clientSettings[name]; is {
		hint = "; it is a client's setting: give it to the client" + instead
	} else if near := nearest(brokerDefs(), name); near != "" {
		hint = fmt.Sprintf("; did you mean %s?", near)
	} else if topicDefs().byName[name] != nil {
		hint = "; it is a topic's setting"
		if sources := topicDefs().byName[name].brokers; len(sources) > 0 {
			hint = fmt.Sprintf("; that is a topic's setting, for all topics it is %s", sources[0].name)
		}
	}
	return fmt.Errorf("config %s: Apache Kafka has no broker setting of this name%s", name, hint)
}

// CheckTopicSettingName checks the name of a topic's setting given by a user; clients are told what Kafka says.
func CheckTopicSettingName(name string) error {
	if topicDefs().byName[name] != nil {
		return nil
	}
	hint := ""
	if near := nearest(topicDefs(), name); near != "" {
		hint = fmt.Sprintf("; did you mean %s?", near)
	} else if brokerDef(name) != nil {
		hint = "; it is a broker's setting"
		for _, d := range topicDefs().sorted {
			if slices.ContainsFunc(d.brokers, func(s brokerSource) bool { return s.name == name }) {
				hint = fmt.Sprintf("; that is a broker's setting, for one topic it is %s", d.name)
				break
			}
		}
	}
	return fmt.Errorf("config %s: Apache Kafka has no topic setting of this name%s", name, hint)
}

// nearest finds the setting someone mistyped, "" if none is like it.
func nearest(all *defs, name string) string {
	return Nearest(strings.ToLower(name), func(yield func(string) bool) {
		for _, d := range all.sorted {
			if !yield(d.name) {
				return
			}
		}
	})
}

// Nearest is the name that someone mistyped: the one that is fewer than three edits away; "" if none is.
func Nearest(name string, all iter.Seq[string]) string {
	best, limit := "", 3
	for other := range all {
		if n := distance(name, other, limit); n < limit {
			best, limit = other, n
		}
	}
	return best
}

// distance is the number of edits of a byte between a and b, or limit where it is no less.
func distance(a, b string, limit int) int {
	if diff := len(a) - len(b); diff >= limit || -diff >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		from, to := max(0, i-limit+1), min(len(b), i+limit) // farther from the diagonal it is no less than limit
		diagonal := row[from]
		row[from] = i + 1
		if from > 0 {
			row[from] = limit
		}
		least := row[from]
		for j := from; j < to; j++ {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
			least = min(least, row[j+1])
		}
		if least >= limit { // it grows only; most names are nothing alike
			return limit
		}
	}
	return min(row[len(b)], limit)
}

// layers are the places a broker's setting can come from, the strongest first.
func (c *Cluster) layers(id int32) [3]struct {
	settings map[string]string
	source   Source
} {
	return [3]struct {
		settings map[string]string
		source   Source
	}{
		{c.dynamic[id], DynamicBroker},
		{c.dynamicDefault, DynamicDefaultBroker},
		{c.static(id), StaticBroker},
	}
}

// fallback is a broker setting's default here, nil for none.
func (c *Cluster) fallback(d *def) *string {
	if v, ok := c.defaults.raw[d.name]; ok {
		return &v
	}
	return d.fallback
}

// Broker gives the settings in force at one broker: dynamic for this broker,
// dynamic for all, static, default. The result is immutable; it is made anew when
// something changed, so ask again after an alter.
func (c *Cluster) Broker(id int32) *Values {
	v := c.values[id]
	if v == nil && c.onlyDefaults && len(c.dynamic[id]) == 0 {
		v = c.defaults.values(id)
		c.values[id] = v
	}
	if v == nil {
		file, own := parsedStartUpFile(), c.given.PerBroker[id]
		// Room for all, so that nothing grows.
		v = &Values{set: make([]setting, 0, len(file)+len(idSettings)+len(c.defaults.parsed)+len(c.given.Static)+len(own)+len(c.dynamicDefault)+len(c.dynamic[id]))}
		v.set = append(v.set, c.defaults.parsed...)
		for _, s := range file {
			v.putParsed(s)
		}
		for _, name := range idSettings {
			v.putOne(name, strconv.Itoa(int(id)))
		}
		for _, settings := range [...]map[string]string{c.given.Static, own, c.dynamicDefault, c.dynamic[id]} {
			v.put(settings)
		}
		c.values[id] = v
	}
	return v
}

// GroupSetting gives the value a group was given by IncrementalAlterConfigs, unclamped, under its own name such as
// "consumer.session.timeout.ms"; ok is false where the group has none of its own. The group coordinator asks by it.
func (c *Cluster) GroupSetting(group, name string) (val string, ok bool) {
	val, ok = c.groups[group][name]
	return strings.TrimSpace(val), ok
}

// CreateTopic stores the configs of a new topic, which were checked before. Of a
// name given twice the last value counts.
func (c *Cluster) CreateTopic(name string, configs []Setting) {
	if settings := settingsMap(configs); len(settings) > 0 {
		c.topics[name] = settings
	}
}

func settingsMap(configs []Setting) map[string]string {
	settings := map[string]string{}
	for _, s := range configs {
		if s.Value != nil {
			settings[s.Name] = *s.Value
		}
	}
	return settings
}

// DeleteTopic forgets the configs of a topic.
func (c *Cluster) DeleteTopic(name string) { delete(c.topics, name) }

// GroupsWithConfigs lists the groups that have settings of their own, sorted, for ListConfigResources.
func (c *Cluster) GroupsWithConfigs() []string { return slices.Sorted(maps.Keys(c.groups)) }

// ClientMetricsSubscriptions lists the subscriptions that have settings, sorted, for ListConfigResources.
func (c *Cluster) ClientMetricsSubscriptions() []string {
	return slices.Sorted(maps.Keys(c.clientMetrics))
}
