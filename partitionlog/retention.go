package partitionlog

// DeleteRecords moves the log start up to offset (-1: the high watermark) and returns the low watermark. Errors, with low
// watermark -1: 44 on a topic that is compacted only, 1 for an offset below -1 or above the high watermark. Going backwards is
// no error.
func (l *Log) DeleteRecords(offset int64) (low int64, code int16) { return -1, 0 }

// Removed counts what went.
type Removed struct {
	Segments int
	Bytes    int64
}

// ApplyRetention removes old segments: those below the log start, and where the policy contains delete those beyond
// retention.bytes and retention.ms.
func (l *Log) ApplyRetention(now int64) Removed { return Removed{} }

// DropOldest frees at least n bytes if the log has them: whole segments from the oldest on, and then the oldest batches of the
// active segment. The log start moves up. It is no rule of Kafka's but the memory bound of an in-memory broker.
func (l *Log) DropOldest(now int64, n int64) Removed { return Removed{} }

// Roll starts a new segment unless the active one is empty.
func (l *Log) Roll(now int64) {}

// Truncate removes everything from offset on; a batch that holds it goes as a whole. Producer states are rebuilt from what stays.
func (l *Log) Truncate(now, offset int64) {}
