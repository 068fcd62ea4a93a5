package wire

import (
	"bytes"
	"encoding/binary"
	"io"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func framed(frames ...[]byte) []byte {
	var out []byte
	for _, f := range frames {
		out = binary.BigEndian.AppendUint32(out, uint32(len(f)))
		out = append(out, f...)
	}
	return out
}

func TestFrames(t *testing.T) {
	t.Parallel()
	frames := [][]byte{
		[]byte("x"),
		bytes.Repeat([]byte("small"), 100),
		bytes.Repeat([]byte("middle"), 5000),
		bytes.Repeat([]byte("large"), 400_000),
		[]byte("y"),
		bytes.Repeat([]byte("larger"), 1_000_000),
	}
	for name, slow := range map[string]func(io.Reader) io.Reader{
		"at once":      func(r io.Reader) io.Reader { return r },
		"byte by byte": iotest.OneByteReader,
		"in halves":    iotest.HalfReader,
		"error early":  iotest.DataErrReader,
	} {
		f := NewFrameReader(slow(bytes.NewReader(framed(frames...))), 10<<20)
		for _, want := range frames {
			got, err := f.Next()
			require.NoError(t, err, name)
			require.True(t, bytes.Equal(want, got), name)
		}
		_, err := f.Next()
		require.Equal(t, io.EOF, err, name)
	}
}

func TestBadFrameSizes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bytes       string
		want        string
		explanation string
	}{
		{"\x00\x00\x00\x00", "frame of 0 bytes", "empty"},
		{"\xff\xff\xff\xff", "frame of -1 bytes", "negative"},
		{"\x00\x00\x04\x01", "frame of 1025 bytes announced, 1 to 1024 are allowed", "over the limit"},
		{"GET / HTTP/1.1\r\n", "frame of 1195725856 bytes", "HTTP"},
		{"\x16\x03\x01\x02\x00", "frame of 369295618 bytes", "TLS"},
	} {
		_, err := NewFrameReader(bytes.NewReader([]byte(c.bytes)), 1024).Next()
		require.ErrorContains(t, err, c.want, c.explanation)
		var bad *FrameError
		require.ErrorAs(t, err, &bad)
	}
	for _, cut := range []string{"\x00", "\x00\x00\x00\x02", "\x00\x00\x00\x02x"} {
		_, err := NewFrameReader(bytes.NewReader([]byte(cut)), 1024).Next()
		require.Equal(t, io.ErrUnexpectedEOF, err, "%q", cut)
	}
	exactly := framed(make([]byte, 1024))
	_, err := NewFrameReader(bytes.NewReader(exactly), 1024).Next()
	require.NoError(t, err, "exactly the limit is fine")
}

// A client that announces 100 MiB and sends 1 KiB must not cost 100 MiB.
func TestAnAnnouncedSizeIsNotAllocated(t *testing.T) {
	lie := binary.BigEndian.AppendUint32(nil, 100<<20)
	lie = append(lie, make([]byte, 1<<10)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		_, err := NewFrameReader(bytes.NewReader(lie), 100<<20).Next()
		require.Equal(t, io.ErrUnexpectedEOF, err)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100*(firstStep+readAhead+4<<10)))
}

func BenchmarkFrameReader(b *testing.B) {
	for _, c := range []struct {
		name string
		size int
	}{{"100B", 100}, {"16KiB", 16 << 10}, {"1MiB", 1 << 20}} {
		b.Run(c.name, func(b *testing.B) {
			one := framed(make([]byte, c.size))
			src := &endless{one: one, left: one}
			f := NewFrameReader(src, 100<<20)
			b.SetBytes(int64(c.size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// endless gives the same bytes again and again, at most one round per read.
type endless struct{ one, left []byte }

func (e *endless) Read(p []byte) (int, error) {
	if len(e.left) == 0 {
		e.left = e.one
	}
	n := copy(p, e.left)
	e.left = e.left[n:]
	return n, nil
}
