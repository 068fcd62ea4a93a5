package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// errorForm answers a request with one error for everything it asks, at the places where its API and version have errors: at the
// top, or in every entry that was asked for.
func errorForm(r *request, code wire.Code) answer {
	return errorResponse(r.body, code)
}

func errorResponse(body kmsg.Request, code wire.Code) answer {
	if resp := dataErrorForm(body, code); resp != nil {
		return resp
	}
	if resp := groups.Refuse(body, int16(code)); resp != nil {
		return resp
	}
	return body.ResponseKind()
}
