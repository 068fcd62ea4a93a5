package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// SaslHandshake, key 17, versions 0-1, and SaslAuthenticate, key 36, versions 0-2. Listeners are PLAINTEXT: there both are
// out of place, and the connection stays usable.

func (r *request) saslHandshake() (answer, error) {
	resp := r.body.ResponseKind().(*kmsg.SASLHandshakeResponse)
	resp.ErrorCode = int16(wire.IllegalSASLState)
	return resp, nil
}

func (r *request) saslAuthenticate() (answer, error) {
	resp := r.body.ResponseKind().(*kmsg.SASLAuthenticateResponse)
	resp.ErrorCode = int16(wire.IllegalSASLState)
	resp.ErrorMessage = kmsg.StringPtr("SaslAuthenticate request received after successful authentication")
	return resp, nil
}
