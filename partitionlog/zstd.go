package partitionlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// Frames of zstd, as the library of Kafka's brokers (libzstd, by way of zstd-jni) takes them: it hands out what it has before it finds that they are
// cut short, so that what is wrong before decides the error.

const (
	// zstdStreamWindow is the largest window decoded as a stream; clients' levels up to 19 stay below.
	zstdStreamWindow = 8 << 20

	zstdBlockHeader  = 3
	zstdRaw          = 0 // a block's kind
	zstdRLE          = 1
	zstdLargestBlock = 128 << 10
)

// zstdEnd is how a stream of zstd frames ends.
type zstdEnd int

const (
	zstdEndsWhole zstdEnd = iota
	zstdCutShort
	zstdCutLater // behind a whole frame, in what begins as one
)

// endOfZstd tells how frames end. Where that is inside a block that is not compressed, a broker's library hands out what is there of it and ours doesn't: what is returned
// then is a copy in which the block is as long as that.
func endOfZstd(packed []byte) ([]byte, zstdEnd) {
	cut := zstdCutShort
	for at := 0; at < len(packed); cut = zstdCutLater {
		var h zstd.Header
		if h.Decode(packed[at:]) != nil {
			if beginsFrame(packed[at:]) {
				return packed, cut
			}
			if len(packed)-at < 4 { // our decoder would take it for a frame's beginning
				packed = append(slices.Clone(packed), 0, 0, 0)
			}
			return packed, zstdEndsWhole
		}
		at += h.HeaderSize
		if h.Skippable {
			if uint64(h.SkippableSize) > uint64(len(packed)-at) {
				return packed, cut
			}
			at += int(h.SkippableSize)
			continue
		}
		for last := false; !last; {
			if len(packed)-at < zstdBlockHeader {
				return packed, cut
			}
			head := int(packed[at]) | int(packed[at+1])<<8 | int(packed[at+2])<<16
			kind, size, there := head>>1&3, head>>3, len(packed)-at-zstdBlockHeader
			last = head&1 != 0
			if kind == zstdRLE {
				size = 1
			}
			if size > there {
				if kind == zstdRaw && size <= zstdLargestBlock && (h.SingleSegment || uint64(size) <= h.WindowSize) {
					packed = slices.Clone(packed)
					packed[at], packed[at+1], packed[at+2] = byte(there<<3|zstdRaw<<1), byte(there>>5), byte(there>>13)
				}
				return packed, cut
			}
			at += zstdBlockHeader + size
		}
		if h.HasCheckSum {
			at += 4
		}
		if at > len(packed) {
			return packed, cut
		}
	}
	return packed, zstdEndsWhole
}

// beginsFrame says whether these bytes, which may be few, are the first of a zstd frame, or of one that is to be skipped.
func beginsFrame(b []byte) bool {
	b = slices.Clone(b[:min(4, len(b))])
	if b[0]&0xf0 == 0x50 {
		b[0] = 0x50
	}
	return bytes.HasPrefix([]byte{0x28, 0xb5, 0x2f, 0xfd}, b) || bytes.HasPrefix([]byte{0x50, 0x2a, 0x4d, 0x18}, b)
}

func (c *Codecs) unpackZstd(packed []byte) (io.Reader, error) {
	packed, end := endOfZstd(packed)
	c.in.Reset(packed)
	var h zstd.Header
	if err := h.Decode(packed); err != nil {
		return nil, fmt.Errorf("zstd: %w", noEOF(err))
	}
	if h.WindowSize > zstdStreamWindow {
		// A stream decoder reserves the window at once. This way memory grows with what is there.
		if h.HasFCS && h.FrameContentSize > maxWindow {
			return nil, fmt.Errorf("zstd: the frame claims %d bytes; at most %d are taken", h.FrameContentSize, maxWindow)
		}
		if c.zstdBig == nil {
			d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxWindow), zstd.WithDecoderMaxWindow(128<<20))
			if err != nil {
				return nil, fmt.Errorf("zstd: %w", err)
			}
			c.zstdBig = d
		}
		plain, err := c.zstdBig.DecodeAll(packed, nil)
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", noEOF(err))
		}
		return bytes.NewReader(plain), nil
	}
	if c.zstdR.z == nil {
		// One goroutine's worth of concurrency decodes in the caller and starts none.
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdStreamWindow), zstd.WithDecodeBuffersBelow(0))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		c.zstdR.z = d
	}
	if err := c.zstdR.z.Reset(&c.in); err != nil {
		return nil, fmt.Errorf("zstd: %w", noEOF(err))
	}
	c.zstdR.end = end
	return &c.zstdR, nil
}

// zstdReader is a stream of frames. What lies before a corrupt place is never seen, what lies before the end of a frame or of a stream that is cut
// short is. After a whole frame there may be some of another one: it ends the stream.
type zstdReader struct {
	z   *zstd.Decoder
	end zstdEnd
}

func (r *zstdReader) Read(p []byte) (n int, err error) {
	n, err = readMost(r.z, p)
	switch {
	case err == nil, err == io.EOF, errors.Is(err, zstd.ErrMagicMismatch):
	case !errors.Is(err, io.ErrUnexpectedEOF), r.end == zstdEndsWhole:
		n = 0
	case r.end == zstdCutLater:
		err = io.EOF
	}
	return n, err
}
