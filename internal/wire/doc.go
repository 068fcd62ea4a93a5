// Package wire is the outermost layer of the Kafka protocol: frames, request and
// response headers, API keys and their versions, error codes, the check of a
// request body before kmsg decodes it, and the encoder of Fetch answers.
//
// A request goes through it like this:
//
//	frame, err := frames.Next()      // one contiguous buffer; it owns the record bytes
//	body, err := header.Parse(frame) // key, version, correlation id, client id
//	cost, text, err := CheckBody(header.Key, header.Version, body) // what decoding it will take, if it is well formed
//	req, err := Decode(header.Key, header.Version, body, text)     // kmsg; strings that are not UTF-8 as Kafka reads them
//	...
//	out = AppendResponse(out[:0], header.CorrelationID, resp)
//
// Every error of these steps closes the connection without an answer, as Kafka
// does. The package knows no goroutine and no socket.
package wire
