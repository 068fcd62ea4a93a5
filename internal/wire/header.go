package wire

import (
	"encoding/binary"
	"fmt"
)

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
// key, version, correlation id and client id are filled then as far as they could be read.
// ApiVersions is parsed at any version: the caller answers unknown ones in the v0
// form ([Accepted] tells), without reading the body.
func (h *Header) Parse(frame []byte) (body []byte, err error) {
	*h = Header{ClientID: h.ClientID}
	if len(frame) < 4 {
		return nil, fmt.Errorf("request header: %w", errShort)
	}
	h.Key = Key(binary.BigEndian.Uint16(frame))
	h.Version = int16(binary.BigEndian.Uint16(frame[2:]))
	rest := frame[4:]
	if len(rest) >= 4 {
		h.CorrelationID = int32(binary.BigEndian.Uint32(rest))
	}
	unserved := !Accepted(h.Key, h.Version) && h.Key != ApiVersions
	rest, err = h.parseClientID(rest)
	switch {
	case unserved:
		return nil, &UnsupportedError{h.Key, h.Version}
	case err != nil:
		return nil, fmt.Errorf("request header: %w", err)
	}
	if Flexible(h.Key, h.Version) {
		w := walker{rest: rest, compact: true}
		if err := w.tagSection(&op{}); err != nil {
			return nil, fmt.Errorf("request header: %w", err)
		}
		rest = w.rest
	}
	return rest, nil
}

// parseClientID reads the client id of a header's rest, which begins with the correlation id.
func (h *Header) parseClientID(rest []byte) ([]byte, error) {
	if len(rest) < 6 {
		return nil, errShort
	}
	n := int(int16(binary.BigEndian.Uint16(rest[4:])))
	rest = rest[6:]
	n = max(n, 0) // any negative length is a null
	if n > len(rest) {
		return nil, fmt.Errorf("client id of %d bytes announced, %d are left", n, len(rest))
	}
	if string(rest[:n]) != h.ClientID {
		id, err := writable(rest[:n])
		if err != nil {
			return nil, fmt.Errorf("client id: %w", err)
		}
		h.ClientID = id
	}
	return rest[n:], nil
}

// UnsupportedError is a key or version that a 4.3.1 broker doesn't serve.
type UnsupportedError struct {
	Key     Key
	Version int16
}

func (e *UnsupportedError) Error() string {
	a, ok := lookup(e.Key)
	if !ok {
		return fmt.Sprintf("API key %d is not served on this listener", int16(e.Key))
	}
	return fmt.Sprintf("%s v%d is not served, versions %d to %d are", a.name, e.Version, a.lowest(), a.max)
}

// TooOld tells whether Kafka served the version once: clients from before Kafka 2.1 send it (KIP-896), and those that were told the broker is so old.
func (e *UnsupportedError) TooOld() bool {
	a, ok := lookup(e.Key)
	return ok && e.Version >= 0 && e.Version < a.lowest()
}
