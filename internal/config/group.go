package config

import (
	"strconv"
	"strings"
)

// groupBounds names the broker settings that bound a group's setting:
// group.consumer.min.session.timeout.ms for consumer.session.timeout.ms. "" is none.
func groupBounds(d *def) (least, most string) {
	kind, rest, _ := strings.Cut(d.name, ".")
	least, most = "group."+kind+".min."+rest, "group."+kind+".max."+rest
	if d.name == "streams.num.standby.replicas" {
		most = "group.streams.max.standby.replicas"
	}
	if brokerDefs().byName[least] == nil {
		least = ""
	}
	if brokerDefs().byName[most] == nil {
		most = ""
	}
	return least, most
}

// checkGroup checks all settings a group would have of its own.
func (c *Cluster) checkGroup(settings map[string]string) *Error {
	if err := checkSettings("group", groupDefs(), settings); err != nil {
		return err
	}
	broker := c.Broker(c.nodes[0])
	for _, d := range groupDefs().sorted {
		raw, ok := settings[d.name]
		if !ok {
			continue
		}
		n, _ := strconv.ParseInt(strings.TrimSpace(raw), 10, 64)
		least, most := groupBounds(d)
		if least != "" && n < broker.Int64(least) {
			return &Error{invalidConfig, d.name + " must be greater than or equal to " + least}
		}
		if most != "" && n > broker.Int64(most) {
			return &Error{invalidConfig, d.name + " must be less than or equal to " + most}
		}
	}
	for _, kind := range []string{"consumer", "share", "streams"} {
		beat, session := kind+".heartbeat.interval.ms", kind+".session.timeout.ms"
		if topicValue(groupDefs().byName[beat], settings, broker).num >= topicValue(groupDefs().byName[session], settings, broker).num {
			return &Error{invalidConfig, session + " must be greater than " + beat}
		}
	}
	return nil
}
