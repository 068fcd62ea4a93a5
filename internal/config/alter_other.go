package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// checkClientMetrics checks all settings of a client metrics subscription.
func checkClientMetrics(settings map[string]string) *Error {
	names := slices.Sorted(maps.Keys(settings))
	for _, name := range names {
		if clientMetricsDefs().byName[name] == nil {
			return &Error{invalidRequest, "Unknown client metrics configuration: " + name}
		}
	}
	for _, name := range names {
		v, err := clientMetricsDefs().byName[name].parse(settings[name])
		if err != nil {
			return &Error{invalidConfig, err.Error()}
		}
		switch name {
		case "interval.ms":
			if v.num < 100 || v.num > 3600000 {
				return &Error{invalidRequest, fmt.Sprintf("Invalid value %d for interval.ms, interval must be between 100 and 3600000 (1 hour)", v.num)}
			}
		case "match":
			for _, pattern := range v.list {
				if !isClientMatch(pattern) {
					return &Error{invalidConfig, "Illegal client matching pattern: " + pattern}
				}
			}
		}
	}
	return nil
}

// isClientMatch tells whether pattern is name=regular expression, with a name Kafka knows.
func isClientMatch(pattern string) bool {
	parts := strings.Split(pattern, "=")
	if len(parts) != 2 {
		return false
	}
	switch strings.TrimSpace(parts[0]) {
	case "client_instance_id", "client_id", "client_software_name", "client_software_version", "client_source_address", "client_source_port":
	default:
		return false
	}
	expression := strings.TrimSpace(parts[1])
	_, err := regexp.Compile(expression)
	return expression != "" && err == nil
}

// rootLogger is the one logger of a broker here; Kafka has one per class.
const rootLogger = "root"

var logLevels = []string{"DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN"}

// alterLogger changes the level of a broker's logger. It is kept and shown; what
// fakekafka logs is up to its own option.
func (c *Cluster) alterLogger(node int32, r *Alteration, validateOnly bool) *Error {
	id, err := strconv.ParseInt(r.Name, 10, 32)
	if err != nil {
		return &Error{invalidRequest, "Node id must be an integer, but it is: " + r.Name}
	}
	if int32(id) != node {
		return &Error{invalidRequest, fmt.Sprintf("Unexpected node id. Expected %d, but received %d", node, id)}
	}
	for _, s := range r.Settings {
		switch s.Op {
		case Set:
			if s.Name != rootLogger {
				return &Error{invalidConfig, "Logger " + s.Name + " does not exist!"}
			}
			if !slices.Contains(logLevels, *s.Value) {
				return &Error{invalidConfig, fmt.Sprintf("Cannot set the log level of %s to %s as it is not a supported log level. Valid log levels are %s",
					s.Name, *s.Value, strings.Join(logLevels, ", "))}
			}
		case Delete:
			if s.Name != rootLogger {
				return &Error{invalidConfig, "Logger " + s.Name + " does not exist!"}
			}
			return &Error{invalidRequest, "Removing the log level of the root logger is not allowed"}
		case Append, Subtract:
			return &Error{invalidRequest, s.Op.String() + " operation is not allowed for the BROKER_LOGGER resource"}
		default:
			return &Error{wire.UnknownServerError, ""}
		}
	}
	if !validateOnly {
		for _, s := range r.Settings {
			if c.loggers[node] == nil {
				c.loggers[node] = map[string]string{}
			}
			c.loggers[node][s.Name] = *s.Value
		}
	}
	return nil
}
