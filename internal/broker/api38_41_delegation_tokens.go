package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// CreateDelegationToken, key 38, versions 1-3, RenewDelegationToken, 39, ExpireDelegationToken, 40, versions 1-2, and DescribeDelegationToken,
// 41, versions 1-3 (KIP-48). A connection that nobody authenticated, as all on a PLAINTEXT listener, may not ask for tokens.

func (r *request) tokenWithoutAuthentication() (answer, error) {
	return errorForm(r, wire.DelegationTokenRequestNotAllowed), nil
}

func createTokenError(req *kmsg.CreateDelegationTokenRequest, code wire.Code) *kmsg.CreateDelegationTokenResponse {
	resp := req.ResponseKind().(*kmsg.CreateDelegationTokenResponse)
	resp.ErrorCode = int16(code)
	resp.PrincipalType, resp.PrincipalName = "User", "ANONYMOUS"
	resp.TokenRequesterPrincipalType, resp.TokenRequesterPrincipalName = "User", "ANONYMOUS"
	resp.IssueTimestamp, resp.ExpiryTimestamp, resp.MaxTimestamp = -1, -1, -1
	return resp
}
