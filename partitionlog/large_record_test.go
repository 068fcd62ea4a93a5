package partitionlog

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"
)

// largeRecord is a batch of one record of 8 MiB.
func largeRecord(tb testing.TB, codec int) Batch {
	b, err := BuildBatch([]Record{{Timestamp: t0, Value: bytes.Repeat([]byte("0123456789abcdef"), 8<<16)}}, BatchOptions{Codec: codec})
	require.NoError(tb, err)
	return b
}

// BenchmarkLargeRecord: a record of many blocks costs what it is long, not that times the blocks.
func BenchmarkLargeRecord(b *testing.B) {
	for codec := CodecGzip; codec <= CodecZstd; codec++ {
		b.Run(codecNames[codec], func(b *testing.B) {
			batch := largeRecord(b, codec)
			var c Codecs
			b.SetBytes(8 << 20)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := DecodeBatch(nil, batch, &c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A record that lies in very many blocks, some 60 MB of them in a batch of 1 MB, is read in a moment. Were all of it copied for each block, this
// test would take minutes.
func TestARecordOfVeryManyBlocks(t *testing.T) {
	t.Parallel()
	const blocks, plain = 60_000, 1000
	var packer lz4.Compressor
	block := make([]byte, lz4.CompressBlockBound(plain))
	n, err := packer.CompressBlock(make([]byte, plain), block)
	require.NoError(t, err)
	require.Positive(t, n)
	first := binary.AppendVarint(nil, blocks*plain) // of the record; the rest of its block is zeros
	first = append(first, make([]byte, 20)...)
	var frame bytes.Buffer
	w := lz4.NewWriter(&frame)
	require.NoError(t, w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false)))
	require.NoError(t, w.Close()) // only for its header
	body := append([]byte{}, frame.Bytes()[:7]...)
	body = append(binary.LittleEndian.AppendUint32(body, uint32(len(first))|lz4NotPacked), first...)
	for range blocks {
		body = append(binary.LittleEndian.AppendUint32(body, uint32(n)), block[:n]...)
	}
	body = binary.LittleEndian.AppendUint32(body, 0)
	b := compressedBatch(CodecLZ4, 1, body)
	require.Less(t, len(b), 2<<20)
	_, err = DecodeBatch(nil, b, nil)
	require.ErrorContains(t, err, "left over in a record", "all of it was read")
}
