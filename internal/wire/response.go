package wire

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// AppendResponse appends the frame of an answer: size, header, body. Key and
// version are resp's own, as in a response from kmsg's ResponseKind.
func AppendResponse(dst []byte, correlationID int32, resp kmsg.Response) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = appendResponseHeader(dst, correlationID, Key(resp.Key()), resp.GetVersion())
	dst = resp.AppendTo(dst)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// appendResponseHeader appends header v0, or v1 for flexible versions.
// ApiVersions keeps v0, so that a client can read the answer to a version the
// broker doesn't know.
func appendResponseHeader(dst []byte, correlationID int32, k Key, version int16) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlationID))
	if Flexible(k, version) && k != ApiVersions {
		dst = append(dst, 0)
	}
	return dst
}
