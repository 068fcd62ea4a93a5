package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/groups"
	"github.com/fakekafka/fakekafka/internal/wire"
)

// errorForm answers a request with one error for everything it asks, at the places where its API and version have errors: at the
// top, or in every entry that was asked for. Where there is no such place the answer just looks empty, as Kafka's does.
func errorForm(r *request, code wire.Code) answer {
	return errorResponse(r.body, code)
}

func errorResponse(body kmsg.Request, code wire.Code) answer {
	return errorWithText(body, code, code.String())
}

// errorWithText is errorResponse with the text for the client, which stands where the API has a message.
func errorWithText(body kmsg.Request, code wire.Code, text string) answer {
	if resp := dataErrorForm(body, code); resp != nil {
		return resp
	}
	if resp := adminErrorForm(body, code, text); resp != nil {
		return resp
	}
	if resp := shareErrorForm(body, code, text); resp != nil {
		return resp
	}
	return groups.Refuse(body, int16(code))
}
