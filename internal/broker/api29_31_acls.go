package broker

import "github.com/fakekafka/fakekafka/internal/wire"

// DescribeAcls, key 29, CreateAcls, key 30, and DeleteAcls, key 31, each versions 1-3. There is no authorizer, so nothing to keep
// them: everybody may do everything, and these say so.

func (r *request) withoutAuthorizer() (answer, error) {
	text := "No Authorizer is configured."
	if r.key == wire.DescribeACLs { // this one is the broker's, the others are the controller's
		text = "No Authorizer is configured on the broker"
	}
	return errorWithText(r.body, wire.SecurityDisabled, text), nil
}
