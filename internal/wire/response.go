package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// AppendResponse appends the frame of an answer: size, header, body. Key and
// version are resp's own (kmsg's ResponseKind of the request).
func AppendResponse(dst []byte, correlationID int32, resp kmsg.Response) []byte { panic("TODO") }
