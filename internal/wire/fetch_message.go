package wire

import (
	"bytes"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Message is r as kmsg's struct, as a client of this version would read it, with a copy of the records: for who wants to look at
// an answer, not for sending it.
func (r *FetchResponse) Message(version int16) *kmsg.FetchResponse {
	frame := bytes.Join(new(FetchEncoder).Encode(0, version, r), nil)
	header := 4 + len(appendResponseHeader(nil, 0, Fetch, version))
	m := kmsg.NewPtrFetchResponse()
	m.Version = version
	if err := m.ReadFrom(frame[header:]); err != nil {
		panic(fmt.Sprintf("wire: Fetch v%d, as encoded here, can't be read: %v", version, err))
	}
	return m
}
