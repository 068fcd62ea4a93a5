package partitionlog

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// edit changes bytes of a batch and makes its checksum right again.
func edit(b Batch, f func(Batch)) Batch {
	f(b)
	b.seal()
	return b
}

func withRecords(t testing.TB, body []byte, count int32) Batch {
	t.Helper()
	b := append(mustBatch(t, testRecords(1, t0), BatchOptions{})[:headerSize:headerSize], body...)
	return edit(b, func(b Batch) {
		b.putInt32(posLength, int32(len(b)-logOverhead))
		b.putInt32(posRecordCount, count)
		b.putInt32(posLastOffsetDelta, count-1)
	})
}

// body is the records of a good batch.
func body(t testing.TB, n int) []byte {
	return mustBatch(t, testRecords(n, t0), BatchOptions{})[headerSize:]
}

func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	good := func() Batch { return mustBatch(t, testRecords(3, t0), BatchOptions{}) }
	compact := func(c *Config) { c.CleanupCompact = true }
	for _, tt := range []struct {
		explanation string
		batch       Batch
		config      func(*Config)
		code        int16
		realStart   bool // the answer has the log start
		message     bool
		records     []int32
	}{
		{explanation: "a base offset other than 0", batch: edit(good(), func(b Batch) { b.putInt64(0, 1) }), code: CodeInvalidRecord, realStart: true},
		{explanation: "the base offset is judged before the checksum", batch: func() Batch { b := good(); b[7] = 1; b[30]++; return b }(), code: CodeInvalidRecord, realStart: true},
		{explanation: "larger than max.message.bytes, header included", batch: good(), config: func(c *Config) { c.MaxMessageBytes = len(good()) - 1 }, code: CodeMessageTooLarge},
		{explanation: "the size is judged before the checksum", batch: func() Batch { b := good(); b[30]++; return b }(), config: func(c *Config) { c.MaxMessageBytes = len(good()) - 1 }, code: CodeMessageTooLarge},
		{explanation: "a wrong checksum", batch: func() Batch { b := good(); b[30]++; return b }(), code: CodeCorruptMessage},
		{explanation: "shorter than a header", batch: func() Batch { b := good()[:40]; b.putInt32(posLength, 28); return b }(), code: CodeCorruptMessage},
		{explanation: "codec 5", batch: edit(good(), func(b Batch) { b[22] = 5 }), code: CodeUnknownServerError, realStart: true},
		{explanation: "no record", batch: edit(good(), func(b Batch) { b.putInt32(posRecordCount, 0); b.putInt32(posLastOffsetDelta, -1) }), code: CodeInvalidRecord, realStart: true},
		{explanation: "a count that isn't the last offset delta and one", batch: edit(good(), func(b Batch) { b.putInt32(posRecordCount, 2) }), code: CodeInvalidRecord, realStart: true},
		{explanation: "the largest delta", batch: edit(good(), func(b Batch) {
			b.putInt32(posRecordCount, math.MinInt32)
			b.putInt32(posLastOffsetDelta, math.MaxInt32)
		}), code: CodeInvalidRecord, realStart: true},
		{explanation: "a control batch", batch: edit(good(), func(b Batch) { b[22] |= 0x20 }), code: CodeInvalidRecord, realStart: true},
		{explanation: "a producer without a sequence", batch: idempotent(t, 1, 7, 0, -1), code: CodeInvalidRecord, realStart: true},
		{explanation: "fewer records than counted", batch: withRecords(t, body(t, 2), 3), code: CodeInvalidRecord, realStart: true},
		{explanation: "more records than counted", batch: withRecords(t, body(t, 3), 2), code: CodeInvalidRecord, realStart: true},
		{explanation: "a byte left over", batch: withRecords(t, append(body(t, 2), 0), 2), code: CodeInvalidRecord, realStart: true},
		{explanation: "a negative record length", batch: withRecords(t, []byte{1, 0, 0, 0}, 1), code: CodeInvalidRecord, realStart: true},
		{explanation: "a value longer than its record", batch: withRecords(t, []byte{12, 0, 0, 0, 1, 8, 0}, 1), code: CodeInvalidRecord, realStart: true},
		{explanation: "a header count without headers", batch: withRecords(t, []byte{12, 0, 0, 0, 1, 1, 2}, 1), code: CodeInvalidRecord, realStart: true},
		{explanation: "a negative header count", batch: withRecords(t, []byte{12, 0, 0, 0, 1, 1, 1}, 1), code: CodeInvalidRecord, realStart: true},
		{explanation: "a null header key", batch: withRecords(t, []byte{16, 0, 0, 0, 1, 1, 2, 1, 1}, 1), code: CodeInvalidRecord, realStart: true},
		{explanation: "a byte left over in a record", batch: withRecords(t, []byte{14, 0, 0, 0, 1, 1, 0, 0}, 1), code: CodeInvalidRecord, realStart: true},
		{
			explanation: "null keys on a compacted topic, an empty key is one", config: compact, code: CodeInvalidRecord, realStart: true, message: true, records: []int32{0, 2},
			batch: mustBatch(t, []Record{{Timestamp: t0}, {Timestamp: t0, Key: []byte{}}, {Timestamp: t0}}, BatchOptions{}),
		},
		{
			explanation: "a record too old and one too new; -1 is always fine", code: CodeInvalidTimestamp, realStart: true, message: true, records: []int32{0, 3},
			config: func(c *Config) { c.TimestampBeforeMaxMs = 1000 },
			batch:  mustBatch(t, []Record{{Timestamp: t0 - 1001}, {Timestamp: t0 - 1000}, {Timestamp: -1}, {Timestamp: t0 + 3600001}, {Timestamp: t0 + 3600000}}, BatchOptions{}),
		},
		{
			explanation: "a null key and a bad timestamp count for the key", config: compact, code: CodeInvalidRecord, realStart: true, message: true, records: []int32{0},
			batch: mustBatch(t, []Record{{Timestamp: t0 + 3600001}}, BatchOptions{}),
		},
		{
			explanation: "one bad timestamp makes the batch's code", config: compact, code: CodeInvalidTimestamp, realStart: true, message: true, records: []int32{0, 1},
			batch: mustBatch(t, []Record{{Timestamp: t0}, {Timestamp: t0 + 3600001, Key: []byte("k")}}, BatchOptions{}),
		},
		{
			explanation: "the producer says LogAppendTime where the broker sets it", config: func(c *Config) { c.TimestampType = LogAppendTime }, code: CodeInvalidTimestamp, realStart: true, message: true, records: []int32{0, 1, 2},
			batch: mustBatch(t, testRecords(3, t0), BatchOptions{LogAppendTime: true}),
		},
		{
			explanation: "the producer says LogAppendTime without a time", code: CodeInvalidTimestamp, realStart: true, message: true, records: []int32{0},
			batch: edit(mustBatch(t, testRecords(1, t0), BatchOptions{LogAppendTime: true}), func(b Batch) { b.putInt64(posMaxTimestamp, -1) }),
		},
		{explanation: "larger than a segment", batch: good(), config: func(c *Config) { c.SegmentBytes = len(good()) - 1 }, code: CodeRecordListTooLarge},
		{explanation: "a compressed stream that isn't one", batch: edit(good(), func(b Batch) { b[22] = CodecGzip }), code: CodeUnknownServerError, realStart: true},
		{explanation: "zstd that isn't", batch: edit(good(), func(b Batch) { b[22] = CodecZstd }), code: CodeUnknownServerError, realStart: true},
		{explanation: "lz4 that isn't", batch: edit(good(), func(b Batch) { b[22] = CodecLZ4 }), code: CodeUnknownServerError, realStart: true},
		{explanation: "snappy that isn't", batch: edit(good(), func(b Batch) { b[22] = CodecSnappy }), code: CodeUnknownServerError, realStart: true},
		{explanation: "a transactional batch without verification", batch: transactional(t, 1, 7, 0, 0), code: CodeInvalidTxnState, realStart: true},
	} {
		t.Run(tt.explanation, func(t *testing.T) {
			t.Parallel()
			l := newTestLog(func(c *Config) {
				if tt.config != nil {
					tt.config(c)
				}
			})
			l.logStart, l.end = 5, 5
			r, err := l.Append(t0, tt.batch, AppendOptions{})
			require.NotNil(t, err, "%+v", r)
			require.Equal(t, tt.code, err.Code, err.Reason)
			require.Equal(t, map[bool]int64{true: 5, false: -1}[tt.realStart], err.LogStart)
			require.Equal(t, tt.message, err.Message != "", err.Message)
			require.NotEmpty(t, err.Reason)
			var indexes []int32
			for _, r := range err.Records {
				require.NotEmpty(t, r.Message)
				indexes = append(indexes, r.Index)
			}
			require.Equal(t, tt.records, indexes)
			require.Equal(t, int64(5), l.End())
			require.Zero(t, l.Size())
		})
	}
}

func TestSplitProduce(t *testing.T) {
	t.Parallel()
	good := []byte(mustBatch(t, testRecords(1, t0), BatchOptions{}))
	zstd := []byte(mustBatch(t, testRecords(1, t0), BatchOptions{Codec: CodecZstd}))
	change := func(b []byte, at int, v byte) []byte { b = append([]byte(nil), b...); b[at] = v; return b }
	join := func(a, b []byte) []byte { return append(append([]byte(nil), a...), b...) }
	long := func(n int32) []byte { return edit(join(good, nil), func(b Batch) { b.putInt32(posLength, n) }) }
	for _, tt := range []struct {
		explanation string
		records     []byte
		version     int16
		code        int16
		size        int
		broken      bool // fails the whole request
	}{
		{"nothing", nil, 9, CodeInvalidRecord, 0, false},
		{"three bytes missing", good[:len(good)-3], 9, CodeInvalidRecord, 0, false},
		{"one batch", good, 9, 0, len(good), false},
		{"two", join(good, good), 9, CodeInvalidRecord, 0, false},
		{"two stray bytes", join(good, []byte{0, 17}), 9, 0, len(good), false},
		{"the beginning of another", join(good, good[:21]), 9, 0, len(good), false},
		{"format 1", change(good, posMagic, 1), 9, CodeInvalidRecord, 0, false},
		{"format 3", change(good, posMagic, 3), 9, CodeCorruptMessage, 0, true},
		{"a length below 14", change(good, 11, 13), 9, CodeCorruptMessage, 0, true},
		{"a length below 14 in too few bytes for a magic", change(good, 11, 13)[:12], 9, CodeCorruptMessage, 0, true},
		{"a length that overflows with its header", long(math.MaxInt32 - 11)[:17], 9, CodeUnknownServerError, 0, true},
		{"one that does not", long(math.MaxInt32 - 12), 9, CodeInvalidRecord, 0, false},
		{"one that does in too few bytes for a magic", long(math.MaxInt32)[:16], 9, CodeInvalidRecord, 0, false},
		{"one that does behind a batch", join(good, long(math.MaxInt32)), 9, CodeUnknownServerError, 0, false},
		{"a broken second header", join(good, change(good, posMagic, 3)), 9, CodeCorruptMessage, 0, false},
		{"zstd in v6", zstd, 6, CodeUnsupportedCompression, 0, false},
		{"zstd in v7", zstd, 7, 0, len(zstd), false},
	} {
		t.Run(tt.explanation, func(t *testing.T) {
			t.Parallel()
			batch, code := SplitProduce(tt.records, tt.version)
			require.Equal(t, tt.code, code)
			require.Len(t, batch, tt.size)
			first, reason := BrokenFirstHeader(tt.records)
			require.Equal(t, tt.broken, first != CodeNone)
			require.Equal(t, tt.broken, reason != "")
			if tt.broken {
				require.Equal(t, code, first)
			}
		})
	}
	require.False(t, FirstBatchTransactional(good))
	require.True(t, FirstBatchTransactional(transactional(t, 1, 1, 0, 0)))
}

func TestMaxTimestampIsCorrected(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	b := edit(mustBatch(t, []Record{{Timestamp: t0 + 5}, {Timestamp: t0}}, BatchOptions{}), func(b Batch) {
		b.putInt64(posMaxTimestamp, 1)
		b.putInt16(posAttributes, 0x180) // bits without a meaning
	})
	_, err := l.Append(t0, b, AppendOptions{})
	require.Nil(t, err)
	got, _ := batchesOf(fetch(l, 0))
	require.Equal(t, t0+5, got[0].MaxTimestamp())
	require.Zero(t, got[0].attributes(), "attributes are rebuilt")
	require.Equal(t, got[0].crc(), got[0].crcField())
}

func TestUnusedAttributesStayWhenNothingChanges(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	b := edit(mustBatch(t, testRecords(1, t0), BatchOptions{}), func(b Batch) { b.putInt16(posAttributes, 0x1c0) })
	_, err := l.Append(t0, b, AppendOptions{})
	require.Nil(t, err)
	got, _ := batchesOf(fetch(l, 0))
	require.Equal(t, int16(0x1c0), got[0].attributes())
}

func TestLogAppendTimeBitIsClearedOnCreateTime(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	b := edit(mustBatch(t, testRecords(2, t0-1e9), BatchOptions{LogAppendTime: true}), func(b Batch) { b.putInt64(posMaxTimestamp, t0+5) })
	_, err := l.Append(t0, b, AppendOptions{})
	require.Nil(t, err)
	got, _ := batchesOf(fetch(l, 0))
	require.Equal(t, CreateTime, got[0].TimestampType())
	require.Equal(t, t0+5, got[0].MaxTimestamp(), "belongs to no record now")
	require.Equal(t, nothingFound, l.ListOffsets(TimestampMax, ListOptions{CurrentLeaderEpoch: -1}))
}

func TestLogAppendTime(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.TimestampType = LogAppendTime; c.TimestampAfterMaxMs = 0 })
	r, err := l.Append(t0+7, mustBatch(t, []Record{{Timestamp: t0 * 2}, {Timestamp: 3}}, BatchOptions{}), AppendOptions{})
	require.Nil(t, err)
	require.Equal(t, t0+7, r.LogAppendTime)
	got, _ := batchesOf(fetch(l, 0))
	require.Equal(t, LogAppendTime, got[0].TimestampType())
	require.Equal(t, t0+7, got[0].MaxTimestamp())
	require.Equal(t, t0*2, got[0].BaseTimestamp(), "base timestamp and deltas stay")
	records, derr := DecodeBatch(nil, got[0], nil)
	require.NoError(t, derr)
	require.Equal(t, []int64{t0 + 7, t0 + 7}, []int64{records[0].Timestamp, records[1].Timestamp})
}

func TestCompressionType(t *testing.T) {
	t.Parallel()
	for codec, name := range codecNames {
		l := newTestLog(func(c *Config) { c.CompressionType = name })
		for from := range codecNames {
			in := testRecords(20, t0)
			in[3].Headers = []Header{{"h", []byte("v")}, {"n", nil}}
			in[4].Value = []byte{}
			in[5].Timestamp = t0 - 50
			b := mustBatch(t, in, BatchOptions{Codec: from, Idempotent: true, ProducerID: 9, ProducerEpoch: 1, BaseSequence: int32(from * 20)})
			r, err := l.Append(t0, b, AppendOptions{})
			require.Nil(t, err)
			got, _ := batchesOf(fetch(l, r.BaseOffset))
			require.Equal(t, codec, got[0].Codec(), "%s to %s", codecNames[from], name)
			require.Equal(t, got[0].crc(), got[0].crcField())
			require.Equal(t, t0, got[0].MaxTimestamp())
			out, derr := DecodeBatch(nil, got[0], nil)
			require.NoError(t, derr)
			require.Len(t, out, 20)
			for i, rec := range out {
				require.Equal(t, r.BaseOffset+int64(i), rec.Offset)
				require.Equal(t, int32(from*20+i), rec.Sequence)
				require.Equal(t, in[i].Timestamp, rec.Timestamp)
				require.Equal(t, in[i].Key, rec.Key)
				require.Equal(t, in[i].Value, rec.Value)
				require.Equal(t, in[i].Headers, rec.Headers)
			}
		}
	}
}

func TestTooLargeAfterRecompression(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.CompressionType = "uncompressed"; c.MaxMessageBytes = 1000 })
	b := mustBatch(t, []Record{{Timestamp: t0, Value: make([]byte, 2000)}}, BatchOptions{Codec: CodecGzip})
	_, err := l.Append(t0, b, AppendOptions{})
	require.NotNil(t, err)
	require.Equal(t, CodeMessageTooLarge, err.Code)
	require.Equal(t, int64(-1), err.LogStart)
}

// wrongDeltas is a compressed batch whose records have the offset deltas 0 and 5.
func wrongDeltas(t testing.TB) Batch {
	t.Helper()
	plain := mustBatch(t, testRecords(2, t0), BatchOptions{})
	second := plain[headerSize+len(body(t, 1)):]
	second[3] = 10
	packed, err := new(Codecs).pack(make([]byte, headerSize), CodecLZ4, 0, plain[headerSize:])
	require.NoError(t, err)
	h := headerOf(plain)
	h.attributes = CodecLZ4
	h.put(packed)
	return packed
}

func TestInnerOffsetDeltas(t *testing.T) {
	t.Parallel()
	l := newTestLog()
	_, err := l.Append(t0, wrongDeltas(t), AppendOptions{})
	require.NotNil(t, err)
	require.Equal(t, CodeUnknownServerError, err.Code, "Kafka means to rebuild it and fails")

	l = newTestLog(func(c *Config) { c.CompressionType = "gzip" })
	_, err = l.Append(t0, wrongDeltas(t), AppendOptions{})
	require.Nil(t, err, "repaired when the codec changes anyway")
	got, _ := batchesOf(fetch(l, 0))
	out, derr := DecodeBatch(nil, got[0], nil)
	require.NoError(t, derr)
	require.Equal(t, int64(1), out[1].Offset)
}

func TestCompressedRecordsThatDoNotDecode(t *testing.T) {
	t.Parallel()
	for codec := CodecGzip; codec <= CodecZstd; codec++ {
		plain := mustBatch(t, testRecords(3, t0), BatchOptions{})
		packed, err := new(Codecs).pack(make([]byte, headerSize), codec, 0, plain[headerSize:len(plain)-2])
		require.NoError(t, err)
		h := headerOf(plain)
		h.attributes = int16(codec)
		h.put(packed)
		_, refused := newTestLog().Append(t0, packed, AppendOptions{})
		require.NotNil(t, refused)
		require.Equal(t, CodeInvalidRecord, refused.Code, codecNames[codec])
	}
}

// What is wrong in the last record is said, though the checksum of the stream behind it is wrong as well: nobody got that far.
func TestBadRecordBeforeABadChecksumOfItsStream(t *testing.T) {
	t.Parallel()
	plain := mustBatch(t, testRecords(2, t0), BatchOptions{})
	plain[len(plain)-1] = 0x7f // -64 headers
	packed, err := new(Codecs).pack(nil, CodecGzip, 0, plain[headerSize:])
	require.NoError(t, err)
	packed[len(packed)-5]++
	_, refused := newTestLog().Append(t0, compressedBatch(CodecGzip, 2, packed), AppendOptions{})
	require.NotNil(t, refused)
	require.Equal(t, CodeInvalidRecord, refused.Code)
}

// Recorded from a live Kafka: Java's decoder doesn't look at the reserved flags of a gzip header.
func TestReservedFlagsOfGzip(t *testing.T) {
	t.Parallel()
	plain := mustBatch(t, testRecords(2, t0), BatchOptions{})
	packed, err := new(Codecs).pack(nil, CodecGzip, 0, plain[headerSize:])
	require.NoError(t, err)
	packed[gzipFlags] |= gzipReserved
	b := compressedBatch(CodecGzip, 2, packed)
	_, refused := newTestLog().Append(t0, b, AppendOptions{})
	require.Nil(t, refused)
	records, err := DecodeBatch(nil, b, nil)
	require.NoError(t, err)
	require.Len(t, records, 2)
	require.Equal(t, byte(gzipReserved), b[headerSize+gzipFlags], "what was produced stays as it is")
}

func TestSegmentsRoll(t *testing.T) {
	t.Parallel()
	size := len(mustBatch(t, testRecords(1, t0), BatchOptions{}))
	l := newTestLog(func(c *Config) { c.SegmentBytes = 2 * size; c.SegmentMs = 1000 })
	add := func(ms int64) bool {
		r, err := l.Append(t0, mustBatch(t, testRecords(1, ms), BatchOptions{}), AppendOptions{})
		require.Nil(t, err)
		return r.Rolled
	}
	require.False(t, add(t0))
	require.False(t, add(t0+1000), "a batch may fill a segment exactly")
	require.True(t, add(t0+1000), "full")
	require.True(t, add(t0+2001), "1001 ms behind the first batch, by record time")
	require.False(t, add(t0-5000), "not by going back")
	require.Len(t, l.segments, 3)

	l = newTestLog(func(c *Config) { c.SegmentMs = 1000 })
	produceAt := func(now int64) bool {
		r, err := l.Append(now, mustBatch(t, testRecords(1, -1), BatchOptions{}), AppendOptions{})
		require.Nil(t, err)
		return r.Rolled
	}
	require.False(t, produceAt(t0+5000), "an empty segment isn't followed")
	require.True(t, produceAt(t0+5000), "without timestamps by the segment's age")
	require.False(t, produceAt(t0+6000))
	require.True(t, produceAt(t0+6001))
}

func TestRefusedBatchMayHaveStartedASegment(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.SegmentMs = 1000 })
	produce(t, l, t0, testRecords(1, t0-5000)...)
	_, err := l.Append(t0, transactional(t, 1, 7, 0, 0), AppendOptions{})
	require.NotNil(t, err)
	require.Len(t, l.segments, 2)
	produce(t, l, t0, testRecords(1, t0)...)
	require.Len(t, l.segments, 2)
}

func TestMaxCompactionLagRollsCompactedTopics(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.CleanupCompact = true; c.MaxCompactionLagMs = 1000 })
	produce(t, l, t0, testRecords(1, t0)...)
	produce(t, l, t0, testRecords(1, t0+1001)...)
	require.Len(t, l.segments, 2)
}

func TestCoordinatorAppends(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.CleanupCompact = true })
	b := idempotent(t, 1, 5, 0, 3)
	binary.BigEndian.PutUint64(b, 77)
	_, err := l.Append(t0, b, AppendOptions{Origin: OriginCoordinator})
	require.Nil(t, err)
	_, err = l.Append(t0, idempotent(t, 1, 5, 0, 3), AppendOptions{Origin: OriginCoordinator})
	require.Nil(t, err, "sequences aren't looked at")
	_, err = l.Append(t0, transactional(t, 1, 6, 0, -1), AppendOptions{Origin: OriginCoordinator})
	require.Nil(t, err, "nor is a verification")
	require.Equal(t, int64(2), l.LastStable())
	require.Equal(t, int64(3), l.End())
}

func TestSegmentJitter(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.SegmentMs, cfg.SegmentJitterMs = 1000, 500
	l := New(cfg, t0, rand.New(rand.NewPCG(1, 2)))
	jitter := l.active().jitter
	require.Positive(t, jitter)
	require.Less(t, jitter, int64(500))
	produce(t, l, t0, testRecords(1, t0)...)
	produce(t, l, t0, testRecords(1, t0+1000-jitter)...)
	require.Len(t, l.segments, 1)
	produce(t, l, t0, testRecords(1, t0+1001-jitter)...)
	require.Len(t, l.segments, 2)
}

func TestTimestampBoundsThatWrap(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.TimestampAfterMaxMs = math.MaxInt64 })
	produce(t, l, t0, testRecords(1, math.MaxInt64)...)
	produce(t, l, t0, Record{Timestamp: -2})
	produce(t, l, t0, Record{Timestamp: -math.MaxInt64})

	l = newTestLog()
	_, err := l.Append(t0, mustBatch(t, testRecords(1, -math.MaxInt64), BatchOptions{}), AppendOptions{})
	require.NotNil(t, err)
	require.Equal(t, CodeInvalidTimestamp, err.Code, "it counts as far ahead")
}

func TestTimestampBoundsToTheMillisecond(t *testing.T) {
	t.Parallel()
	for _, compression := range []string{"producer", "gzip"} {
		l := newTestLog(func(c *Config) {
			c.TimestampBeforeMaxMs, c.TimestampAfterMaxMs, c.CompressionType = 1000, 2000, compression
		})
		for at, want := range map[int64]int16{-1000: CodeNone, -1001: CodeInvalidTimestamp, 2000: CodeNone, 2001: CodeInvalidTimestamp} {
			code := CodeNone
			if _, err := l.Append(t0, mustBatch(t, testRecords(1, t0+at), BatchOptions{}), AppendOptions{}); err != nil {
				code = err.Code
			}
			require.Equal(t, want, code, "%s: %d ms from now", compression, at)
		}
	}
}

func TestManyBadRecordsShareTheirText(t *testing.T) {
	t.Parallel()
	l := newTestLog(func(c *Config) { c.TimestampBeforeMaxMs = 0 })
	_, err := l.Append(t0, mustBatch(t, testRecords(200, t0-1), BatchOptions{}), AppendOptions{})
	require.Len(t, err.Records, 200)
	require.Contains(t, err.Records[99].Message, "1699999999999")
	require.Equal(t, err.Records[100].Message, err.Records[199].Message)
}

func TestRebuiltRecords(t *testing.T) {
	t.Parallel()
	rebuilding := func(c *Config) { c.CompressionType = "gzip" }
	l := newTestLog(rebuilding)
	b := edit(mustBatch(t, testRecords(1, t0), BatchOptions{}), func(b Batch) { b[headerSize+1] = 3 })
	_, err := l.Append(t0, b, AppendOptions{})
	require.Nil(t, err)
	got, _ := batchesOf(fetch(l, 0))
	plain, derr := unpackAll(new(Codecs), CodecGzip, got[0][headerSize:])
	require.NoError(t, derr)
	require.Zero(t, plain[1], "record attributes are 0 in what a broker writes")

	_, err = l.Append(t0, mustBatch(t, []Record{{Timestamp: t0}, {Timestamp: -2}}, BatchOptions{}), AppendOptions{})
	require.NotNil(t, err)
	require.Equal(t, CodeUnknownServerError, err.Code, "a live Kafka fails at a negative timestamp when it rebuilds")
	require.Zero(t, err.LogStart)
}

func TestProducerFieldsOfARebuiltBatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id            int64
		epoch         int16
		sequence      int32
		transactional bool
		code          int16
	}{
		{id: -1, epoch: 5, sequence: -7},
		{id: -1, epoch: -1, sequence: -1, transactional: true, code: CodeUnknownServerError},
		{id: -2, epoch: -1, sequence: 0, code: CodeUnknownServerError},
		{id: -2, epoch: 0, sequence: -1, code: CodeUnknownServerError},
		{id: -2, epoch: -2, sequence: 0},
		{id: 9, epoch: -1, sequence: 0, code: CodeUnknownServerError},
		{id: 9, epoch: 0, sequence: 0},
	} {
		for _, rebuilt := range []bool{true, false} {
			l := newTestLog(func(cfg *Config) {
				if rebuilt {
					cfg.CompressionType = "gzip"
				}
			})
			b := Batch(mustBatch(t, testRecords(1, t0), BatchOptions{}))
			h := headerOf(b)
			h.producerID, h.producerEpoch, h.baseSequence = c.id, c.epoch, c.sequence
			if c.transactional {
				h.attributes |= attrTransactional
			}
			h.put(b)
			_, err := l.Append(t0, b, AppendOptions{})
			if !rebuilt || c.code == 0 {
				require.Nil(t, err, "%+v", c)
				continue
			}
			require.NotNil(t, err, "%+v", c)
			require.Equal(t, c.code, err.Code, "%+v", c)
		}
	}
}
