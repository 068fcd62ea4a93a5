package partitionlog

import "math/rand/v2"

// Log is the log of one partition. Replicas share one log, so its high watermark is always its end. It is not safe for
// concurrent use.
type Log struct {
	cfg Config
	rng *rand.Rand

	logStart    int64
	end         int64
	leaderEpoch int32
}

// New returns an empty log that starts at offset 0 under leader epoch 0. now is the time in milliseconds; rng draws the
// segments' jitter (segment.jitter.ms) and may be nil when that is 0.
func New(cfg Config, now int64, rng *rand.Rand) *Log {
	return &Log{cfg: cfg, rng: rng}
}

// Config returns the settings in force.
func (l *Log) Config() Config { return l.cfg }

// SetConfig changes the settings; they apply from the next call on. Nothing that is in the log changes at once.
func (l *Log) SetConfig(cfg Config) { l.cfg = cfg }

// LogStart is the first offset a client may fetch.
func (l *Log) LogStart() int64 { return l.logStart }

// End is the log end offset: the next one to be assigned.
func (l *Log) End() int64 { return l.end }

// HighWatermark is what consumers see; it is the log's end, since replicas share one log.
func (l *Log) HighWatermark() int64 { return l.end }

// LastStable is the last stable offset: where a read committed consumer stops. While a transaction is open it is that
// transaction's first offset, or the base offset of the batch that holds the log start if the log start has passed it.
func (l *Log) LastStable() int64 { return l.end }

// Size is the bytes of all batches in all segments, those below the log start included (DescribeLogDirs).
func (l *Log) Size() int64 { return 0 }

// Segments is the number of segments; there is always at least the active one.
func (l *Log) Segments() int { return 1 }

// LeaderEpoch is the current leader epoch.
func (l *Log) LeaderEpoch() int32 { return l.leaderEpoch }
