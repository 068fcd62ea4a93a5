package config

import "time"

// Values are the settings in force at one broker. The getters panic for a name
// that Kafka doesn't have or that is of another type: that is a mistake in our code.
type Values struct{}

// Int gives an int or short.
func (v *Values) Int(name string) int { panic("TODO") }

// Int32 gives an int or short.
func (v *Values) Int32(name string) int32 { panic("TODO") }

// Int64 gives a long, int or short.
func (v *Values) Int64(name string) int64 { panic("TODO") }

// Float gives a double.
func (v *Values) Float(name string) float64 { panic("TODO") }

// Bool gives a boolean.
func (v *Values) Bool(name string) bool { panic("TODO") }

// String gives a string, class or password; "" where nothing is set.
func (v *Values) String(name string) string { panic("TODO") }

// List gives the entries of a list.
func (v *Values) List(name string) []string { panic("TODO") }

// Duration gives a setting whose name ends in .ms, .minutes, .hours or .seconds.
// A negative number (no limit) gives a negative duration; one that is too large the largest.
func (v *Values) Duration(name string) time.Duration { panic("TODO") }

// Topic has the settings in force of a topic, in Kafka's units.
type Topic struct {
	CleanupPolicyCompact, CleanupPolicyDelete bool
	CompressionType                           string // "producer" keeps what the producer sent
	DeleteRetentionMs                         int64
	FileDeleteDelayMs                         int64
	MaxCompactionLagMs, MinCompactionLagMs    int64
	MaxMessageBytes                           int32
	MessageTimestampAfterMaxMs                int64
	MessageTimestampBeforeMaxMs               int64
	LogAppendTime                             bool // message.timestamp.type
	MinCleanableDirtyRatio                    float64
	MinInsyncReplicas                         int32
	RetentionBytes, RetentionMs               int64 // -1: no limit
	SegmentBytes                              int32
	SegmentMs, SegmentJitterMs                int64
	SegmentIndexBytes, IndexIntervalBytes     int32
	CompressionGzipLevel                      int32
	CompressionLz4Level                       int32
	CompressionZstdLevel                      int32
	UncleanLeaderElection                     bool
}

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
	ShareAutoOffsetReset       string // latest, earliest, by_duration:<ISO-8601>
	ShareReadCommitted         bool
	ShareRenewAcknowledge      bool
	StreamsSessionTimeout      time.Duration
	StreamsHeartbeatInterval   time.Duration
	StreamsAssignmentInterval  time.Duration
	StreamsInitialRebalance    time.Duration
	StreamsNumStandbyReplicas  int32
}
