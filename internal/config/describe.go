package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// Describe answers one resource of a DescribeConfigs request received by broker
// node, sorted by name. names is the key filter (nil or empty: all); unknown names
// are left out. topicExists says which topics there are.
func (c *Cluster) Describe(node int32, t ResourceType, name string, names []string, topicExists func(string) bool) ([]Entry, *Error) {
	entries, err := c.describe(node, t, name, topicExists)
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		entries = slices.DeleteFunc(entries, func(e Entry) bool { return !slices.Contains(names, e.Name) })
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return entries, nil
}

func (c *Cluster) describe(node int32, t ResourceType, name string, topicExists func(string) bool) ([]Entry, *Error) {
	switch t {
	case TopicResource:
		if err := CheckTopicName(name); err != nil {
			return nil, err
		}
		if !topicExists(name) {
			return nil, &Error{wire.UnknownTopicOrPartition, ""}
		}
		return c.describeTopic(node, name), nil
	case BrokerResource:
		if name == "" {
			return c.describeDefaultBroker(), nil
		}
		id, err := strconv.ParseInt(name, 10, 32)
		if err != nil {
			return nil, &Error{invalidRequest, "Broker id must be an integer, but it is: " + name}
		}
		if int32(id) != node {
			return nil, &Error{invalidRequest, fmt.Sprintf("Unexpected broker id, expected %d or empty string, but received %s", node, name)}
		}
		return c.describeBroker(node), nil
	case BrokerLoggerResource:
		if name == "" {
			return nil, &Error{invalidRequest, "Broker id must not be empty"}
		}
		id, err := strconv.ParseInt(name, 10, 32)
		if err != nil {
			return nil, &Error{invalidRequest, "Broker id must be an integer, but it is: " + name}
		}
		if int32(id) != node {
			return nil, &Error{invalidRequest, fmt.Sprintf("Unexpected broker id, expected %d but received %s", node, name)}
		}
		level := cmp.Or(c.loggers[node][rootLogger], "INFO")
		return []Entry{{Name: rootLogger, Value: &level, Source: DynamicBrokerLogger}}, nil
	case ClientMetricsResource:
		if name == "" {
			return nil, &Error{invalidRequest, "Client metrics subscription name must not be empty"}
		}
		return describeOwn(clientMetricsDefs(), c.clientMetrics[name], ClientMetrics, nil), nil
	case GroupResource:
		if name == "" {
			return nil, &Error{invalidRequest, "Group name must not be empty"}
		}
		return describeOwn(groupDefs(), c.groups[name], DynamicGroup, func(d *def) (value, []Synonym) {
			if len(d.brokers) == 0 {
				v, _ := d.parseType(*d.fallback)
				return v, []Synonym{{d.name, d.fallback, Default}}
			}
			v, _ := fromBroker(d, c.Broker(node))
			return v, c.brokerSynonyms(node, d.brokers[0].name)
		}), nil
	}
	return nil, &Error{invalidRequest, "This most likely occurs because of a request being malformed by the client library or the message was sent to an incompatible broker. See the broker logs for more details."}
}

// describeOwn shows settings that a resource may have itself. below gives what
// counts where it has none, and where that comes from; nil: the plain default.
func describeOwn(all *defs, own map[string]string, source Source, below func(d *def) (value, []Synonym)) []Entry {
	entries := make([]Entry, 0, len(all.sorted))
	for _, d := range all.sorted {
		raw, isSet := own[d.name]
		if d.internal && !isSet {
			continue
		}
		e := Entry{Name: d.name, Type: d.typ, Source: Default, def: d}
		var v value
		switch {
		case d.internal: // has no default
		case below != nil:
			v, e.Synonyms = below(d)
		default:
			v, _ = d.parseType(*d.fallback)
		}
		if len(e.Synonyms) > 0 {
			e.Source = e.Synonyms[0].Source
		}
		if isSet {
			v, _ = d.parseType(raw)
			e.Source = source
		}
		shown := d.show(v)
		e.Value = &shown
		if isSet {
			e.Synonyms = append([]Synonym{{d.name, e.Value, source}}, e.Synonyms...)
		}
		entries = append(entries, e)
	}
	return entries
}

func (c *Cluster) describeTopic(node int32, name string) []Entry {
	broker := c.Broker(node)
	return describeOwn(topicDefs(), c.topics[name], DynamicTopic, func(d *def) (value, []Synonym) {
		if v, ok := fromBroker(d, broker); ok {
			return v, c.brokerSynonyms(node, d.brokers[0].name)
		}
		v, _ := d.parseType(*d.fallback)
		return v, nil
	})
}

// brokerSynonyms lists where the value of a broker's setting could come from, the
// strongest first. What stands under another name before the first one of this
// name is dropped, so that a setting that only follows from another (log.retention.ms
// from log.retention.hours) has none.
func (c *Cluster) brokerSynonyms(id int32, name string) []Synonym {
	var synonyms []Synonym
	names := brokerSynonyms(name)
	add := func(n string, raw *string, source Source) {
		if raw == nil || synonyms == nil && n != name {
			return
		}
		if d := dynamicDef(n); d == nil || d.sensitive() {
			raw = nil
		}
		synonyms = append(synonyms, Synonym{n, raw, source})
	}
	for _, layer := range c.layers(id) {
		for _, n := range names {
			if raw, ok := layer.settings[n]; ok {
				add(n, &raw, layer.source)
			}
		}
	}
	for _, n := range names {
		if d := brokerDefs().byName[n]; d != nil {
			add(n, c.fallback(d), Default)
		}
	}
	return synonyms
}

// describeBroker shows every setting of a broker: those Kafka knows, except
// internal ones, and all that were set.
func (c *Cluster) describeBroker(id int32) []Entry {
	names := map[string]bool{}
	for _, d := range brokerDefs().sorted {
		if !d.internal {
			names[d.name] = true
		}
	}
	for _, layer := range c.layers(id) {
		for name := range layer.settings {
			names[name] = true
		}
	}
	values := c.Broker(id).over(c.listeners(id))
	var entries []Entry
	for _, name := range slices.Sorted(maps.Keys(names)) {
		e := brokerEntry(name)
		e.Synonyms = c.brokerSynonyms(id, name)
		e.Source = Default
		if len(e.Synonyms) > 0 {
			e.Source = e.Synonyms[0].Source
		}
		if v := values.lookup(name); v.set && !e.Sensitive {
			shown := brokerDef(name).show(v)
			e.Value = &shown
		} else if throttleDefs()[name] != nil && len(e.Synonyms) > 0 {
			e.Value = e.Synonyms[0].Value // as it was written
		}
		entries = append(entries, e)
	}
	return entries
}

// describeDefaultBroker shows what is set for all brokers, as it was written.
func (c *Cluster) describeDefaultBroker() []Entry {
	var entries []Entry
	for _, name := range slices.Sorted(maps.Keys(c.dynamicDefault)) {
		e := brokerEntry(name)
		if raw := c.dynamicDefault[name]; !e.Sensitive {
			e.Value = &raw
		}
		e.Source = DynamicDefaultBroker
		e.Synonyms = []Synonym{{name, e.Value, DynamicDefaultBroker}}
		entries = append(entries, e)
	}
	return entries
}

// brokerEntry fills what doesn't depend on the value. A setting Kafka doesn't know might be a secret.
func brokerEntry(name string) Entry {
	e := Entry{Name: name, ReadOnly: true, Sensitive: true, def: brokerDefs().byName[name]}
	if d := dynamicDef(name); d != nil {
		e.Type, e.Sensitive = d.typ, d.sensitive()
		e.ReadOnly = brokerDefs().byName[name] == nil && throttleDefs()[name] == nil || d.mode == readOnly
	}
	return e
}

// NewTopicEntries gives the effective configs that a topic with these own configs
// has, sorted by name, as CreateTopics v5+ answers them. Unlike [Cluster.Describe]
// it shows values as they were written, and the source also where the unit differs.
func (c *Cluster) NewTopicEntries(node int32, configs []Setting) []Entry {
	own := settingsMap(configs)
	entries := make([]Entry, 0, len(topicDefs().sorted))
	for _, d := range topicDefs().sorted {
		if _, isSet := own[d.name]; d.internal && !isSet {
			continue
		}
		e := Entry{Name: d.name, Type: d.typ}
		val, source := c.newTopicValue(node, d, own)
		e.Value, e.Source = &val, source
		entries = append(entries, e)
	}
	return entries
}

func (c *Cluster) newTopicValue(node int32, d *def, own map[string]string) (string, Source) {
	if raw, ok := own[d.name]; ok {
		return raw, DynamicTopic
	}
	layers := c.layers(node)
	for _, layer := range layers {
		for _, s := range d.brokers {
			if raw, ok := layer.settings[s.name]; ok {
				return inUnit(raw, s), layer.source
			}
		}
	}
	for _, s := range d.brokers {
		if raw, ok := c.defaults.raw[s.name]; ok {
			return inUnit(raw, s), Default
		}
	}
	return *d.fallback, Default
}

func inUnit(raw string, s brokerSource) string {
	if s.times == 1 {
		return raw
	}
	v, _ := brokerDefs().byName[s.name].parseType(raw)
	return strconv.FormatInt(convert(v.num, s.times), 10)
}
