package partitionlog

import "math"

// TimestampType says whose clock a topic's records carry (message.timestamp.type).
type TimestampType int8

// The two timestamp types, numbered like the bit in a batch's attributes.
const (
	CreateTime    TimestampType = 0
	LogAppendTime TimestampType = 1
)

// Config holds the settings a log follows, named as the topic configuration of Kafka. Times are in milliseconds. Start from
// [DefaultConfig]: the zero value is not useful.
type Config struct {
	CleanupDelete  bool // cleanup.policy contains delete
	CleanupCompact bool // cleanup.policy contains compact

	CompressionType string // compression.type: "producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"
	GzipLevel       int    // compression.gzip.level: 1 to 9, or -1
	LZ4Level        int    // compression.lz4.level: 1 to 17
	ZstdLevel       int    // compression.zstd.level: -131072 to 22

	MaxMessageBytes      int           // max.message.bytes, header included
	TimestampType        TimestampType // message.timestamp.type
	TimestampBeforeMaxMs int64         // message.timestamp.before.max.ms
	TimestampAfterMaxMs  int64         // message.timestamp.after.max.ms

	RetentionMs    int64 // retention.ms; -1 keeps for ever
	RetentionBytes int64 // retention.bytes; -1 is without limit

	SegmentBytes       int   // segment.bytes
	SegmentMs          int64 // segment.ms
	SegmentJitterMs    int64 // segment.jitter.ms
	IndexIntervalBytes int   // index.interval.bytes

	DeleteRetentionMs      int64   // delete.retention.ms: how long a tombstone stays after it was first compacted
	MinCompactionLagMs     int64   // min.compaction.lag.ms
	MaxCompactionLagMs     int64   // max.compaction.lag.ms
	MinCleanableDirtyRatio float64 // min.cleanable.dirty.ratio

	ProducerIDExpirationMs  int64 // producer.id.expiration.ms (broker)
	TransactionVerification bool  // transaction.partition.verification.enable (broker)
}

// DefaultConfig is what a topic has in Apache Kafka when nothing is configured.
func DefaultConfig() Config {
	return Config{
		CleanupDelete:           true,
		CompressionType:         "producer",
		GzipLevel:               -1,
		LZ4Level:                9,
		ZstdLevel:               3,
		MaxMessageBytes:         1048588,
		TimestampBeforeMaxMs:    math.MaxInt64,
		TimestampAfterMaxMs:     3600000,
		RetentionMs:             604800000,
		RetentionBytes:          -1,
		SegmentBytes:            1 << 30,
		SegmentMs:               604800000,
		IndexIntervalBytes:      4096,
		DeleteRetentionMs:       86400000,
		MaxCompactionLagMs:      math.MaxInt64,
		MinCleanableDirtyRatio:  0.5,
		ProducerIDExpirationMs:  86400000,
		TransactionVerification: true,
	}
}
