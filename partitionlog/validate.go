package partitionlog

import (
	"fmt"
	"slices"
)

// validated is a batch that may be appended, as it is to be kept.
type validated struct {
	batch        Batch
	maxTimestamp int64
	own          bool // batch was rebuilt: its memory is its own
}

func refuse(code int16, logStart int64, format string, args ...any) *AppendError {
	return &AppendError{Code: code, LogStart: logStart, Reason: fmt.Sprintf(format, args...)}
}

// validate does the checks of a produced batch that need nothing but the batch, in Kafka's order, and brings its header to what is stored. LogStart
// of an error is the real one except where the broker counts the error as ordinary.
func (l *Log) validate(now int64, data []byte, o AppendOptions) (validated, *AppendError) {
	b := Batch(data)
	if len(data) < logOverhead+minLegacyLength { // SplitProduce yields none of these
		return validated{}, refuse(CodeCorruptMessage, -1, "a batch of %d bytes; its header has %d", len(data), headerSize)
	}
	if base := b.BaseOffset(); o.Origin == OriginClient && base != 0 {
		return validated{}, refuse(CodeInvalidRecord, l.logStart, "the batch has base offset %d; a producer must send 0", base)
	}
	if len(b) > l.cfg.MaxMessageBytes {
		return validated{}, refuse(CodeMessageTooLarge, -1, "the batch has %d bytes; max.message.bytes is %d", len(b), l.cfg.MaxMessageBytes)
	}
	if len(b) < headerSize || b.size() != len(b) || b[posMagic] != 2 {
		return validated{}, refuse(CodeCorruptMessage, -1, "a batch of %d bytes; its header has %d", len(b), headerSize)
	}
	if got, want := b.crcField(), b.crc(); got != want {
		return validated{}, refuse(CodeCorruptMessage, -1, "the batch has checksum %08x; its bytes have %08x", got, want)
	}
	if b.Codec() > CodecZstd {
		return validated{}, refuse(CodeUnknownServerError, l.logStart, "the batch is compressed with codec %d; there are 0 to 4", b.Codec())
	}
	if err := l.validateHeader(b, o.Origin); err != nil {
		return validated{}, err
	}
	return l.validateRecords(now, b, o.Codecs)
}

// validateHeader checks what the header says of the records and of the producer.
func (l *Log) validateHeader(b Batch, origin Origin) *AppendError {
	delta, count := b.lastOffsetDelta(), b.RecordCount()
	switch {
	case delta < 0 || count <= 0 || int64(count) != int64(delta)+1:
		return refuse(CodeInvalidRecord, l.logStart, "the batch has %d records and last offset delta %d; the count must be positive and one more", count, delta)
	case origin == OriginClient && b.Control():
		return refuse(CodeInvalidRecord, l.logStart, "a control batch from a client")
	case origin == OriginClient && b.hasProducerID() && b.BaseSequence() < 0:
		return refuse(CodeInvalidRecord, l.logStart, "producer %d sent base sequence %d; it must not be negative", b.ProducerID(), b.BaseSequence())
	}
	return nil
}

// validateRecords checks the records one by one, and rewrites the batch where it has to be.
func (l *Log) validateRecords(now int64, b Batch, c *Codecs) (validated, *AppendError) {
	if c == nil && b.Codec() != CodecNone {
		c = new(Codecs)
	}
	target := b.Codec()
	if want := slices.Index(codecNames[:], l.cfg.CompressionType); want >= 0 {
		target = want
	}
	var s recordScan
	var err error
	switch {
	case target != b.Codec():
		return l.recompress(now, b, target, c)
	case b.Codec() == CodecNone && !l.cfg.CleanupCompact:
		s, err = l.scanPlain(now, b)
	default:
		s, err = l.scan(now, b, c, nil)
	}
	if err != nil {
		return validated{}, l.refuseRecords(err)
	}
	if s.bad != nil {
		return validated{}, l.refuseBadRecords(s)
	}
	if b.Codec() != CodecNone && !s.consecutive {
		// Kafka means to rebuild such a batch and fails at it.
		return validated{}, refuse(CodeUnknownServerError, l.logStart, "the compressed records' offset deltas are not 0, 1, 2, ...")
	}
	if l.cfg.TimestampType == LogAppendTime {
		s.maxTimestamp = now
	}
	b.setMaxTimestamp(l.cfg.TimestampType, s.maxTimestamp)
	return validated{batch: b, maxTimestamp: s.maxTimestamp}, nil
}

// recordScan is what a walk over the records found.
type recordScan struct {
	maxTimestamp int64 // of the records; -1 at least
	consecutive  bool  // offset deltas are 0, 1, 2, ...
	bad          []RecordError
	badTimestamp bool
}

// timestampBounds are what a record's time must keep to.
type timestampBounds struct {
	now              int64
	before, after    int64 // message.timestamp.before.max.ms and .after.max.ms
	earliest, latest int64 // what lies between is within them
	unbounded        bool  // the times of the records don't matter
	typeClash        bool  // the batch says LogAppendTime on a topic that sets the time itself
	spelledOut       int   // texts so far; a batch may have very many bad records
}

func (l *Log) timestampBounds(now int64, b Batch) timestampBounds {
	if l.cfg.TimestampType == LogAppendTime {
		return timestampBounds{unbounded: true, typeClash: b.TimestampType() == LogAppendTime}
	}
	t := timestampBounds{now: now, before: l.cfg.TimestampBeforeMaxMs, after: l.cfg.TimestampAfterMaxMs}
	t.earliest, t.latest = now-t.before, now+t.after
	if t.earliest > now { // wrapped: Kafka's default is no bound
		t.earliest = -1 << 63
	}
	if t.latest < now {
		t.latest = 1<<63 - 1
	}
	return t
}

// check judges the time of one record: "" is fine.
func (t *timestampBounds) check(b Batch, timestamp int64) string {
	switch {
	case t.typeClash:
		return "the batch has timestamp type LogAppendTime, which only the broker may set"
	case t.unbounded:
		return ""
	case timestamp == noTimestamp && b.TimestampType() == LogAppendTime:
		return "the batch has timestamp type LogAppendTime and no timestamp"
	case timestamp == noTimestamp:
		return ""
	}
	// As Kafka counts it, which overflows for a time of hundreds of millions of years ago: that is taken for one to come.
	if age := t.now - timestamp; age <= t.before && -age <= t.after {
		return ""
	}
	if t.spelledOut++; t.spelledOut > 100 {
		return "the timestamp is out of range, like those of records before"
	}
	return fmt.Sprintf("timestamp %d is out of range; it must be between %d and %d", timestamp, t.earliest, t.latest)
}

// scanPlain walks uncompressed records of a topic that isn't compacted: the common case, on the hot path of every produce. It
// is scan, with what cannot happen here left out.
func (l *Log) scanPlain(now int64, b Batch) (recordScan, error) {
	s := recordScan{maxTimestamp: noTimestamp}
	t := l.timestampBounds(now, b)
	count := b.RecordCount()
	if t.typeClash || b.TimestampType() == LogAppendTime {
		return l.scan(now, b, nil, nil)
	}
	base := b.BaseTimestamp()
	data := b[headerSize:]
	for i := range count {
		size, n := readVarint(data)
		if n == 0 && len(data) >= 5 {
			return l.scan(now, b, nil, nil) // knows what to call it
		}
		if n == 0 || size <= 0 || int(size) > len(data)-n {
			return s, badRecords("record %d of %d has a length of %d with %d bytes left", i, count, size, len(data)-n)
		}
		timestampDelta, _, ok := skimRecord(data[n : n+int(size)])
		if !ok {
			var rec rawRecord
			if err := rec.parse(data[n : n+int(size)]); err != nil {
				return s, fmt.Errorf("record %d of %d: %w", i, count, err)
			}
			timestampDelta = rec.timestampDelta
		}
		data = data[n+int(size):]
		timestamp := base + timestampDelta
		s.maxTimestamp = max(s.maxTimestamp, timestamp)
		if timestamp < t.earliest || timestamp > t.latest {
			s.judge(b, &t, i, timestamp)
		}
	}
	if len(data) > 0 {
		return s, badRecords("%d bytes are left after %d records", len(data), count)
	}
	return s, nil
}

// skimRecord checks the body of a record without headers, and returns its deltas. ok is false for anything it has no
// eye for, headers or an error.
func skimRecord(b []byte) (timestampDelta int64, offsetDelta int32, ok bool) {
	if len(b) < 6 {
		return 0, 0, false
	}
	timestampDelta, n := readVarlong(b[1:])
	if n == 0 {
		return 0, 0, false
	}
	at := 1 + n
	offsetDelta, n = readVarint(b[at:])
	if n == 0 {
		return 0, 0, false
	}
	at += n
	for range 2 { // key and value
		size, n := readVarint(b[at:])
		if n == 0 {
			return 0, 0, false
		}
		at += n
		if size > 0 {
			if int(size) >= len(b)-at {
				return 0, 0, false
			}
			at += int(size)
		} else if at >= len(b) {
			return 0, 0, false
		}
	}
	return timestampDelta, offsetDelta, at == len(b)-1 && b[at] == 0
}

// scan walks the records of any batch. each, if given, is called for every record.
func (l *Log) scan(now int64, b Batch, c *Codecs, each func(i int, rec *rawRecord)) (recordScan, error) {
	s := recordScan{maxTimestamp: noTimestamp, consecutive: true}
	if c == nil {
		c = new(Codecs)
	}
	t := l.timestampBounds(now, b)
	r, err := b.records(c)
	if err != nil {
		return s, err
	}
	defer c.release()
	var rec rawRecord
	count := b.RecordCount()
	skim := each == nil && !l.cfg.CleanupCompact && !t.typeClash && b.TimestampType() == CreateTime
	kept := each == nil && b.Codec() != CodecNone
	lied := false // a record's length was not true, or there is not so much: from then on none is waited for, or each might have most of the batch brought along
	for i := range count {
		var body []byte
		var err error
		if !lied {
			body, err = r.nextBody()
		}
		if err == nil && !lied {
			if skim {
				if timestampDelta, offsetDelta, ok := skimRecord(body); ok {
					timestamp := b.BaseTimestamp() + timestampDelta
					s.maxTimestamp = max(s.maxTimestamp, timestamp)
					s.consecutive = s.consecutive && offsetDelta == int32(i)
					if timestamp < t.earliest || timestamp > t.latest {
						s.judge(b, &t, i, timestamp)
					}
					continue
				}
			}
			if err = rec.parse(body); err != nil && kept {
				r.pos = r.begun
			}
		}
		if lied = lied || err != nil && kept; lied {
			err = r.skim(&rec) // from where the record began: what can't be unpacked of it may lie behind what is wrong already
		}
		if err != nil {
			return s, fmt.Errorf("record %d of %d: %w", i, count, err)
		}
		timestamp := rec.timestamp(b)
		s.maxTimestamp = max(s.maxTimestamp, timestamp)
		s.consecutive = s.consecutive && rec.offsetDelta == int32(i)
		if l.cfg.CleanupCompact && rec.key == nil {
			s.bad = append(s.bad, RecordError{Index: int32(i), Message: "a compacted topic takes no record without a key"})
		} else {
			s.judge(b, &t, i, timestamp)
		}
		if each != nil && s.bad == nil {
			each(i, &rec)
		}
	}
	end, err := r.atEnd()
	if err == nil && !end {
		err = badRecords("bytes are left after %d records", count)
	}
	return s, err
}

func (s *recordScan) judge(b Batch, t *timestampBounds, i int, timestamp int64) {
	if text := t.check(b, timestamp); text != "" {
		s.bad = append(s.bad, RecordError{Index: int32(i), Message: text})
		s.badTimestamp = true
	}
}

// recompress rebuilds a batch whose codec is not the topic's: offset deltas 0, 1, 2, ... and the base timestamp of the first
// record; the producer fields and the transactional bit stay.
func (l *Log) recompress(now int64, b Batch, target int, c *Codecs) (validated, *AppendError) {
	if c == nil {
		c = new(Codecs)
	}
	var base int64
	negative := false
	plain := make([]byte, headerSize, len(b))
	s, err := l.scan(now, b, c, func(i int, rec *rawRecord) {
		negative = negative || rec.timestamp(b) < noTimestamp
		if i == 0 {
			base = rec.timestamp(b)
		}
		if target == CodecNone && len(plain) > l.cfg.MaxMessageBytes {
			return // too large already; the size is judged after the records
		}
		plain = appendRaw(plain, int32(i), rec.timestamp(b)-base, rec)
	})
	if err != nil {
		return validated{}, l.refuseRecords(err)
	}
	if s.bad != nil {
		return validated{}, l.refuseBadRecords(s)
	}
	if negative {
		// A timestamp below -1 is kept as long as the batch is; rebuilding it is where a broker fails.
		return validated{}, refuse(CodeUnknownServerError, l.logStart, "the batch is to be rebuilt with compression.type=%s and has a record with a timestamp below -1", l.cfg.CompressionType)
	}
	if reason := unwritable(b); reason != "" {
		return validated{}, refuse(CodeUnknownServerError, l.logStart, "the batch is to be rebuilt with compression.type=%s and %s", l.cfg.CompressionType, reason)
	}
	h := headerOf(b)
	h.attributes = int16(target) | b.attributes()&(attrTransactional|attrControl)
	h.baseTimestamp, h.maxTimestamp = base, s.maxTimestamp
	if l.cfg.TimestampType == LogAppendTime {
		h.attributes |= attrLogAppendTime
		h.maxTimestamp = now
	}
	out := plain
	if target != CodecNone {
		if out, err = c.pack(make([]byte, headerSize, headerSize+len(plain)/2), target, l.level(target), plain[headerSize:]); err != nil {
			return validated{}, refuse(CodeUnknownServerError, l.logStart, "compressing with %s: %v", codecNames[target], err)
		}
	}
	if len(out) > l.cfg.MaxMessageBytes {
		return validated{}, refuse(CodeMessageTooLarge, -1, "the batch has %d bytes after it was rewritten with compression.type=%s; max.message.bytes is %d",
			len(out), l.cfg.CompressionType, l.cfg.MaxMessageBytes)
	}
	h.put(out)
	return validated{batch: slices.Clip(out), maxTimestamp: h.maxTimestamp, own: true}, nil
}

// unwritable says what of a batch's producer fields lets a broker fail when it writes the batch anew, though it keeps such a
// batch as it is. Only -1 means no producer: any other id needs an epoch and, but for a marker, a sequence.
func unwritable(b Batch) string {
	switch {
	case b.ProducerID() == noProducerID && b.Transactional():
		return "is transactional without a producer id"
	case b.ProducerID() != noProducerID && b.ProducerEpoch() == noProducerEpoch:
		return "has a producer id without an epoch"
	case b.ProducerID() != noProducerID && b.BaseSequence() < 0 && !b.Control():
		return "has a producer id without a sequence"
	}
	return ""
}

func (l *Log) level(codec int) int {
	switch codec {
	case CodecGzip:
		return l.cfg.GzipLevel
	case CodecLZ4:
		return l.cfg.LZ4Level
	case CodecZstd:
		return l.cfg.ZstdLevel
	}
	return 0
}

// refuseRecords answers records that cannot be walked: 87, or -1 when a broker fails at them.
func (l *Log) refuseRecords(err error) *AppendError {
	if isStream(err) {
		return refuse(CodeUnknownServerError, l.logStart, "the records: %v", err)
	}
	return refuse(CodeInvalidRecord, l.logStart, "%v", err)
}

// refuseBadRecords answers records that may not be here. One bad timestamp makes it the batch's error.
func (l *Log) refuseBadRecords(s recordScan) *AppendError {
	e := refuse(CodeInvalidRecord, l.logStart, "record %d: %s", s.bad[0].Index, s.bad[0].Message)
	if more := len(s.bad) - 1; more > 0 {
		e.Reason += fmt.Sprintf(" (%d more bad records in the batch)", more)
	}
	if s.badTimestamp {
		e.Code = CodeInvalidTimestamp
	}
	e.Message, e.Records = e.Reason, s.bad
	return e
}
