package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fakekafka/fakekafka/internal/javatext"
	"github.com/fakekafka/fakekafka/internal/wire"
)

const (
	invalidConfig  = wire.InvalidConfig
	invalidRequest = wire.InvalidRequest
)

// maxValueSize bounds a value, also one that grew by appending (the limit of a metadata record's string).
const maxValueSize = 1<<15 - 1

// IncrementalAlter handles an IncrementalAlterConfigs request received by broker
// node. Each resource succeeds or fails alone, and all of its settings or none are
// taken. topicExists says which topics there are.
func (c *Cluster) IncrementalAlter(node int32, resources []Alteration, topicExists func(string) bool, validateOnly bool) []Result {
	// An operation that doesn't exist fails all that the broker would have passed on to the controller.
	twice := namedTwice(resources)
	unknown := slices.ContainsFunc(resources, func(r Alteration) bool {
		if !passedOn(&r) || twice(&r) {
			return false
		}
		_, err := c.applyTo(&r)
		return err != nil && err.Code == wire.UnknownServerError
	})
	return c.alterEach(resources, func(r *Alteration) *Error {
		if unknown && (passedOn(r) || r.Type == BrokerResource && c.alterOne(node, r, topicExists, true, true) == nil) {
			return &Error{wire.UnknownServerError, ""}
		}
		return c.alterOne(node, r, topicExists, validateOnly, true)
	})
}

// Alter handles an AlterConfigs request: the given settings replace all of the
// resource's. Their Op is not looked at.
func (c *Cluster) Alter(node int32, resources []Alteration, topicExists func(string) bool, validateOnly bool) []Result {
	return c.alterEach(resources, func(r *Alteration) *Error {
		return c.alterOne(node, r, topicExists, validateOnly, false)
	})
}

// passedOn reports whether the resource is one of those that only the controller looks into, and passed what the broker looks at.
func passedOn(r *Alteration) bool {
	switch r.Type {
	case TopicResource, GroupResource, ClientMetricsResource:
		return checkKeys(r, true) == nil
	}
	return false
}

// alterEach refuses resources that stand twice in the request and asks alter for the others.
func (c *Cluster) alterEach(resources []Alteration, alter func(*Alteration) *Error) []Result {
	twice := namedTwice(resources)
	results := make([]Result, len(resources))
	for i := range resources {
		r := &resources[i]
		results[i] = Result{Type: r.Type, Name: r.Name}
		if twice(r) {
			results[i].Err = &Error{invalidRequest, "Each resource must appear at most once."}
			continue
		}
		results[i].Err = alter(r)
	}
	return results
}

// namedTwice tells which resources stand in the request more than once.
func namedTwice(resources []Alteration) func(*Alteration) bool {
	type id struct {
		t    ResourceType
		name string
	}
	count := map[id]int{}
	for _, r := range resources {
		count[id{r.Type, r.Name}]++
	}
	return func(r *Alteration) bool { return count[id{r.Type, r.Name}] > 1 }
}

func (c *Cluster) alterOne(node int32, r *Alteration, topicExists func(string) bool, validateOnly, incremental bool) *Error {
	if err := checkKeys(r, incremental); err != nil {
		return err
	}
	var err *Error
	var all map[string]map[string]string
	var settings map[string]string
	switch r.Type {
	case BrokerResource:
		return c.alterBroker(node, r, validateOnly, incremental)
	case BrokerLoggerResource:
		if !incremental {
			return unknownType(r.Type)
		}
		return c.alterLogger(node, r, validateOnly)
	case TopicResource:
		all = c.topics
	case GroupResource:
		all = c.groups
	case ClientMetricsResource:
		all = c.clientMetrics
	default:
		return unknownType(r.Type)
	}
	if incremental {
		settings, err = c.applyTo(r)
	} else {
		settings = replacement(r)
	}
	if err == nil {
		err = c.checkResource(r, settings, topicExists)
	}
	if err != nil || validateOnly {
		return err
	}
	if len(settings) == 0 {
		delete(all, r.Name)
	} else {
		all[r.Name] = settings
	}
	return nil
}

func unknownType(t ResourceType) *Error {
	return &Error{invalidRequest, "Unknown resource type " + strconv.Itoa(int(t))}
}

// checkKeys refuses a setting that stands twice, or a value that is missing.
func checkKeys(r *Alteration, incremental bool) *Error {
	seen := map[string]bool{}
	var null []string
	for _, s := range r.Settings {
		if seen[s.Name] {
			return &Error{invalidRequest, "Error due to duplicate config keys"}
		}
		seen[s.Name] = true
		if s.Value == nil && (!incremental || s.Op != Delete) {
			null = append(null, s.Name)
		}
	}
	if null != nil {
		return &Error{invalidRequest, "Null value not supported for : " + strings.Join(null, ", ")}
	}
	return nil
}

func replacement(r *Alteration) map[string]string {
	settings := map[string]string{}
	for _, s := range r.Settings {
		settings[s.Name] = *s.Value
	}
	return settings
}

// applyTo gives the settings that a resource other than a broker would have after the operations.
func (c *Cluster) applyTo(r *Alteration) (map[string]string, *Error) {
	own := map[ResourceType]map[string]map[string]string{TopicResource: c.topics, GroupResource: c.groups, ClientMetricsResource: c.clientMetrics}[r.Type]
	return applyOps(own[r.Name], r, func(name string) bool {
		d := topicDefs().byName[name]
		return r.Type == TopicResource && d != nil && d.typ == List
	})
}

// applyOps gives the settings a resource would have after the operations.
func applyOps(own map[string]string, r *Alteration, isList func(name string) bool) (map[string]string, *Error) {
	settings := maps.Clone(own)
	if settings == nil {
		settings = map[string]string{}
	}
	for _, s := range inMapOrder(r.Settings) {
		switch s.Op {
		case Set:
			settings[s.Name] = *s.Value
		case Delete:
			delete(settings, s.Name)
		case Append, Subtract:
			if !isList(s.Name) {
				return nil, &Error{invalidConfig, fmt.Sprintf("Can't %s to key %s because its type is not LIST.", s.Op, s.Name)}
			}
			list, set := settings[s.Name]
			if !set { // of the setting itself: what the broker would give the resource doesn't matter
				list = *topicDefs().byName[s.Name].fallback
			}
			settings[s.Name] = changeList(list, *s.Value, s.Op)
		default:
			return nil, &Error{wire.UnknownServerError, ""}
		}
		if len(settings[s.Name]) > maxValueSize {
			return nil, tooLong()
		}
	}
	return settings, nil
}

// inMapOrder are operations, each on another setting, in the order in which the controller looks at them: that of a Java hash map by their names. The first that
// is wrong decides the error.
func inMapOrder(ops []AlterSetting) []AlterSetting {
	return javatext.MapOrder(ops, func(s AlterSetting) int32 { return javatext.HashCode(s.Name) })
}

func tooLong() *Error {
	return &Error{invalidConfig, fmt.Sprintf("The configuration value cannot be added because it exceeds the maximum value size of %d bytes.", maxValueSize)}
}

// String is the operation's name in Kafka's texts.
func (o Op) String() string {
	switch o {
	case Set:
		return "SET"
	case Delete:
		return "DELETE"
	case Append:
		return "APPEND"
	case Subtract:
		return "SUBTRACT"
	}
	return strconv.Itoa(int(o))
}

// changeList appends entries to a list or takes them out, as text: spaces count,
// and an entry that is there already is not added again.
func changeList(list, change string, op Op) string {
	var entries []string
	if list != "" {
		entries = splitAsJava(list)
	}
	for _, entry := range splitAsJava(change) {
		at := slices.Index(entries, entry)
		switch {
		case op == Append && at < 0:
			entries = append(entries, entry)
		case op == Subtract && at >= 0:
			entries = slices.Delete(entries, at, at+1)
		}
	}
	return strings.Join(entries, ",")
}

// splitAsJava leaves out empty entries at the end, unless there is nothing else.
func splitAsJava(list string) []string {
	if list == "" {
		return []string{""}
	}
	entries := strings.Split(list, ",")
	for len(entries) > 0 && entries[len(entries)-1] == "" {
		entries = entries[:len(entries)-1]
	}
	return entries
}

// checkResource checks the name, then the settings, then that the topic is there, in Kafka's order.
func (c *Cluster) checkResource(r *Alteration, settings map[string]string, topicExists func(string) bool) *Error {
	switch r.Type {
	case TopicResource:
		if r.Name == "" {
			return &Error{invalidRequest, "Default topic resources are not allowed."}
		}
		if err := CheckTopicName(r.Name); err != nil {
			return err
		}
		if err := c.checkTopic(settings); err != nil {
			return err
		}
		if !topicExists(r.Name) {
			return &Error{wire.UnknownTopicOrPartition, "The topic '" + r.Name + "' does not exist."}
		}
	case GroupResource:
		if r.Name == "" {
			return &Error{invalidRequest, "Default group resources are not allowed."}
		}
		return c.checkGroup(settings)
	case ClientMetricsResource:
		if r.Name == "" {
			return &Error{invalidRequest, "Subscription name can't be empty"}
		}
		return checkClientMetrics(settings)
	}
	return nil
}

// checkSettings checks names, then values; kind is for the text.
func checkSettings(kind string, all *defs, settings map[string]string) *Error {
	names := slices.Sorted(maps.Keys(settings))
	for _, name := range names {
		if all.byName[name] == nil {
			return &Error{invalidConfig, "Unknown " + kind + " config name: " + name}
		}
	}
	for _, name := range names {
		if _, err := all.byName[name].parse(settings[name]); err != nil {
			return &Error{invalidConfig, err.Error()}
		}
	}
	return nil
}

// CheckTopicName has Kafka's rules and texts for the names of topics; nil for a good one.
func CheckTopicName(name string) *Error {
	reason := ""
	switch {
	case name == "":
		reason = "the empty string is not allowed"
	case name == "." || name == "..":
		reason = "'" + name + "' is not allowed"
	case len(name) > 249:
		reason = "the length of '" + name + "' is longer than the max allowed length 249"
	default:
		for _, r := range name {
			if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)) {
				reason = "'" + name + "' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
				break
			}
		}
	}
	if reason == "" {
		return nil
	}
	return &Error{wire.InvalidTopicException, "Topic name is invalid: " + reason}
}
