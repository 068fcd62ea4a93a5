package wire

import "io"

// FrameReader cuts a connection's bytes into frames: an int32 size, then that
// many bytes.
type FrameReader struct{ r io.Reader }

// NewFrameReader reads frames of at most limit bytes (socket.request.max.bytes) from r.
func NewFrameReader(r io.Reader, limit int32) *FrameReader { panic("TODO") }

// SetLimit changes the largest frame size allowed from the next frame on.
func (f *FrameReader) SetLimit(limit int32) { panic("TODO") }

// Buffered says how many bytes of following frames were read already.
func (f *FrameReader) Buffered() int { panic("TODO") }

// Next returns the next frame without its size. The slice is the caller's. At
// the end between two frames the error is io.EOF, within one io.ErrUnexpectedEOF;
// a bad size is a [*FrameError].
func (f *FrameReader) Next() ([]byte, error) { panic("TODO") }

// FrameError is a frame size that is zero, negative or over the limit.
type FrameError struct{ Size, Limit int32 }

func (e *FrameError) Error() string { panic("TODO") }
