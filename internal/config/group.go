package config

import (
	"strconv"
	"strings"
	"time"
)

// Group has the settings in force of a group.
type Group struct {
	ConsumerSessionTimeout     time.Duration
	ConsumerHeartbeatInterval  time.Duration
	ConsumerAssignmentInterval time.Duration
	ShareSessionTimeout        time.Duration
	ShareHeartbeatInterval     time.Duration
	ShareAssignmentInterval    time.Duration
	ShareRecordLockDuration    time.Duration
	ShareDeliveryCountLimit    int32
	SharePartitionMaxLocks     int32
	ShareAutoOffsetReset       string // latest, earliest, by_duration:<ISO 8601>
	ShareReadCommitted         bool
	ShareRenewAcknowledge      bool
	StreamsSessionTimeout      time.Duration
	StreamsHeartbeatInterval   time.Duration
	StreamsAssignmentInterval  time.Duration
	StreamsInitialRebalance    time.Duration
	StreamsNumStandbyReplicas  int32
}

// Group gives the settings in force of a group, clamped to the broker's limits:
// these may have become narrower since the group's value was taken.
func (c *Cluster) Group(id string) *Group {
	settings, broker := c.groups[id], c.Broker(c.nodes[0])
	get := func(name string) value {
		d := groupDefs().byName[name]
		v := topicValue(d, settings, broker)
		least, most := groupBounds(d)
		if least != "" {
			v.num = max(v.num, broker.Int64(least))
		}
		if most != "" {
			v.num = min(v.num, broker.Int64(most))
		}
		return v
	}
	ms := func(name string) time.Duration { return duration(get(name).num, time.Millisecond) }
	return &Group{
		ConsumerSessionTimeout:     ms("consumer.session.timeout.ms"),
		ConsumerHeartbeatInterval:  ms("consumer.heartbeat.interval.ms"),
		ConsumerAssignmentInterval: ms("consumer.assignment.interval.ms"),
		ShareSessionTimeout:        ms("share.session.timeout.ms"),
		ShareHeartbeatInterval:     ms("share.heartbeat.interval.ms"),
		ShareAssignmentInterval:    ms("share.assignment.interval.ms"),
		ShareRecordLockDuration:    ms("share.record.lock.duration.ms"),
		ShareDeliveryCountLimit:    int32(get("share.delivery.count.limit").num),
		SharePartitionMaxLocks:     int32(get("share.partition.max.record.locks").num),
		ShareAutoOffsetReset:       get("share.auto.offset.reset").text,
		ShareReadCommitted:         get("share.isolation.level").text == "read_committed",
		ShareRenewAcknowledge:      get("share.renew.acknowledge.enable").flag,
		StreamsSessionTimeout:      ms("streams.session.timeout.ms"),
		StreamsHeartbeatInterval:   ms("streams.heartbeat.interval.ms"),
		StreamsAssignmentInterval:  ms("streams.assignment.interval.ms"),
		StreamsInitialRebalance:    ms("streams.initial.rebalance.delay.ms"),
		StreamsNumStandbyReplicas:  int32(get("streams.num.standby.replicas").num),
	}
}

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
