package config

import (
	"math"
	"slices"
	"strconv"
)

// Topic has the settings in force of a topic, in Kafka's units.
type Topic struct {
	CleanupPolicyCompact, CleanupPolicyDelete bool
	CompressionType                           string // "producer" keeps what the producer sent
	CompressionGzipLevel                      int32
	CompressionLz4Level                       int32
	CompressionZstdLevel                      int32
	DeleteRetentionMs                         int64
	FileDeleteDelayMs                         int64
	IndexIntervalBytes                        int32
	LogAppendTime                             bool // message.timestamp.type
	MaxCompactionLagMs, MinCompactionLagMs    int64
	MaxMessageBytes                           int32
	MessageTimestampAfterMaxMs                int64
	MessageTimestampBeforeMaxMs               int64
	MinCleanableDirtyRatio                    float64
	MinInsyncReplicas                         int32
	RetentionBytes, RetentionMs               int64 // -1: no limit
	SegmentBytes, SegmentIndexBytes           int32
	SegmentMs, SegmentJitterMs                int64
	UncleanLeaderElection                     bool
}

// Topic gives the settings in force of a topic, whether it has any of its own or
// not. Broker settings are those of the first broker. Don't change it: topics share it.
func (c *Cluster) Topic(name string) *Topic {
	settings, broker := c.topics[name], c.Broker(c.nodes[0])
	if len(settings) == 0 {
		return broker.plainTopic()
	}
	return newTopic(settings, broker)
}

// plainTopic has the settings of a topic without any of its own.
func (v *Values) plainTopic() *Topic {
	t := v.topic.Load()
	if t == nil {
		t = newTopic(nil, v)
		v.topic.Store(t)
	}
	return t
}

func newTopic(settings map[string]string, broker *Values) *Topic {
	get := func(name string) value { return topicValue(topicDefs().byName[name], settings, broker) }
	policies := get("cleanup.policy").list
	segment := get("segment.bytes").num
	if _, ok := settings["internal.segment.bytes"]; ok { // Kafka's way around the smallest value of segment.bytes
		segment = max(get("internal.segment.bytes").num, 1)
	}
	return &Topic{
		CleanupPolicyCompact:        slices.Contains(policies, "compact"),
		CleanupPolicyDelete:         slices.Contains(policies, "delete"),
		CompressionType:             get("compression.type").text,
		CompressionGzipLevel:        int32(get("compression.gzip.level").num),
		CompressionLz4Level:         int32(get("compression.lz4.level").num),
		CompressionZstdLevel:        int32(get("compression.zstd.level").num),
		DeleteRetentionMs:           get("delete.retention.ms").num,
		FileDeleteDelayMs:           get("file.delete.delay.ms").num,
		IndexIntervalBytes:          int32(get("index.interval.bytes").num),
		LogAppendTime:               get("message.timestamp.type").text == "LogAppendTime",
		MaxCompactionLagMs:          get("max.compaction.lag.ms").num,
		MinCompactionLagMs:          get("min.compaction.lag.ms").num,
		MaxMessageBytes:             int32(get("max.message.bytes").num),
		MessageTimestampAfterMaxMs:  get("message.timestamp.after.max.ms").num,
		MessageTimestampBeforeMaxMs: get("message.timestamp.before.max.ms").num,
		MinCleanableDirtyRatio:      get("min.cleanable.dirty.ratio").real,
		MinInsyncReplicas:           int32(get("min.insync.replicas").num),
		RetentionBytes:              get("retention.bytes").num,
		RetentionMs:                 get("retention.ms").num,
		SegmentBytes:                int32(segment),
		SegmentIndexBytes:           int32(get("segment.index.bytes").num),
		SegmentMs:                   get("segment.ms").num,
		SegmentJitterMs:             get("segment.jitter.ms").num,
		UncleanLeaderElection:       get("unclean.leader.election.enable").flag,
	}
}

// topicValue is a topic's setting in force: its own, else the broker's, else the default.
func topicValue(d *def, settings map[string]string, broker *Values) value {
	if raw, ok := settings[d.name]; ok {
		v, _ := d.parseType(raw) // it was checked before it was taken
		return v
	}
	if v, ok := fromBroker(d, broker); ok {
		return v
	}
	v, _ := d.parseType(*d.fallback)
	return v
}

// fromBroker takes a topic's or group's setting from the broker's, converted to its unit.
func fromBroker(d *def, broker *Values) (value, bool) {
	for _, s := range d.brokers {
		v := broker.get(s.name)
		if !v.set {
			continue
		}
		own := *v
		if s.times != 1 {
			own.num = convert(own.num, s.times)
		}
		if d.name == "retention.ms" && own.num < 0 {
			own.num = -1
		}
		return own, true
	}
	return value{}, false
}

// convert multiplies with a cap; a negative number means "no limit" in any unit.
func convert(n, times int64) int64 {
	if n < 0 {
		return n
	}
	if n > math.MaxInt64/times {
		return math.MaxInt64
	}
	return n * times
}

// CheckTopic checks the configs of a topic that is to be created.
func (c *Cluster) CheckTopic(configs []Setting) *Error {
	for _, s := range configs {
		if s.Value == nil {
			return &Error{invalidConfig, "Null value not supported for topic configs: " + s.Name}
		}
	}
	return c.checkTopic(settingsMap(configs))
}

// checkTopic checks all settings a topic would have of its own.
func (c *Cluster) checkTopic(settings map[string]string) *Error {
	if err := checkSettings("topic", topicDefs(), settings); err != nil {
		return err
	}
	broker := c.Broker(c.nodes[0])
	if len(settings) == 0 {
		t := broker.plainTopic()
		return checkLag(t.MinCompactionLagMs, t.MaxCompactionLagMs)
	}
	if topicValue(topicDefs().byName["remote.storage.enable"], settings, broker).flag && !broker.Bool("remote.log.storage.system.enable") {
		return &Error{invalidConfig, "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."}
	}
	lag := func(name string) int64 { return topicValue(topicDefs().byName[name], settings, broker).num }
	return checkLag(lag("min.compaction.lag.ms"), lag("max.compaction.lag.ms"))
}

func checkLag(least, most int64) *Error {
	if least > most {
		return &Error{invalidConfig, "conflict topic config setting min.compaction.lag.ms (" + strconv.FormatInt(least, 10) +
			") > max.compaction.lag.ms (" + strconv.FormatInt(most, 10) + ")"}
	}
	return nil
}
