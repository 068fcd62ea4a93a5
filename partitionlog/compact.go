package partitionlog

// Cleanable says how much a compaction would have to do.
type Cleanable struct {
	DirtyRatio float64 // dirty bytes to all cleanable bytes
	// Due: the ratio is above min.cleanable.dirty.ratio, or max.compaction.lag.ms has passed. The cleaner takes the log with the
	// highest ratio of those that are due.
	Due bool
}

// Cleanable looks at a log whose policy contains compact; others are never due.
func (l *Log) Cleanable(now int64) Cleanable { return Cleanable{} }

// CompactResult counts what a pass did.
type CompactResult struct {
	RecordsRemoved int
	BatchesRemoved int
	BytesBefore    int64
	BytesAfter     int64
}

// Compact runs one pass of the cleaner, due or not. The active segment is never touched: Roll first to include it.
func (l *Log) Compact(now int64, c *Codecs) (CompactResult, error) { return CompactResult{}, nil }
