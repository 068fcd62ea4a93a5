package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// CheckBody walks a request body without decoding it. What it refuses closes the connection.
func CheckBody(k Key, version int16, body []byte) error { panic("TODO") }

// Decode checks a body and decodes it with kmsg. Byte fields (Produce's records) point into body; strings are copies.
func Decode(k Key, version int16, body []byte) (kmsg.Request, error) { panic("TODO") }
