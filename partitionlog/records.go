package partitionlog

import (
	"errors"
	"fmt"
	"io"
	"iter"
)

// rawRecord is one record as it lies in a batch.
type rawRecord struct {
	timestampDelta int64
	offsetDelta    int32
	key, value     []byte // nil is null; an empty one isn't nil
	headerCount    int32
	headers        []byte
}

// errStream marks what makes a broker fail unexpectedly, as opposed to records that are wrong: a compressed stream that cannot
// be unpacked, or a record whose length does not end.
type errStream struct{ err error }

func (e errStream) Error() string { return e.err.Error() }
func (e errStream) Unwrap() error { return e.err }

var errRecords = errors.New("the records do not decode")

func badRecords(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errRecords}, args...)...)
}

// recordReader walks the records of a batch, unpacking as it goes. A record from it is valid until the next one is asked for
// when the batch is compressed, and as long as the batch otherwise.
type recordReader struct {
	buf   []byte
	pos   int
	begun int // where the record last read began
	// from is where more of a compressed batch comes from. Records are read where a block was unpacked; those of a stream, and one that lies
	// across the border of two blocks, in the window.
	from   unpacker
	window []byte
	block  []byte // the current one, while buf is in the window
	joined int    // how much of it is in the window
	// read counts what was unpacked; limit bounds the memory for one record.
	read   int
	limit  int
	failed error // that ends what can be unpacked
}

// records returns a reader over the batch's records. Uncompressed ones need no Codecs.
func (b Batch) records(c *Codecs) (*recordReader, error) {
	r := &c.reader
	if b.Codec() == CodecNone {
		*r = recordReader{buf: b[headerSize:]}
		return r, nil
	}
	from, err := c.unpack(b.Codec(), b[headerSize:])
	if err != nil {
		return nil, errStream{err}
	}
	if cap(c.window) == 0 {
		c.window = make([]byte, 0, 16<<10)
	}
	*r = recordReader{from: from, window: c.window[:0], limit: max(maxWindow, 8*len(b))}
	return r, nil
}

// release gives the memory of a reader back.
func (c *Codecs) release() {
	if w := c.reader.window; cap(w) > keptScratch {
		c.window = nil
	} else if w != nil {
		c.window = w[:0]
	}
	c.reader = recordReader{}
}

func (r *recordReader) next(rec *rawRecord) error {
	body, err := r.nextBody()
	if err != nil {
		return err
	}
	return rec.parse(body)
}

// nextBody is the next record as it is parsed: without its length.
func (r *recordReader) nextBody() ([]byte, error) {
	for {
		b := r.buf[r.pos:]
		size, n := readVarint(b)
		switch {
		case n > 0 && size < 0:
			return nil, badRecords("a record of %d bytes", size)
		case n > 0 && int(size) <= len(b)-n:
			r.begun = r.pos
			r.pos += n + int(size)
			return b[n : n+int(size)], nil
		case n == 0 && len(b) >= 5 && r.compressed():
			return nil, badRecords("a record's length takes more than 5 bytes")
		case n == 0 && len(b) >= 5:
			return nil, errStream{errors.New("a record's length takes more than 5 bytes")}
		}
		if err := r.fill(); err == io.EOF {
			return nil, badRecords("they end inside a record")
		} else if err != nil {
			return nil, err
		}
	}
}

func (r *recordReader) compressed() bool { return r.from.stream != nil || r.from.blocks != nil }

// skim reads the next record of a compressed batch as a broker does that keeps the batch as it is: field by field, past what it need
// not know, whatever the record says of its length.
func (r *recordReader) skim(rec *rawRecord) error {
	if _, err := r.varint(); err != nil { // the length
		return err
	}
	if err := r.skip(1); err != nil { // the attributes
		return err
	}
	var err error
	if rec.timestampDelta, err = r.varlong(); err != nil {
		return err
	}
	if rec.offsetDelta, err = r.varint(); err != nil {
		return err
	}
	size, err := r.skipField() // the key
	if err != nil {
		return err
	}
	rec.key, rec.value, rec.headers = nil, nil, nil
	if size >= 0 {
		rec.key = []byte{}
	}
	if _, err := r.skipField(); err != nil { // the value
		return err
	}
	if rec.headerCount, err = r.varint(); err != nil {
		return err
	}
	if rec.headerCount < 0 {
		return badRecords("a record with %d headers", rec.headerCount)
	}
	for range rec.headerCount {
		if size, err := r.skipField(); err != nil {
			return err
		} else if size < 0 {
			return badRecords("a header without a key")
		}
		if _, err := r.skipField(); err != nil {
			return err
		}
	}
	return nil
}

// skipField reads a length and skips so many bytes.
func (r *recordReader) skipField() (size int32, err error) {
	if size, err = r.varint(); err == nil {
		err = r.skip(int(size))
	}
	return size, err
}

func (r *recordReader) skip(n int) error {
	for n > 0 {
		if r.pos == len(r.buf) {
			if err := r.fill(); err == io.EOF {
				return badRecords("they end inside a record")
			} else if err != nil {
				return err
			}
		}
		m := min(n, len(r.buf)-r.pos)
		r.pos += m
		n -= m
	}
	return nil
}

func (r *recordReader) varint() (v int32, err error) {
	err = r.number(5, func(b []byte) (n int) { v, n = readVarint(b); return n })
	return v, err
}

func (r *recordReader) varlong() (v int64, err error) {
	err = r.number(10, func(b []byte) (n int) { v, n = readVarlong(b); return n })
	return v, err
}

// number reads a number of at most so many bytes. It brings only those that it needs: what stands behind them may be what can't be unpacked.
func (r *recordReader) number(most int, read func([]byte) int) error {
	for {
		b := r.buf[r.pos:]
		if n := read(b); n > 0 {
			r.pos += n
			return nil
		}
		if len(b) >= most {
			return badRecords("a number in a record does not end")
		}
		if err := r.fill(); err == io.EOF {
			return badRecords("a number in a record does not end")
		} else if err != nil {
			return err
		}
	}
}

// atEnd reports whether nothing is left.
func (r *recordReader) atEnd() (bool, error) {
	if r.pos < len(r.buf) {
		return false, nil
	}
	err := r.fill()
	if err == io.EOF {
		return true, nil
	}
	return false, err
}

// fill brings at least one more byte or an error, which it brings again when asked again.
func (r *recordReader) fill() error {
	switch {
	case r.failed != nil:
	case r.from.stream != nil:
		r.failed = r.fillFromStream()
	case r.from.blocks != nil:
		r.failed = r.fillFromBlocks()
	default:
		return io.EOF
	}
	return r.failed
}

func (r *recordReader) fillFromStream() error {
	if err := r.makeRoom(); err != nil {
		return err
	}
	for range 100 {
		n, err := r.from.stream.Read(r.window[len(r.window):cap(r.window)])
		r.window = r.window[:len(r.window)+n]
		r.buf = r.window
		switch {
		case n > 0:
			return r.count(n)
		case err == io.EOF:
			return io.EOF
		case err != nil:
			return errStream{err}
		}
	}
	return errStream{io.ErrNoProgress}
}

func (r *recordReader) fillFromBlocks() error {
	left := len(r.buf) - r.pos
	if r.joined == len(r.block) {
		r.joined, r.block = 0, nil
		if left > 0 {
			if err := r.makeRoom(); err != nil { // before its memory is used again
				return err
			}
		}
		block, err := r.from.blocks.next()
		if err == io.EOF {
			return io.EOF
		} else if err != nil {
			return errStream{err}
		}
		if left == 0 {
			r.buf, r.pos = block, 0
			return r.count(len(block))
		}
		r.block = block
		if err := r.count(len(block)); err != nil {
			return err
		}
	} else if left <= r.joined { // what begins in this block can be read there
		r.buf, r.pos = r.block[r.joined-left:], 0
		r.joined, r.block = 0, nil
		return nil
	} else if err := r.makeRoom(); err != nil {
		return err
	}
	n := min(cap(r.window)-len(r.window), len(r.block)-r.joined)
	r.window = append(r.window, r.block[r.joined:r.joined+n]...)
	r.joined += n
	r.buf = r.window
	return nil
}

// makeRoom puts what is left of buf at the window's beginning, with room behind it. The window grows only as bytes arrive, and what is at its place
// already stays: a record of many blocks is copied a few times, not once for each.
func (r *recordReader) makeRoom() error {
	left := r.buf[r.pos:]
	switch {
	case len(left) >= r.limit:
		return errStream{fmt.Errorf("a record unpacks to more than %d bytes", r.limit)}
	case len(left) >= cap(r.window):
		r.window = append(make([]byte, 0, min(2*len(left)+keptScratch/64, r.limit)), left...)
	case len(left) > 0 && &left[0] == &r.window[:1][0]:
		r.window = r.window[:len(left)]
	default:
		r.window = append(r.window[:0], left...)
	}
	r.buf, r.pos = r.window, 0
	return nil
}

// count adds to what was unpacked.
func (r *recordReader) count(n int) error {
	if r.read += n; r.read > maxUnpacked {
		return errStream{fmt.Errorf("the batch unpacks to more than %d bytes", maxUnpacked)}
	}
	return nil
}

// parse reads the body of a record: everything after its length.
func (rec *rawRecord) parse(b []byte) error {
	if len(b) == 0 {
		return badRecords("a record of no bytes")
	}
	var n int
	at := 1 // the attributes mean nothing
	if rec.timestampDelta, n = readVarlong(b[at:]); n == 0 {
		return badRecords("a timestamp delta that does not end")
	}
	at += n
	if rec.offsetDelta, n = readVarint(b[at:]); n == 0 {
		return badRecords("an offset delta that does not end")
	}
	at += n
	var ok bool
	if rec.key, at, ok = readBytes(b, at); !ok {
		return badRecords("a key that is longer than its record")
	}
	if rec.value, at, ok = readBytes(b, at); !ok {
		return badRecords("a value that is longer than its record")
	}
	if rec.headerCount, n = readVarint(b[at:]); n == 0 || rec.headerCount < 0 {
		return badRecords("a record with %d headers", rec.headerCount)
	}
	at += n
	rec.headers = b[at:]
	for range rec.headerCount {
		size, n := readVarint(b[at:])
		if n == 0 || size < 0 || int(size) > len(b)-at-n {
			return badRecords("a header key that is null or longer than its record")
		}
		at += n + int(size)
		if _, at, ok = readBytes(b, at); !ok {
			return badRecords("a header value that is longer than its record")
		}
	}
	if at != len(b) {
		return badRecords("%d bytes left over in a record", len(b)-at)
	}
	return nil
}

// readBytes reads a length and that many bytes at b[at:]; a negative length is null.
func readBytes(b []byte, at int) (v []byte, next int, ok bool) {
	size, n := readVarint(b[at:])
	if n == 0 {
		return nil, at, false
	}
	at += n
	if size < 0 {
		return nil, at, true
	}
	if int(size) > len(b)-at {
		return nil, at, false
	}
	end := at + int(size)
	return b[at:end:end], end, true
}

// timestamp is the record's time in its batch.
func (rec *rawRecord) timestamp(b Batch) int64 {
	if b.TimestampType() == LogAppendTime {
		return b.MaxTimestamp()
	}
	return b.BaseTimestamp() + rec.timestampDelta
}

// Batches yields the kept batches from the one that holds offset from on, control batches and those below the log start
// included. The log must not be changed meanwhile; the yielded slices stay valid.
func (l *Log) Batches(from int64) iter.Seq[Batch] {
	return func(yield func(Batch) bool) {
		at, c, _, ok := l.findBatch(from)
		if !ok {
			return
		}
		for {
			for b, ok := c.next(); ok; b, ok = c.next() {
				if !yield(b) {
					return
				}
			}
			if at++; at >= len(l.segments) {
				return
			}
			c = l.segments[at].start()
		}
	}
}

// DecodeBatch appends the records of one batch to dst. Keys, values and headers of an uncompressed batch point into it. Memory
// is bounded: a batch that unpacks to more than 256 MiB is an error. c may be nil.
func DecodeBatch(dst []Record, batch []byte, c *Codecs) ([]Record, error) {
	if len(batch) < headerSize {
		return dst, fmt.Errorf("partitionlog: a batch of %d bytes; its header has %d", len(batch), headerSize)
	}
	b := Batch(batch)
	if b.size() != len(b) || batch[posMagic] != 2 {
		return dst, fmt.Errorf("partitionlog: a batch of format %d and %d bytes in %d bytes; want format 2 and all of them", batch[posMagic], b.size(), len(b))
	}
	if c == nil {
		c = new(Codecs)
	}
	r, err := b.records(c)
	if err != nil {
		return dst, fmt.Errorf("partitionlog: %w", err)
	}
	defer c.release()
	var raw rawRecord
	for i := range b.RecordCount() {
		if err := r.next(&raw); err != nil {
			return dst, fmt.Errorf("partitionlog: record %d of %d: %w", i, b.RecordCount(), err)
		}
		dst = append(dst, raw.record(b))
	}
	switch end, err := r.atEnd(); {
	case err != nil:
		return dst, fmt.Errorf("partitionlog: %w", err)
	case !end:
		return dst, fmt.Errorf("partitionlog: %w", badRecords("bytes are left after %d records", b.RecordCount()))
	}
	return dst, nil
}

// record makes a Record of a raw one, with memory of its own if the batch is compressed.
func (rec *rawRecord) record(b Batch) Record {
	out := Record{
		Offset:        b.BaseOffset() + int64(rec.offsetDelta),
		Timestamp:     rec.timestamp(b),
		Key:           rec.key,
		Value:         rec.value,
		LeaderEpoch:   b.LeaderEpoch(),
		ProducerID:    b.ProducerID(),
		ProducerEpoch: b.ProducerEpoch(),
		Sequence:      noSequence,
		Transactional: b.Transactional(),
		Control:       b.Control(),
	}
	if b.BaseSequence() != noSequence {
		out.Sequence = incrementSequence(b.BaseSequence(), rec.offsetDelta)
	}
	headers := rec.headers
	if b.Codec() != CodecNone {
		keys, values := len(rec.key), len(rec.value)
		own := make([]byte, 0, keys+values+len(headers))
		own = append(append(append(own, rec.key...), rec.value...), headers...)
		if rec.key != nil {
			out.Key = own[:keys:keys]
		}
		if rec.value != nil {
			out.Value = own[keys : keys+values : keys+values]
		}
		headers = own[keys+values:]
	}
	if rec.headerCount > 0 {
		out.Headers = make([]Header, 0, rec.headerCount)
		at := 0
		for range rec.headerCount {
			var h Header
			var key []byte
			key, at, _ = readBytes(headers, at)
			h.Key = string(key)
			h.Value, at, _ = readBytes(headers, at)
			out.Headers = append(out.Headers, h)
		}
	}
	return out
}

func isStream(err error) bool {
	var s errStream
	return errors.As(err, &s)
}
