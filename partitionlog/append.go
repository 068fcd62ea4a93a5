package partitionlog

// Origin says who appends.
type Origin int8

const (
	// OriginClient is a Produce request: everything is checked.
	OriginClient Origin = iota
	// OriginCoordinator is a group or transaction coordinator writing its own topic: sequences are not checked. A transactional
	// batch (offsets committed in a transaction) needs no token: the broker asks the transaction coordinator and writes in one
	// step.
	OriginCoordinator
)

// AppendOptions say how to append one batch.
type AppendOptions struct {
	Origin Origin
	// Verification is what BeginVerification returned, once the transaction coordinator has agreed. Ignored for batches that
	// need none.
	Verification Verification
	// Codecs is the scratch memory for looking into compressed batches. Nil is allowed and allocates when needed.
	Codecs *Codecs
	// FrameSize is the memory that stays alive when the batch is kept as it is: the capacity of the frame it lies in. A batch
	// that is small, or small beside FrameSize, is copied; otherwise the log keeps the slice and the caller must not touch it
	// again. 0 means that the batch has its memory for itself.
	FrameSize int
	// Keep makes the log keep the slice in any case: for the batches of a frame of which KeepFrame says so.
	Keep bool
}

// KeepFrame decides for a frame that carries several batches, since one that is kept keeps the whole frame alive: they
// are all kept when they are most of it and not too small, and otherwise all are copied. batches are their number, size their
// bytes together.
func KeepFrame(frame, batches, size int) bool {
	return size > copyBelow && size >= batches*keepFrom && frame-size <= size/16
}

// AppendResult tells what became of a batch.
type AppendResult struct {
	BaseOffset    int64 // first offset assigned; for a duplicate that of the first copy
	LastOffset    int64
	LogAppendTime int64 // for the answer: now on LogAppendTime topics, the first copy's max timestamp for a duplicate, else -1
	LogStart      int64
	Duplicate     bool // nothing was appended: one of the producer's last five batches was sent again
	Rolled        bool // a new segment was started
	Records       int  // records appended; 0 for a duplicate
	Bytes         int  // bytes appended; 0 for a duplicate
}

// AppendError is a refused batch. Nothing was appended (though a new segment may have been started).
type AppendError struct {
	Code int16
	// Message is the error_message of the answer; "" stands for null there.
	Message string
	// Reason says in one line what was wanted and what was there; it is always set, for logs and histories.
	Reason string
	// Records lists the bad records (Produce v8+).
	Records []RecordError
	// LogStart is the log start offset of the answer: the real one or -1, as Kafka has it for this error.
	LogStart int64
}

// RecordError is one bad record of a refused batch.
type RecordError struct {
	Index   int32
	Message string
}

func (e *AppendError) Error() string { return e.Reason }

// Append validates one batch, as SplitProduce returns it, and appends it. The checks come in Kafka's order, which decides the error of a
// batch with several faults: size and checksum, header, records (validate.go), segment.bytes, and at last the producer's epoch and
// sequence (producers.go). The batch's header is written in place, also when the batch is refused in the end.
func (l *Log) Append(now int64, batch []byte, o AppendOptions) (AppendResult, *AppendError) {
	v, refused := l.validate(now, batch, o)
	if refused != nil {
		return AppendResult{}, refused
	}
	b := v.batch
	if len(b) > l.cfg.SegmentBytes {
		return AppendResult{}, refuse(CodeRecordListTooLarge, -1, "the batch has %d bytes; segment.bytes is %d", len(b), l.cfg.SegmentBytes)
	}
	// The roll comes before the producer is looked at, so even a batch that is refused now may have started a segment.
	rolled := l.maybeRoll(now, len(b), v.maxTimestamp, l.end+int64(b.lastOffsetDelta()))
	if b.hasProducerID() {
		dup, refused := l.checkProducer(b, o)
		if refused != nil {
			return AppendResult{}, refused
		}
		if dup != nil {
			return AppendResult{
				BaseOffset: dup.lastOffset - int64(dup.offsetDelta), LastOffset: dup.lastOffset, LogAppendTime: dup.timestamp,
				LogStart: l.logStart, Duplicate: true, Rolled: rolled,
			}, nil
		}
	}
	b = l.store(now, b, v.own && len(b) > copyBelow || !v.own && o.Keep || keeps(b, o.FrameSize))
	if b.hasProducerID() {
		l.applyData(b)
	}
	return AppendResult{
		BaseOffset: b.BaseOffset(), LastOffset: b.LastOffset(), LogAppendTime: l.logAppendTime(now), LogStart: l.logStart,
		Rolled: rolled, Records: b.RecordCount(), Bytes: len(b),
	}, nil
}

// logAppendTime is what a Produce answer says of it.
func (l *Log) logAppendTime(now int64) int64 {
	if l.cfg.TimestampType == LogAppendTime {
		return now
	}
	return noTimestamp
}
