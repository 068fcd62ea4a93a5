package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// CreateDelegationToken, key 38, versions 1-3, RenewDelegationToken, 39, ExpireDelegationToken, 40, versions 1-2, and DescribeDelegationToken,
// 41, versions 1-3 (KIP-48). A connection that nobody authenticated, as all on a PLAINTEXT listener, may not ask for tokens.

func (r *request) tokenWithoutAuthentication() (answer, error) {
	// Since v3 (KIP-373) a token may be wanted for another owner, whom the refusal names.
	if req, ok := r.body.(*kmsg.CreateDelegationTokenRequest); ok && r.version >= 3 && req.OwnerPrincipalName != nil && *req.OwnerPrincipalName != "" {
		if req.OwnerPrincipalType == nil {
			return createTokenError(req, wire.UnknownServerError), nil // no principal is without a type
		}
		resp := createTokenError(req, wire.DelegationTokenRequestNotAllowed)
		resp.PrincipalType, resp.PrincipalName = *req.OwnerPrincipalType, *req.OwnerPrincipalName
		return resp, nil
	}
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
