package partitionlog

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"
)

// What Apache Kafka 4.3.1 answered to each of these streams, recorded from a live broker.
func TestDamagedStreams(t *testing.T) {
	t.Parallel()
	plain := body(t, 3)
	join := func(a []byte, b ...byte) []byte { return append(append([]byte(nil), a...), b...) }
	for codec := CodecGzip; codec <= CodecZstd; codec++ {
		full, err := new(Codecs).pack(nil, codec, 0, plain)
		require.NoError(t, err)
		short, err := new(Codecs).pack(nil, codec, 0, plain[:len(plain)-1])
		require.NoError(t, err)
		for _, tt := range []struct {
			explanation string
			packed      []byte
			count       int32
			codes       [4]int16 // gzip, snappy, lz4, zstd
		}{
			{"whole", full, 3, [4]int16{0, 0, 0, 0}},
			{"one byte short", full[:len(full)-1], 3, [4]int16{-1, -1, -1, -1}},
			{"half", full[:len(full)/2], 3, [4]int16{-1, -1, -1, -1}},
			{"a byte behind it", join(full, 7), 3, [4]int16{0, 0, 0, -1}},
			{"8 bytes behind it", join(full, 7, 7, 7, 7, 7, 7, 7, 7), 3, [4]int16{0, -1, 0, -1}},
			{"twice, all records counted", join(full, full...), 6, [4]int16{-1, -1, 87, -1}},
			{"twice, records of one counted", join(full, full...), 3, [4]int16{87, 87, 0, 87}},
			{"nothing", nil, 3, [4]int16{-1, -1, -1, 87}},
			{"records cut short", short, 3, [4]int16{87, 87, 87, 87}},
			{"more records counted", full, 4, [4]int16{87, 87, 87, 87}},
			{"fewer records counted", full, 2, [4]int16{87, 87, 87, 87}},
		} {
			var code int16
			_, refused := newTestLog().Append(t0, compressedBatch(codec, tt.count, tt.packed), AppendOptions{})
			reason := ""
			if refused != nil {
				code, reason = refused.Code, refused.Reason
				require.Zero(t, refused.LogStart)
				require.Empty(t, refused.Message)
			}
			if tt.codes[codec-1] != code {
				t.Errorf("%s, %s: want %d, got %d %s", codecNames[codec], tt.explanation, tt.codes[codec-1], code, reason)
			}
		}
	}
}

// Likewise recorded: records as they should not be.
func TestDamagedRecords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		explanation string
		record      []byte
		code        int16
	}{
		{"a length of six bytes", []byte{0xff, 0xff, 0xff, 0xff, 0xff, 1}, -1},
		{"a negative length", []byte{1}, 87},
		{"a length of 0", []byte{0, 0}, 87},
		{"a key length of -2 is null", []byte{12, 0, 0, 0, 3, 1, 0}, 0},
		{"a value length of -2 is null", []byte{12, 0, 0, 0, 1, 3, 0}, 0},
		{"a header key length of -1", []byte{16, 0, 0, 0, 1, 1, 2, 1, 1}, 87},
		{"a header value length of -2 is null", []byte{16, 0, 0, 0, 1, 1, 2, 0, 3}, 0},
		{"a body of one byte", []byte{2, 0}, 87},
		{"any offset delta", []byte{12, 0, 0, 20, 1, 1, 0}, 0},
		{"a negative timestamp delta", []byte{12, 0, 1, 20, 1, 1, 0}, 0},
	} {
		var code int16
		_, refused := newTestLog().Append(t0, withRecords(t, tt.record, 1), AppendOptions{})
		if refused != nil {
			code = refused.Code
		}
		require.Equal(t, tt.code, code, tt.explanation)
	}
}

func TestLZ4FramesOfAnyKind(t *testing.T) {
	t.Parallel()
	plain := body(t, 300)
	for _, options := range [][]lz4.Option{
		{lz4.ChecksumOption(true)},
		{lz4.BlockChecksumOption(true), lz4.BlockSizeOption(lz4.Block64Kb)},
		{lz4.SizeOption(uint64(len(plain))), lz4.ChecksumOption(true)},
		{lz4.CompressionLevelOption(lz4.Level9)},
	} {
		var packed bytes.Buffer
		w := lz4.NewWriter(&packed)
		require.NoError(t, w.Apply(options...))
		_, err := w.Write(plain)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		for _, behind := range [][]byte{nil, {1, 2, 3}} { // what follows the frame is ignored
			_, refused := newTestLog().Append(t0, compressedBatch(CodecLZ4, 300, append(packed.Bytes(), behind...)), AppendOptions{})
			require.Nil(t, refused)
		}
	}
}

// Blocks made by chance, many of them against the format's rules: that they end with 5 literals, and that no match has offset 0. The expected codes
// are those of Kafka's own classes.
func TestLZ4BlocksAsInKafka(t *testing.T) {
	t.Parallel()
	judgedAsInKafka(t, CodecLZ4, "testdata/lz4-blocks.txt")
}

// Frames of any blocks, damaged and cut short by chance, and what stands behind a frame. What can be read before it shows that a stream is not whole is
// judged first.
func TestZstdFramesAsInKafka(t *testing.T) {
	t.Parallel()
	judgedAsInKafka(t, CodecZstd, "testdata/zstd-frames.txt")
}

func judgedAsInKafka(t *testing.T, codec int, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var want int16
		var count int32
		var packed []byte
		_, err := fmt.Sscanf(line, "%d %d %x", &want, &count, &packed)
		require.NoError(t, err)
		_, refused := newTestLog().Append(t0, compressedBatch(codec, count, packed), AppendOptions{})
		var code int16
		if refused != nil {
			code = refused.Code
		}
		require.Equal(t, want, code, "%s%v", line, refused)
	}
}

// The library unpacks what ends as a compressor ends it: it is to come to the same as the brokers' rules do, whatever befell the block.
func TestLZ4BlocksByEitherWay(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	var compressor lz4.Compressor
	var r lz4Reader
	sound := 0
	for range 20_000 {
		plain := make([]byte, 20+random.IntN(400))
		for i := range plain {
			plain[i] = byte(i/40 + random.IntN(2)*random.IntN(3))
		}
		block := make([]byte, lz4.CompressBlockBound(len(plain)))
		n, err := compressor.CompressBlock(plain, block)
		require.NoError(t, err)
		block = block[:n]
		for range random.IntN(3) { // 0: as it is
			switch at := max(0, n-1-random.IntN(30)); {
			case n == 0:
			case random.IntN(3) == 0:
				block = block[:at]
			case at < len(block):
				block[at] ^= byte(1 << random.IntN(8))
			}
		}
		if len(block) == 0 {
			continue
		}
		r = lz4Reader{block: r.block, largest: len(plain) + random.IntN(20)}
		want, refused := unpackLZ4(nil, block, r.largest)
		err = r.unpackBlock(block)
		require.Equal(t, refused == nil, err == nil, "%x", block)
		if err == nil {
			sound++
			require.True(t, bytes.Equal(want, r.plain), "%x", block)
		}
	}
	require.Greater(t, sound, 3000)
}

// The reader of frames against the library's, over sizes around the blocks' and data that packs well, badly and not at all.
func TestLZ4ReaderAgainstTheLibrary(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	var c Codecs
	for _, size := range []int{1, 17, 65535, 65536, 65537, 300_000, 1 << 20} {
		for _, noise := range []int{0, 3, 256} { // of 256 bytes so many are random
			plain := make([]byte, size)
			for i := range plain {
				if plain[i] = byte(i / 7000); i%256 < noise {
					plain[i] = byte(random.Uint32())
				}
			}
			for _, options := range [][]lz4.Option{
				{lz4.BlockSizeOption(lz4.Block64Kb), lz4.BlockChecksumOption(true)}, {lz4.BlockSizeOption(lz4.Block4Mb)},
			} {
				var packed bytes.Buffer
				w := lz4.NewWriter(&packed)
				require.NoError(t, w.Apply(options...))
				_, err := w.Write(plain)
				require.NoError(t, err)
				require.NoError(t, w.Close())
				got, err := unpackAll(&c, CodecLZ4, packed.Bytes())
				require.NoError(t, err)
				require.True(t, bytes.Equal(plain, got))

				for range 20 { // damage is an error or unpacks to something, and never more
					bad := bytes.Clone(packed.Bytes())
					bad[random.IntN(len(bad))] ^= byte(1 + random.IntN(255))
					_, _ = unpackAll(&c, CodecLZ4, bad[:random.IntN(len(bad))+1])
				}
			}
		}
	}
}

func TestCompressionLevels(t *testing.T) {
	t.Parallel()
	plain := body(t, 300)
	var c Codecs
	for codec, levels := range map[int][]int{CodecGzip: {-1, 0, 1, 9}, CodecLZ4: {0, 1, 8, 9, 12, 17}, CodecZstd: {-131072, -1, 0, 3, 22}} {
		for _, level := range levels {
			packed, err := c.pack(nil, codec, level, plain)
			require.NoError(t, err)
			require.Less(t, len(packed), len(plain))
			got, err := unpackAll(&c, codec, packed)
			require.NoError(t, err)
			require.Equal(t, plain, got)
		}
	}
	_, err := c.pack(nil, 5, 0, plain)
	require.Error(t, err)
}

// unpackAll is what packed unpacks to, as a whole.
func unpackAll(c *Codecs, codec int, packed []byte) ([]byte, error) {
	from, err := c.unpack(codec, packed)
	if err != nil {
		return nil, err
	}
	if from.stream != nil {
		return io.ReadAll(from.stream)
	}
	var plain []byte
	for {
		block, err := from.blocks.next()
		if err == io.EOF {
			return plain, nil
		} else if err != nil {
			return plain, err
		}
		plain = append(plain, block...)
	}
}

// Records lie across the borders of blocks as chance has it; all are read, whatever the blocks' and the window's size.
func TestRecordsAcrossBlocks(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 7))
	var c Codecs
	for round := range 60 {
		var want []Record
		for range random.IntN(40) + 1 {
			value := make([]byte, random.IntN([]int{20, 3000, 70_000, 300_000}[round%4]))
			for i := range value {
				value[i] = byte(random.IntN(4))
			}
			want = append(want, Record{Timestamp: t0, Value: value})
		}
		plain := mustBatch(t, want, BatchOptions{})
		codec, body := CodecLZ4, []byte(nil)
		if round%2 == 0 {
			var out bytes.Buffer
			w := lz4.NewWriter(&out)
			require.NoError(t, w.Apply(lz4.BlockSizeOption(lz4.Block64Kb)))
			_, err := w.Write(plain[headerSize:])
			require.NoError(t, err)
			require.NoError(t, w.Close())
			body = out.Bytes()
		} else {
			var err error
			codec = CodecSnappy
			body, err = c.pack(nil, codec, 0, plain[headerSize:])
			require.NoError(t, err)
		}
		packed := withRecords(t, body, int32(len(want)))
		packed.putInt16(posAttributes, int16(codec))
		r, err := packed.records(&c)
		require.NoError(t, err)
		var rec rawRecord
		for i := range want {
			require.NoError(t, r.next(&rec), "record %d of %d", i, len(want))
			require.True(t, bytes.Equal(want[i].Value, rec.value), "record %d of %d", i, len(want))
		}
		end, err := r.atEnd()
		require.NoError(t, err)
		require.True(t, end)
		c.release()
	}
}
