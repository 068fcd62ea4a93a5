package broker

import (
	"slices"
	"strings"
	"time"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/config"
	"github.com/fakekafka/fakekafka/partitionlog"
)

// derived is what every start, connection and new topic needs of a broker's settings, gathered once: clusters that set nothing share it, so that the
// next one of a test needn't look up a hundred names.
type derived struct {
	groups groups.Config // but for what the options say
	log    partitionlog.Config

	frameLimit             int32
	maxConnections         int
	maxConnectionsPerIP    int
	perIPOverrides         string
	connectionsMaxIdle     time.Duration
	fetchSessionSlots      int
	offsetsCodec           int // of the coordinator's own batches
	logTaskDelay           time.Duration
	producerExpiryInterval time.Duration
	txnTimeoutInterval     time.Duration
	txnExpiryInterval      time.Duration
}

// derived are the settings in force at a node that are needed often. Safe from any goroutine.
func (c *Cluster) derived(node int32) *derived { return deriveFrom(c.settings(node)) }

func deriveFrom(v *config.Values) *derived { return v.Derived(derive).(*derived) }

func derive(v *config.Values) any {
	return &derived{
		groups:                 groupConfig(v),
		frameLimit:             v.Int32("socket.request.max.bytes"),
		maxConnections:         v.Int("max.connections"),
		maxConnectionsPerIP:    v.Int("max.connections.per.ip"),
		perIPOverrides:         v.String("max.connections.per.ip.overrides"),
		connectionsMaxIdle:     v.Duration("connections.max.idle.ms"),
		fetchSessionSlots:      v.Int("max.incremental.fetch.session.cache.slots"),
		offsetsCodec:           v.Int("offsets.topic.compression.codec"),
		logTaskDelay:           v.Duration("log.initial.task.delay.ms"),
		producerExpiryInterval: v.Duration(producerExpiryInterval),
		txnTimeoutInterval:     v.Duration(txnTimeoutInterval),
		txnExpiryInterval:      v.Duration(txnExpiryInterval),
		log: partitionlog.Config{
			ProducerIDExpirationMs:  v.Int64("producer.id.expiration.ms"),
			TransactionVerification: v.Bool("transaction.partition.verification.enable"),
		},
	}
}

// groupConfig is what the group shards must know of the settings.
func groupConfig(v *config.Values) groups.Config {
	cfg := groups.DefaultConfig()
	cfg.InitialRebalanceDelay = v.Duration("group.initial.rebalance.delay.ms")
	cfg.MinSessionTimeout = v.Duration("group.min.session.timeout.ms")
	cfg.MaxSessionTimeout = v.Duration("group.max.session.timeout.ms")
	cfg.MaxSize = v.Int("group.max.size")
	cfg.OffsetMetadataMaxBytes = v.Int("offset.metadata.max.bytes")
	cfg.OffsetsRetention = v.Duration("offsets.retention.minutes")
	cfg.OffsetsRetentionCheck = v.Duration("offsets.retention.check.interval.ms")
	cfg.ConsumerSessionTimeout = v.Duration("group.consumer.session.timeout.ms")
	cfg.ConsumerMinSession = v.Duration("group.consumer.min.session.timeout.ms")
	cfg.ConsumerMaxSession = v.Duration("group.consumer.max.session.timeout.ms")
	cfg.ConsumerHeartbeat = v.Duration("group.consumer.heartbeat.interval.ms")
	cfg.ConsumerMinHeartbeat = v.Duration("group.consumer.min.heartbeat.interval.ms")
	cfg.ConsumerMaxHeartbeat = v.Duration("group.consumer.max.heartbeat.interval.ms")
	cfg.ConsumerAssignment = v.Duration("group.consumer.assignment.interval.ms")
	cfg.ConsumerMinAssignment = v.Duration("group.consumer.min.assignment.interval.ms")
	cfg.ConsumerMaxAssignment = v.Duration("group.consumer.max.assignment.interval.ms")
	cfg.ConsumerMaxSize = v.Int("group.consumer.max.size")
	cfg.ConsumerRegexRefresh = v.Duration("group.consumer.regex.refresh.interval.ms")
	cfg.ConsumerMigrationPolicy = strings.ToLower(v.String("group.consumer.migration.policy"))
	cfg.ConsumerProtocol = slices.Contains(v.List("group.coordinator.rebalance.protocols"), "consumer")
	for _, name := range v.List("group.consumer.assignors") {
		if a := serverAssignor(name); a != nil {
			cfg.Assignors = append(cfg.Assignors, a)
		}
	}
	cfg.Assignors = slices.Clip(cfg.Assignors) // who appends gets a copy
	return cfg
}

// logConfig is what a partition's log must know of its topic's and its broker's settings.
func logConfig(t *config.Topic, d *derived) partitionlog.Config {
	c := partitionlog.Config{
		CleanupDelete:           t.CleanupPolicyDelete,
		CleanupCompact:          t.CleanupPolicyCompact,
		CompressionType:         t.CompressionType,
		GzipLevel:               int(t.CompressionGzipLevel),
		LZ4Level:                int(t.CompressionLz4Level),
		ZstdLevel:               int(t.CompressionZstdLevel),
		MaxMessageBytes:         int(t.MaxMessageBytes),
		TimestampType:           partitionlog.CreateTime,
		TimestampBeforeMaxMs:    t.MessageTimestampBeforeMaxMs,
		TimestampAfterMaxMs:     t.MessageTimestampAfterMaxMs,
		RetentionMs:             t.RetentionMs,
		RetentionBytes:          t.RetentionBytes,
		SegmentBytes:            int(t.SegmentBytes),
		SegmentMs:               t.SegmentMs,
		SegmentJitterMs:         t.SegmentJitterMs,
		IndexIntervalBytes:      int(t.IndexIntervalBytes),
		DeleteRetentionMs:       t.DeleteRetentionMs,
		MinCompactionLagMs:      t.MinCompactionLagMs,
		MaxCompactionLagMs:      t.MaxCompactionLagMs,
		MinCleanableDirtyRatio:  t.MinCleanableDirtyRatio,
		ProducerIDExpirationMs:  d.log.ProducerIDExpirationMs,
		TransactionVerification: d.log.TransactionVerification,
	}
	if t.LogAppendTime {
		c.TimestampType = partitionlog.LogAppendTime
	}
	return c
}
