package partitionlog

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

// In a batch that is kept compressed a broker skims the records: what they say of their lengths doesn't count.
func TestRecordThatLiesAboutItsLength(t *testing.T) {
	t.Parallel()
	lying := func(codec int, length byte) Batch {
		var c Codecs
		plain := mustBatch(t, []Record{{Timestamp: t0, Key: []byte("a"), Value: []byte("1"), Headers: []Header{{Key: "h"}}}, {Timestamp: t0, Key: []byte("b")}}, BatchOptions{})
		plain[headerSize] = length
		b := plain
		if codec != CodecNone {
			var err error
			b, err = c.pack(append(make([]byte, 0, 200), plain[:headerSize]...), codec, 0, plain[headerSize:])
			require.NoError(t, err)
		}
		h := headerOf(plain)
		h.attributes = int16(codec)
		h.put(b)
		b.putInt64(posBaseOffset, 0)
		return b
	}
	for codec := CodecNone; codec <= CodecZstd; codec++ {
		for _, length := range []byte{0, 1, 2, 20, 24, 0x7e} {
			l := newTestLog(func(c *Config) { c.CleanupDelete, c.CleanupCompact, c.SegmentMs = false, true, 1 })
			produce(t, l, t0, Record{Timestamp: t0 - 100, Key: []byte("a")})
			_, err := l.Append(t0, lying(codec, length), AppendOptions{})
			if codec == CodecNone {
				require.NotNil(t, err)
				require.Equal(t, CodeInvalidRecord, err.Code)
				continue
			}
			require.Nil(t, err, "codec %d length %d", codec, length)
			require.Equal(t, CodeInvalidRecord, l.ListOffsets(t0, ListOptions{CurrentLeaderEpoch: -1}).Code)
			produce(t, l, t0, Record{Timestamp: t0 + 100, Key: []byte("a")})
			require.True(t, l.Cleanable(t0).Due)
			_, failed := l.Compact(t0, nil)
			require.Error(t, failed)
			require.False(t, l.Cleanable(t0).Due, "it is left alone")

			other := newTestLog(func(c *Config) { c.CompressionType = codecNames[codec%CodecZstd+1] })
			_, err = other.Append(t0, lying(codec, length), AppendOptions{})
			require.NotNil(t, err, "a batch that is rebuilt is read")
			require.Equal(t, CodeInvalidRecord, err.Code)
		}
	}
}

// However many records say that they are as long as the rest of the batch, or as what is unpacked at a time, it is walked once.
func TestManyRecordsThatLieAboutTheirLength(t *testing.T) {
	t.Parallel()
	const count = 1 << 20
	h := headerOf(mustBatch(t, []Record{{Timestamp: t0}}, BatchOptions{}))
	h.lastOffsetDelta, h.count = count-1, count
	for _, claimed := range []int64{1<<31 - 1, 4 << 20} {
		var plain []byte
		for i := range count {
			plain = append(appendVarint(plain, claimed), 0, 0)
			plain = append(appendVarint(plain, int64(i)), 1, 1, 0) // no key, no value, no headers
		}
		for codec := CodecGzip; codec <= CodecZstd; codec++ {
			var c Codecs
			packed, err := c.pack(make([]byte, headerSize), codec, 0, plain)
			require.NoError(t, err)
			b := Batch(packed)
			h.attributes = int16(codec)
			h.put(b)
			b.putInt64(posBaseOffset, 0)
			l := newTestLog(func(c *Config) { c.MaxMessageBytes = 64 << 20 })
			_, refused := l.Append(t0, b, AppendOptions{Codecs: &c})
			require.Nil(t, refused)
		}
	}
}

// A gzip stream that is corrupt behind the records is not looked at for what they are.
func TestGzipStreamThatIsCorruptBehindTheRecords(t *testing.T) {
	t.Parallel()
	deflated, err := hex.DecodeString("1f8b08000000000000ff000900f6ff10000000026b0200000301d3a1aadf09000000")
	require.NoError(t, err)
	h := headerOf(mustBatch(t, testRecords(1, t0), BatchOptions{}))
	h.attributes = CodecGzip
	b := append(make(Batch, headerSize), deflated...)
	h.put(b)
	b.putInt64(posBaseOffset, 0)
	l := newTestLog()
	_, refused := l.Append(t0, b, AppendOptions{})
	require.NotNil(t, refused)
	require.Equal(t, CodeUnknownServerError, refused.Code)
}
