package wire

// Header is a request header (v1 or v2).
type Header struct {
	Key           Key
	Version       int16
	CorrelationID int32
	ClientID      string // "" also for null, which Kafka treats the same
}

// Parse reads the header of a frame into h and returns what follows it. It
// reuses h's client id where it is the same, so that a connection's own Header
// costs no allocation per request.
//
// The error is an [*UnsupportedError] for a key or version that is not served;
// key, version, correlation id are filled then as far as they could be read.
// ApiVersions is parsed at any version: the caller answers unknown ones.
func (h *Header) Parse(frame []byte) (body []byte, err error) { panic("TODO") }

// UnsupportedError is a key or version that a 4.3.1 broker doesn't serve.
type UnsupportedError struct {
	Key     Key
	Version int16
}

func (e *UnsupportedError) Error() string { panic("TODO") }
