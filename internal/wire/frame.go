package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	// readAhead is a connection's buffer: most requests, of a record of 1 KiB too, come whole in one read of it.
	readAhead = 2 << 10
	// firstStep is how much of an announced frame is allocated for a stranger.
	firstStep = 16 << 10
	// maxTrust bounds what is allocated at once for a connection whose last frame was large.
	maxTrust = 32 << 20
)

// FrameReader cuts a connection's bytes into frames: an int32 size, then that
// many bytes. It never allocates by an announced size alone: a frame's buffer
// grows as its bytes arrive, and at once only to what the connection's last frames
// have shown to be honest.
type FrameReader struct {
	r     *bufio.Reader
	limit int32
	trust int // bytes allocated for a frame before any of it came
}

// NewFrameReader reads frames of at most limit bytes (socket.request.max.bytes) from r.
func NewFrameReader(r io.Reader, limit int32) *FrameReader {
	return &FrameReader{r: bufio.NewReaderSize(r, readAhead), limit: limit, trust: firstStep}
}

// Next returns the next frame without its size. The slice is the caller's. At
// the end between two frames the error is io.EOF, within one io.ErrUnexpectedEOF;
// a bad size is a [*FrameError].
func (f *FrameReader) Next() ([]byte, error) {
	head, err := f.r.Peek(4)
	if err != nil {
		if err == io.EOF && len(head) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	announced := int32(binary.BigEndian.Uint32(head))
	if announced <= 0 || announced > f.limit {
		return nil, &FrameError{announced, f.limit}
	}
	if _, err := f.r.Discard(4); err != nil {
		return nil, err
	}
	size := int(announced)
	buf := make([]byte, min(size, f.trust))
	got := 0
	for {
		// bufio reads large rests straight into buf, without its own buffer.
		n, err := io.ReadFull(f.r, buf[got:])
		got += n
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if got == size {
			break
		}
		grown := make([]byte, min(size, 2*got))
		copy(grown, buf)
		buf = grown
	}
	// Trust that was earned fades slowly: a producer's small frames between its large ones must not make those grow
	// step by step again, which would copy them.
	f.trust = min(max(2*size, f.trust-f.trust/64, firstStep), maxTrust)
	return buf, nil
}

// FrameError is a frame size that is zero, negative or over the limit.
type FrameError struct{ Size, Limit int32 }

func (e *FrameError) Error() string {
	return fmt.Sprintf("frame of %d bytes announced, 1 to %d are allowed", e.Size, e.Limit)
}
