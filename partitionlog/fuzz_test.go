package partitionlog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"
)

// FuzzAppend gives any bytes, with the header repaired so that they come past the first checks, to everything that looks at
// batches. Nothing may panic, and what is accepted must decode and come back from the log.
func FuzzAppend(f *testing.F) {
	for codec := range codecNames {
		records := testRecords(3, t0)
		records[1].Headers = []Header{{"a", nil}, {"", []byte("b")}}
		b, err := BuildBatch(records, BatchOptions{Codec: codec, Transactional: codec == CodecLZ4, ProducerID: 3})
		require.NoError(f, err)
		f.Add([]byte(b), uint8(codec))
	}
	f.Add([]byte{}, uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, choice uint8) {
		FirstBatchTransactional(data)
		BrokenFirstHeader(data)
		_, _ = DecodeBatch(nil, data, nil)
		batch, code := SplitProduce(data, 9)
		if code != 0 {
			return
		}
		if b := Batch(batch); len(b) >= headerSize {
			b.putInt64(posBaseOffset, 0)
			b.seal()
			checkScans(t, b)
		}
		l := newTestLog(func(c *Config) {
			c.CleanupCompact = choice&8 != 0
			c.TransactionVerification = choice&16 == 0
			if choice&32 != 0 {
				c.TimestampType = LogAppendTime
			}
			if choice&64 != 0 {
				c.CompressionType = codecNames[int(choice&7)%len(codecNames)]
			}
		})
		v, _ := l.BeginVerification(t0, batch, 9)
		r, refused := l.Append(t0, batch, AppendOptions{Verification: v})
		if refused != nil {
			require.NotEmpty(t, refused.Reason)
			require.Zero(t, l.End())
			return
		}
		kept, partial := batchesOf(fetch(l, 0))
		require.Zero(t, partial)
		require.Len(t, kept, 1)
		require.Equal(t, kept[0].crc(), kept[0].crcField())
		records, err := DecodeBatch(nil, kept[0], nil)
		lies := err != nil // a compressed batch is kept although a record is not as long as it says
		if lies {
			require.NotEqual(t, CodecNone, kept[0].Codec())
		} else {
			require.Len(t, records, r.Records)
		}
		l.ListOffsets(TimestampMax, ListOptions{CurrentLeaderEpoch: -1})
		l.ListOffsets(t0, ListOptions{CurrentLeaderEpoch: -1})
		if l.cfg.CleanupCompact {
			l.Roll(t0)
			if _, err := l.Compact(t0, nil); err != nil && !lies {
				require.ErrorIs(t, err, errRewrite)
				require.True(t, cannotBeRewritten(kept[0], records), "%v", err)
			}
		}
	})
}

// cannotBeRewritten tells whether a broker that keeps a batch as it came may be unable to write it.
func cannotBeRewritten(b Batch, records []Record) bool {
	for i, r := range records {
		if r.Timestamp < noTimestamp || i > 0 && r.Offset <= records[i-1].Offset {
			return true
		}
	}
	if b.ProducerID() == noProducerID {
		return b.Transactional()
	}
	return b.ProducerEpoch() == noProducerEpoch || b.BaseSequence() < 0
}

// checkScans holds the quick walks over records, uncompressed and compressed, to the general one.
func checkScans(t *testing.T, b Batch) {
	if b.RecordCount() < 0 {
		return
	}
	l := newTestLog()
	same := func(general, quick recordScan, generalErr, quickErr error, kept bool) {
		if kept && generalErr != nil && quickErr == nil {
			return // a record of a compressed batch that is kept need not be as long as it says
		}
		require.Equal(t, generalErr == nil, quickErr == nil, "%v, %v", generalErr, quickErr)
		if quickErr == nil {
			require.Equal(t, general.maxTimestamp, quick.maxTimestamp)
			require.Equal(t, general.bad, quick.bad)
			require.Equal(t, general.badTimestamp, quick.badTimestamp)
		}
	}
	each := func(int, *rawRecord) {} // whoever asks for the records gets the general walk
	general, generalErr := l.scan(t0, b, nil, each)
	skimmed, skimmedErr := l.scan(t0, b, nil, nil)
	same(general, skimmed, generalErr, skimmedErr, b.Codec() != CodecNone)
	if generalErr == nil {
		require.Equal(t, general.consecutive, skimmed.consecutive)
	}
	if b.Codec() != CodecNone {
		return
	}
	quick, quickErr := l.scanPlain(t0, b)
	same(general, quick, generalErr, quickErr, false)
	if len(b) == headerSize {
		return // nothing packed is an error of its own
	}
	for _, codec := range []int{CodecSnappy, CodecLZ4} {
		var c Codecs
		packed, err := c.pack(bytes.Clone(b[:headerSize]), codec, 0, b[headerSize:])
		require.NoError(t, err)
		of := Batch(packed)
		of.putInt16(posAttributes, b.attributes()|int16(codec))
		unpacked, unpackedErr := l.scan(t0, of, &c, nil)
		same(general, unpacked, generalErr, unpackedErr, true)
	}
}

// FuzzBuildBatch: what was encoded is what is decoded, whatever the codec.
func FuzzBuildBatch(f *testing.F) {
	f.Add(uint64(1), uint8(3), uint8(0))
	f.Add(uint64(2), uint8(200), uint8(4))
	f.Fuzz(func(t *testing.T, seed uint64, count, codec uint8) {
		checkBuild(t, rand.New(rand.NewPCG(seed, 2)), 1+int(count), int(codec)%len(codecNames))
	})
}

func TestDecodedIsWhatWasEncoded(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 2))
		checkBuild(t, rng, 1+rng.IntN(300), int(seed)%len(codecNames))
	}
}

func checkBuild(t *testing.T, rng *rand.Rand, count, codec int) {
	some := func() []byte {
		switch rng.IntN(6) {
		case 0:
			return nil
		case 1:
			return []byte{}
		case 2:
			return bytes.Repeat([]byte{'x'}, rng.IntN(70000))
		}
		b := make([]byte, rng.IntN(200))
		for i := range b {
			b[i] = byte(rng.IntN(256))
		}
		return b
	}
	records := make([]Record, count)
	for i := range records {
		records[i] = Record{
			Offset: int64(i), Timestamp: rng.Int64N(t0 * 2), Key: some(), Value: some(),
			ProducerID: 9, ProducerEpoch: 3, Sequence: incrementSequence(2147483600, int32(i)), Transactional: true,
		}
		for range rng.IntN(3) * rng.IntN(2) {
			records[i].Headers = append(records[i].Headers, Header{string(some()), some()})
		}
	}
	b, err := BuildBatch(records, BatchOptions{Codec: codec, Transactional: true, ProducerID: 9, ProducerEpoch: 3, BaseSequence: 2147483600})
	require.NoError(t, err)
	require.Equal(t, b, func() []byte { b, _ := SplitProduce(b, 9); return b }())
	got, err := DecodeBatch(nil, b, new(Codecs))
	require.NoError(t, err)
	require.Equal(t, records, got)
}

// compressedBatch puts a header before a compressed stream that claims count records.
func compressedBatch(codec int, count int32, packed []byte) Batch {
	b := append(make(Batch, headerSize), packed...)
	batchHeader{attributes: int16(codec), lastOffsetDelta: count - 1, count: count, maxTimestamp: t0, baseTimestamp: t0, producerID: -1, producerEpoch: -1, baseSequence: -1}.put(b)
	return b
}

// record is the start of a record of size bytes.
func record(size int) []byte {
	b := appendVarint(nil, int64(size))
	b = append(b, 0, 0, 0, 1)
	return appendVarint(b, int64(size))
}

func TestDecompressionBombs(t *testing.T) {
	zeros := make([]byte, 1<<20)
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write(record(1 << 30))
	for range 80 {
		_, _ = w.Write(zeros)
	}
	require.NoError(t, w.Close())

	var framed bytes.Buffer
	fw := lz4.NewWriter(&framed)
	_, _ = fw.Write(record(1 << 30))
	for range 80 {
		_, _ = fw.Write(zeros)
	}
	require.NoError(t, fw.Close())

	// A zstd frame of RLE blocks: 4 bytes for 128 KiB, with a window of 8 MiB, or one of 128 MiB.
	rle := func(window byte) []byte {
		b := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, window}
		head := record(1 << 30)
		n := uint32(len(head)) << 3
		b = append(append(b, byte(n), byte(n>>8), byte(n>>16)), head...)
		for range 700 {
			n := uint32(128<<10)<<3 | 1<<1
			b = append(b, byte(n), byte(n>>8), byte(n>>16), 0)
		}
		return b
	}
	claim := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0} // a frame of 4 GiB in one byte
	for name, b := range map[string]Batch{
		"gzip":                         compressedBatch(CodecGzip, 1, zipped.Bytes()),
		"lz4":                          compressedBatch(CodecLZ4, 1, framed.Bytes()),
		"zstd":                         compressedBatch(CodecZstd, 1, rle(13<<3)),
		"zstd with a large window":     compressedBatch(CodecZstd, 1, rle(17<<3)),
		"zstd that claims 4 GiB":       compressedBatch(CodecZstd, 1, claim),
		"snappy that claims 4 GiB":     compressedBatch(CodecSnappy, 1, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0}),
		"snappy blocks longer than it": compressedBatch(CodecSnappy, 1, append(bytes.Clone(xerialHeader), 0x7f, 0xff, 0xff, 0xff, 1)),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, refused := newTestLog(func(c *Config) { c.MaxMessageBytes = 1 << 30 }).Append(t0, b, AppendOptions{})
		runtime.ReadMemStats(&after)
		require.NotNil(t, refused, name)
		require.Equal(t, CodeUnknownServerError, refused.Code, "%s: %s", name, refused.Reason)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8*maxWindow), name)
	}
}

func TestZstdLevelsOfClients(t *testing.T) {
	t.Parallel()
	for _, level := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault, zstd.SpeedBestCompression} {
		for _, window := range []int{zstd.MinWindowSize, 1 << 20, 8 << 20, 128 << 20} {
			var packed bytes.Buffer
			w, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(level), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
			require.NoError(t, err)
			plain := body(t, 1000)
			for len(plain) > 0 { // in pieces, so that the frame doesn't know its size
				n := min(700, len(plain))
				_, err := w.Write(plain[:n])
				require.NoError(t, err)
				plain = plain[n:]
			}
			require.NoError(t, w.Close())
			_, refused := newTestLog().Append(t0, compressedBatch(CodecZstd, 1000, packed.Bytes()), AppendOptions{})
			require.Nil(t, refused, fmt.Sprint(level, window))
		}
	}
}
